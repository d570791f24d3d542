"""Channel labels: what a channel is called, for people and for the memory writer."""

from __future__ import annotations

from familiar_connect.chat.scene import ChannelContext, ChannelKind
from familiar_connect.support.lru import LruCache

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


def channel_label(context: ChannelContext) -> str:
    """The label of a channel; a thread whose parent is unknown is labelled by its name alone."""
    if "{parent}" in _LABELS[context.kind] and context.parent_name is None:
        return f"#{context.name}"
    return _LABELS[context.kind].format(name=context.name, parent=context.parent_name)


class ChannelLabels:
    """The channels we have met, by id."""

    def __init__(self) -> None:
        self._known: LruCache[int, ChannelContext] = LruCache(MAX_CHANNELS)

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
