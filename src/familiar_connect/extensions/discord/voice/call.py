"""VoiceCall: one voice channel that the familiar is in, with the session that listens and speaks there."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from familiar_connect.api import Author, PlatformHost, Scene
from familiar_connect.api.calls import CallVoice, SessionWatcher, VoiceChannel, VoiceSession
from familiar_connect.api.support import BackgroundTasks
from familiar_connect.extensions.discord.people import author_of
from familiar_connect.extensions.discord.place import DiscordPlace
from familiar_connect.extensions.discord.scene import with_speakers
from familiar_connect.extensions.discord.voice.playback import DiscordAudioOut

if TYPE_CHECKING:
    from familiar_connect.extensions.discord.voice.client import ListeningVoiceClient

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
