"""Visibility: where a conversation happens, which file keeps what is known of it, and what may be told where.

On a server everybody knows of its channels, but for the private ones. What was said between two stays between
them, and another server's talk reaches only those who asked to be known everywhere and took part in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from familiar_connect.chat.scene import ChannelKind
from familiar_connect.context.types import ContextRequest
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import LOCAL_PLATFORMS

SERVERS = "servers"
"""The folder of what is known of servers and direct messages; each file is told in its own place only."""
MAX_PEOPLE = 200
"""Of so many people who spoke last in a channel it is known that they took part."""

_DMS = (ChannelKind.dm, ChannelKind.group_dm)

MayTell = Callable[[int], bool]
"""Whether what was said in a channel may be told here; may read a database."""


def is_dm(request: ContextRequest) -> bool:
    """Whether the conversation is between two, or a few, and on no server."""
    scene = request.scene
    if scene is None:
        return request.guild_id is None
    if scene.is_dm or scene.channel is not None:
        return scene.is_dm or (scene.channel is not None and scene.channel.kind in _DMS)
    return request.guild_id is None and scene.server_name is None and scene.server_id is None


def server_path(request: ContextRequest) -> str | None:
    """The file of the server, or of the direct message, that *request* comes from.

    A channel that belongs to no server, as on Twitch, is one by itself.
    """
    scene = request.scene
    someone = (scene.me if scene is not None else None) or request.author
    if someone is None:
        return None
    platform = re.sub(r"[^a-z0-9]+", "-", someone.platform.lower()).strip("-") or "unknown"
    if is_dm(request):
        return f"{SERVERS}/{platform}-dm-{request.channel_id}.md"
    server = request.guild_id if request.guild_id is not None else scene.server_id if scene is not None else None
    return f"{SERVERS}/{platform}-{request.channel_id if server is None else server}.md"


def is_channel_visible(
    request: ContextRequest, channel_id: int, parent_id: int | None = None, *, private: Collection[int] = ()
) -> bool:
    """Whether a channel, private or not, lets its talk be told where *request* comes from."""
    if request.settings.private_channels_bypass:
        return True
    closed = frozenset(private) | (request.scene.private_channel_ids if request.scene is not None else frozenset())
    if {request.channel_id, _parent(request, request.channel_id)} & closed:
        return True
    return not {channel_id, parent_id, _parent(request, channel_id)} & closed


def _parent(request: ContextRequest, channel_id: int) -> int | None:
    channels = request.scene.channels if request.scene is not None else ()
    return next((each.parent_id for each in channels if each.channel_id == channel_id), None)


class Visibility:
    """How far the talk of a familiar's channels may be carried. *known_everywhere*: keys of those who asked to be."""

    def __init__(
        self,
        history: HistoryStore,
        *,
        private_channel_ids: Collection[int] = (),
        known_everywhere: Collection[str] = (),
    ) -> None:
        self._history = history
        self._private = frozenset(private_channel_ids)
        self._known_everywhere = frozenset(known_everywhere)

    def predicate_for(self, request: ContextRequest) -> MayTell:
        """What may be told where *request* comes from; each channel is looked up once."""
        decided: dict[int, bool] = {}

        def may_tell(channel_id: int) -> bool:
            if channel_id not in decided:
                decided[channel_id] = self._may_tell(request, channel_id)
            return decided[channel_id]

        return may_tell

    def _may_tell(self, request: ContextRequest, channel_id: int) -> bool:
        author = request.author
        if channel_id == request.channel_id or (author is not None and author.platform in LOCAL_PLATFORMS):
            return True  # the operator at home may look at all of it anyway
        if not is_channel_visible(request, channel_id, private=self._private):
            return False
        last = self._history.recent(familiar_id=request.familiar_id, channel_id=channel_id, limit=1)
        server = last[0].guild_id if last else None
        if server is not None and server == request.guild_id and not is_dm(request):
            return True
        if server is None and not is_dm(request):
            return False
        known = server is None or (author is not None and author.canonical_key in self._known_everywhere)
        return known and self._took_part(request, channel_id)

    def _took_part(self, request: ContextRequest, channel_id: int) -> bool:
        if request.author is None:
            return False
        people = self._history.recent_distinct_authors(
            familiar_id=request.familiar_id, channel_id=channel_id, limit=MAX_PEOPLE
        )
        return any(person.canonical_key == request.author.canonical_key for person in people)
