"""Regex scripts of cards, presets and the owner: rules, as in SillyTavern, that rewrite what is said, shown or sent.

Patterns are JavaScript's, searched in linear time; what no such engine can do is a sentence in `script_problem`, and
the script then leaves every text as it is. Text that a rule would make too long stays as it is, too. In a turn they
rewrite the chat in the prompt, World Info, and the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from familiar_connect.context.types import ContextItem, ContextRequest, ItemTag, PendingTurn, Prompt
from familiar_connect.llm.types import TextPart
from familiar_connect.presets.macro_context import ANYONE, char_of, generation_kind, rng_for
from familiar_connect.presets.macros import engine
from familiar_connect.presets.macros.engine import escape_braces, unescape_braces
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.types import RegexScript
from familiar_connect.support.js_regex import JsPattern, compile_js_groups
from familiar_connect.support.re2_engine import PatternRefused
from familiar_connect.support.text import one_line, without_surrogates

MAX_SCRIPTS = 500
MAX_RESULT_CHARS = 400_000
"""A rule whose result is longer leaves the text as it was."""
MAX_MATCHES = 5_000
MACRO_MATCHES = 5
"""How often the rules for one text may match it together. A match whose replacement has macros counts for several; a
rule that would match too often leaves the text as it was."""
MAX_WORK_CHARS = 4_000_000
"""How much text the rules for one text read and make together; those left over leave it as it is."""
MAX_TRIMS = 100
MAX_NAME_CHARS = 100

_LITERAL = re.compile(r"(/?)(.+)\1([a-z]*)", re.IGNORECASE)
_JS_FLAGS = frozenset("dgimsuvy")
_GROUP = re.compile(r"\$(\d+)|\$<([^>]+)>")
_MATCH = re.compile(r"\{\{match\}\}", re.IGNORECASE)
_SPECIAL = re.compile(r"[\n\r\t\v\f\0.^$*+?{}\[\]\\/|()]")

PENDING = "pending"


class Placement(IntEnum):
    """What a script is for, by the numbers SillyTavern writes."""

    user_input = 1
    ai_output = 2
    slash_command = 3
    world_info = 5
    reasoning = 6


PLACEMENT_NAMES: Mapping[int, str] = {
    0: "display",
    Placement.user_input: "what people say",
    Placement.ai_output: "replies",
    Placement.slash_command: "slash commands",
    Placement.world_info: "World Info",
    Placement.reasoning: "thoughts",
}
USED_PLACEMENTS = (Placement.user_input, Placement.ai_output, Placement.world_info)
"""Those that mean something here."""


@dataclass(frozen=True, kw_only=True)
class TextUse:
    """For what a text is about to be used: to be kept, unless it is only shown or only sent to a model."""

    placement: Placement
    is_display: bool = False
    is_prompt: bool = False
    depth: int | None = None
    """Messages after it; None: it is not one of the chat's."""


KEPT_REPLY = TextUse(placement=Placement.ai_output)
SHOWN_REPLY = TextUse(placement=Placement.ai_output, is_display=True, depth=0)


def read_scripts(listed: object, *, origin: str) -> tuple[RegexScript, ...]:
    """The scripts in *listed*, as a card's or preset's `extensions.regex_scripts` holds them."""
    if not isinstance(listed, list):
        return ()
    found = [
        _script(each, number, origin) for number, each in enumerate(listed[:MAX_SCRIPTS]) if isinstance(each, dict)
    ]
    return tuple(each for each in found if each is not None)


def _script(each: Mapping[str, object], number: int, origin: str) -> RegexScript | None:
    find = each.get("findRegex")
    if not isinstance(find, str) or not find:
        return None
    name, trims, placements = each.get("scriptName"), each.get("trimStrings"), each.get("placement")
    replacement = each.get("replaceString")
    substitution = each.get("substituteRegex")
    listed = placements if isinstance(placements, list) else [placements]
    return RegexScript(
        name=(one_line(without_surrogates(name))[:MAX_NAME_CHARS] if isinstance(name, str) else "")
        or f"script {number + 1}",
        find=without_surrogates(find),
        replacement=without_surrogates(replacement) if isinstance(replacement, str) else "",
        trims=tuple(without_surrogates(text) for text in trims[:MAX_TRIMS] if isinstance(text, str) and text)
        if isinstance(trims, list)
        else (),
        placements=tuple(dict.fromkeys(int(at) for at in listed if isinstance(at, int) and at in PLACEMENT_NAMES)),
        is_off=bool(each.get("disabled")),
        is_display_only=bool(each.get("markdownOnly")),
        is_prompt_only=bool(each.get("promptOnly")),
        substitution=int(substitution) if substitution in (1, 2, True) else 0,
        min_depth=_depth(each.get("minDepth"), least=-1),
        max_depth=_depth(each.get("maxDepth"), least=0),
        origin=origin,
    )


def _depth(value: object, *, least: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return int(value) if least <= value <= 10**6 else None


def script_problem(script: RegexScript) -> str | None:
    """Why *script* cannot be run, or None. Macros in its pattern are taken as they are written."""
    try:
        _pattern(script.find if not script.substitution else re.sub(r"\{\{.*?\}\}", "x", script.find))
    except PatternRefused as refused:
        return str(refused)
    return None


def parts_without_effect(script: RegexScript) -> list[str]:
    """What *script* is for besides, that does not happen here."""
    unused = [PLACEMENT_NAMES[at] for at in script.placements if at not in USED_PLACEMENTS]
    only_shown = script.is_display_only and not script.is_prompt_only
    if only_shown and Placement.user_input in script.placements:
        unused.append("what people say, as it is shown")
    return unused


def applies(script: RegexScript, use: TextUse) -> bool:
    """Whether *script* is for texts used so."""
    if script.is_off or use.placement not in script.placements:
        return False
    is_kept = not script.is_display_only and not script.is_prompt_only
    if not (
        (script.is_display_only and use.is_display)
        or (script.is_prompt_only and use.is_prompt)
        or (is_kept and not use.is_display and not use.is_prompt)
    ):
        return False
    if use.depth is None:
        return True
    too_late = script.min_depth is not None and use.depth < script.min_depth
    return not too_late and (script.max_depth is None or use.depth <= script.max_depth)


def scripts_for(scripts: Iterable[RegexScript], use: TextUse) -> list[RegexScript]:
    return [script for script in scripts if applies(script, use)]


def rewrite_text(text: str, scripts: Iterable[RegexScript], use: TextUse, context: MacroContext) -> str:
    """*text* after every script that is for *use*, in order; macros of the scripts are read with *context*."""
    work = _Work()
    for script in scripts:
        if text and work.chars <= MAX_WORK_CHARS and applies(script, use):
            text = _run(script, text, context, work)
    return text


@dataclass
class _Work:
    """What the rules for one text have done so far."""

    matches: int = 0
    chars: int = 0

    def may_match(self, cost: int) -> bool:
        """Count a match; False where there were too many."""
        self.matches += cost
        return self.matches <= MAX_MATCHES


def _run(script: RegexScript, text: str, context: MacroContext, work: _Work) -> str:
    try:
        pattern = _pattern(_find_of(script, context))
    except PatternRefused:
        return text
    replacement = _MATCH.sub("$0", script.replacement[: MAX_RESULT_CHARS + 1])
    parts = _GROUP.split(replacement)
    trims = [_expand(each, context) for each in script.trims]
    cost = MACRO_MATCHES if _may_hold_macros(replacement) else 1

    def make(match: str, groups: Sequence[str | None], named: Mapping[str, str | None]) -> str | None:
        return _replace(parts, trims, context, match, groups, named) if work.may_match(cost) else None

    done = pattern.replace(text, make, max_chars=MAX_RESULT_CHARS)
    work.chars += len(text) + len(done or "")
    return text if done is None else done


def _replace(
    replacement: Sequence[str | None],
    trims: Sequence[str],
    context: MacroContext,
    match: str,
    groups: Sequence[str | None],
    named: Mapping[str, str | None],
) -> str | None:
    """What stands for *match*; None where it would be too long. *replacement*: text, number, name, text, number…"""

    def group_text(number: str | None, name: str | None) -> str:
        if number is None:
            held = named.get(name or "")
        else:
            at = int(number[:4])
            held = match if at == 0 else groups[at - 1] if at <= len(groups) else None
        for trim in trims:
            held = held.replace(trim, "") if held and trim else held
        return escape_braces(held or "")

    group_texts: dict[tuple[str | None, str | None], str] = {}
    pieces = [replacement[0] or ""]
    size = len(pieces[0])
    for at in range(1, len(replacement), 3):
        key = (replacement[at], replacement[at + 1])
        if key not in group_texts:
            group_texts[key] = group_text(*key)
        added = (group_texts[key], replacement[at + 2] or "")
        size += sum(map(len, added))
        if size > MAX_RESULT_CHARS:
            return None
        pieces += added
    return unescape_braces(_expand("".join(pieces), context))


def _find_of(script: RegexScript, context: MacroContext) -> str:
    if not script.substitution:
        return script.find
    if script.substitution == 1:
        return _expand(script.find, context)
    return _expand(script.find, replace(context, char=_escape(context.char), user=_escape(context.user)))


def _escape(text: str) -> str:
    """*text* with every character that means something in a pattern taken literally."""
    return _SPECIAL.sub(lambda found: "\\" + found[0], text)


def _expand(text: str, context: MacroContext) -> str:
    return engine.expand(text, context).text if _may_hold_macros(text) else text


def _may_hold_macros(text: str) -> bool:
    return "{{" in text or "<" in text


def _pattern(find: str) -> JsPattern:
    """The pattern of `/pattern/flags`; of anything else, the text itself."""
    found = _LITERAL.fullmatch(find)
    if found is None or not found[1]:
        return compile_js_groups(find, "")
    flags = found[3]
    if set(flags) - _JS_FLAGS or len(set(flags)) != len(flags):
        return compile_js_groups(find, "")
    return compile_js_groups(found[2].replace("\\/", "/"), flags)


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
