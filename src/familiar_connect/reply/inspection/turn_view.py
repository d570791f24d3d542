"""TurnView: one past turn as a picture is drawn of it: blocks with their texts, the budget, what was cut, the time.

Made of the same facts as `familiar inspect`: the trace, and what replay kept beside it. What is not kept any more is
left out, and the view says so.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from familiar_connect.audience import Audience, AudienceKind, parse_audience
from familiar_connect.context.layers import ItemTag
from familiar_connect.context.providers.content_search.unfiltered import list_troubles
from familiar_connect.context.types import ContextItem, Contribution, DroppedNote
from familiar_connect.errors import FamiliarError
from familiar_connect.observe.inspector import (
    BlockLine,
    block_lines,
    cut_reason,
    model_facts,
    model_facts_line,
    prefix_line,
    prompt_size_line,
)
from familiar_connect.observe.last_context import NOTES, SEPARATOR
from familiar_connect.observe.prompt_diff import BlockChange, PromptBlock, diff_blocks
from familiar_connect.observe.replay_store import ReplayRecord
from familiar_connect.observe.trace import TurnTrace, finite_number, only_mappings, provider_notes, provider_outcomes
from familiar_connect.reply.inspection.lore_calls import LoreCall, calls_in_block, lore_calls
from familiar_connect.reply.inspection.plain_troubles import STOPPED, describe_trouble
from familiar_connect.reply.inspection.recalled_lines import RecalledLine, list_recalled_lines
from familiar_connect.reply.prompt_replay import prompt_page, replay_items

NAMES = {
    ItemTag.PREAMBLE: "opening",
    ItemTag.RULES: "rules",
    ItemTag.CHANNEL_PROMPT: "this channel's prompt",
    ItemTag.PERSONA: "character",
    ItemTag.TRAITS: "character's traits",
    ItemTag.SCENARIO: "scenario",
    ItemTag.PINNED: "pinned",
    ItemTag.AUTHOR_NOTE: "author's note",
    ItemTag.SERVER_INFO: "the place",
    ItemTag.USER_BLOCKS: "who you are",
    ItemTag.SERVER_MEMORIES: "notes about the place",
    ItemTag.PARTICIPANTS: "who is here",
    ItemTag.SUMMARY: "summary",
    ItemTag.PEOPLE: "people",
    ItemTag.SHORT_TERM: "notes of today",
    ItemTag.TOOL_DEFINITIONS: "tools",
    ItemTag.DOCUMENTS: "documents",
    ItemTag.CONDITIONING: "rewards",
    ItemTag.SAMPLE: "examples",
    ItemTag.FOUND: "recalled",
    ItemTag.DIALOGUE: "dialogue",
    ItemTag.DATE_SPACER: "date",
    ItemTag.NOW: "now",
    ItemTag.POST_HISTORY: "last instructions",
    ItemTag.THINKING: "thoughts",
    ItemTag.TAIL: "last words",
    ItemTag.PREFILL: "first words of the reply",
}
"""Blocks in plain words; others go by their own name."""
NOT_BY_TAG = {"mode_instructions": "how to write here", "character:depth_prompt": "character's note"}
"""What stands where an author's note does, and is none: by how its source begins."""
SOURCE_NAMES = {
    "world_info:before": "World Info before the card",
    "world_info:after": "World Info after the card",
    "world_info:depth": "World Info inside the chat",
    "card:description": "character",
    "card:personality": "character's traits",
    "card:scenario": "scenario",
    "card:system_prompt": "the card's own prompt",
    "card:post_history_instructions": "the card's last instructions",
    "author_note": "author's note",
    "persona": "who you are",
    "card:depth_prompt": "character's note",
    "history:earlier": "earlier in this talk",
    "history:elsewhere": "said in other places",
    "interruption": "what was interrupted",
    "program_note": "a note of the program",
    "pending": "what is answered",
}
"""The same for what has no tag."""
ALIKE = frozenset({ItemTag.SAMPLE.value, ItemTag.DIALOGUE.value})
"""Blocks of which a prompt holds many: neighbours of one kind are one."""
SAID_HERE = frozenset({ItemTag.DIALOGUE.value, ItemTag.SUMMARY.value, ItemTag.PARTICIPANTS.value, "pending", "chat"})
"""Tags and sources of what was said, or can be seen, in the place itself."""
JOINT = "\n\n"
"""What stands between two blocks of one message."""


@dataclass(frozen=True, kw_only=True)
class ViewedBlock:
    """One block of the prompt, or one that did not make it."""

    name: str
    source: str
    layer: str
    tokens: int
    fate: str
    """`kept`, `shortened …` or `cut …`, with the reason."""
    count: int = 1
    """Of how many alike it is made."""
    heard_by: str = ""
    """Who may hear it, in words; empty where that is not known."""
    text: str | None = None
    """What the model was shown; None where it is not kept, or was cut."""
    message: int | None = None
    """Which message of the prompt holds it, counted from 0."""
    keys: tuple[str, ...] = ()
    """Whose it is: slugs of people."""
    lines: tuple[int, ...] = ()
    """The lines of the history it is made of."""
    cut_text: str = ""
    """What was left out of it, as much of that as is kept."""
    is_cut_before: bool = False
    """Whether what was left out stood before the rest: of a dialogue the oldest lines go."""
    lore: tuple[LoreCall, ...] = ()
    """Entries of World Info that stand in it."""
    breaks_prefix: bool = False
    """Whether it is the first that is not as in the prompt before."""

    @property
    def is_cut(self) -> bool:
        return self.fate.startswith("cut")

    @property
    def is_shortened(self) -> bool:
        return self.fate.startswith("shortened")


@dataclass(frozen=True, kw_only=True)
class WithheldPiece:
    """Something that may not be told in the place."""

    source: str
    said_to: str


@dataclass(frozen=True, kw_only=True)
class TimedSpan:
    """A stage or a provider on the time line, in seconds from the turn's start."""

    name: str
    start_s: float
    duration_s: float
    kind: str
    """`stage` or `provider`."""
    trouble: str = ""
    note: str = ""
    """What it did without, as it always does where nothing is wrong."""
    limit_s: float | None = None
    """How long it was given; None where that is not known, or no limit was set."""


@dataclass(frozen=True, kw_only=True)
class TurnView:
    """One turn, ready to be drawn."""

    trace_id: str
    timestamp: str
    channel_id: int
    total_s: float
    tokens: int
    """Estimated tokens of the blocks in the prompt."""
    budget: int | None
    """What the turn's prompt was allowed to be; None where that is not kept."""
    size_line: str
    blocks: tuple[ViewedBlock, ...]
    withheld: tuple[WithheldPiece, ...]
    layers: tuple[tuple[str, int], ...]
    """Tokens by layer, in the order in which the layers appear."""
    spans: tuple[TimedSpan, ...]
    model_line: str
    prefix_line: str
    prefix_share: float | None
    """How much of the prompt repeats the one before; None where that is not known."""
    prefix_ended_by: str
    """The blocks in which it begins to differ; empty where it does not, or that is not known."""
    first_token_s: float | None
    world_info: tuple[LoreCall, ...]
    recalled: tuple[RecalledLine, ...]
    """What the search of memory found, best first, whether or not there was room for it."""
    prompt: str | None
    utterance: str
    """What was answered; empty where it is not kept."""

    @property
    def blocks_sent(self) -> list[ViewedBlock]:
        return [block for block in self.blocks if not block.is_cut]

    @property
    def blocks_cut(self) -> list[ViewedBlock]:
        return [block for block in self.blocks if block.is_cut]


def view_turn(
    trace: TurnTrace,
    record: ReplayRecord | None = None,
    page: bytes | None = None,
    items: Sequence[ContextItem] | None = None,
) -> TurnView:
    """The turn of *trace*; *page* is the last prompt of its channel, whichever turn's that is.

    *items* are those of a prompt that is not kept yet; without them they come from *record*.
    """
    lines = block_lines(trace, record)
    calls = lore_calls(trace, record)
    seen = _Viewer(record, _by_source(_items_of(record) if items is None else items), calls)
    each = _with_first_that_differs(trace, lines, [seen.view(line) for line in lines])
    blocks = _gather(each, lines)
    kept = [block for block in blocks if not block.is_cut]
    total = sum(block.tokens for block in kept)
    prompt = prompt_page(trace.trace_id, page, record)
    return TurnView(
        trace_id=trace.trace_id,
        timestamp=trace.timestamp,
        channel_id=trace.channel_id,
        total_s=trace.total_duration_s,
        tokens=total,
        budget=record.request.budget_tokens if record is not None else None,
        size_line=prompt_size_line(trace, lines),
        blocks=tuple(blocks),
        withheld=tuple(_withheld(trace)),
        layers=tuple(_tokens_by_layer(kept)),
        spans=tuple(_spans(trace)),
        model_line=model_facts_line(trace),
        prefix_line=prefix_line(trace),
        prefix_share=finite_number(trace.fact("prefix_ratio")),
        prefix_ended_by=", ".join(dict.fromkeys(block.name for block in each if block.breaks_prefix)),
        first_token_s=finite_number(model_facts(trace).get("first_token_s")),
        world_info=calls,
        recalled=list_recalled_lines(trace),
        prompt=_without_notes(prompt.decode("utf-8", "replace")) if prompt is not None else None,
        utterance=record.request.utterance if record is not None else "",
    )


def troubles_of(trace: TurnTrace) -> list[tuple[str, str]]:
    """What went wrong in a turn: the stage or provider, and how. That somebody stopped it is nothing wrong."""
    return [(span.name, span.trouble) for span in _spans(trace) if span.trouble and span.trouble != STOPPED]


def describe_audience(audiences: Iterable[Audience]) -> str:
    """In words who was told something."""
    kinds = {
        AudienceKind.EVERYONE: "everyone",
        AudienceKind.SERVER: "everyone on its server",
        AudienceKind.CHANNEL: "those of a hidden channel",
        AudienceKind.PEOPLE: "the people of a direct message",
        AudienceKind.OWNER: "you alone",
    }
    words = {"you, in that sealed chat" if each.is_sealed else kinds[each.kind] for each in audiences}
    return ", ".join(sorted(words))


class _Viewer:
    """Looks at one block after the other: each takes its piece of the prompt."""

    def __init__(
        self, record: ReplayRecord | None, items: Mapping[str, deque[ContextItem]], calls: Sequence[LoreCall]
    ) -> None:
        self._items = items
        self._calls = calls
        self._audiences = {piece.source: _heard_by(piece) for piece in record.kept} if record is not None else {}
        self._notes = record.dropped if record is not None else ()

    def view(self, line: BlockLine) -> ViewedBlock:
        waiting = self._items.get(line.source)
        item = waiting.popleft() if waiting and line.place is not None else None
        text = item.text if item is not None else None
        return ViewedBlock(
            name=_plain_name(line.tag, line.source),
            source=line.source,
            layer=line.layer,
            tokens=line.tokens,
            fate=line.fate,
            heard_by=self._hearers(line),
            text=text,
            message=line.message,
            keys=(item.key,) if item is not None and item.key else (),
            lines=(item.history_id,) if item is not None and item.history_id is not None else (),
            cut_text=_cut_text(line, self._notes),
            is_cut_before=line.tag in ALIKE,
            lore=calls_in_block(self._calls, line.source, text),
        )

    def _hearers(self, line: BlockLine) -> str:
        """Who may hear a block: what its sources say, else who wrote it for the familiar or said it here."""
        heard_by = self._audiences.get(line.source)
        if heard_by is not None:
            return describe_audience(heard_by)
        if not self._audiences or line.place is None:
            return ""
        return "those who read this place" if line.tag in SAID_HERE or line.source in SAID_HERE else "everyone"


def _cut_text(line: BlockLine, notes: Iterable[DroppedNote]) -> str:
    """What was left out of a block; where it was cut twice, in the order of the text."""
    same = [note for note in notes if (note.source, note.layer.value) == (line.source, line.layer) and note.text]
    if line.place is None:
        same = [note for note in same if line.fate == f"cut: {cut_reason(_facts_of(note))}"]
    else:
        same = [note for note in same if note.reason == "truncated" and line.fate.startswith("shortened")]
    return "\n".join(note.text for note in (same if line.tag in ALIKE else reversed(same)))


def _facts_of(note: DroppedNote) -> dict[str, object]:
    return {"layer": note.layer.value, "full": note.full}


def _plain_name(tag: str, source: str) -> str:
    if named := next((name for start, name in NOT_BY_TAG.items() if source.startswith(start)), ""):
        return named
    try:
        return NAMES[ItemTag(tag)]
    except (KeyError, ValueError):
        return tag.lower().replace("_", " ") or ", ".join(map(_source_name, source.split(", ")))


def _source_name(source: str) -> str:
    kind, _, rest = source.partition(":")
    if kind == "preset":
        return rest.partition(":")[2].replace("_", " ") or rest
    if source.startswith("history:cross_channel:"):
        return SOURCE_NAMES["history:elsewhere"]
    if kind == "world_info":
        return SOURCE_NAMES.get(source, f"World Info: {rest}")
    return SOURCE_NAMES.get(source, source)


def _gather(blocks: Sequence[ViewedBlock], lines: Sequence[BlockLine]) -> list[ViewedBlock]:
    """Neighbours of one kind as one block."""
    numbered = list(enumerate(zip(blocks, lines, strict=True)))

    def kind(pair: tuple[int, tuple[ViewedBlock, BlockLine]]) -> tuple[str, str, object]:
        at, (block, line) = pair
        return (line.tag, block.source, block.fate) if line.tag in ALIKE else ("", "", at)

    found = []
    for _, group in groupby(numbered, key=kind):
        alike = [block for _, (block, _) in group]
        known = [block.text for block in alike if block.text is not None]
        first = alike[0]
        found.append(
            first
            if len(alike) == 1
            else ViewedBlock(
                name=first.name,
                source=first.source,
                layer=first.layer,
                tokens=sum(block.tokens for block in alike),
                fate=first.fate,
                count=len(alike),
                heard_by=first.heard_by,
                text="\n\n".join(known) if known else None,
                message=first.message,
                keys=tuple(dict.fromkeys(key for block in alike for key in block.keys)),
                lines=tuple(line for block in alike for line in block.lines),
                cut_text=first.cut_text,
                is_cut_before=first.is_cut_before,
                lore=first.lore,
                breaks_prefix=any(block.breaks_prefix for block in alike),
            )
        )
    return found


def _items_of(record: ReplayRecord | None) -> Sequence[ContextItem]:
    """The pieces of a turn's prompt; nothing where the turn is not kept or cannot be replayed."""
    if record is None:
        return ()
    try:
        return replay_items(record)
    except FamiliarError:
        return ()


def _by_source(items: Iterable[ContextItem]) -> dict[str, deque[ContextItem]]:
    """Each source's pieces, in their order."""
    found: dict[str, deque[ContextItem]] = defaultdict(deque)
    for item in items:
        found[item.source].append(item)
    return found


def _heard_by(piece: Contribution) -> frozenset[Audience]:
    if piece.audiences is not None:
        return piece.audiences
    return frozenset({Audience(AudienceKind.EVERYONE if piece.authored else AudienceKind.OWNER)})


def _withheld(trace: TurnTrace) -> Iterable[WithheldPiece]:
    for span in trace.stages:
        for note in only_mappings(span.metadata.get("withheld")):
            said_to = note.get("said_to")
            audiences = [parse_audience(str(each)) for each in said_to] if isinstance(said_to, list | tuple) else []
            yield WithheldPiece(source=str(note.get("source", "")), said_to=describe_audience(audiences))


def _tokens_by_layer(kept: Sequence[ViewedBlock]) -> Iterable[tuple[str, int]]:
    found: dict[str, int] = {}
    for block in kept:
        found[block.layer] = found.get(block.layer, 0) + block.tokens
    return found.items()


def _spans(trace: TurnTrace) -> Iterable[TimedSpan]:
    """Stages as they were timed; providers begin together with the assembly they belong to."""
    for span in trace.stages:
        if span.name == "observe":
            continue
        trouble = describe_trouble(str(span.metadata.get("error") or ""))
        yield TimedSpan(name=span.name, start_s=span.start_s, duration_s=span.duration_s, kind="stage", trouble=trouble)
        if span.name == "assemble":
            for each in provider_outcomes(trace):
                status = str(each.get("status", "ok"))
                notes = provider_notes(each)
                troubles = list_troubles(notes)
                yield TimedSpan(
                    name=str(each.get("id", "")),
                    start_s=span.start_s,
                    duration_s=finite_number(each.get("duration_s")) or 0.0,
                    kind="provider",
                    trouble="; ".join(troubles)
                    if status == "ok"
                    else f"{status} {describe_trouble(str(each.get('error') or ''))}".strip(),
                    note="; ".join(each for each in notes if each not in troubles),
                    limit_s=finite_number(each.get("limit_s")),
                )


def _with_first_that_differs(
    trace: TurnTrace, lines: Sequence[BlockLine], blocks: Sequence[ViewedBlock]
) -> list[ViewedBlock]:
    """*blocks*, marked where the prompt begins to differ from the one before."""
    ended_by, ended_at = trace.fact("prefix_ended_by"), finite_number(trace.fact("prefix_ended_at"))
    if ended_by is None:
        return list(blocks)
    inside = [at for at, line in enumerate(lines) if line.message == ended_by and line.place is not None]
    if len(inside) > 1 and ended_at is not None and all(blocks[at].text is not None for at in inside):
        inside = [_block_at([blocks[at].text or "" for at in inside], inside, ended_at)]
    return [replace(block, breaks_prefix=at in inside) for at, block in enumerate(blocks)]


def _block_at(texts: Sequence[str], places: Sequence[int], characters: float) -> int:
    """The one of *places* whose text stands so many characters into the message they make."""
    end = 0
    for text, place in zip(texts, places, strict=True):
        end += len(text.strip("\n")) + len(JOINT)
        if characters < end:
            return place
    return places[-1]


def diff_turns(before: ReplayRecord, after: ReplayRecord) -> list[BlockChange]:
    """How the prompt of one turn differs from that of another, block by block."""
    then, now = ([_prompt_block(item) for item in replay_items(record)] for record in (before, after))
    return diff_blocks(then, now)


def name_block(block: PromptBlock) -> str:
    """A block in plain words."""
    return _plain_name(block.tag or "", block.source)


def name_item(item: ContextItem) -> str:
    """A piece of a prompt in plain words."""
    return _plain_name(item.tag.value if item.tag else "", item.source)


def _prompt_block(item: ContextItem) -> PromptBlock:
    return PromptBlock(item.role, item.source, item.tag.value if item.tag else None, item.text)


def _without_notes(text: str) -> str:
    prompt, _, notes = text.rpartition(f"{SEPARATOR}{NOTES}")
    return (prompt if notes and prompt else text).strip()
