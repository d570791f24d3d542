"""Inclusion groups: of the entries of one group that were found together, one is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from familiar_connect.presets.world_info.types import WorldEntry

_COMMA = re.compile(r",\s*")


class GroupChoice:
    """Chooses among the entries of each group."""

    def __init__(
        self,
        *,
        is_sticky: Callable[[WorldEntry], bool],
        score: Callable[[WorldEntry], int],
        scoring: bool,
        roll: Callable[[], float],
    ) -> None:
        self._is_sticky = is_sticky
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
        for name, group in groups.items():
            if not sticky[name]:
                lost |= self._outscored(group)
        for name, group in groups.items():
            if sticky[name]:
                continue
            if name in taken:
                lost |= {entry.key for entry in group}
            elif len(group) > 1 and (winner := self._winner(group)) is not None:
                lost |= {entry.key for entry in group if entry is not winner}
        return [entry for entry in found if entry.key not in lost]

    def _outscored(self, group: list[WorldEntry]) -> set[str]:
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
