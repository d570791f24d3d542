"""Stored turns → dialogue items, with the marks each channel mode puts on them.

An item's text is final: the speaker's name before a user's words, the familiar's own words bare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo

from familiar_connect.chat.types import Sender
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.history.types import HistoryTurn
from familiar_connect.llm.types import Role, TextPart
from familiar_connect.support.system_notes import mark_further_lines, speaker_name, without_fake_notes

LATER_AFTER_S = 30.0
ANCHOR_EVERY = 10
"""Every so many turns, counted from the first ever stored, one is a good place to cut at."""
SOURCE = "history:recent"


def dialogue_items(
    turns: Sequence[HistoryTurn],
    mode: ChannelMode | None,
    zone: tzinfo,
    *,
    first_ordinal: int = 0,
    between: Callable[[datetime, datetime], ContextItem | None] | None = None,
    verbatim: bool = False,
) -> tuple[ContextItem, ...]:
    """*turns* as items, oldest first. *between* may put a note before a turn that resumes after a gap.

    *verbatim*: as they were said, without notes and marks.
    """
    if verbatim:
        return tuple(_verbatim_item(turn) for turn in turns)
    items: list[ContextItem] = []
    for position, turn in enumerate(turns):
        previous = turns[position - 1] if position else None
        if previous is not None and between is not None:
            note = between(previous.timestamp, turn.timestamp)
            items += [note] if note is not None else []
        items.append(_item(turn, previous, mode, zone, anchor=(first_ordinal + position) % ANCHOR_EVERY == 0))
    return tuple(items)


def _item(
    turn: HistoryTurn, previous: HistoryTurn | None, mode: ChannelMode | None, zone: tzinfo, *, anchor: bool
) -> ContextItem:
    role: Role = "assistant" if turn.role == "assistant" else "user" if turn.role == "user" else "system"
    author = turn.author if role == "user" else None
    who = speaker_name(author.label, author.user_id) if author else ""
    words = mark_further_lines(without_fake_notes(turn.display_text)) if author else turn.display_text
    text = _mark(turn, previous, role, mode, zone) + (f"{who}: {words}" if author else words)
    return ContextItem(
        role=role,
        parts=(TextPart(text),),
        tag=ItemTag.DIALOGUE,
        name=author.openai_name if author else None,
        sender=Sender(name=who) if author else None,
        words=words,
        history_id=turn.id,
        timestamp=turn.timestamp,
        source=SOURCE,
        anchor=anchor,
    )


def _verbatim_item(turn: HistoryTurn) -> ContextItem:
    role: Role = "assistant" if turn.role == "assistant" else "user" if turn.role == "user" else "system"
    author = turn.author if role == "user" else None
    return ContextItem(
        role=role,
        parts=(TextPart(turn.display_text),),
        tag=ItemTag.DIALOGUE,
        sender=Sender(name=author.label) if author else None,
        words=turn.display_text,
        history_id=turn.id,
        timestamp=turn.timestamp,
        source=SOURCE,
    )


def _mark(turn: HistoryTurn, previous: HistoryTurn | None, role: Role, mode: ChannelMode | None, zone: tzinfo) -> str:
    if mode is ChannelMode.text_conversation_rp and role == "user":
        return f"[{turn.timestamp.astimezone(zone):%H:%M}] "
    if mode is ChannelMode.imitate_voice and previous is not None:
        gap = (turn.timestamp - previous.timestamp).total_seconds()
        return f"(about {gap_in_words(gap)} later) " if gap >= LATER_AFTER_S else ""
    return ""


def gap_in_words(seconds: float) -> str:
    """*seconds* as people say it: "45 seconds", "1 minute", "3 hours", "2 days"."""
    for unit, size, limit in (("second", 1, 60), ("minute", 60, 3600), ("hour", 3600, 86_400), ("day", 86_400, None)):
        if limit is None or seconds < limit:
            count = int(seconds // size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    raise AssertionError("the last unit has no limit")


def is_within_gap(earlier: datetime, later: datetime, moment: datetime, least_s: float) -> bool:
    """Whether at least *least_s* lie between two times and *moment* falls strictly inside."""
    return (later - earlier).total_seconds() >= least_s and earlier < moment < later
