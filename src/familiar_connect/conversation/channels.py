"""Channel labels: what a channel is called, for people and for the memory writer."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from pathlib import Path

from familiar_connect.chat.scene import ChannelContext, ChannelKind
from familiar_connect.support.files import atomic_write
from familiar_connect.support.lru import LruCache
from familiar_connect.support.no_follow import load_bytes

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

    def channel_context(self, channel_id: int) -> ChannelContext | None:
        return self._known.get(channel_id)

    def format_channel_context(self, channel_id: int) -> str:
        """The channel's label, or its bare id while it is unknown."""
        known = self._known.get(channel_id)
        return channel_label(known) if known is not None else str(channel_id)

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
