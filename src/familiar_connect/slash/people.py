"""Names to offer somebody who has begun to type one.

Who can read the place where a command was used, as it is now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from familiar_connect.audience import Readers, may_still_tell, whole_server
from familiar_connect.chat.scene import ChannelKind
from familiar_connect.conversation.place_readers import PlaceReaders
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashContext
from familiar_connect.support.aio import off_loop

MAX_SUGGESTED = 25


async def suggest_people(familiar: Familiar, begun: str) -> list[str]:
    """People who have spoken, by the newest of their names, that begin with what was typed so far."""
    return names_begun(await off_loop(_list_speakers, familiar), begun)


async def suggest_names(familiar: Familiar, begun: str) -> list[str]:
    """The familiar's own names, then those of people who have spoken."""
    own = [familiar.name, *familiar.config.aliases]
    return names_begun([*own, *await off_loop(_list_speakers, familiar)], begun)


def _list_speakers(familiar: Familiar) -> list[str]:
    return [each.author.label for each in familiar.history_store.authors.speakers(familiar_id=familiar.id)]


def names_begun(names: Iterable[str], begun: str) -> list[str]:
    """Those that begin with what was typed so far, each once and not too many."""
    wanted = begun.strip().lower()
    found = (each for each in dict.fromkeys(names) if each.lower().startswith(wanted))
    return list(islice(found, MAX_SUGGESTED))


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
