"""Admission: whose messages are taken in, and from where.

QuietChannels: channels in which the familiar says nothing for a while, in `quiet.toml`. It hears all the same.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.toml import format_rows, read_rows, write_text
from familiar_connect.conversation.limits import ReplyLimits
from familiar_connect.conversation.place_readers import OwnerContact
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import LOCAL_PLATFORMS, Privacy
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry
from familiar_connect.support.clock import Clock

_TABLE = "channel"
_HEADER = "# Channels in which nothing is said until then. `/quiet` changes it."
MAX_CHANNELS = 5_000

logger = logging.getLogger(__name__)


class QuietChannels:
    """The quiet channels of one familiar, in the file at *path*; one whose time is over is quiet no more."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._until: dict[int, datetime] = {}
        for row in read_rows(path, _TABLE):
            found = _channel(row)
            if found is None:
                logger.warning("a row names no quiet channel and is skipped", extra={"file": str(path)})
            else:
                self._until[found[0]] = found[1]

    def until(self, *channel_ids: int | None) -> datetime | None:
        """When the first of these channels that is quiet may be spoken in again; None: each of them may be."""
        now = self._clock.now()
        found = (self._until.get(each) for each in channel_ids if each is not None)
        return next((each for each in found if each is not None and each > now), None)

    def set(self, channel_id: int, until: datetime | None) -> bool:
        """Be quiet until then, or no longer; whether it was quiet before."""
        with self._lock:
            was_quiet = self.until(channel_id) is not None
            now = self._clock.now()
            kept = {key: each for key, each in self._until.items() if each > now and key != channel_id}
            if until is not None:
                kept[channel_id] = until
            self._until = dict(list(kept.items())[-MAX_CHANNELS:])
            write_text(self._path, format_rows(_HEADER, _TABLE, _rows(self._until.items())))
        return was_quiet


def _rows(channels: Iterable[tuple[int, datetime]]) -> list[dict[str, object]]:
    return [{"channel_id": key, "until": until.isoformat()} for key, until in channels]


def _channel(row: object) -> tuple[int, datetime] | None:
    if not isinstance(row, dict) or not isinstance(row.get("channel_id"), int):
        return None
    try:
        until = datetime.fromisoformat(str(row.get("until")))
    except ValueError:
        return None
    return (row["channel_id"], until) if until.tzinfo is not None else None


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What decides whether a message is heard: the person's wish, the subscriptions and the setting for DMs."""

    subscriptions: SubscriptionRegistry
    privacy: Privacy
    owner: OwnerContact
    dms: dict[str, str] = field(default_factory=dict)
    """Platform → whose direct messages are heard there: `off`, `owner` or `everyone`; the owner's where it is none."""
    limits: ReplyLimits | None = None
    """Who is heard and not answered; None: nobody."""
    quiet: QuietChannels | None = None
    """Channels in which nothing is said for a while; None: none."""
    bots: frozenset[str] = frozenset()
    """Canonical keys of bots that are heard as people are."""
    bot_reply_limit: int = 0
    """Replies between two messages of people, after which those bots are not answered."""
    view: Callable[[InboundMessage], str | None] | None = None
    """What the regex scripts in force make of a message, if anything, for prompts to show; called in a thread."""

    def is_refused_bot(self, message: InboundMessage) -> bool:
        """Whether *message* is a bot's that is not to be heard; our own words never are."""
        is_heard = message.author.canonical_key in self.bots and not message.is_self
        return message.is_bot and not is_heard

    def is_quiet(self, message: InboundMessage) -> bool:
        """Whether nothing is said now where *message* comes from; a thread is quiet with its channel."""
        return self.quiet is not None and self.quiet.until(message.channel_id, message.parent_channel_id) is not None

    def has_answered_bots_enough(self, turns: Sequence[HistoryTurn]) -> bool:
        """Whether, by the latest *turns* of a channel, only a person may be answered next."""
        replies = 0
        for turn in reversed(turns):
            if turn.role == "assistant":
                replies += 1
            elif turn.author is None or turn.author.canonical_key not in self.bots:
                break
        return replies >= self.bot_reply_limit

    def is_subscribed(self, message: InboundMessage) -> bool:
        """Whether *message* comes from where the familiar listens; threads follow the channel they are in."""
        if message.platform in LOCAL_PLATFORMS:
            return True
        if message.is_dm:
            whose = self.dms.get(message.platform, "owner")
            return whose == "everyone" or (whose == "owner" and self.owner.is_owner(message.author))
        kind = SubscriptionKind.voice if message.is_voice else SubscriptionKind.text
        channels = (message.channel_id, message.parent_channel_id)
        return any(each is not None and self.subscriptions.get(channel_id=each, kind=kind) for each in channels)
