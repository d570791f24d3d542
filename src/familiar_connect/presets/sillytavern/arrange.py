"""What SillyTavern itself would send for a turn: `arrange_as_sillytavern(prompt, request, preset)`.

The turn's request says everything the assembly wants to know: preset, card, persona, author's note, books, variables,
the chat as it was typed. None of our own words go in.

`post_process` makes of it what backends with strict rules take: `merge` writes names into the text and joins neighbours
of one role; `semi` also lets only the first message be system; `strict` also makes a user speak first; `single` makes
everything one message of the user's.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from familiar_connect.chat.types import Directives
from familiar_connect.context.types import ContextItem, ContextRequest, ItemTag, Layer, Prompt
from familiar_connect.llm.types import Part, TextPart
from familiar_connect.presets.macro_context import ANYONE, char_of, generation_kind, rng_for
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.sillytavern.assemble import assemble
from familiar_connect.presets.sillytavern.types import (
    DEFAULT_ANSWER,
    DEFAULT_CONTEXT,
    AssembledPrompt,
    SillyTavernInputs,
)
from familiar_connect.presets.story.types import StoryState
from familiar_connect.presets.types import CardFields, ChatLine, Preset, PresetFidelity
from familiar_connect.presets.world_info.types import SCAN_LIMIT, WorldInfo

PREFILLING = "claude"
"""Of the models whose name is known, those with this in it are sent the preset's first words, as SillyTavern does."""
PENDING = "pending"
_NO_NAME = re.compile(r'[/?<>\\:*|"\x00-\x1f\x80-\x9f]')
_RESERVED_NAME = re.compile(r"\.+|(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_BLANK_END = re.compile(r"[. ]+$")
CHAT_FIELDS = ("scenario", "mes_example", "system_prompt")
"""What a chat may say in place of the card."""


class FixedChance(random.Random):
    """Always the same number, for whoever wants to see what it leads to."""

    def __init__(self, number: float) -> None:
        super().__init__(0)
        self._number = number

    def random(self) -> float:
        return self._number


def arrange_as_sillytavern(prompt: Prompt, request: ContextRequest, preset: Preset) -> Prompt:
    """The prompt of this turn: card, preset, persona, World Info and chat."""
    turns = [item for item in prompt.items if item.tag is ItemTag.DIALOGUE]
    inputs = inputs_of(request, preset, turns)
    variables = inputs.context.variables
    made = assemble(inputs)
    items = tuple(
        replace(turns[line], role=item.role, parts=item.parts, name=item.name, words=None, apart=True)
        if line is not None
        else replace(item, apart=True)
        for item, line in zip(made.items, made.lines, strict=True)
    )
    items = post_process(
        items,
        preset.settings.post_processing,
        char=inputs.card.name,
        user=inputs.context.user,
        group=request.story.group,
    )
    missed = tuple(note for note in prompt.dropped if note.layer is Layer.recent_history)  # the card is whole here
    return replace(
        prompt,
        items=tuple(replace(item, apart=True, even_blank=True) for item in items),
        directives=Directives(),
        dropped=(*missed, *made.dropped),
        story=StoryState(variables=dict(variables.local), shared=dict(variables.shared), timed=made.world.timed),
        reasons=explain_world(made),
    )


def inputs_of(request: ContextRequest, preset: Preset, turns: list[ContextItem]) -> SillyTavernInputs:
    """What the assembly is made from."""
    story, settings = request.story, preset.settings
    card = replace(request.card or CardFields(), name=name_of(request))
    own: dict[str, Any] = {name: text for name, text in story.card_fields.items() if name in CHAT_FIELDS}
    card = replace(card, **{**story.joined, **own})
    user = user_of(request)
    kind = generation_kind(request)
    window, answer = settings.max_context or DEFAULT_CONTEXT, settings.max_tokens or DEFAULT_ANSWER
    context = MacroContext(
        char=card.name,
        user=user,
        now=request.now,
        rng=rng_for(request, "preset") if story.chance is None else FixedChance(story.chance),
        group=story.group,
        muted=story.muted,
        chat_id=story.chat_id or f"{request.familiar_id}/{request.channel_id}",
        variables=Variables(local=dict(story.state.variables), shared=dict(story.state.shared)),
        model=story.model,
        max_prompt=window - answer,
        max_context=window,
        max_response=answer,
        generation=kind,
        ours=False,
    )
    return SillyTavernInputs(
        preset_name=preset.name,
        nodes=nodes_of(preset, PresetFidelity.sillytavern),
        settings=settings,
        card=card,
        persona=story.persona or request.persona,
        persona_position=story.place.position,
        persona_depth=story.place.depth,
        persona_role=story.place.role,
        chat=lines_as_typed(turns, request, char=card.name, user=user),
        context=context,
        kind=kind,
        is_group=bool(story.group),
        author_note=story.note,
        scans_notes=story.note is not None and story.note.is_scanned,
        quiet_prompt=request.turn.flags.manual_prompt if kind == "quiet" and request.turn is not None else "",
        pin_examples=story.switches.pin_examples,
        prefers_card_prompts=story.switches.prefer_card_prompt,
        prefers_card_last_words=story.switches.prefer_card_last_words,
        takes_prefill=not story.model or PREFILLING in story.model.casefold(),
        budget=max(1, window - answer),
        books=request.books,
        scan=story.scan,
        timed=story.state.timed,
        tags=story.tags,
        regex=story.regex,
    )


def name_of(request: ContextRequest) -> str:
    """What the character is called: a name that no file could have loses those signs when SillyTavern takes it in."""
    name, card = char_of(request), request.card
    if request.story.group or card is None or name != card.name:
        return name
    return "" if card.is_unnamed else clean_name(name)


def clean_name(name: str) -> str:
    """*name* without the signs that no name of a file has."""
    kept = _NO_NAME.sub("", name)
    return _BLANK_END.sub("", "" if _RESERVED_NAME.fullmatch(kept) else kept)


def user_of(request: ContextRequest) -> str:
    """Whose name `{{user}}` is: the one the chat names, else whoever speaks, else the last who did, else the owner."""
    if request.story.user:
        return request.story.user
    ours = request.turn is not None and any(
        message.in_exchange and message.author_type == "persona" for message in request.turn.messages[-1:]
    )
    if request.author is not None and not ours:
        return request.author.label
    others = (
        [message.author_name for message in request.turn.messages if message.author_type == "user"]
        if (request.turn is not None)
        else []
    )
    return others[-1] if others else request.story.owner or ANYONE


def lines_as_typed(turns: list[ContextItem], request: ContextRequest, *, char: str, user: str) -> tuple[ChatLine, ...]:
    """The chat as it was typed, oldest first. Words of a group's other characters are a character's, as theirs."""
    characters = set(request.story.group) - {user}
    pending = iter(request.turns_to_answer)
    lines: list[ChatLine] = []
    for number, item in enumerate(turns):
        text = item.words if item.words is not None else item.text
        name = item.sender.name if item.sender else ANYONE if item.role == "user" else char
        if item.source == PENDING and (said := next(pending, None)) is not None:
            text, name = said.text, said.author.label if said.author else name
        facts = item.line
        lines.append(
            ChatLine(
                name=name,
                text=text,
                is_user=item.role == "user" and name not in characters and not facts.is_character,
                is_hidden=facts.is_hidden,
                is_narrator=facts.is_narrator or item.role == "system",
                is_first=number == 0,
                forced_name=facts.is_other
                or facts.is_character
                or (item.role == "user" and name != user and not request.story.user),
                sent_at=None if facts.is_undated else item.timestamp,
                swipes=facts.swipes,
                swipe_id=facts.swipe,
            )
        )
    return tuple(lines)


def explain_world(made: AssembledPrompt) -> tuple[tuple[str, str], ...]:
    """Each entry of World Info that was called up, and why; those that could not be, too."""
    world: WorldInfo = made.world
    told = [(f"{each.entry.book}: {each.entry.name}", each.reason) for each in world.activated]
    told += [(f"{each.book}: {each.name}", "found, but there was no room in the budget") for each in world.dropped]
    told += [("not searched", problem) for problem in world.problems]
    if world.limit:
        told.append((SCAN_LIMIT, f"the search stopped early, so entries may be missing: {world.limit}"))
    return tuple(told)


PLACEHOLDER = "[Start a new chat]"
_MODES = {"merge": "merge", "claude": "merge", "semi": "semi", "strict": "strict", "single": "single"}


def post_process(
    items: Iterable[ContextItem], mode: str, *, char: str, user: str, group: Sequence[str] = ()
) -> tuple[ContextItem, ...]:
    """*items* as *mode* wants them; as they are where *mode* is empty or unknown."""
    wanted = _MODES.get(mode.removesuffix("_tools"))
    if wanted is None:
        return tuple(items)
    named = [_name(item, char, user, group) for item in items]
    if wanted == "single":
        named = [_speak_as(item, char, user, group) for item in named]
    merged = _merge(named) or [ContextItem.of("user", PLACEHOLDER)]
    if wanted == "merge":
        return tuple(merged)
    merged = [replace(item, role="user") if at and item.role == "system" else item for at, item in enumerate(merged)]
    if wanted == "strict":
        merged = _open_by_user(merged)
    return tuple(_merge(merged))


def _open_by_user(items: list[ContextItem]) -> list[ContextItem]:
    placeholder = ContextItem.of("user", PLACEHOLDER)
    if items[0].role == "system" and (len(items) == 1 or items[1].role != "user"):
        return [items[0], placeholder, *items[1:]]
    if items[0].role == "assistant":
        return [placeholder, *items]
    return items


def _name(item: ContextItem, char: str, user: str, group: Sequence[str]) -> ContextItem:
    """The `name` of a message written before its text instead."""
    if item.role == "system":
        if item.name == "example_assistant":
            item = _prefix(item, char, group)
        elif item.name == "example_user":
            item = _prefix(item, user)
    elif item.name:
        item = _prefix(item, item.name)
    return replace(item, name=None)


def _speak_as(item: ContextItem, char: str, user: str, group: Sequence[str]) -> ContextItem:
    if item.role == "assistant":
        item = _prefix(item, char, group)
    elif item.role == "user":
        item = _prefix(item, user)
    return replace(item, role="user")


def _prefix(item: ContextItem, name: str, others: Sequence[str] = ()) -> ContextItem:
    if not name or any(item.text.startswith(f"{known}: ") for known in (name, *others)):
        return item
    return replace(item, parts=_join_parts((TextPart(f"{name}: "),), item.parts))


def _merge(items: Iterable[ContextItem]) -> list[ContextItem]:
    """Neighbours of one role as one message, a blank line between them; an empty one joins nothing."""
    runs: list[list[ContextItem]] = []
    for item in items:
        if runs and runs[-1][0].role == item.role and _says_something(item):
            runs[-1].append(item)
        else:
            runs.append([item])
    return [run[0] if len(run) == 1 else _join(run) for run in runs]


def _says_something(item: ContextItem) -> bool:
    return any(not isinstance(part, TextPart) or part.text for part in item.parts)


def _join(run: list[ContextItem]) -> ContextItem:
    parts: list[Part] = []
    for item in run:
        if parts:
            parts.append(TextPart("\n\n"))
        parts.extend(item.parts)
    tag = run[0].tag if len({item.tag for item in run}) == 1 else None
    source = ", ".join(dict.fromkeys(item.source for item in run if item.source))
    return replace(run[0], parts=_join_parts(parts), tag=tag, source=source)


def _join_parts(*groups: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of all *groups*, neighbouring texts as one."""
    joined: list[Part] = []
    texts: list[str] = []
    for part in (part for group in groups for part in group):
        if isinstance(part, TextPart):
            texts.append(part.text)
            continue
        if texts:
            joined.append(TextPart("".join(texts)))
            texts = []
        joined.append(part)
    if texts:
        joined.append(TextPart("".join(texts)))
    return tuple(joined)
