"""Regex scripts in one turn: what they make of the chat in the prompt, of World Info, and of the reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.context.types import ContextItem, ContextRequest, ItemTag, PendingTurn, Prompt
from familiar_connect.llm.types import TextPart
from familiar_connect.presets.macro_context import ANYONE, char_of, generation_kind, rng_for
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.regex_scripts import Placement, TextUse, rewrite_text, scripts_for
from familiar_connect.presets.types import RegexScript

KEPT_REPLY = TextUse(placement=Placement.ai_output)
SHOWN_REPLY = TextUse(placement=Placement.ai_output, is_display=True, depth=0)
PENDING = "pending"


def script_context(request: ContextRequest) -> MacroContext:
    """What macros in a script mean in this turn."""
    user = request.story.user or (request.author.label if request.author else ANYONE)
    return MacroContext(
        char=char_of(request),
        user=user,
        persona=request.persona,
        now=request.now,
        rng=rng_for(request, "regex"),
        ours=not request.is_exact,
    )


def rewrites_reply(scripts: Sequence[RegexScript]) -> bool:
    """Whether a reply may read differently, kept or shown, once it is whole."""
    return bool(scripts_for(scripts, KEPT_REPLY) or scripts_for(scripts, SHOWN_REPLY))


def rewrite_reply(text: str, request: ContextRequest) -> str:
    """A reply as it is kept."""
    return rewrite_text(text, request.story.regex, KEPT_REPLY, script_context(request))


def show_reply(text: str, request: ContextRequest) -> str:
    """A kept reply as it is shown."""
    return rewrite_text(text, request.story.regex, SHOWN_REPLY, script_context(request))


def rewrite_lore(text: str, depth: int | None, scripts: Sequence[RegexScript], context: MacroContext) -> str:
    """An entry of World Info as it is sent; *depth* where it stands among the chat."""
    use = TextUse(placement=Placement.world_info, is_prompt=True, depth=depth)
    return rewrite_text(text, scripts, use, context)


def rewrite_chat(prompt: Prompt, request: ContextRequest) -> tuple[Prompt, ContextRequest]:
    """The prompt and the request with the chat as scripts for the prompt alone have it."""
    if not any(script.is_prompt_only and not script.is_off for script in request.story.regex):
        return prompt, request
    context = script_context(request)
    turns = [item for item in prompt.items if item.tag is ItemTag.DIALOGUE and not item.line.is_hidden]
    after = 2 if generation_kind(request) == "continue" else 1
    depths = {id(item): len(turns) - at - after for at, item in enumerate(turns)}
    pending = list(request.turns_to_answer)
    answered: list[PendingTurn] = []
    items = []
    for item in prompt.items:
        depth = depths.get(id(item))
        if item.tag is ItemTag.DIALOGUE and item.source == PENDING and pending:
            said = pending.pop(0)
            answered.append(replace(said, text=_rewrite(said.text, request, context, is_user=True, depth=depth)))
        items.append(item if depth is None else _rewrite_item(item, request, context, depth))
    if answered:
        request = replace(request, pending_turns=(*answered, *pending))
    return replace(prompt, items=tuple(items)), request


def _rewrite(text: str, request: ContextRequest, context: MacroContext, *, is_user: bool, depth: int | None) -> str:
    placement = Placement.user_input if is_user else Placement.ai_output
    return rewrite_text(text, request.story.regex, TextUse(placement=placement, is_prompt=True, depth=depth), context)


def _rewrite_item(item: ContextItem, request: ContextRequest, context: MacroContext, depth: int) -> ContextItem:
    """*item* with its words rewritten; what stands before them, and its pictures, stay."""
    said = item.words if item.words is not None else item.text
    words = _rewrite(said, request, context, is_user=item.role == "user", depth=depth)
    texts = [part for part in item.parts if isinstance(part, TextPart)]
    if words == said or len(texts) != 1 or not texts[0].text.endswith(said):
        return item
    shown = TextPart(texts[0].text.removesuffix(said) + words)
    parts = tuple(shown if part is texts[0] else part for part in item.parts)
    return replace(item, parts=parts, words=None if item.words is None else words)
