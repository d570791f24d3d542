"""Who can read the place where a command was used, as it is now."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.audience import Readers, whole_server
from familiar_connect.chat.scene import ChannelKind
from familiar_connect.conversation.place_readers import PlaceReaders
from familiar_connect.disclosure import may_still_tell
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashContext

_ROOMS = frozenset({ChannelKind.text})
"""Not every platform has servers: a room without one is no direct message."""


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
    is_dm = ctx.place is not None and ctx.guild_id is None and ctx.place.channel.kind not in _ROOMS
    here = places.at(scene, channel_id=ctx.channel_id, guild_id=ctx.guild_id, author=ctx.author, is_dm=is_dm)
    if scene is None and ctx.guild_id is not None:
        return replace(here, audience=whole_server(here.platform, ctx.guild_id))
    return here


def note_readers(ctx: SlashContext, familiar: Familiar) -> Readers:
    """As `readers_at`, for what looks at a channel without being told who can read it."""
    here = readers_at(ctx, familiar)
    if ctx.place is not None:
        familiar.history_store.channel_readers.now.put(ctx.channel_id, here)
    return here


def may_show_prompt(ctx: SlashContext, familiar: Familiar, gathered_for: Readers | None) -> bool:
    """Whether a channel's last prompt, *gathered_for* the readers of then, may be shown to those who read it now.

    Where it is not known for whom it was gathered, its owner alone may see it: it may hold words of any other channel.
    """
    here = note_readers(ctx, familiar)
    if here.is_owner or gathered_for is None:
        return here.is_owner
    return may_still_tell(gathered_for, here, familiar.config.telling_policy)
