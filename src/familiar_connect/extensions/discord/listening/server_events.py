"""Scheduled events of a server: planned, going on, just over. Told where everybody who reads may know of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal

from familiar_connect.api import Clock
from familiar_connect.api.messages import ServerEvent
from familiar_connect.api.support import LruCache

MAX_EVENTS = 10
MAX_ENDED = 500
TOLD_AFTER_END = timedelta(hours=24)
AHEAD = timedelta(days=60)
"""What lies further ahead is not told."""
_STATES: dict[str, Literal["planned", "active", "ended", "canceled"]] = {
    "scheduled": "planned",
    "active": "active",
    "completed": "ended",
    "canceled": "canceled",
}
_ORDER = ("active", "planned", "ended", "canceled")


class ServerEvents:
    """What the library knows of events, and when we saw one end: Discord does not say that."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ended: LruCache[int, datetime] = LruCache(MAX_ENDED)

    def note_change(self, event: Any) -> None:
        """An event was made, has begun, ended, or was called off."""
        if _is_over(event) and self._ended.get(event.id) is None:
            self._ended.put(event.id, self._clock.now())

    def list(self, channel: Any, is_hidden: Callable[[Any], bool]) -> tuple[ServerEvent, ...]:
        """Events of the channel's server: those elsewhere, in this channel, or in one that everybody can read."""
        guild = getattr(channel, "guild", None)
        if guild is None:
            return ()
        for event in [each for each in guild.scheduled_events if _is_over(each) and not self._is_told(each)]:
            guild._remove_scheduled_event(event)  # the library would keep it as long as it runs
        told = [
            event for event in guild.scheduled_events if self._is_told(event) and _is_open(event, channel, is_hidden)
        ]
        told.sort(key=lambda each: (_ORDER.index(_state(each)), each.start_time))
        return tuple(_as_told(each) for each in told[:MAX_EVENTS])

    def _is_told(self, event: Any) -> bool:
        now, state = self._clock.now(), _state(event)
        if state == "planned":
            return bool(event.start_time - now <= AHEAD)
        ended = self._ended.get(event.id)
        return state == "active" or (ended is not None and now - ended <= TOLD_AFTER_END)


def _state(event: Any) -> Literal["planned", "active", "ended", "canceled"]:
    return _STATES.get(getattr(event.status, "name", ""), "planned")


def _is_over(event: Any) -> bool:
    return _state(event) in ("ended", "canceled")


def _is_open(event: Any, channel: Any, is_hidden: Callable[[Any], bool]) -> bool:
    """Whether those who read *channel* may know of *event*: one in a hidden channel is that channel's own."""
    where = event.location.value
    if isinstance(where, str):
        return True
    return bool(hasattr(where, "permissions_for") and (where.id == channel.id or not is_hidden(where)))


def _as_told(event: Any) -> ServerEvent:
    where = event.location.value
    return ServerEvent(
        name=event.name,
        begins_at=event.start_time,
        where=where if isinstance(where, str) else f"#{where.name}",
        description=event.description or "",
        state=_state(event),
    )
