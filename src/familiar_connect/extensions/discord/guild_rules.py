"""The rules of a server's channels as the library knows them, those too of threads that it knows no longer.

It forgets a thread once it is archived. Who can read such a thread is whoever can read the channel that it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from familiar_connect.api.servers import Parents
from familiar_connect.extensions.discord.permissions import ChannelOverwrite, ReadRules, read_rules

STANDS_ALONE = 0
"""In place of a parent: the channel is no thread."""
_HOLD_THREADS = ("text", "news", "forum", "media")
_THREADS = ("public_thread", "private_thread", "news_thread")
_VOICE = ("voice", "stage_voice")


def read_guild_rules(channel: Any, guild: Any) -> ReadRules | None:
    """What decides who can read a channel; None where the library cannot tell."""
    kind = getattr(channel.type, "name", "")
    room = channel.parent if kind in _THREADS else channel
    if room is None or not hasattr(room, "_overwrites"):
        return None
    own = guild._state.self_id
    overwrites = [
        (ChannelOverwrite(each.id, int(each.allow), int(each.deny)), each.is_member())
        for each in room._overwrites
        if each.id != own
    ]
    return read_rules(
        guild_id=guild.id,
        owner_id=guild.owner_id or 0,
        roles=[(role.id, role._permissions) for role in guild._roles.values() if not _is_of_bot(role)],
        role_overwrites=[each for each, is_member in overwrites if not is_member],
        member_overwrites=[each for each, is_member in overwrites if is_member],
        is_voice=getattr(room.type, "name", "") in _VOICE,
        is_private_thread=kind == "private_thread",
        is_age_restricted=getattr(room.type, "name", "") != "category" and bool(getattr(room, "nsfw", False)),
    )


def _is_of_bot(role: Any) -> bool:
    """Whether a role is one bot's own: no human can have it."""
    return role.tags is not None and role.tags.bot_id is not None


def find_parent_id(channel: Any) -> int:
    """The channel that *channel* is a thread of, as it is written down."""
    is_thread = getattr(channel.type, "name", "") in _THREADS
    return (channel.parent_id or STANDS_ALONE) if is_thread else STANDS_ALONE


def find_hidden_threads(
    guild: Any, heard: Parents, known: Collection[int], rules_of: Callable[[Any], ReadRules | None]
) -> Iterator[tuple[int, str]]:
    """Of the channels of *guild* that something was heard in: the hidden ones besides *known*, and their rules.

    A thread that is away has the rules of its channel. Of one whose channel is not known nobody can tell who reads it:
    it counts as hidden where the server hides any channel that could be its own.
    """
    if guild.unavailable or not guild.channels:
        return
    hides_any: bool | None = None
    for channel_id, parent_id in heard.items():
        if channel_id in known:
            continue
        room = guild.get_channel_or_thread(channel_id)
        if room is None and parent_id == STANDS_ALONE:  # deleted: nobody reads it any more
            continue
        if room is None and parent_id is None:
            if hides_any is None:
                hides_any = any(
                    _is_hidden(rules_of(each)) for each in guild.channels if each.type.name in _HOLD_THREADS
                )
            if hides_any:
                yield channel_id, ""
            continue
        room = room or guild.get_channel(parent_id)
        rules = rules_of(room) if room is not None else None
        if _is_hidden(rules):
            yield channel_id, rules.fingerprint if rules is not None else ""


def _is_hidden(rules: ReadRules | None) -> bool:
    return rules is None or not rules.is_open


def may_reply(channel: Any) -> bool:
    """Whether we may reply to a message there: Discord lets only those do it who may read back."""
    import discord

    me = getattr(getattr(channel, "guild", None), "me", None)
    if me is None:
        return True
    try:
        return bool(channel.permissions_for(me).read_message_history)
    except discord.ClientException:  # a thread of a channel that we cannot see
        return True
