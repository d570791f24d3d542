"""Channel labels: what a channel is called, for people and for the memory writer.

LivePlaces: the channels of platforms that are connected now, for whoever speaks there from elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.chat.scene import ChannelContext, ChannelKind
from familiar_connect.identity import Author
from familiar_connect.support.files import atomic_write
from familiar_connect.support.lru import LruCache
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.text import one_line

if TYPE_CHECKING:
    from familiar_connect.chat.place import Place

_LABELS = {
    ChannelKind.text: "#{name}",
    ChannelKind.thread: "#{parent} -> {name}",
    ChannelKind.forum_post: "forum:{parent} -> {name}",
    ChannelKind.dm: "DM:{name}",
    ChannelKind.group_dm: "GroupDM:{name}",
    ChannelKind.voice: "voice:#{name}",
    ChannelKind.stage: "stage:#{name}",
    ChannelKind.forum_root: "forum-root:#{name}",
    ChannelKind.category: "category:#{name}",
}
MAX_CHANNELS = 10_000
"""Labels kept; the channel named longest ago is forgotten first."""
MAX_FILE_BYTES = 4_000_000


def channel_label(context: ChannelContext) -> str:
    """The label of a channel; a thread whose parent is unknown is labelled by its name alone."""
    if "{parent}" in _LABELS[context.kind] and context.parent_name is None:
        return f"#{context.name}"
    return _LABELS[context.kind].format(name=context.name, parent=context.parent_name)


@dataclass(frozen=True)
class KeptChannel:
    """A channel of a server as its file names it."""

    label: str
    server: str = ""


class ChannelLabels:
    """The channels we have met, by id."""

    def __init__(self, file: Path | None = None) -> None:
        """*file* keeps what the channels of servers are called, for whoever lists them later."""
        self._known: LruCache[int, ChannelContext] = LruCache(MAX_CHANNELS)
        self._file = file
        self._kept: LruCache[int, KeptChannel] = LruCache(MAX_CHANNELS)

    def register_channel_name(self, channel_id: int, name: str) -> None:
        self.register_channel_context(channel_id, name=name, kind=ChannelKind.text)

    def register_channel_context(
        self, channel_id: int, *, name: str, kind: ChannelKind | str, parent_name: str | None = None
    ) -> None:
        self._known.put(channel_id, ChannelContext(name, ChannelKind(kind), parent_name))

    def learn(self, channel_id: int, now: ChannelContext, speaker: Author) -> None:
        """A channel is called *now* so; a talk between two without a name is called by the *speaker*'s."""
        is_unnamed = now.kind is ChannelKind.dm and now.name == str(channel_id)
        name = speaker.label if is_unnamed else now.name
        self.register_channel_context(channel_id, name=name, kind=now.kind, parent_name=now.parent_name)

    def channel_context(self, channel_id: int) -> ChannelContext | None:
        return self._known.get(channel_id)

    def format_channel_context(self, channel_id: int) -> str:
        """The channel's label, or its bare id while it is unknown."""
        known = self._known.get(channel_id)
        return channel_label(known) if known is not None else str(channel_id)

    def describe(self, channel_id: int) -> str:
        """The channel within a sentence: by its name, and its server's, as far as they are known."""
        known = self._known.get(channel_id)
        if known is None:
            return f"channel {channel_id}"
        if known.kind is ChannelKind.dm:
            return f"the direct messages with {one_line(known.name)}"
        kept = self._kept.get(channel_id)
        return one_line(channel_label(known)) + (f" on {one_line(kept.server)}" if kept and kept.server else "")

    def is_news(self, channel_id: int, server: str) -> bool:
        """Whether the file does not know yet what the channel is called; those of two people are not kept."""
        known = self._known.get(channel_id)
        if self._file is None or known is None or known.kind in (ChannelKind.dm, ChannelKind.group_dm):
            return False
        return self._kept.get(channel_id) != KeptChannel(channel_label(known), server)

    def keep(self, channel_id: int, server: str) -> None:
        """Write down what the channel is called; reads and writes the disk."""
        known = self._known.get(channel_id)
        if self._file is None or known is None:
            return
        now, kept = KeptChannel(channel_label(known), server), self.read_channels()
        if kept.get(channel_id) != now:
            kept[channel_id] = now
            newest = dict(list(kept.items())[-MAX_CHANNELS:])
            atomic_write(
                self._file, json.dumps({str(each): [*astuple(name)] for each, name in newest.items()}, indent=0)
            )
        self._kept.put(channel_id, now)

    def read_channels(self) -> dict[int, KeptChannel]:
        """What was written down by this run and by others; reads the disk. A file that cannot be read holds nothing."""
        try:
            found = json.loads(load_bytes(self._file, MAX_FILE_BYTES)) if self._file is not None else {}
            return {int(each): KeptChannel(str(name[0]), str(name[1])) for each, name in found.items()}
        except (OSError, ValueError, AttributeError, TypeError, LookupError, RecursionError):
            return {}


FindPlace = Callable[[int], Awaitable["Place | None"]]
"""The channel of that id; None while it cannot be reached."""


class LivePlaces:
    """A platform adds its channels while it is connected."""

    def __init__(self) -> None:
        self._finders: dict[str, FindPlace] = {}

    @contextmanager
    def connect(self, platform: str, find_place: FindPlace) -> Iterator[None]:
        """Let channels of *platform* be found while this is open."""
        self._finders[platform] = find_place
        try:
            yield
        finally:
            if self._finders.get(platform) is find_place:
                del self._finders[platform]

    def has(self, platform: str) -> bool:
        """Whether the platform is connected in this program."""
        return platform in self._finders

    async def find(self, platform: str, channel_id: int) -> Place | None:
        """The channel as a place to speak in; None where it cannot be reached."""
        finder = self._finders.get(platform)
        return await finder(channel_id) if finder is not None else None
