"""What lasts from turn to turn: sticky entries, entries that rest, entries that wait for the chat to grow.

A chat is measured by its messages. An effect whose chat has not grown since it began is taken back: the turn is being
made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from familiar_connect.presets.world_info.types import TimedEffect, TimedEffects, WorldEntry


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
