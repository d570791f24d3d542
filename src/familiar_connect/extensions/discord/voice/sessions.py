"""VoiceSessions: the familiar in the voice channels of its servers, one for each server at most.

It is in the channel it was asked to come to while somebody is there to talk with; it comes back when the connection
was lost and when people return, and stays away when it was sent out.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from familiar_connect.api import Author, DeliveryError, PlatformHost, Scene
from familiar_connect.api.calls import CallHost, CallVoice, SessionWatcher, VoiceChannel, VoiceSession
from familiar_connect.api.support import BackgroundTasks, KeyedLocks, off_loop
from familiar_connect.extensions.discord.people import author_of
from familiar_connect.extensions.discord.place import DiscordPlace
from familiar_connect.extensions.discord.scene import with_speakers
from familiar_connect.extensions.discord.voice.playback import DiscordAudioOut

if TYPE_CHECKING:
    from familiar_connect.extensions.discord.voice.client import ListeningVoiceClient


if TYPE_CHECKING:
    from familiar_connect.extensions.discord.voice.client import ListeningVoiceClient

CONNECT_S = 20.0
LEAVE_S = 5.0
RETRY_AFTER_S = (0.5, 2.0, 5.0, 10.0, 20.0)

logger = logging.getLogger(__name__)


MAX_NOTICES = 5
"""Notices on their way into the channel's chat; more are only logged."""

logger = logging.getLogger(__name__)


class VoiceCall:
    """The people of one channel, their sound, and our voice."""

    def __init__(
        self,
        host: PlatformHost,
        made: CallVoice,
        out: DiscordAudioOut,
        voice: ListeningVoiceClient,
        channel: Any,
        place: DiscordPlace,
        watcher: SessionWatcher | None = None,
    ) -> None:
        self.channel = channel
        self.guild_id: int = channel.guild.id
        self.voice = voice
        self._host = host
        self._synthesizer = made.synthesizer
        self._out = out
        self._place = place
        self._people: dict[int, Author] = {}
        self._notices = 0
        self._background = BackgroundTasks("voice call")
        self.session: VoiceSession = host.calls.open_session(
            made,
            out,
            VoiceChannel(
                platform=host.platform,
                channel_id=channel.id,
                guild_id=self.guild_id,
                name=channel.name,
                scene=self._look_around,
            ),
            show=self._show,
            watcher=watcher,
        )
        self._is_listening = False

    @property
    def is_listening(self) -> bool:
        """Whether what is said now is heard, and what is spoken now reaches the others."""
        return self._is_listening and self.voice.is_ready()

    async def start(self) -> None:
        await self.session.start()
        for member in self.channel.members:
            self.update(member, is_here=True)
        self.use(self.voice, self.channel)
        self._is_listening = True

    def use(self, voice: ListeningVoiceClient, channel: Any) -> None:
        """Hear through *voice* from now on; *channel* is the same one, as the library knows it now."""
        self.voice, self.channel = voice, channel
        voice.listen(self._on_sound)

    async def stop(self) -> None:
        counts = self.voice.counts
        logger.info("leaves a voice channel", extra={"channel_id": self.channel.id, "received": str(counts)})
        self.voice.listen(None)
        await self.session.stop()
        await self._out.aclose()
        await self._background.aclose()

    def update(self, member: Any, *, is_here: bool) -> None:
        """Somebody is in the channel, perhaps under a new name, or not any more. Bots are nobody to talk with."""
        if member.bot:
            return
        if is_here:
            self._people[member.id] = author_of(member)
            self.session.join(self._people[member.id])
        elif member.id in self._people:
            self.session.leave(self._people.pop(member.id))

    async def say(self, text: str) -> None:
        """Say something of our own accord."""
        try:
            made = await self._synthesizer.synthesize(text)
        except (RuntimeError, OSError) as error:
            logger.warning("a greeting could not be spoken", extra={"reason": str(error)})
            return
        await self._out.play(made.audio, self._synthesizer.sample_rate)

    def _on_sound(self, user_id: int, pcm: bytes) -> None:
        person = self._people.get(user_id)
        if person is not None and not self._host.is_unheard(person):
            self.session.feed(person, pcm)

    async def _look_around(self) -> Scene:
        people = tuple(self._people.values())
        return replace(with_speakers(await self._place.scene(), self.channel, people), listeners=people)

    def _show(self, text: str) -> None:
        """Into the chat of the voice channel, where everybody who listens can read it."""
        logger.info("told in a voice channel's chat", extra={"channel_id": self.channel.id, "text": text})
        if self._notices < MAX_NOTICES:
            self._notices += 1
            self._background.start(self._notify(text), name="notice")

    async def _notify(self, text: str) -> None:
        try:
            await self._place.notice(text)
        finally:
            self._notices -= 1


class VoiceSessions:
    """Joins and leaves voice channels, and hands on what happens in them."""

    def __init__(
        self,
        host: PlatformHost,
        make_voice: Callable[[], CallVoice],
        *,
        channel_at: Callable[[int], Any],
        place_at: Callable[[Any], DiscordPlace],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        watcher: SessionWatcher | None = None,
    ) -> None:
        """*make_voice* is called when a channel is joined first; *channel_at* finds a channel by its id, or None.

        *watcher* is told what is heard and said in every channel.
        """
        self._host = host
        self._call_host: CallHost = host.calls
        self._make_voice = make_voice
        self._made: CallVoice | None = None
        self._channel_at = channel_at
        self._place_at = place_at
        self._sleep = sleep
        self._watcher = watcher
        self._calls: dict[int, VoiceCall] = {}
        self._dismissed: set[int] = set()
        """Servers on which we were asked to leave."""
        self._locks = KeyedLocks()
        self._background = BackgroundTasks("discord voice")

    def channel_id_in(self, guild_id: int) -> int | None:
        """The voice channel we are in on a server; None: we are in none."""
        call = self._calls.get(guild_id)
        return call.channel.id if call is not None else None

    def find_session(self, guild_id: int) -> VoiceSession | None:
        """The talk in the voice channel we are in on a server, once it can be heard and answered there."""
        call = self._calls.get(guild_id)
        return call.session if call is not None and call.is_listening else None

    async def join(self, channel: Any) -> None:
        """Come to *channel*; raises where that fails."""
        async with self._locks.lock(channel.guild.id):
            self._dismissed.discard(channel.guild.id)
            if channel.guild.id not in self._calls:
                await self._begin(await self._connect(channel), channel)

    async def leave(self, guild_id: int) -> None:
        """Go; being nowhere is fine."""
        self._dismissed.add(guild_id)
        async with self._locks.lock(guild_id):
            await self._end(guild_id)

    def greet(self, guild_id: int) -> None:
        """Say one of the greetings, if there are any."""
        call, greetings = self._calls.get(guild_id), self._call_host.greetings
        if call is not None and greetings:
            self._background.start(call.say(random.choice(greetings)), name=f"greet-{guild_id}")

    def type_text(self, channel_id: int, author: Any, text: str) -> bool:
        """Something was written in the chat of a voice channel; whether we are in that channel."""
        call = next((each for each in self._calls.values() if each.channel.id == channel_id), None)
        if call is not None:
            call.session.type_text(author, text)
        return call is not None

    def on_voice_state(self, member: Any, before: Any, after: Any) -> None:
        """Somebody came, went or was muted; perhaps ourselves."""
        guild_id = member.guild.id
        call = self._calls.get(guild_id)
        if call is not None and member.id != member.guild.me.id:
            call.update(member, is_here=getattr(after.channel, "id", None) == call.channel.id)
        if before.channel != after.channel:
            self.settle_soon(guild_id)

    def settle_soon(self, guild_id: int) -> None:
        """Something changed on a server: be where we should be."""
        self._background.start(self._settle(guild_id), name=f"settle-{guild_id}")

    async def aclose(self) -> None:
        self._dismissed |= set(self._calls)
        await self._background.aclose()
        for guild_id in list(self._calls):
            await self._end(guild_id)
        if self._made is not None:
            await self._made.aclose()

    # Being where we should be

    async def _settle(self, guild_id: int) -> None:
        async with self._locks.lock(guild_id):
            call = self._calls.get(guild_id)
            if call is not None and call.voice.was_sent_away:
                await self._stay_away(call)
                return
            if call is not None and call.voice.channel is not None and call.voice.channel.id != call.channel.id:
                await self._follow(call)
                return
            known = self._call_host.find_subscribed(guild_id)
            channel = self._channel_at(call.channel.id if call is not None else known or 0)
            has_people = channel is not None and any(not member.bot for member in channel.members)
            if call is not None and not has_people:
                logger.info("leaves a voice channel that nobody is in", extra={"channel_id": call.channel.id})
                await self._end(guild_id)
            elif call is not None and channel.guild.voice_client is not call.voice:
                await _hang_up(call.voice)  # the library began anew and knows nothing of it; `_watch` comes back
            elif call is None and has_people and guild_id not in self._dismissed:
                await self._come_back(channel)

    async def _come_back(self, channel: Any) -> None:
        try:
            await self._begin(await self._connect(channel), channel)
        except Exception as error:  # isolation: whatever the library raises; the next change tries again
            logger.warning(
                "a voice channel could not be joined", extra={"channel_id": channel.id, "reason": _describe(error)}
            )

    async def _stay_away(self, call: VoiceCall) -> None:
        """Somebody sent us out: that is as good as the command."""
        logger.info("was sent out of a voice channel", extra={"channel_id": call.channel.id})
        await self._end(call.guild_id)
        await self._call_host.unsubscribe(call.channel.id)

    async def _follow(self, call: VoiceCall) -> None:
        """Somebody moved us to another channel: listen there, and here no more."""
        voice, channel = call.voice, call.voice.channel
        self._calls.pop(call.guild_id)
        await call.stop()
        await self._call_host.unsubscribe(call.channel.id)
        await self._call_host.subscribe(channel.id, call.guild_id)
        await self._begin(voice, channel)

    # Calls

    async def _connect(self, channel: Any) -> ListeningVoiceClient:
        from familiar_connect.extensions.discord.voice.client import ListeningVoiceClient

        if self._made is None:
            self._made = await off_loop(self._make_voice)
        if channel.type.name != "voice":
            raise DeliveryError("that is a stage, and I only come to voice channels")
        try:
            voice: ListeningVoiceClient = await channel.connect(cls=ListeningVoiceClient, timeout=CONNECT_S)
        except TimeoutError:
            raise DeliveryError("Discord's voice server did not answer in time") from None
        return voice

    async def _begin(self, voice: ListeningVoiceClient, channel: Any) -> None:
        assert self._made is not None
        guild_id = channel.guild.id
        out = DiscordAudioOut(lambda: self._voice_on(guild_id))
        place = self._place_at(channel)
        call = VoiceCall(self._host, self._made, out, voice, channel, place, self._watcher)
        self._calls[guild_id] = call
        await call.start()
        self._background.start(self._watch(call), name=f"watch-{guild_id}")

    def _voice_on(self, guild_id: int) -> ListeningVoiceClient | None:
        call = self._calls.get(guild_id)
        return call.voice if call is not None else None

    async def _watch(self, call: VoiceCall) -> None:
        """Come back as often as the connection is lost, as long as we are wanted."""
        while self._calls.get(call.guild_id) is call:
            await call.voice.closed.wait()
            for pause_s in RETRY_AFTER_S:
                async with self._locks.lock(call.guild_id):
                    if self._calls.get(call.guild_id) is not call or not call.voice.closed.is_set():
                        break
                    if call.voice.was_sent_away:
                        await self._stay_away(call)
                        return
                    if await self._reconnect(call):
                        break
                await self._sleep(pause_s)
            else:
                await self._give_up(call)

    async def _reconnect(self, call: VoiceCall) -> bool:
        try:
            channel = self._channel_at(call.channel.id) or call.channel
            call.use(await self._connect(channel), channel)
        except Exception as error:  # isolation: whatever the library raises; it is tried again
            logger.warning(
                "a voice channel could not be joined again",
                extra={"channel_id": call.channel.id, "reason": _describe(error)},
            )
            return False
        return True

    async def _give_up(self, call: VoiceCall) -> None:
        async with self._locks.lock(call.guild_id):
            if self._calls.get(call.guild_id) is call and call.voice.closed.is_set():
                logger.error("gives up a voice channel", extra={"channel_id": call.channel.id})
                await self._end(call.guild_id)

    async def _end(self, guild_id: int) -> None:
        call = self._calls.get(guild_id)
        if call is not None:
            self._calls.pop(guild_id)
            call.voice.listen(None)
            await _hang_up(call.voice)
            await call.stop()


async def _hang_up(voice: ListeningVoiceClient) -> None:
    """Disconnect; whatever stands in the way is no reason to stay."""
    with suppress(Exception):
        async with asyncio.timeout(LEAVE_S):
            await voice.disconnect(force=True)
    voice.closed.set()


def _describe(error: Exception) -> str:
    """*error* in words."""
    return str(error) or type(error).__name__
