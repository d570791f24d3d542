"""Inclusion groups: of the entries of one group that were found together, one is shown.

What lasts from turn to turn: sticky entries, entries that rest, entries that wait for the chat to grow.

A chat is measured by its messages. An effect whose chat has not grown since it began is taken back: the turn is being
made again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from familiar_connect.presets.world_info.types import TimedEffect, TimedEffects, WorldEntry

_COMMA = re.compile(r",\s*")


class GroupChoice:
    """Chooses among the entries of each group."""

    def __init__(
        self,
        *,
        is_sticky: Callable[[WorldEntry], bool],
        is_resting: Callable[[WorldEntry], bool],
        score: Callable[[WorldEntry], int],
        scoring: bool,
        roll: Callable[[], float],
    ) -> None:
        self._is_sticky = is_sticky
        self._is_resting = is_resting
        self._score = score
        self._scoring = scoring
        self._roll = roll

    def choose(self, found: list[WorldEntry], shown: Iterable[WorldEntry]) -> list[WorldEntry]:
        """*found* without those that lost; *shown* are the entries that won in earlier passes."""
        groups: dict[str, list[WorldEntry]] = {}
        for entry in found:
            for name in filter(None, _COMMA.split(entry.group)):
                groups.setdefault(name, []).append(entry)
        if not groups:
            return found
        lost: set[str] = set()
        taken = {entry.group for entry in shown}
        sticky = {name: [entry for entry in group if self._is_sticky(entry)] for name, group in groups.items()}
        for name, group in groups.items():
            if sticky[name]:
                lost |= {entry.key for entry in group if entry not in sticky[name]}
            lost |= {entry.key for entry in group if self._is_resting(entry)}
        for name, group in groups.items():
            if not sticky[name]:
                lost |= self._drop_outscored(group)
        for name, group in groups.items():
            if sticky[name]:
                continue
            if name in taken:
                lost |= {entry.key for entry in group}
            elif len(group) > 1 and (winner := self._winner(group)) is not None:
                lost |= {entry.key for entry in group if entry is not winner}
        return [entry for entry in found if entry.key not in lost]

    def _drop_outscored(self, group: list[WorldEntry]) -> set[str]:
        """Takes the entries with fewer keys than the best out of *group*; their keys."""
        if not self._scoring and not any(entry.group_scoring for entry in group):
            return set()
        scores = {entry.key: self._score(entry) for entry in group}
        best = max(scores.values())
        beaten = {
            entry.key
            for entry in group
            if (self._scoring if entry.group_scoring is None else entry.group_scoring) and scores[entry.key] < best
        }
        group[:] = [entry for entry in group if entry.key not in beaten]
        return beaten

    def _winner(self, group: list[WorldEntry]) -> WorldEntry | None:
        first = sorted((entry for entry in group if entry.group_override), key=lambda entry: -entry.order)
        if first:
            return first[0]
        roll = self._roll() * sum(entry.group_weight for entry in group)
        weight = 0.0
        for entry in group:
            weight += entry.group_weight
            if roll <= weight:
                return entry
        return None


class TimedState:
    """The effects of one scan: which hold now, and what is to be kept of them."""

    def __init__(
        self,
        before: TimedEffects,
        by_fingerprint: Mapping[str, WorldEntry],
        delays: Sequence[WorldEntry],
        chat_length: int,
    ) -> None:
        self._length = chat_length
        self._sticky, self._cooldown = dict(before.sticky), dict(before.cooldown)
        self._is_sticky: set[str] = set()
        self._is_resting: set[str] = set()
        for entry in self._holding(self._sticky, by_fingerprint, self._is_sticky, "sticky"):
            if entry.cooldown:  # it rests from the moment it stops staying
                self._cooldown[entry.key] = self._effect(entry, entry.cooldown, is_protected=True)
        for _ in self._holding(self._cooldown, by_fingerprint, self._is_resting, "cooldown"):
            pass
        self._waiting = {entry.key for entry in delays if chat_length < entry.delay}

    def is_sticky(self, entry: WorldEntry) -> bool:
        return entry.key in self._is_sticky

    def is_resting(self, entry: WorldEntry) -> bool:
        return entry.key in self._is_resting

    def is_waiting(self, entry: WorldEntry) -> bool:
        return entry.key in self._waiting

    @property
    def sticky_keys(self) -> frozenset[str]:
        return frozenset(self._is_sticky)

    def after(self, activated: Iterable[WorldEntry]) -> TimedEffects:
        """What is to be kept, now that *activated* were shown."""
        for entry in activated:
            if entry.sticky and entry.key not in self._sticky:
                self._sticky[entry.key] = self._effect(entry, entry.sticky)
            if entry.cooldown and entry.key not in self._cooldown:
                self._cooldown[entry.key] = self._effect(entry, entry.cooldown)
        return TimedEffects(sticky=dict(self._sticky), cooldown=dict(self._cooldown))

    def _effect(self, entry: WorldEntry, messages: int, *, is_protected: bool = False) -> TimedEffect:
        return TimedEffect(
            fingerprint=entry.fingerprint,
            start=self._length,
            end=self._length + messages,
            is_protected=is_protected,
        )

    def _holding(
        self, effects: dict[str, TimedEffect], by_fingerprint: Mapping[str, WorldEntry], holding: set[str], kind: str
    ) -> list[WorldEntry]:
        """Sorts *effects* into those that hold and those that are over; the entries whose effect just ended."""
        ended: list[WorldEntry] = []
        for key, effect in list(effects.items()):
            entry = by_fingerprint.get(effect.fingerprint)
            if self._length <= effect.start and not effect.is_protected:
                del effects[key]
            elif entry is None:
                if self._length >= effect.end:
                    del effects[key]
            elif not getattr(entry, kind):
                del effects[key]
            elif self._length >= effect.end:
                del effects[key]
                ended.append(entry)
            else:
                holding.add(entry.key)
        return ended
