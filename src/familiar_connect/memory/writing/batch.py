"""Batch: the turns one pass reads, who took part in them, and the session file they belong to.

A batch holds what was said to one audience, so nothing can pass from one to another in it. It never crosses
from one time of day into the next, so it has exactly one session file; it is bounded in turns and characters,
whatever waits behind it. Whoever asked not to be heard is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from functools import cached_property

from familiar_connect.audience import EVERYONE, Audience
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.memory.note_paths import people_path
from familiar_connect.support.system_notes import speaker_name, without_fake_notes
from familiar_connect.support.text import fold_name, grapheme_boundary, one_line, shorten_middle

MAX_LABEL_CHARS = 80
MAX_NAMES = 8
MAX_CONTEXT_LABELS = 40

Place = Callable[[str], str]

_BARE_ID = re.compile(r"#?\d+")


def _open_place(rel_path: str) -> str:
    return rel_path


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much of each thing one prompt may hold, in characters unless said otherwise."""

    turns: int = 24
    """Turns, where a model is asked: more than two dozen, and a small one passes most of them over."""
    quoted_turns: int = 200
    """Turns, where memory is made of quotes."""
    transcript: int = 24_000
    turn: int = 4_000
    card: int = 600
    session: int = 8_000
    person: int = 4_000
    people: int = 20_000
    topic: int = 2_000
    topics: int = 8
    """Files."""

    def within(self, window: int | None) -> Bounds:
        """These bounds, smaller where a model's window (in tokens) would not hold them and its answer."""
        room = 1.0 if window is None else min(1.0, window / 24_000)
        if room == 1.0:
            return self
        return Bounds(
            turns=self.turns,
            quoted_turns=self.quoted_turns,
            transcript=max(1_000, int(self.transcript * room)),
            turn=max(500, int(self.turn * room)),
            card=max(300, int(self.card * room)),
            session=max(600, int(self.session * room)),
            person=max(500, int(self.person * room)),
            people=max(1_000, int(self.people * room)),
            topic=max(300, int(self.topic * room)),
            topics=max(2, int(self.topics * room)),
        )


@dataclass(frozen=True, kw_only=True)
class SessionSlot:
    """A time of day on a date, in the familiar's time zone."""

    day: date
    name: str
    path: str = ""
    """Where its file stands, if not in the open place."""

    @property
    def title(self) -> str:
        return f"{self.day.isoformat()} {self.name}"

    @property
    def rel_path(self) -> str:
        return self.path or f"sessions/{self.day.isoformat()}-{self.name}.md"


def session_slot(moment: datetime, zone: tzinfo) -> SessionSlot:
    here = moment.astimezone(zone)
    name = "night" if here.hour < 6 else "morning" if here.hour < 12 else "afternoon" if here.hour < 18 else "evening"
    return SessionSlot(day=here.date(), name=name)


@dataclass(frozen=True, kw_only=True)
class BatchParticipant:
    """Someone who spoke, under the names they used."""

    slug: str
    label: str
    names: tuple[str, ...]
    may_note: bool = True
    """False when they asked for no notes about them."""
    path: str = ""
    """Where the notes on them stand, if not in the open place."""

    @property
    def rel_path(self) -> str:
        return self.path or people_path(self.slug)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What one pass reads."""

    turns: tuple[HistoryTurn, ...]
    """Without those of people who asked not to be heard."""
    turn_range: tuple[int, int]
    slot: SessionSlot
    roster: tuple[BatchParticipant, ...]
    """Everyone who spoke, in order of their first word."""
    authors: tuple[Author, ...]
    """Everyone who spoke, under every name, most recently active first."""
    contexts: tuple[str, ...] = ()
    """Labels of the channels, in order of their first turn."""
    audience: Audience = EVERYONE
    """Those all of it was said to."""
    zone: tzinfo = UTC
    """Where the familiar is, for the dates of what was said."""
    place: Place = _open_place
    """Where a file of this audience stands, given its open path."""

    def participant(self, turn: HistoryTurn) -> BatchParticipant | None:
        """Who said *turn*; None for the familiar itself."""
        if turn.role != "user" or turn.author is None:
            return None
        return self._by_slug.get(turn.author.slug)

    @cached_property
    def _by_slug(self) -> dict[str, BatchParticipant]:
        return {person.slug: person for person in reversed(self.roster)}


def with_places(batch: Batch, place: Place) -> Batch:
    """*batch* with its files where *place* puts them."""
    slot = replace(batch.slot, path=place(batch.slot.rel_path))
    roster = tuple(replace(person, path=place(person.rel_path)) for person in batch.roster)
    return replace(batch, slot=slot, roster=roster, place=place)


def cut_batch(
    turns: Sequence[HistoryTurn],
    *,
    zone: tzinfo,
    bounds: Bounds,
    label_of: Callable[[int], str] | None = None,
    privacy: Privacy = EVERYTHING_ALLOWED,
) -> Batch | None:
    """The first of *turns* that make one batch, all said to the audience of the first; None when there are none."""
    if not turns:
        return None
    slot = session_slot(turns[0].timestamp, zone)
    audience = turns[0].audience
    taken: list[HistoryTurn] = []
    used = 0
    for turn in [turn for turn in turns if turn.audience == audience][: bounds.turns]:
        used += min(len(turn.actual_words), bounds.turn)
        if taken and (used > bounds.transcript or session_slot(turn.timestamp, zone) != slot):
            break
        taken.append(turn)
    heard = tuple(turn for turn in taken if turn.author is None or not privacy.is_full(turn.author))
    return Batch(
        turns=heard,
        turn_range=(taken[0].id, taken[-1].id),
        slot=slot,
        roster=_roster(heard, privacy),
        authors=authors_of(heard),
        contexts=_contexts(heard, label_of),
        audience=audience,
        zone=zone,
    )


def authors_of(turns: Sequence[HistoryTurn]) -> tuple[Author, ...]:
    """Everyone who spoke, most recently active first; once for each set of names they went by."""
    said = (turn.author for turn in reversed(turns) if turn.role == "user" and turn.author is not None)
    return tuple(author for author in dict.fromkeys(said) if author.slug)


def format_transcript(batch: Batch, bounds: Bounds) -> str:
    """What was said, one turn a line behind its number and time; further lines are set in, so nobody can speak for
    another."""
    return "\n".join(
        f"[{turn.id}] {turn.timestamp.astimezone(batch.zone):%Y-%m-%d %H:%M} {speaker_label(batch, turn)}: "
        f"{_inset(shorten_middle(without_fake_notes(turn.actual_words), bounds.turn))}"
        for turn in batch.turns
    )


def speaker_label(batch: Batch, turn: HistoryTurn) -> str:
    """`user (Alice)`, with the slug when two people go by one name, or the role of whoever else spoke."""
    person = batch.participant(turn)
    if person is None:
        return turn.role
    shown = speaker_name(person.label).replace(",", " ")  # a comma stands before what tells namesakes apart
    twins = sum(fold_name(other.label) == fold_name(person.label) for other in batch.roster) > 1
    return f"user ({shown}, {person.slug})" if twins else f"user ({shown})"


def _inset(text: str) -> str:
    return "\n  ".join(line for line in text.splitlines() if line.strip()) or "(nothing)"


def _roster(turns: Sequence[HistoryTurn], privacy: Privacy) -> tuple[BatchParticipant, ...]:
    newest: dict[str, HistoryTurn] = {}
    names: dict[str, dict[str, None]] = {}
    for turn in turns:
        if turn.role != "user" or turn.author is None or not turn.author.slug:
            continue
        slug = turn.author.slug
        newest[slug] = turn
        known = (turn.author.display_name, turn.author.username, *sorted(turn.author.aliases))
        names.setdefault(slug, {}).update({short_name(name): None for name in known if name and name.strip()})
    return tuple(
        BatchParticipant(
            slug=slug,
            label=short_name(turn.author.label) if turn.author else slug,
            names=tuple(names[slug])[:MAX_NAMES],
            may_note=turn.author is None or privacy.may_note(turn.author),
        )
        for slug, turn in ((slug, newest[slug]) for slug in names)
    )


def short_name(name: str) -> str:
    """*name* on one line, without what steers a terminal or a parser, cut where it is too long."""
    clean = "".join(character for character in one_line(name) if character.isprintable())
    return clean[: grapheme_boundary(clean, MAX_LABEL_CHARS)] or "somebody"


def _contexts(turns: Sequence[HistoryTurn], label_of: Callable[[int], str] | None) -> tuple[str, ...]:
    if label_of is None:
        return ()
    labels: dict[str, None] = {}
    for channel_id in dict.fromkeys(turn.channel_id for turn in turns):
        label = one_line(label_of(channel_id) or "")[:200]
        if label and not _BARE_ID.fullmatch(label):
            labels[label] = None
    return tuple(labels)[:MAX_CONTEXT_LABELS]
