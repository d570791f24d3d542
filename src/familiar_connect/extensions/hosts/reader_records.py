"""ReaderRecords: what is kept of who could read which channel of a network that lets people in by rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from familiar_connect.audience import AudienceKind, RuledChannel
from familiar_connect.history.channel_readers import Parents, ReaderSet
from familiar_connect.history.store import HistoryStore


class ReaderRecords:
    """What is kept of the channels of one platform: which let in whom, and which is a thread of which.

    All of it reads or writes a file, so it is called by `off_loop`; `is_parent_news` alone answers at once.
    """

    def __init__(self, history: HistoryStore, familiar_id: str, platform: str) -> None:
        self._history = history
        self._familiar_id = familiar_id
        self._platform = platform

    # Threads

    def is_parent_news(self, channel_id: int, parent_id: int) -> bool:
        """Whether `note_parent` was not told that yet."""
        return self._history.channel_parents.is_news(self._platform, channel_id, parent_id)

    def note_parent(self, channel_id: int, server_id: int, parent_id: int) -> None:
        """A channel is a thread of *parent_id*; 0: of none."""
        self._history.channel_parents.note(self._platform, channel_id, server_id, parent_id)

    def find_heard(self, server_ids: Iterable[int]) -> dict[int, Parents]:
        """The channels of each server that something was heard in."""
        return self._history.channel_parents.of_servers(self._platform, server_ids)

    def find_parents(self, channel_ids: Iterable[int]) -> Parents:
        """What each of these channels is a thread of."""
        return self._history.channel_parents.of_channels(self._platform, channel_ids)

    def find_open_threads(self, server_id: int, channel_id: int) -> list[int]:
        """The threads of a channel whose talk counts as said to the whole server."""
        found = self._history.channel_parents.threads_of(self._platform, server_id, channel_id)
        said_to = {
            each: self._history.channel_audience(familiar_id=self._familiar_id, channel_id=each) for each in found
        }
        return [each for each, audience in said_to.items() if audience and audience.kind is AudienceKind.SERVER]

    # Hidden channels

    def list_hidden(self, limit: int) -> list[RuledChannel]:
        """The hidden channels that something was heard in, each under each of its rules; at most *limit*."""
        found = [each.channel_key for each in self._history.audiences(familiar_id=self._familiar_id)]
        keys = dict.fromkeys(key for key in found if key is not None and key.platform == self._platform and key.rules)
        return list(keys)[:limit]

    def find_readers(self, channel: RuledChannel) -> ReaderSet | None:
        """Those who could read a channel all the time it had these rules; None: nobody knows."""
        return self._history.channel_readers.get(channel)

    def note_readers(self, channel: RuledChannel, readers: Collection[str], others: Collection[str]) -> None:
        """The people *readers*, and of their server not *others*, can read a channel under its rules now."""
        self._history.channel_readers.note(channel, readers, others)

    def find_writers(self, channel_ids: Sequence[int], limit: int) -> dict[int, list[str]]:
        """The user ids of those who wrote last in each channel."""
        return {
            channel_id: [
                author.user_id
                for author in self._history.recent_distinct_authors(
                    familiar_id=self._familiar_id, channel_id=channel_id, limit=limit
                )
                if author.platform == self._platform
            ]
            for channel_id in channel_ids
        }
