"""TurnView: one past turn as a picture is drawn of it: blocks with their texts, the budget, what was cut, the time.

Made of the same facts as `familiar inspect`: the trace, and what replay kept beside it. What is not kept any more is
left out, and the view says so.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from familiar_connect.audience import Audience, AudienceKind, parse_audience
from familiar_connect.context.layers import ItemTag
from familiar_connect.context.types import ContextItem, Contribution
from familiar_connect.errors import FamiliarError
from familiar_connect.observe.inspector import (
    BlockLine,
    block_lines,
    model_facts,
    model_facts_line,
    prefix_line,
    prompt_size_line,
    world_info_lines,
)
from familiar_connect.observe.last_context import NOTES, SEPARATOR
from familiar_connect.observe.prompt_diff import BlockChange, PromptBlock, diff_blocks
from familiar_connect.observe.replay_store import ReplayRecord
from familiar_connect.observe.trace import TurnTrace
from familiar_connect.observe.trace_values import finite_number, only_mappings, provider_outcomes
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
    ItemTag.SERVER_MEMORIES: "known of the place",
    ItemTag.PARTICIPANTS: "who is here",
    ItemTag.SUMMARY: "summary",
    ItemTag.PEOPLE: "people",
    ItemTag.SHORT_TERM: "of today",
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
ALIKE = frozenset({ItemTag.SAMPLE.value, ItemTag.DIALOGUE.value})
"""Blocks of which a prompt holds many: neighbours of one kind are one."""


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
    world_info: tuple[tuple[str, str], ...]
    prompt: str | None
    utterance: str
    """What was answered; empty where it is not kept."""

    @property
    def blocks_sent(self) -> list[ViewedBlock]:
        return [block for block in self.blocks if not block.is_cut]

    @property
    def blocks_cut(self) -> list[ViewedBlock]:
        return [block for block in self.blocks if block.is_cut]


def view_turn(trace: TurnTrace, record: ReplayRecord | None = None, page: bytes | None = None) -> TurnView:
    """The turn of *trace*; *page* is the last prompt of its channel, whichever turn's that is."""
    lines = block_lines(trace, record)
    items = _items_by_source(record)
    audiences = _audiences_by_source(record)
    blocks = _gather([_viewed(line, items, audiences) for line in lines], lines)
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
        prefix_ended_by=_first_that_differs(trace, lines),
        first_token_s=finite_number(model_facts(trace).get("first_token_s")),
        world_info=tuple((str(each.get("entry", "")), str(each.get("reason", ""))) for each in world_info_lines(trace)),
        prompt=_without_notes(prompt.decode("utf-8", "replace")) if prompt is not None else None,
        utterance=record.request.utterance if record is not None else "",
    )


def troubles_of(trace: TurnTrace) -> list[tuple[str, str]]:
    """What went wrong in a turn: the stage or provider, and how."""
    return [(span.name, span.trouble) for span in _spans(trace) if span.trouble]


def describe_audience(audiences: Iterable[Audience]) -> str:
    """In words who was told something."""
    kinds = {
        AudienceKind.EVERYONE: "everyone",
        AudienceKind.SERVER: "everyone on its server",
        AudienceKind.CHANNEL: "those of a hidden channel",
        AudienceKind.PEOPLE: "the people of a direct message",
        AudienceKind.OWNER: "you alone",
    }
    return ", ".join(sorted({kinds[audience.kind] for audience in audiences}))


def _viewed(
    line: BlockLine, items: Mapping[str, deque[ContextItem]], audiences: Mapping[str, frozenset[Audience] | None]
) -> ViewedBlock:
    waiting = items.get(line.source)
    item = waiting.popleft() if waiting and line.place is not None else None
    heard_by = audiences.get(line.source)
    return ViewedBlock(
        name=_plain_name(line.tag, line.source),
        source=line.source,
        layer=line.layer,
        tokens=line.tokens,
        fate=line.fate,
        heard_by=describe_audience(heard_by) if heard_by is not None else "",
        text=item.text if item is not None else None,
        message=line.message,
        keys=(item.key,) if item is not None and item.key else (),
        lines=(item.history_id,) if item is not None and item.history_id is not None else (),
    )


def _plain_name(tag: str, source: str) -> str:
    try:
        return NAMES[ItemTag(tag)]
    except (KeyError, ValueError):
        return tag.lower().replace("_", " ") or source


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
            )
        )
    return found


def _items_by_source(record: ReplayRecord | None) -> dict[str, deque[ContextItem]]:
    """Each source's pieces, in their order; nothing where the turn is not kept or cannot be replayed."""
    found: dict[str, deque[ContextItem]] = defaultdict(deque)
    if record is None:
        return found
    try:
        for item in replay_items(record):
            found[item.source].append(item)
    except FamiliarError:
        return {}
    return found


def _audiences_by_source(record: ReplayRecord | None) -> dict[str, frozenset[Audience] | None]:
    return {piece.source: _heard_by(piece) for piece in record.kept} if record is not None else {}


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
        trouble = str(span.metadata.get("error") or "")
        yield TimedSpan(name=span.name, start_s=span.start_s, duration_s=span.duration_s, kind="stage", trouble=trouble)
        if span.name == "assemble":
            for each in provider_outcomes(trace):
                status = str(each.get("status", "ok"))
                yield TimedSpan(
                    name=str(each.get("id", "")),
                    start_s=span.start_s,
                    duration_s=finite_number(each.get("duration_s")) or 0.0,
                    kind="provider",
                    trouble="" if status == "ok" else f"{status} {each.get('error') or ''}".strip(),
                    limit_s=finite_number(each.get("limit_s")),
                )


def _first_that_differs(trace: TurnTrace, lines: Sequence[BlockLine]) -> str:
    """The blocks of the first message that is not as it was in the prompt before."""
    ended_by = trace.fact("prefix_ended_by")
    if ended_by is None:
        return ""
    found = [_plain_name(line.tag, line.source) for line in lines if line.message == ended_by]
    return ", ".join(dict.fromkeys(found))


def diff_turns(before: ReplayRecord, after: ReplayRecord) -> list[BlockChange]:
    """How the prompt of one turn differs from that of another, block by block."""
    then, now = ([_prompt_block(item) for item in replay_items(record)] for record in (before, after))
    return diff_blocks(then, now)


def name_block(block: PromptBlock) -> str:
    """A block in plain words."""
    return _plain_name(block.tag or "", block.source)


def _prompt_block(item: ContextItem) -> PromptBlock:
    return PromptBlock(item.role, item.source, item.tag.value if item.tag else None, item.text)


def _without_notes(text: str) -> str:
    prompt, _, notes = text.rpartition(f"{SEPARATOR}{NOTES}")
    return (prompt if notes and prompt else text).strip()
