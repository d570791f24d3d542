"""Who can read the place where a command was used, as it is now."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.audience import AudienceKind, Readers, whole_server
from familiar_connect.conversation.place_readers import PlaceReaders
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashContext


def readers_at(ctx: SlashContext, familiar: Familiar) -> Readers:
    """Who can read there now. May read the channel's settings.

    Where the platform does not show the channel it counts as open to its whole server, so that nothing of a hidden
    channel is told.
    """
    places = PlaceReaders(
        owner=familiar.owner,
        channels=familiar.channel_configs,
        private_channel_ids=familiar.config.private_channel_ids,
        policy=familiar.config.telling_policy,
    )
    scene = ctx.place.scene if ctx.place is not None else None
    is_dm = ctx.place is not None and ctx.guild_id is None
    here = places.at(scene, channel_id=ctx.channel_id, guild_id=ctx.guild_id, author=ctx.author, is_dm=is_dm)
    if scene is None and ctx.guild_id is not None:
        return replace(here, audience=whole_server(here.platform, ctx.guild_id))
    return here


def was_opened_since(ctx: SlashContext, familiar: Familiar) -> bool:
    """Whether a channel that was hidden when it was last heard can be read by its whole server now."""
    last = familiar.history_store.channel_audience(familiar_id=familiar.id, channel_id=ctx.channel_id)
    if last is None or last.kind is not AudienceKind.CHANNEL:
        return False
    return readers_at(ctx, familiar).audience.kind in (AudienceKind.SERVER, AudienceKind.EVERYONE)
