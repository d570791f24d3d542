"""Who can read a place now, from what its platform shows of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from familiar_connect.audience import (
    EVERYONE,
    OWNER,
    Audience,
    Readers,
    RuledChannel,
    between,
    hidden_channel,
    whole_server,
)
from familiar_connect.chat.scene import ChannelKind, Scene
from familiar_connect.identity import LOCAL_PLATFORMS, Author


@dataclass(frozen=True, kw_only=True)
class PlaceFacts:
    """What is known of a place whatever its platform can show."""

    platform: str
    channel_id: int
    guild_id: int | None = None
    speaker: Author | None = None
    is_dm: bool = False
    is_owner: bool = False
    """Whether *speaker* is the owner."""
    private_channel_ids: Collection[int] = field(default_factory=frozenset)
    """Channels, and channels' parents, that the owner calls private."""
    share_targets: Collection[str] = ()
    """Where the owner lets this place's talk be told as well, as `audience.parse_share_target` writes it."""


def readers_of_place(scene: Scene | None, facts: PlaceFacts) -> Readers:
    """Who can read a place now. What *scene* cannot say, or no scene at all, makes the circle smaller, never wider."""
    audience = _audience(scene, facts)
    return Readers(
        audience.with_targets(facts.share_targets),
        platform=facts.platform,
        channel_id=facts.channel_id,
        server_id=_server(scene, facts),
        speaker=facts.speaker.canonical_key if facts.speaker is not None else "",
        channels=_channels(scene, facts.platform) if scene is not None else frozenset(),
        servers=scene.reader_server_ids if scene is not None else frozenset(),
    )


def _channels(scene: Scene, platform: str) -> frozenset[RuledChannel]:
    return scene.reader_channels | {RuledChannel(platform, each) for each in scene.reader_channel_ids}


def _audience(scene: Scene | None, facts: PlaceFacts) -> Audience:
    if facts.platform in LOCAL_PLATFORMS:
        return OWNER
    kind = scene.channel.kind if scene is not None and scene.channel is not None else None
    server = _server(scene, facts)
    if kind is ChannelKind.group_dm:
        return hidden_channel(facts.platform, facts.channel_id)
    if facts.is_dm or kind is ChannelKind.dm or (scene is not None and scene.is_dm):
        return OWNER if facts.is_owner else between(_people(scene, facts)) if _people(scene, facts) else OWNER
    if is_hidden(scene, facts):
        # A channel that only the owner calls private has rules that let everybody in: they say nothing.
        rules = scene.rules if scene is not None and scene.is_hidden else ""
        return hidden_channel(facts.platform, facts.channel_id, server, rules)
    if server is not None:
        return (
            whole_server(facts.platform, server)
            if scene is not None
            else hidden_channel(facts.platform, facts.channel_id, server)
        )
    is_public = scene is not None and scene.is_public
    return EVERYONE if is_public else hidden_channel(facts.platform, facts.channel_id)


def is_hidden(scene: Scene | None, facts: PlaceFacts) -> bool:
    """Whether some people of the server cannot see the channel, its parent, or a private thread."""
    parent = None
    closed = set(facts.private_channel_ids)
    if scene is not None:
        if scene.is_hidden:
            return True
        parent = next((each.parent_id for each in scene.channels if each.channel_id == facts.channel_id), None)
        closed |= scene.private_channel_ids
    return not closed.isdisjoint({facts.channel_id, parent})


def _server(scene: Scene | None, facts: PlaceFacts) -> int | None:
    return facts.guild_id if facts.guild_id is not None else scene.server_id if scene is not None else None


def _people(scene: Scene | None, facts: PlaceFacts) -> frozenset[str]:
    if scene is not None and scene.reader_keys:
        return scene.reader_keys
    return frozenset({facts.speaker.canonical_key}) if facts.speaker is not None else frozenset()
