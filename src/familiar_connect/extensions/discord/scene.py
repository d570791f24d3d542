"""Discord's servers and channels as a Scene, kept for a while and looked at anew when something changed.

What belongs to it: the channel, its people, what is planned at the server (ServerEvents), and what a thread began with
(ThreadStarters).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from familiar_connect.api import Author, Clock, ReferencedMessage, Scene
from familiar_connect.api.messages import ChannelContext, ChannelKind, ChannelRef, Emoji, Member, Role, ServerEvent
from familiar_connect.api.servers import ServerHost
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.discord.inbound import stickers_of, to_inbound
from familiar_connect.extensions.discord.people import author_of, visible_name

logger = logging.getLogger(__name__)

KEPT_S = 60.0
MAX_SCENES = 1_000
MAX_EMOJIS, MAX_STICKERS, MAX_CHANNELS, MAX_ROLES = 500, 60, 500, 250
"""What Discord allows a server, so that nothing is cut in practice."""

_KINDS = {
    "text": ChannelKind.text,
    "news": ChannelKind.text,
    "public_thread": ChannelKind.thread,
    "private_thread": ChannelKind.thread,
    "news_thread": ChannelKind.thread,
    "private": ChannelKind.dm,
    "group": ChannelKind.group_dm,
    "voice": ChannelKind.voice,
    "stage_voice": ChannelKind.stage,
    "forum": ChannelKind.forum_root,
    "media": ChannelKind.forum_root,
    "category": ChannelKind.category,
}


def channel_context(channel: Any, *, other: Author | None = None) -> ChannelContext:
    """What a channel is called; *other* is who a direct conversation is with, where the channel does not say."""
    kind = _kind(channel)
    if kind is ChannelKind.dm:
        recipient = getattr(channel, "recipient", None)
        person = author_of(recipient) if recipient is not None else other
        return ChannelContext(person.label if person else str(channel.id), kind)
    name = visible_name(getattr(channel, "name", None)) or str(channel.id)
    if kind is not ChannelKind.thread:
        return ChannelContext(name, kind)
    parent = channel.parent
    if parent is not None and _kind(parent) is ChannelKind.forum_root:
        kind = ChannelKind.forum_post
    return ChannelContext(name, kind, getattr(parent, "name", None))


def _kind(channel: Any) -> ChannelKind:
    """A kind Discord does not tell, or that is new, counts as text."""
    return _KINDS.get(getattr(channel.type, "name", ""), ChannelKind.text)


def is_forum(channel: Any) -> bool:
    """Whether *channel* is a list of posts, in which nothing is said itself."""
    return _kind(channel) is ChannelKind.forum_root


def scene_of(channel: Any, *, me: Any) -> Scene:
    """Everything the library knows of the channel now, but for who speaks in it and who can read it.

    See `with_speakers` and `ChannelReaders`; until that is asked a channel counts as hidden.
    """
    here = channel_context(channel)
    guild = getattr(channel, "guild", None)
    us = author_of(me) if me is not None else None
    if guild is None:
        return Scene(channel=here, is_dm=True, me=us, own_name=us.label if us else None)
    topic = getattr(channel, "topic", None) or getattr(getattr(channel, "parent", None), "topic", None)
    own = guild.me
    return Scene(
        server_name=guild.name,
        server_description=guild.description,
        server_id=guild.id,
        channel=here,
        channel_topic=topic,
        roles=tuple(_role(role) for role in guild.roles[:MAX_ROLES]),
        channels=_channels(guild),
        emojis=tuple(
            Emoji(name=emoji.name, emoji_id=str(emoji.id), url=emoji.url) for emoji in guild.emojis[:MAX_EMOJIS]
        ),
        stickers=stickers_of(guild.stickers[:MAX_STICKERS]),
        is_hidden=True,
        me=us,
        own_name=own.display_name if own is not None else None,
    )


def with_speakers(scene: Scene, channel: Any, speakers: Iterable[Author]) -> Scene:
    """*scene* with those who spoke in the channel lately, as they are on its server now."""
    spoke = tuple(speakers)
    guild = getattr(channel, "guild", None)
    if guild is not None:
        return replace(scene, participants=spoke, members=tuple(_member(guild, author) for author in spoke))
    recipient = getattr(channel, "recipient", None)
    people = spoke or ((author_of(recipient),) if recipient is not None else ())
    return replace(scene, channel=channel_context(channel, other=spoke[0] if spoke else None), participants=people)


def _role(role: Any) -> Role:
    return Role(role_id=str(role.id), name=role.name, position=role.position)


def _channels(guild: Any) -> tuple[ChannelRef, ...]:
    return tuple(
        ChannelRef(channel_id=each.id, name=each.name, parent_id=getattr(each, "category_id", None))
        for each in guild.channels[:MAX_CHANNELS]
        if each.type.name != "category"
    )


def _member(guild: Any, author: Author) -> Member:
    """A speaker as they are on the server now; one who left is known by name alone."""
    found = guild.get_member(int(author.user_id)) if author.user_id.isdigit() else None
    if found is None:  # nobody who left has such an id: who speaks through a webhook has no account
        return Member(author=author, is_bridge_user=not author.user_id.isdigit())
    activity = found.activity
    return Member(
        author=author_of(found),
        server_nickname=visible_name(found.nick),
        global_name=visible_name(found.global_name),
        presence=str(found.status),
        activity=getattr(activity, "name", None),
        roles=tuple(_role(role) for role in found.roles if not role.is_default()),
        is_bot=bool(found.bot),
        avatar_url=found.display_avatar.url,
    )


MAX_EVENTS = 10
MAX_ENDED = 500
TOLD_AFTER_END = timedelta(hours=24)
AHEAD = timedelta(days=60)
"""What lies further ahead is not told."""
_STATES: dict[str, Literal["planned", "active", "ended", "canceled"]] = {
    "scheduled": "planned",
    "active": "active",
    "completed": "ended",
    "canceled": "canceled",
}
_ORDER = ("active", "planned", "ended", "canceled")


class ServerEvents:
    """What the library knows of events, and when we saw one end: Discord does not say that."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ended: LruCache[int, datetime] = LruCache(MAX_ENDED)

    def note_change(self, event: Any) -> None:
        """An event was made, has begun, ended, or was called off."""
        if _is_over(event) and self._ended.get(event.id) is None:
            self._ended.put(event.id, self._clock.now())

    def list(self, channel: Any, is_hidden: Callable[[Any], bool]) -> tuple[ServerEvent, ...]:
        """Events of the channel's server: those elsewhere, in this channel, or in one that everybody can read."""
        guild = getattr(channel, "guild", None)
        if guild is None:
            return ()
        for event in [each for each in guild.scheduled_events if _is_over(each) and not self._is_told(each)]:
            guild._remove_scheduled_event(event)  # the library would keep it as long as it runs
        told = [
            event for event in guild.scheduled_events if self._is_told(event) and _is_open(event, channel, is_hidden)
        ]
        told.sort(key=lambda each: (_ORDER.index(_state(each)), each.start_time))
        return tuple(_as_told(each) for each in told[:MAX_EVENTS])

    def _is_told(self, event: Any) -> bool:
        now, state = self._clock.now(), _state(event)
        if state == "planned":
            return bool(event.start_time - now <= AHEAD)
        ended = self._ended.get(event.id)
        return state == "active" or (ended is not None and now - ended <= TOLD_AFTER_END)


def _state(event: Any) -> Literal["planned", "active", "ended", "canceled"]:
    return _STATES.get(getattr(event.status, "name", ""), "planned")


def _is_over(event: Any) -> bool:
    return _state(event) in ("ended", "canceled")


def _is_open(event: Any, channel: Any, is_hidden: Callable[[Any], bool]) -> bool:
    """Whether those who read *channel* may know of *event*: one in a hidden channel is that channel's own."""
    where = event.location.value
    if isinstance(where, str):
        return True
    return bool(hasattr(where, "permissions_for") and (where.id == channel.id or not is_hidden(where)))


def _as_told(event: Any) -> ServerEvent:
    where = event.location.value
    return ServerEvent(
        name=event.name,
        begins_at=event.start_time,
        where=where if isinstance(where, str) else f"#{where.name}",
        description=event.description or "",
        state=_state(event),
    )


LOOK_S = 0.4
"""Well below the second that a channel may take to be looked at: who reads there does not wait for this."""
LOOK_AGAIN_S = 30.0
"""How long one that could not be looked up is left alone."""
"""How long it may take: a scene is waited for no longer than that."""
STARTER_KEPT_S = 600.0
MAX_STARTERS = 500


class ThreadStarters:
    """The messages that threads began with, which stand in the channels that the threads are in.

    Each has the number of its thread. Looked up where it is not at hand, kept for minutes, and forgotten at once when
    it is edited or deleted. A private thread begins with none.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: LruCache[int, tuple[float, ReferencedMessage | None]] = LruCache(MAX_STARTERS)

    async def find(self, thread: Any, client: Any, servers: ServerHost, rules: str | None) -> ReferencedMessage | None:
        """What *thread* began with; None: nothing, or nothing that all of its readers may be told.

        *rules* are those of the channel that the thread is in; None: nobody knows them.
        """
        if getattr(thread.type, "name", "") not in ("public_thread", "news_thread") or rules is None:
            return None
        starter = await self._look(thread, client)
        if starter is None:
            return None
        parent, server = thread.parent_id, thread.guild.id
        return starter if await servers.is_tellable(parent, server, starter.message_id, rules) else None

    async def _look(self, thread: Any, client: Any) -> ReferencedMessage | None:
        kept = self._kept.get(thread.id)
        now = self._clock.monotonic()
        if kept is not None and now <= kept[0]:
            return kept[1]
        lasts_s = STARTER_KEPT_S
        found = client.get_message(thread.id)
        if found is None:
            try:
                found = await _fetch(thread)
            except TimeoutError:
                lasts_s = LOOK_AGAIN_S
        inbound = to_inbound(found, me=client.user.id, application=client.application_id) if found is not None else None
        starter = None
        if inbound is not None:
            starter = ReferencedMessage(
                message_id=str(thread.id),
                author=inbound.author,
                text=inbound.text,
                is_self=inbound.is_self,
                webhook=inbound.webhook,
            )
        self._kept.put(thread.id, (now + lasts_s, starter))
        return starter

    def forget(self, message_ids: Iterable[int]) -> None:
        """Messages read otherwise now, or are gone."""
        for each in message_ids:
            self._kept.pop(each)


async def _fetch(thread: Any) -> Any:
    """The message from Discord: of a post of a forum in the post itself, else in the channel of the thread.

    TimeoutError: not now.
    """
    parent = thread.parent
    place = thread if parent is None or not hasattr(parent, "fetch_message") else parent
    try:
        async with asyncio.timeout(LOOK_S):
            return await place.fetch_message(thread.id)
    except TimeoutError:
        raise
    except Exception as error:  # isolation: a thread that began with nothing is one all the same
        logger.debug("what a thread began with is not known", extra={"error": type(error).__name__})
        return None


class SceneCache:
    """Scenes by channel. A change on a server makes its scenes stale at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: LruCache[int, tuple[float, Scene]] = LruCache(MAX_SCENES)
        self.starters = ThreadStarters(clock)
        self.events = ServerEvents(clock)

    def get(self, channel_id: int) -> Scene | None:
        kept = self._kept.get(channel_id)
        if kept is None or self._clock.monotonic() - kept[0] > KEPT_S:
            return None
        return kept[1]

    def put(self, channel_id: int, scene: Scene) -> Scene:
        self._kept.put(channel_id, (self._clock.monotonic(), scene))
        return scene

    def invalidate(self, guild_id: int | None) -> None:
        """Something is different on a server."""
        for channel_id in [key for key, (_, scene) in self._kept.items() if scene.server_id == guild_id]:
            self._kept.pop(channel_id)
