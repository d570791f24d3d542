"""SubscriptionRegistry: which channels are listened to, kept in `subscriptions.toml`.

Every change rewrites the file. A row that cannot be understood is skipped with a warning and kept
in the file for its owner to mend.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from familiar_connect.config.toml import format_rows, read_rows, write_text

_TABLE = "subscription"
_HEADER = "# Channels this familiar listens to. Written by the program; edit only while it is not running."

_log = logging.getLogger(__name__)


class SubscriptionKind(Enum):
    """How a channel is listened to: to what is written there, or to what is said aloud."""

    text = "text"
    voice = "voice"


@dataclass(frozen=True)
class Subscription:
    """One channel listened to, in one way."""

    channel_id: int
    kind: SubscriptionKind
    guild_id: int | None = None


class SubscriptionRegistry:
    """The subscriptions of one familiar, in the file at *path*."""

    def __init__(self, path: Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._known: dict[tuple[int, SubscriptionKind], Subscription] = {}
        self._unread: list[dict[str, object]] = []
        for count, row in enumerate(read_rows(self._path, _TABLE), start=1):
            found = _subscription(row)
            if found is not None:
                self._known[found.channel_id, found.kind] = found
                continue
            _log.warning(
                "a subscription row was not understood and is skipped", extra={"file": str(path), "row": count}
            )
            if isinstance(row, dict):
                self._unread.append(row)

    def all(self) -> list[Subscription]:
        return list(self._known.values())

    def get(self, *, channel_id: int, kind: SubscriptionKind) -> Subscription | None:
        return self._known.get((channel_id, kind))

    def voice_in_guild(self, guild_id: int) -> Subscription | None:
        """The voice channel listened to in that guild, if any."""
        voices = (found for found in self.all() if found.kind is SubscriptionKind.voice)
        return next((found for found in voices if found.guild_id == guild_id), None)

    def add(self, *, channel_id: int, kind: SubscriptionKind, guild_id: int | None) -> Subscription:
        """Listen to the channel, in place of what was known of it in this kind."""
        added = Subscription(channel_id, kind, guild_id)
        with self._lock:
            self._save({**self._known, (channel_id, kind): added})
        return added

    def remove(self, *, channel_id: int, kind: SubscriptionKind) -> None:
        with self._lock:
            if (channel_id, kind) in self._known:
                self._save({key: kept for key, kept in self._known.items() if key != (channel_id, kind)})

    def _save(self, known: dict[tuple[int, SubscriptionKind], Subscription]) -> None:
        rows = [
            {"channel_id": one.channel_id, "kind": one.kind.value, "guild_id": one.guild_id} for one in known.values()
        ]
        write_text(self._path, format_rows(_HEADER, _TABLE, [*rows, *self._unread]))
        self._known = known


def _subscription(row: object) -> Subscription | None:
    if not isinstance(row, dict) or row.get("kind") not in [kind.value for kind in SubscriptionKind]:
        return None
    channel_id, guild_id = _id(row.get("channel_id")), _id(row.get("guild_id"))
    if channel_id is None or (guild_id is None and "guild_id" in row):
        return None
    return Subscription(channel_id, SubscriptionKind(row["kind"]), guild_id)


def _id(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
