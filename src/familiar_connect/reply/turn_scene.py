"""What of a scene a request carries: its own people, none that is not to be heard, and no endless lists."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.chat.scene import ChannelRef, Scene
from familiar_connect.chat.types import Turn
from familiar_connect.config.types import PlaceSettings
from familiar_connect.identity import EVERYTHING_ALLOWED, Privacy

MOST_ASSETS = 500
"""Emojis, stickers, roles and other channels that a request carries."""


def with_place_settings(scene: Scene | None, settings: PlaceSettings) -> Scene | None:
    """*scene* as the owner wants people told of: without the names they asked for, where those are switched off."""
    if scene is None or settings.personal_memories_enabled:
        return scene
    return replace(scene, members=tuple(replace(member, is_personalised=False) for member in scene.members))


def scene_for_turn(turn: Turn, scene: Scene | None, privacy: Privacy = EVERYTHING_ALLOWED) -> Scene | None:
    """What of *scene* bears on *turn*: its own people, none that is not to be heard, and no endless lists."""
    if scene is None:
        return None
    writers = {message.author_id for message in turn.messages} | {said.author.user_id for said in turn.said}
    writers |= {author.user_id for author in (scene.participants if not turn.messages else ())}
    if turn.imitated is not None:
        writers.add(turn.imitated.author.user_id)

    return replace(
        scene,
        members=tuple(
            member
            for member in scene.members
            if {member.author.user_id, member.author.canonical_key} & writers and not privacy.is_full(member.author)
        ),
        participants=tuple(author for author in scene.participants if not privacy.is_full(author)),
        channels=_limit_channels(scene, turn.channel_id),
        roles=scene.roles[:MOST_ASSETS],
        emojis=scene.emojis[-MOST_ASSETS:],
        stickers=scene.stickers[-MOST_ASSETS:],
    )


def _limit_channels(scene: Scene, channel_id: int) -> tuple[ChannelRef, ...]:
    """The channel itself first, for it is looked for; then others, which texts may point at."""
    own = tuple(each for each in scene.channels if each.channel_id == channel_id)
    return (*own, *(each for each in scene.channels if each.channel_id != channel_id))[:MOST_ASSETS]
