"""/subscribe-text … /unsubscribe-voice: where the familiar listens.

Leaving writes up what was heard there, and says a first word before that, for it may take a while.
"""

from __future__ import annotations

import logging

from familiar_connect.chat.scene import ChannelKind
from familiar_connect.conversation.channels import channel_label
from familiar_connect.errors import FamiliarError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.writing.plan import MemoryWriterResult
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashHandler, SlashPlace, SlashReply
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr

logger = logging.getLogger(__name__)

WRITABLE = (ChannelKind.text, ChannelKind.thread, ChannelKind.forum_post)
NO_CHANNEL = later("I hear everything here already; there is nothing to subscribe to.")
NO_FORUM = later("This is not a forum post: use this in one.")
NOTHING_LEFT = later("There was nothing left to write up.")
NOT_YET = later("I could not write up what I heard yet; I will try again later.")
PUT_ASIDE = later("I could not write up what I heard; my owner can look at it.")
NO_VOICE = later("I cannot speak or hear here: voice is not set up on this platform.")


async def subscribe_text(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    place = ctx.place
    if place is None:
        return SlashReply(text=tr(NO_CHANNEL))
    refused = why_not_subscribable(place, ctx.author.platform)
    if refused is not None:
        return SlashReply(text=refused)
    await listen_to(ctx.channel_id, place, familiar)
    if place.read_past is None:
        return SlashReply(text=tr("I listen to {channel} now.").format(channel=channel_label(place.channel)))
    return SlashReply(
        text=tr("I listen to {channel} now, and read what was said here before.").format(
            channel=channel_label(place.channel)
        )
    )


async def listen_to(channel_id: int, place: SlashPlace, familiar: Familiar) -> None:
    """Subscribe to a channel that may be subscribed to, and begin to read what was said there before."""
    if place.join is not None:
        await place.join()
    await off_loop(
        familiar.subscriptions.add, channel_id=channel_id, kind=SubscriptionKind.text, guild_id=place.guild_id
    )
    _register_label(channel_id, place, familiar)
    if place.read_past is not None:
        place.read_past(channel_id)


async def subscribe_forum(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    """In one of its posts: a forum itself is no place to write a command in."""
    place, forum_id = ctx.place, _forum_id(ctx)
    if place is None or forum_id is None:
        return SlashReply(text=tr(NO_FORUM))
    refused = why_not_subscribable(place, ctx.author.platform)
    if refused is not None:
        return SlashReply(text=refused)
    await off_loop(familiar.subscriptions.add, channel_id=forum_id, kind=SubscriptionKind.text, guild_id=place.guild_id)
    listening = tr("I listen to every post of #{forum} now").format(forum=place.channel.parent_name or forum_id)
    if place.read_past is None:
        return SlashReply(text=f"{listening}.")
    place.read_past(forum_id)
    return SlashReply(text=tr("{listening}, and read what was said there before.").format(listening=listening))


async def unsubscribe_forum(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    forum_id = _forum_id(ctx)
    if forum_id is None:
        return SlashReply(text=tr(NO_FORUM))
    if familiar.subscriptions.get(channel_id=forum_id, kind=SubscriptionKind.text) is None:
        return SlashReply(text=tr("I was not listening to this forum."))
    await off_loop(familiar.subscriptions.remove, channel_id=forum_id, kind=SubscriptionKind.text)
    familiar.monitor.clear_channel(ctx.channel_id)
    await ctx.acknowledge(tr("I stopped listening to this forum and am writing up what I heard."))
    return SlashReply(text=tr("I no longer listen to this forum. {written}").format(written=await _write_up(familiar)))


def _forum_id(ctx: SlashContext) -> int | None:
    """The forum that the command is used in a post of; None: there is none."""
    place = ctx.place
    return place.parent_id if place is not None and place.channel.kind is ChannelKind.forum_post else None


def why_not_subscribable(place: SlashPlace, platform: str) -> str | None:
    """Why this is no channel to listen to; None: it is one."""
    kind = place.channel.kind
    if kind in (ChannelKind.dm, ChannelKind.group_dm):
        return tr(
            "A direct message needs no subscription; `[{platform}].dms` in character.toml says whose I answer."
        ).format(platform=platform)
    if kind is ChannelKind.forum_root:
        return tr("Use this in one post of the forum, or `/subscribe-forum` for all of them.")
    if kind not in WRITABLE:
        return tr("I can only listen to text channels and threads.")
    lacking = [
        right
        for right, has in ((tr("view this channel"), place.can_view), (tr("send messages"), place.can_send))
        if not has
    ]
    return tr("I do not have the right to {what} here.").format(what=tr(" and to ").join(lacking)) if lacking else None


def _register_label(channel_id: int, place: SlashPlace, familiar: Familiar) -> None:
    channel = place.channel
    familiar.monitor.register_channel_context(
        channel_id, name=channel.name, kind=channel.kind, parent_name=channel.parent_name
    )


async def unsubscribe_text(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    if familiar.subscriptions.get(channel_id=ctx.channel_id, kind=SubscriptionKind.text) is None:
        return SlashReply(text=tr("I was not listening to this channel."))
    await off_loop(familiar.subscriptions.remove, channel_id=ctx.channel_id, kind=SubscriptionKind.text)
    familiar.monitor.clear_channel(ctx.channel_id)
    await ctx.acknowledge(tr("I stopped listening here and am writing up what I heard."))
    return SlashReply(
        text=tr("I no longer listen here. {written}").format(written=await _write_up(familiar, ctx.channel_id))
    )


async def _write_up(familiar: Familiar, channel_id: int | None = None) -> str:
    """Have memory written; what became of the words of *channel_id*, or of all, in one sentence."""
    scheduler = familiar.memory_writer_scheduler
    try:
        waited = await scheduler.count_waiting(channel_id)
        result = await scheduler.flush() or scheduler.latest_result  # a pass that was under way may have done it
        left = await scheduler.count_waiting(channel_id)
    except Exception as error:  # isolation: the writer tries again by itself
        logger.warning("memory could not be written up", extra={"error": type(error).__name__})
        return tr(NOT_YET)
    return tr(NOTHING_LEFT) if not waited else tr(NOT_YET) if left else _told(result)


def _told(result: MemoryWriterResult | None) -> str:
    """What a pass made of words that no longer wait."""
    if result is not None and result.state == "quarantined":
        return tr(PUT_ASIDE)
    if result is not None and result.state == "proposed":
        return tr("My notes on what I heard are waiting for my owner's approval.")
    if result is None or not (result.session_file or result.people_files or result.topic_files):
        return tr("I heard nothing worth remembering.")
    return tr("I wrote up what I heard.")


async def subscribe_voice(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    door = ctx.place.voice if ctx.place is not None else None
    if ctx.place is None or door is None:
        return SlashReply(text=(ctx.place.why_no_voice if ctx.place is not None else None) or tr(NO_VOICE))
    if door.caller_channel is None or door.caller_channel_id is None:
        return SlashReply(text=tr("Join a voice channel first, then I can come."))
    if door.connected_channel_id is not None:
        return SlashReply(text=tr("I am already in a voice channel on this server."))
    lacking = [right for right, has in (("connect", door.may_connect), ("speak", door.may_speak)) if not has]
    if lacking:
        return SlashReply(
            text=tr("I do not have the right to {what} in that channel.").format(what=tr(" and to ").join(lacking))
        )
    await ctx.acknowledge(tr("I am on my way."))
    try:
        await door.connect()
    except FamiliarError as error:
        return SlashReply(text=tr("I could not join the voice channel: {error}.").format(error=error))
    except Exception as error:  # whatever a voice library raises
        logger.warning("voice could not be joined", extra={"error": type(error).__name__})
        return SlashReply(text=tr("I could not join the voice channel ({name}).").format(name=type(error).__name__))
    channel_id, channel = door.caller_channel_id, door.caller_channel
    await off_loop(
        familiar.subscriptions.add, channel_id=channel_id, kind=SubscriptionKind.voice, guild_id=ctx.guild_id
    )
    familiar.monitor.register_channel_context(channel_id, name=channel.name, kind=channel.kind)
    await door.greet()
    return SlashReply(text=tr("I am in {channel}.").format(channel=channel_label(channel)))


async def unsubscribe_voice(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    door = ctx.place.voice if ctx.place is not None else None
    known = familiar.subscriptions.voice_in_guild(ctx.guild_id) if ctx.guild_id is not None else None
    connected = door.connected_channel_id if door is not None else None
    if connected is None and known is None:
        return SlashReply(text=tr("I am not in a voice channel here."))
    await ctx.acknowledge(tr("I am leaving and writing up what I heard."))
    if door is not None:
        await door.disconnect()
    left = connected if connected is not None or known is None else known.channel_id
    for channel_id in {connected, known.channel_id if known else None} - {None}:
        assert channel_id is not None
        familiar.monitor.clear_channel(channel_id)
        await off_loop(familiar.subscriptions.remove, channel_id=channel_id, kind=SubscriptionKind.voice)
    return SlashReply(text=tr("I left the voice channel. {written}").format(written=await _write_up(familiar, left)))


def _command(name: str, description: str, run: SlashHandler, *, needs_voice: bool = False) -> SlashCommand:
    """A command for whoever may manage the channel, where there are channels."""
    return SlashCommand(
        name=name, description=description, run=run, needs_manage=True, channels_only=True, needs_voice=needs_voice
    )


SUBSCRIBE_TEXT = _command("subscribe-text", later("Listen to this channel."), subscribe_text)
UNSUBSCRIBE_TEXT = _command("unsubscribe-text", later("Stop listening to this channel."), unsubscribe_text)
SUBSCRIBE_FORUM = _command("subscribe-forum", later("Listen to every post of this forum."), subscribe_forum)
UNSUBSCRIBE_FORUM = _command("unsubscribe-forum", later("Stop listening to this forum."), unsubscribe_forum)
SUBSCRIBE_VOICE = _command(
    "subscribe-my-voice", later("Come to the voice channel I am in."), subscribe_voice, needs_voice=True
)
UNSUBSCRIBE_VOICE = _command(
    "unsubscribe-voice", later("Leave the voice channel."), unsubscribe_voice, needs_voice=True
)
