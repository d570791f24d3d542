"""DiscordPlatform: the familiar on Discord, from logging in to leaving.

What happens in a channel is taken in order; what came while nobody was connected is looked up before anything
newer. A new run begins anew: nothing of an earlier connection is needed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from familiar_connect.api import Author, InboundMessage, PlatformHost, Scene
from familiar_connect.api.calls import CallVoice, SessionWatcher, VoiceSession
from familiar_connect.api.servers import ServerHost, SubscriptionKind
from familiar_connect.api.support import BackgroundTasks, LruCache
from familiar_connect.extensions.discord.channel_readers import ChannelReaders
from familiar_connect.extensions.discord.client import (
    GUILD_READY_TIMEOUT_S,
    Application,
    fetch_application,
    guard_events,
    guard_requests,
    guard_voice,
    is_gone,
    make_client,
    use_api_url,
)
from familiar_connect.extensions.discord.commands.payloads import register_commands
from familiar_connect.extensions.discord.commands.reply_buttons import ReplyButtons
from familiar_connect.extensions.discord.errors import delivery_error, translate_errors
from familiar_connect.extensions.discord.first_words import FirstWords
from familiar_connect.extensions.discord.inbound import previews_of, to_inbound
from familiar_connect.extensions.discord.listening.backfill import MAX_MISSED, fetch_missed
from familiar_connect.extensions.discord.listening.channel_queues import ChannelQueues
from familiar_connect.extensions.discord.listening.past_reader import PastReader
from familiar_connect.extensions.discord.listening.polls import forget_oldest
from familiar_connect.extensions.discord.listening.text_files import is_discord_file, text_file_limits
from familiar_connect.extensions.discord.people import author_of, learn_recipient
from familiar_connect.extensions.discord.place import AlterPlace, DiscordPlace
from familiar_connect.extensions.discord.scene import SceneCache
from familiar_connect.extensions.discord.slash import Interactions
from familiar_connect.extensions.discord.voice.sessions import VoiceSessions
from familiar_connect.extensions.discord.webhooks import PersonaWebhooks

logger = logging.getLogger(__name__)

MAX_PLACES = 2_000
MAX_DIRECT = 20
"""Direct conversations looked back at; the latest."""
TELL_AGAIN_S = 3600.0
DISCORD_EPOCH_MS = 1_420_070_400_000
"""The moment from which the ids of Discord count."""
MAX_THREADS = 50
"""Threads of a server that are looked at when it is there; the newest."""
BAN_REACHES_BACK = timedelta(days=7)
"""The longest stretch of messages that Discord deletes with a ban."""
MAX_TOLD = 500
"""Sentences for the owner that are not said again within the hour."""
READY_S = 60.0
"""How long a reminder that is due waits for the connection before it is tried again later."""
LEARN_MEMBERS_S = 120.0
TAKE_IN_S = 3.0
"""How long leaving may wait for what has come in to be stored."""
# Who is online changes all the time: that is as fresh as the scene is kept.
_CHANGES_A_SERVER = (
    "guild_update",
    "guild_channel_create",
    "guild_channel_update",
    "guild_emojis_update",
    "guild_stickers_update",
    "guild_role_create",
    "guild_role_update",
    "guild_role_delete",
    "member_update",
    "member_join",
    "thread_update",
)


class DiscordPlatform:
    """One bot account, every server it is on."""

    id = "discord"
    places = (DiscordPlace, AlterPlace)

    def __init__(
        self,
        host: PlatformHost,
        *,
        token: str,
        api_url: str | None = None,
        guild_ready_timeout_s: float = GUILD_READY_TIMEOUT_S,
        make_voice: Callable[[], CallVoice] | None = None,
        why_no_voice: str | None = None,
        call_watcher: SessionWatcher | None = None,
    ) -> None:
        """*make_voice* makes what hears and speaks in voice channels; None: there is no voice, *why_no_voice*.

        *call_watcher* is told what is heard and said there.
        """
        self._host = host
        self._servers: ServerHost = host.servers
        self._token = token
        self._api_url = api_url
        self._guild_ready_timeout_s = guild_ready_timeout_s
        self._make_voice = make_voice
        self._why_no_voice = why_no_voice
        self._call_watcher = call_watcher
        self._voice: VoiceSessions | None = None
        self._scenes = SceneCache(host.clock)
        self._readers = ChannelReaders(self._servers.readers)
        self._places: LruCache[int, DiscordPlace] = LruCache(MAX_PLACES)
        self._direct: LruCache[int, bool] = LruCache(MAX_DIRECT)
        """Direct messages that are looked back at when we come back, the one heard last at the end."""
        self._lanes = ChannelQueues(look_back=self._catch_up)
        self._background = BackgroundTasks("discord")
        self._past = PastReader(host.settings, self._lanes, channel_at=self._channel_at, hear=self._hear_past)
        self._client: Any = None
        self._interactions: Interactions | None = None
        self._commands_known = False
        self._told: LruCache[str, float] = LruCache(MAX_TOLD)
        self._webhooks = host.settings.webhooks
        self._persona_webhooks = PersonaWebhooks(host)
        self._buttons = ReplyButtons(is_on=host.settings.buttons)
        self._first_words = FirstWords(
            host,
            why_closed=lambda channel: self._place(channel).why_not_writable(),
            is_here=lambda guild_id: self._client.get_guild(guild_id) is not None,
            is_gone=lambda guild_id: is_gone(self._client, guild_id),
        )

    async def run(self) -> None:
        """Be on Discord until cancelled. SetupError: the owner has to mend something first."""
        with use_api_url(self._api_url), self._host.allow_files_of(self._api_url), translate_errors():
            application = await fetch_application(self._token)
            known = await self._servers.list_direct(MAX_DIRECT)
            for channel_id in reversed(known):
                self._direct.put(channel_id, True)
            async with self._on_duty(application) as client:
                await client.start(self._token)

    def find_voice_session(self, guild_id: int) -> VoiceSession | None:
        """The talk in the voice channel we are in on a server; None: there is none that is heard."""
        return self._voice.find_session(guild_id) if self._voice is not None else None

    @asynccontextmanager
    async def _on_duty(self, application: Application) -> AsyncIterator[Any]:
        """A client that tells us everything; at the end all is put back and nothing is left running."""
        client = self._client = make_client(application, guild_ready_timeout_s=self._guild_ready_timeout_s)
        guard_voice(client, self._api_url)
        if self._make_voice is not None:
            self._voice = VoiceSessions(
                self._host,
                self._make_voice,
                channel_at=client.get_channel,
                place_at=self._place,
                watcher=self._call_watcher,
            )
        self._interactions = Interactions(
            self._host,
            application.owners,
            scene_at=self._scene_at,
            read_past=self._past.read_soon if self._past.reads_past else None,
            place_at=self._find_known_place,
            voice=self._voice,
            why_no_voice=self._why_no_voice,
        )
        self._listen(client)

        def is_owner(author: Author) -> bool:
            return author.user_id in {str(owner) for owner in application.owners}

        async def tell_owner(text: str) -> None:
            await self._tell_owner(application, text)

        try:
            with self._host.connect(self._place_at, is_owner=is_owner, tell_owner=tell_owner):
                try:
                    yield client
                finally:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(TAKE_IN_S):
                            await self._lanes.wait_until_idle()
        finally:
            if self._voice is not None:
                await self._voice.aclose()
            await client.close()
            await self._background.aclose()
            await self._lanes.aclose()

    def _listen(self, client: Any) -> None:
        heard = {
            "on_connect": self._on_connect,
            "on_ready": partial(self._on_ready, client),
            "on_message": self._on_message,
            "on_raw_message_edit": self._on_edit,
            "on_raw_poll_vote_add": self._on_vote,
            "on_raw_poll_vote_remove": self._on_vote,
            "on_raw_message_delete": self._on_delete,
            "on_member_ban": self._on_ban,
            "on_raw_bulk_message_delete": self._on_bulk_delete,
            "on_interaction": self._on_interaction,
            "on_guild_channel_delete": self._on_channel_delete,
            "on_guild_remove": self._on_guild_remove,
            "on_voice_state_update": self._on_voice_state,
            "on_error": self._on_error,
        }
        for name, handler in heard.items():
            setattr(client, name, handler)
        for name in ("create", "update", "delete"):
            setattr(client, f"on_scheduled_event_{name}", self._on_event)
        for event in _CHANGES_A_SERVER:
            setattr(client, f"on_{event}", self._on_change)
        self._readers.forget_connection()
        hooks = self._readers.hooks(client.get_guild)
        forget_server = hooks["GUILD_CREATE"]

        def on_guild_here(data: dict[str, Any]) -> None:
            forget_server(data)
            self._on_guild_here(data)

        def on_message(data: dict[str, Any]) -> None:
            self._readers.note_message(int(data["id"]), client.get_channel(int(data["channel_id"])))

        hooks |= {"GUILD_CREATE": on_guild_here, "MESSAGE_CREATE": on_message}
        guard_events(client, hooks, self._on_partial_edit)
        guard_requests(client)

    # Hearing

    async def _on_message(self, message: Any) -> None:
        self._lanes.put(message.channel.id, lambda: self._hear(message))

    async def _hear(self, message: Any, *, is_old_news: bool = False) -> None:
        inbound = self._inbound(message)
        if inbound is not None and not inbound.is_self and not self._is_for_call(inbound):
            learn_recipient(message)
            place = self._place(message.channel)
            if getattr(message.channel, "guild", None) is None:
                self._direct.put(message.channel.id, True)
            inbound = replace(inbound, said_under=self._readers.rules_at(message.id))
            inbound = await self._servers.read_files(
                inbound, text_file_limits(self._host.settings), is_own=lambda url: is_discord_file(url, self._api_url)
            )
            heard = await self._servers.receive(inbound, place, is_old_news=is_old_news)
            if not is_old_news:
                await self._first_words.explain(message, inbound, heard)

    def _is_for_call(self, inbound: InboundMessage) -> bool:
        """Whether it was written to those who talk in a voice channel that we are in: then it is told there."""
        if self._voice is None or inbound.is_bot or inbound.kind != "default" or not inbound.text.strip():
            return False
        return self._voice.type_text(inbound.channel_id, inbound.author, inbound.text)

    async def _on_voice_state(self, member: Any, before: Any, after: Any) -> None:
        if self._voice is not None:
            self._voice.on_voice_state(member, before, after)

    def _inbound(self, message: Any) -> InboundMessage | None:
        client = self._client
        return to_inbound(message, me=client.user.id, application=client.application_id, webhooks=self._webhooks)

    async def _hear_past(self, message: Any, is_belated: bool) -> None:
        """Take in what was said before anybody listened, or while nobody did."""
        inbound = self._inbound(message)
        if inbound is not None and not inbound.is_self:
            place = self._place(message.channel)
            await self._servers.receive(replace(inbound, is_past=True), place, is_belated=is_belated)

    async def _channel_at(self, channel_id: int) -> Any:
        return self._client.get_channel(channel_id) or await self._client.fetch_channel(channel_id)

    def _place(self, channel: Any) -> DiscordPlace:
        place = self._places.get(channel.id)
        if place is None:
            place = DiscordPlace(
                lambda: self._client,
                channel,
                self._host,
                self._scenes,
                self._persona_webhooks,
                self._readers,
                self._buttons,
            )
        place.set_channel(channel)
        self._places.put(channel.id, place)
        return place

    def _find_known_place(self, channel: Any) -> DiscordPlace | None:
        """The channel as a place; None for one that the library does not know."""
        known = self._client.get_channel(channel.id) if channel is not None else None
        return self._place(known) if known is not None else None

    async def _place_at(self, channel: str) -> DiscordPlace | None:
        """The channel of that id as a place; None while it cannot be reached."""
        client, channel_id = self._client, int(channel)
        try:
            async with asyncio.timeout(READY_S):
                await client.wait_until_ready()
                found = client.get_channel(channel_id) or await client.fetch_channel(channel_id)
        except Exception as error:  # isolation: it is tried again
            reason = str(delivery_error(error))
            logger.warning("a channel cannot be reached", extra={"reason": reason})
            return None
        return self._place(found)

    async def _scene_at(self, channel: Any) -> Scene | None:
        """The channel as it is now; None for one that the library does not know."""
        place = self._find_known_place(channel)
        return await place.scene() if place is not None else None

    async def _on_edit(self, payload: Any) -> None:
        self._lanes.put(payload.channel_id, lambda: self._revise(payload))

    def _on_partial_edit(self, data: dict[str, Any]) -> None:
        """An edit told in part: other words are looked up where they stand; whatever else came, no word is new."""
        channel_id, message_id = int(data["channel_id"]), int(data["id"])
        if "content" in data:
            self._lanes.put(channel_id, lambda: self._revise_from(channel_id, message_id))
        elif "embeds" in data:
            shown = previews_of(data["embeds"])
            self._lanes.put(channel_id, lambda: self._servers.keep_previews(channel_id, str(message_id), shown))

    async def _revise_from(self, channel_id: int, message_id: int) -> None:
        channel = await self._channel_at(channel_id)
        await self._take_edit(await channel.fetch_message(message_id))

    async def _revise(self, payload: Any) -> None:
        message = getattr(payload, "new_message", None) or self._client.get_message(payload.message_id)
        if message is not None:
            await self._take_edit(message)

    async def _take_edit(self, message: Any) -> None:
        """Words and previews as they are now: who is mentioned only since then is spoken to now.

        New previews are Discord's doing: nobody said anything else.
        """
        self._scenes.starters.forget([message.id])
        inbound = self._inbound(message)
        if inbound is not None and not inbound.is_self:
            await self._servers.revise(inbound, self._place(message.channel), me=author_of(self._client.user))
            await self._servers.keep_previews(inbound.channel_id, str(message.id), inbound.embeds)
            if inbound.poll is not None:
                await self._servers.keep_poll(inbound.channel_id, str(message.id), inbound.poll)

    async def _on_vote(self, payload: Any) -> None:
        """Somebody voted in a poll, or took that back. Who they are is known of people that the library knows."""
        forget_oldest(self._client)
        channel_id, message_id, answer_id = payload.channel_id, str(payload.message_id), payload.answer_id
        guild = self._client.get_guild(payload.guild_id) if payload.guild_id is not None else None
        person = (guild.get_member(payload.user_id) if guild else None) or self._client.get_user(payload.user_id)
        voter = author_of(person) if person is not None else Author("discord", str(payload.user_id), None, None)
        vote = partial(self._servers.note_vote, channel_id, message_id, answer_id, voter)
        self._lanes.put(channel_id, partial(vote, is_taken_back=not payload.added))

    async def _on_delete(self, payload: Any) -> None:
        self._lanes.put(payload.channel_id, lambda: self._retract(payload.channel_id, [payload.message_id]))

    async def _on_bulk_delete(self, payload: Any) -> None:
        self._lanes.put(payload.channel_id, lambda: self._retract(payload.channel_id, sorted(payload.message_ids)))

    async def _retract(self, channel_id: int, message_ids: list[int]) -> None:
        self._scenes.starters.forget(message_ids)
        await self._servers.withdraw(channel_id, [str(each) for each in message_ids])

    async def _on_ban(self, guild: Any, user: Any) -> None:
        """Discord does not say how much of what they wrote goes with a ban: the most that may."""
        since = self._host.clock.now() - BAN_REACHES_BACK
        await self._servers.withdraw_of(author_of(user), guild.id, since)

    # Coming, going and looking back

    async def _on_connect(self) -> None:
        direct = [channel_id for channel_id, _ in self._direct.items()]
        for channel_id in reversed(direct):  # before anything is waited for: what is said from now on comes after it
            self._lanes.put(channel_id, partial(self._catch_up, channel_id))
        subscribed = {known.channel_id for known in self._servers.list_subscriptions()}
        unfinished = await self._servers.list_waiting()
        for channel_id in sorted(unfinished - subscribed - set(direct)):
            self._lanes.put(channel_id, partial(self._catch_up, channel_id))
        if not self._commands_known:
            self._commands_known = True
            self._background.start(self._make_commands_known(), name="commands")

    async def _make_commands_known(self) -> None:
        try:
            changed = await register_commands(
                self._client,
                [*self._host.commands.list_all(), *self._host.commands.list_message_actions()],
                controls=self._host.settings.controls,
                has_voice=self._voice is not None,
            )
        except Exception as error:  # isolation: without commands people can still be talked with
            self._commands_known = False
            logger.error("slash commands could not be made known", extra={"reason": str(delivery_error(error))})
            return
        logger.info("slash commands are known", extra={"changed": changed})

    def _on_guild_here(self, data: dict[str, Any]) -> None:
        """A server is there, at the start or again: what was missed comes before anything newer."""
        guild_id = int(data["id"])
        self._scenes.invalidate(guild_id)
        if self._voice is not None:
            self._voice.settle_soon(guild_id)
        self._background.start(self._learn_members(guild_id), name=f"members-{guild_id}")
        self._background.start(self._look_at(self._client.get_guild(guild_id)), name=f"first-words-{guild_id}")
        here = {int(each["id"]) for kind in ("channels", "threads") for each in data.get(kind) or []}
        listened = [each for each in self._servers.list_subscriptions() if each.kind is SubscriptionKind.text]
        subscribed = {each.channel_id for each in listened}
        for known in listened:
            if known.guild_id == guild_id or known.channel_id in here:
                self._lanes.put(known.channel_id, partial(self._catch_up, known.channel_id))
        followed = [each for each in data.get("threads") or [] if int(each.get("parent_id") or 0) in subscribed]
        for thread_id in sorted({int(each["id"]) for each in followed} - subscribed)[-MAX_THREADS:]:
            self._lanes.put(thread_id, partial(self._catch_up_thread, thread_id))

    async def _look_at(self, guild: Any) -> None:
        """Say hello where we are new, and tell the owner of channels that were closed to us."""
        if guild is not None:
            await self._first_words.greet(guild)
            await self._first_words.look_for_closed(guild)

    async def _on_ready(self, client: Any) -> None:
        if not client.is_closed():  # the library may tell of a connection that we have ended
            await self._first_words.look_for_gone()

    async def _learn_members(self, guild_id: int) -> None:
        """Ask for the members that a large server did not name by itself: without them little is known to be open."""
        guild = self._client.get_guild(guild_id)
        if guild is None or guild.chunked or not self._client.intents.members:
            return
        try:
            async with asyncio.timeout(LEARN_MEMBERS_S):
                await guild.chunk()
        except Exception as error:  # isolation: what is not known counts as no
            logger.warning("the members of a server are not known", extra={"error": type(error).__name__})

    async def _catch_up_thread(self, thread_id: int) -> None:
        """As a channel; a thread or post that is new to us is read from its beginning.

        Who spoke to the familiar in one that was opened just now is answered.
        """
        if await self._servers.find_newest(thread_id) is not None:
            await self._catch_up(thread_id)
        elif self._host.clock.now() - _tell_opened_at(thread_id) <= timedelta(
            seconds=self._host.settings.answer_late_s
        ):
            await self._hear_missed(thread_id, thread_id - 1)
        elif self._past.reads_past:
            await self._past.read(thread_id)

    async def _catch_up(self, channel_id: int) -> None:
        """Finish what an earlier run left in the channel, then hear what was missed."""
        newest = await self._servers.find_newest(channel_id)
        if newest is not None and newest.isdigit():
            await self._hear_missed(channel_id, int(newest))

    async def _hear_missed(self, channel_id: int, newest: int) -> None:
        """Hear what was said after the message *newest*; of a long absence the last part now, the rest meanwhile."""
        try:
            channel = await self._channel_at(channel_id)
            if channel_id in await self._servers.list_waiting():
                await self._finish_replies(channel)
            missed = await fetch_missed(channel, newest, limit=MAX_MISSED)
        except Exception as error:  # isolation: a channel that cannot be looked at ends no other
            logger.warning(
                "a subscribed channel cannot be read",
                extra={"channel_id": channel_id, "reason": str(delivery_error(error))},
            )
            return
        for message in missed:
            await self._hear(message, is_old_news=True)
        if len(missed) >= MAX_MISSED:
            reading = self._past.read_on(channel_id, after_id=newest, before_id=missed[0].id)
            self._background.start(reading, name=f"read-on-{channel_id}")

    async def _finish_replies(self, channel: Any) -> None:
        """Post and record what was on its way when the program died; answer who was heard and not answered."""
        within_s, is_dm = self._host.settings.answer_late_s, getattr(channel, "guild", None) is None
        await self._servers.finish_replies(channel.id, self._place(channel), within_s=within_s, is_dm=is_dm)

    async def _on_guild_remove(self, guild: Any) -> None:
        self._scenes.invalidate(guild.id)
        logger.warning("the bot is no longer on a server", extra={"guild_id": guild.id})
        await self._first_words.on_removed(guild)

    async def _on_change(self, *changed: Any) -> None:
        about = changed[-1]
        guild = getattr(about, "guild", about)
        self._scenes.invalidate(getattr(guild, "id", None))
        if hasattr(about, "permissions_for") and self._readers.is_hidden(about):
            rules = self._readers.fingerprint_of(about)
            for each in (about.id, *await self._readers.threads_to_hide(about)):
                await self._servers.hide_channel(each, guild.id, rules)
        is_of_another = hasattr(about, "guild_permissions") and about.id != self._client.user.id
        if getattr(guild, "me", None) is not None and not is_of_another:
            await self._first_words.look_for_closed(guild)

    async def _on_channel_delete(self, channel: Any) -> None:
        await self._on_change(channel)
        await self._first_words.on_deleted(channel)

    async def _on_event(self, *changed: Any) -> None:
        self._scenes.events.note_change(changed[-1])

    # Commands, and what the owner is told

    async def _on_interaction(self, interaction: Any) -> None:
        assert self._interactions is not None
        try:
            await self._interactions.answer(interaction)
        except Exception as error:  # isolation: whatever the library raises
            logger.warning(
                "a slash command could not be answered", extra={"reason": str(delivery_error(error))}, exc_info=True
            )

    async def _tell_owner(self, application: Application, text: str) -> None:
        """The same once an hour: a channel closed to us need not be told of at every message there."""
        now, before = self._host.clock.monotonic(), self._told.get(text)
        if before is not None and now - before < TELL_AGAIN_S:
            return
        self._told.put(text, now)
        for owner in sorted(application.owners)[:1]:
            user = self._client.get_user(owner) or await self._client.fetch_user(owner)
            await user.send(text[:2000])

    async def _on_error(self, event: str, *args: Any, **kwargs: Any) -> None:
        logger.exception("discord event failed", extra={"event": event})


def _tell_opened_at(channel_id: int) -> datetime:
    """When a channel or thread was made, as its id says."""
    return datetime.fromtimestamp(((channel_id >> 22) + DISCORD_EPOCH_MS) / 1000, UTC)
