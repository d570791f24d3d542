"""Which stored turns may be told in a place.

Privacy filter: leaves out the turns of people who are not to be heard, wherever turns are shown to a model.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence

from familiar_connect.audience import (
    STRICT,
    AudienceKind,
    Confidence,
    DisclosurePolicy,
    Readers,
    may_tell,
    may_tell_words,
)
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Privacy
from familiar_connect.support.sqlite import Row

MOST_TURNS_HELD = 4_000_000
"""Turns whose group is kept, four bytes for each; of later ones it is read at every question."""
MOST_GROUPS = 20_000
_UNREAD, _GONE = -1, -2


def may_tell_turn(turn: HistoryTurn, here: Readers, policy: DisclosurePolicy = STRICT) -> bool:
    """Whether *turn* may be told *here*.

    A channel's own talk is told in it, unless it was hidden when something was said and lets others in now.
    """
    if turn.channel_id == here.channel_id:
        was_hidden = turn.audience.kind is AudienceKind.CHANNEL
        if not was_hidden or here.is_owner or policy.confidence is not Confidence.strict:
            return True
    author = turn.author.canonical_key if turn.author is not None else None
    return may_tell_words(author, turn.audience, here, policy)


class TurnGroups:
    """Turns that one person said in one place to the same people: where one of them may be told each may.

    The group of a turn is read once and kept until a channel is hidden or opened. A change by another program is not
    seen here: whoever shows words looks at the turn itself. Safe to use from any thread.
    """

    def __init__(self, history: HistoryStore, familiar_id: str) -> None:
        self._history = history
        self._familiar_id = familiar_id
        self._lock = threading.Lock()
        self._group_of_turn = array("i")
        self._groups: dict[Row, int] = {}
        self._firsts: dict[int, HistoryTurn] = {}
        self._next_group = 0
        self._changes_seen = history.audience_changes

    def only_tellable(
        self, turn_ids: Iterable[int], may_tell: Callable[[HistoryTurn], bool], decided: dict[int, bool]
    ) -> set[int]:
        """Those of *turn_ids* whose group may be told. *decided* holds what is known of groups, and gets the new ones.

        *may_tell* is given one turn of a group, without its words.
        """
        found: set[int] = set()
        pending: list[int] = []
        with self._lock:
            changes = self._history.audience_changes
            if len(self._firsts) > MOST_GROUPS or changes != self._changes_seen:
                # Numbers are not given again: a question may have decided about some.
                self._group_of_turn, self._groups, self._firsts = array("i"), {}, {}
                self._changes_seen = changes
            held = self._group_of_turn
            known = len(held)
            for turn_id in turn_ids:  # thousands at every question: nothing is called here
                may = decided.get(held[turn_id]) if turn_id < known else None
                if may:
                    found.add(turn_id)
                elif may is None:
                    pending.append(turn_id)
            for turn_id, group in self._find(pending):
                may = decided.get(group)
                if may is None:
                    may = decided[group] = may_tell(self._firsts[group])
                if may:
                    found.add(turn_id)
        return found

    def _find(self, turn_ids: Sequence[int]) -> list[tuple[int, int]]:
        """The group of each turn that there is."""
        held = self._group_of_turn
        known = len(held)
        unread = {turn_id for turn_id in turn_ids if turn_id >= known or held[turn_id] == _UNREAD}
        new = self._read(unread) if unread else {}
        found = ((turn_id, new[turn_id] if turn_id in new else held[turn_id]) for turn_id in turn_ids)
        return [(turn_id, group) for turn_id, group in found if group >= 0]

    def _read(self, turn_ids: Iterable[int]) -> dict[int, int]:
        rows = self._history.database.read(
            "SELECT id, author_platform, author_user_id, author_username, author_display_name, channel_id, guild_id,"
            " audience FROM turns WHERE +familiar_id = ? AND id IN (SELECT value FROM json_each(?))",
            (self._familiar_id, json.dumps(sorted(turn_ids))),
        )
        firsts: dict[Row, int] = {}
        for turn_id, *facts in rows:
            if tuple(facts) not in self._groups:
                firsts.setdefault(tuple(facts), turn_id)
        turns = self._history.turns_without_words(familiar_id=self._familiar_id, turn_ids=firsts.values())
        for facts_of_first, first in firsts.items():
            if first in turns:
                self._groups[facts_of_first] = self._next_group
                self._firsts[self._next_group] = turns[first]
                self._next_group += 1
        found = dict.fromkeys(turn_ids, _GONE)
        found.update((turn_id, self._groups.get(tuple(facts), _GONE)) for turn_id, *facts in rows)
        self._keep(found)
        return found

    def _keep(self, groups: Mapping[int, int]) -> None:
        held = self._group_of_turn
        most = max((turn_id for turn_id in groups if turn_id < MOST_TURNS_HELD), default=-1)
        held.extend([_UNREAD] * (most + 1 - len(held)))
        for turn_id, group in groups.items():
            if turn_id <= most and group != _GONE:
                held[turn_id] = group


def only_tellable(turns: Iterable[HistoryTurn], here: Readers, policy: DisclosurePolicy = STRICT) -> list[HistoryTurn]:
    """Those of *turns* that may be told *here*, in their order."""
    return [turn for turn in turns if may_tell_turn(turn, here, policy)]


def readers_last_known(history: HistoryStore, familiar_id: str, channel_id: int) -> Readers | None:
    """Who could read a channel when it was last looked at; None where nothing was said there.

    Where this run has not looked yet, those its newest turn was said to.
    """
    known = history.channel_readers.now.get(channel_id)
    if known is not None:
        return known
    last = history.channel_audience(familiar_id=familiar_id, channel_id=channel_id)
    return Readers(last, platform=last.platform, channel_id=channel_id) if last is not None else None


def only_since_opened(turns: Iterable[HistoryTurn], here: Readers | None) -> list[HistoryTurn]:
    """Those of a channel's own *turns* that its readers of now may be told.

    What was said while the channel was hidden is left out once it lets others in; where nobody knows who reads it
    now, it is left out too.
    """
    return [
        turn
        for turn in turns
        if turn.audience.kind is not AudienceKind.CHANNEL or (here is not None and may_tell(turn.audience, here))
    ]


def without_private_turns(turns: Iterable[HistoryTurn], privacy: Privacy) -> list[HistoryTurn]:
    """*turns* without those of people who are not to be heard; what the familiar itself said stays."""
    return [
        turn for turn in turns if turn.role == "assistant" or turn.author is None or not privacy.is_full(turn.author)
    ]
