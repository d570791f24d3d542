"""What macros mean in one turn: names, card, chat, clock and chance of a request, as a `MacroContext`.

Authored text is read with these values; what people said and what memory holds is only quoted by them.
Quoted text is sealed on its way through, so that no later pass mistakes a brace somebody typed for a macro.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from familiar_connect.chat.types import Directives, TurnFlags
from familiar_connect.context.slots import in_prompt_order
from familiar_connect.context.types import ContextItem, ContextRequest, Contribution, ItemTag, Layer, Prompt
from familiar_connect.llm.types import Part, TextPart
from familiar_connect.presets.macros import engine, evaluation, identity_macros, random_choice
from familiar_connect.presets.macros.engine import escape_braces as escape_braces
from familiar_connect.presets.macros.engine import unescape_braces as unescape_braces
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.types import CardFields, ChatLine, GenerationKind, PresetFidelity, PresetSettings
from familiar_connect.support.tokens import estimate_tokens

QUOTED_TAGS = frozenset(
    {
        ItemTag.DIALOGUE,
        ItemTag.SHORT_TERM,
        ItemTag.SUMMARY,
        ItemTag.PEOPLE,
        ItemTag.PARTICIPANTS,
        ItemTag.FOUND,
        ItemTag.DOCUMENTS,
        ItemTag.SERVER_MEMORIES,
        ItemTag.CONDITIONING,
        ItemTag.THINKING,
    }
)
"""Blocks made of what people said or what is remembered of it."""
QUOTED_SOURCES = ("history:", "interruption")
ANYONE = "User"
"""Who is meant in blocks that stay the same whoever speaks."""
ORIGINAL = "{{original}}"
"""Stands in a familiar's own text until the preset's text that it replaces is known."""

_OVERRIDES = (ItemTag.RULES, ItemTag.POST_HISTORY)


def speaker_of(request: ContextRequest) -> str:
    """Who is answered; in a group of characters the person among them, whoever spoke last."""
    if request.story.group and request.story.user:
        return request.story.user
    return request.author.label if request.author else ANYONE


def char_of(request: ContextRequest) -> str:
    """Who answers: an alter where one does, else the familiar by its card's name."""
    alter = request.turn.flags.alter if request.turn is not None else None
    return alter or (request.card.name if request.card is not None else "") or request.familiar_id


def rng_for(request: ContextRequest, part: str) -> random.Random:
    """Random source of one part of the turn; the same turn gives the same numbers."""
    return random.Random(f"{request.seed}:{part}")


def chat_lines(items: Iterable[ContextItem], char: str) -> tuple[ChatLine, ...]:
    """The real turns among *items*, without marks and names before the words."""
    return tuple(
        ChatLine(
            name=item.sender.name if item.sender else ANYONE if item.role == "user" else char,
            text=item.words if item.words is not None else item.text,
            is_user=item.role == "user",
            is_narrator=item.role == "system",
            sent_at=item.timestamp,
        )
        for item in items
        if item.tag is ItemTag.DIALOGUE
    )


def build_macro_context(
    request: ContextRequest,
    chat: Sequence[ChatLine] = (),
    *,
    user: str,
    rng: random.Random,
    persona: str = "",
    summary: str = "",
) -> MacroContext:
    """The values behind the macros of *request*; card fields have their own macros read first, in card order."""
    card = request.card or CardFields()
    window, answer = _sizes(request)
    ctx = MacroContext(
        char=char_of(request),
        user=user,
        persona=escape_braces(persona),
        creator_notes=card.creator_notes,
        character_version=card.character_version,
        first_mes=card.first_mes,
        alternate_greetings=card.alternate_greetings,
        group=tuple(map(escape_braces, request.story.group)),
        muted=tuple(map(escape_braces, request.story.muted)),
        mes_example=card.mes_example,
        chat=tuple(map(_seal_line, chat)),
        now=request.now,
        rng=rng,
        chat_id=f"{request.familiar_id}/{request.channel_id}",
        generation=generation_kind(request),
        model=request.story.model,
        max_context=window,
        max_prompt=max(0, window - answer),
        max_response=answer,
        summary=escape_braces(summary),
        tools=request.offered.tools,
        tool_names=request.offered.tool_names,
        tool_families=request.offered.tool_families,
        capabilities=request.offered.capabilities,
        variables=Variables(local=dict(request.story.state.variables), shared=dict(request.story.state.shared)),
    )

    def field(text: str) -> str:
        return expand_all_macros(text.replace("\r", "").strip(), ctx)

    return replace(
        ctx,
        description=field(card.description),
        personality=field(card.personality),
        scenario=field(card.scenario),
        system_prompt=field(card.system_prompt),
        post_history_instructions=field(card.post_history_instructions),
        depth_prompt=field(card.depth_prompt),
    )


def _sizes(request: ContextRequest) -> tuple[int, int]:
    """Tokens of prompt and answer together, and of the answer, as the preset says; else our own budget."""
    settings = request.preset.preset.settings if request.preset is not None else PresetSettings()
    return settings.max_context or request.budget_tokens, settings.max_tokens or 0


def _seal_line(line: ChatLine) -> ChatLine:
    name, text = escape_braces(line.name), escape_braces(line.text)
    return line if text == line.text and name == line.name else replace(line, name=name, text=text)


def generation_kind(request: ContextRequest) -> GenerationKind:
    """What kind of answer is asked for, as SillyTavern tells them apart."""
    flags = request.turn.flags if request.turn is not None else TurnFlags()
    if flags.kind is not None:
        return flags.kind
    if flags.impersonation:
        return "impersonate"
    if flags.continuation:
        return "continue"
    return "quiet" if flags.manual and flags.manual_prompt.strip() else "normal"


def expand_all_macros(text: str, ctx: MacroContext, *, original: str | None = None) -> str:
    """*text* with its macros read and random choices left for the last pass; as it is where it holds none."""
    if "{" not in text and "<" not in text:
        return text
    done = engine.expand(text, ctx, original=original, defer_random=True).text
    return identity_macros.fill_identity(evaluation.fill_tool_names(done, ctx), char=ctx.char, user=ctx.user)


# Authored contributions


def expand_authored(found: Sequence[Contribution], request: ContextRequest) -> list[Contribution]:
    """*found* with the macros of authored text read, in the order of the prompt; the rest as it came."""
    if request.card is None or not any(map(_is_authored, found)):
        return list(found)
    chat = [item for c in found if c.layer is Layer.recent_history for item in c.items]
    lines = (*chat_lines(chat, char_of(request)), *_pending_lines(request))
    user = _partner(chat, request)
    ctx = build_macro_context(request, lines, user=user, rng=rng_for(request, "authored"), persona=request.persona)
    in_samples = replace(ctx, user=ANYONE)
    with_preset = request.preset is not None and request.preset.fidelity is PresetFidelity.with_memory
    done: dict[int, Contribution] = {}
    for contribution in in_prompt_order([c for c in found if _is_authored(c)]):
        if contribution.items:
            done[id(contribution)] = _read_items(contribution, in_samples)
        else:
            original = (ORIGINAL if with_preset else "") if contribution.tag in _OVERRIDES else None
            done[id(contribution)] = _read_text(contribution, ctx, original)
    return [done.get(id(contribution), contribution) for contribution in found]


def _is_authored(contribution: Contribution) -> bool:
    return contribution.authored


def _pending_lines(request: ContextRequest) -> tuple[ChatLine, ...]:
    """What is being answered, where the dialogue does not hold it already."""
    if request.turn is not None and request.turn.messages:
        return ()
    return tuple(
        ChatLine(name=turn.author.label if turn.author else ANYONE, text=turn.text, is_user=True)
        for turn in request.turns_to_answer
    )


def _partner(chat: Sequence[ContextItem], request: ContextRequest) -> str:
    """Who `{{user}}` is: the other one, between two; in company nobody by name, so that the text stays.

    In a group of characters it is the person among them.
    """
    if request.story.group and request.story.user:
        return escape_braces(request.story.user)
    present = {item.sender.name for item in chat if item.sender is not None and item.role == "user"}
    present |= {turn.author.label for turn in request.turns_to_answer if turn.author}
    return escape_braces(present.pop()) if len(present) == 1 and request.guild_id is None else ANYONE


def _read_text(contribution: Contribution, ctx: MacroContext, original: str | None) -> Contribution:
    text = unescape_braces(expand_all_macros(contribution.text, ctx, original=original))
    volatile = contribution.volatile or (contribution.depth is None and random_choice.has_choice(text))
    if text == contribution.text and volatile == contribution.volatile:
        return contribution
    return replace(contribution, text=text, estimated_tokens=estimate_tokens(text), volatile=volatile)


def _read_items(contribution: Contribution, ctx: MacroContext) -> Contribution:
    """A dialogue of samples; what stands before the words of each stays."""
    items = []
    for item in contribution.items:
        if not item.words:  # said by nobody
            items.append(item)
            continue
        words = unescape_braces(expand_all_macros(item.words, ctx))
        shown = item.text.removesuffix(item.words) + words
        items.append(replace(item, parts=(TextPart(shown),), words=words))
    if all(new.parts == old.parts for new, old in zip(items, contribution.items, strict=True)):
        return contribution
    tokens = sum(estimate_tokens(item.text) for item in items)
    return replace(contribution, items=tuple(items), estimated_tokens=tokens)


class NativeArranger:
    """Leaves every block where it stands; random choices are made last."""

    def arrange(self, prompt: Prompt, request: ContextRequest) -> Prompt:
        return make_random_choices(prompt, rng_for(request, "choices"))


def make_random_choices(prompt: Prompt, rng: random.Random) -> Prompt:
    """*prompt* with every random choice made in authored text; an item in which nothing is chosen stays the same."""
    items = tuple(_with_choices_made(item, rng) for item in prompt.items)
    directives = _directives_with_choices_made(prompt.directives, rng)
    if directives == prompt.directives and all(new is old for new, old in zip(items, prompt.items, strict=True)):
        return prompt
    return replace(prompt, items=items, directives=directives)


def _with_choices_made(item: ContextItem, rng: random.Random) -> ContextItem:
    if item.tag in QUOTED_TAGS or item.source.startswith(QUOTED_SOURCES) or not random_choice.has_choice(item.text):
        return item
    parts: tuple[Part, ...] = tuple(
        TextPart(random_choice.roll_choices(part.text, rng)) if isinstance(part, TextPart) else part
        for part in item.parts
    )
    words = None
    if item.words is not None:  # what was said is the end of what is shown
        before = item.text[: len(item.text) - len(item.words)] if item.text.endswith(item.words) else ""
        shown = "".join(part.text for part in parts if isinstance(part, TextPart))
        words = shown[len(before) :] if shown.startswith(before) else shown
    return replace(item, parts=parts, words=words)


def _directives_with_choices_made(directives: Directives, rng: random.Random) -> Directives:
    """The directives, but for the queued reply, which quotes."""
    return replace(
        directives,
        lower=tuple(random_choice.roll_choices(text, rng) for text in directives.lower),
        tail=tuple(random_choice.roll_choices(text, rng) for text in directives.tail),
        uncensor=random_choice.roll_choices(directives.uncensor, rng) if directives.uncensor else directives.uncensor,
        prefill=random_choice.roll_choices(directives.prefill, rng) if directives.prefill else directives.prefill,
    )
