"""VoiceSession: one voice channel, from the sound of those in it to the familiar's spoken reply."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config import CharacterConfig
from familiar_connect.conversation.intake import Intake
from familiar_connect.conversation.lull_timers import CallLater, call_later
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.support.aio import BackgroundTasks
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.voice.place import VoicePlace
from familiar_connect.voice.protocols import AudioOut, Ears, EarsFactory, HearingCallbacks, SpeechSynthesizer
from familiar_connect.voice.turn_taking import VoiceLullMonitor
from familiar_connect.voice.types import TranscriptionResult, VoiceActivityEvent


class VoiceHost(Protocol):
    """What a voice session needs of a familiar."""

    @property
    def id(self) -> str: ...
    @property
    def config(self) -> CharacterConfig: ...
    @property
    def history_store(self) -> HistoryStore: ...
    @property
    def intake(self) -> Intake: ...


@dataclass(frozen=True, kw_only=True)
class VoiceChannel:
    """Where people talk."""

    platform: str
    channel_id: int
    guild_id: int | None = None
    name: str = "voice"
    is_dm: bool = False
    """Between the familiar and one person: everything is answered."""
    scene: Callable[[], Awaitable[Scene]] | None = None
    """What the platform shows of the channel; None: no more than who is in it."""


@dataclass(frozen=True, kw_only=True)
class SessionWatcher:
    """Whoever wants to follow a session; each is called at once and must not take long."""

    on_said: Callable[[Author, str], None] = lambda _author, _text: None
    """Somebody has said something, and it is about to be stored."""
    on_first_audio: Callable[[], None] = lambda: None
    """The first sound of a reply is ready."""
    on_reply: Callable[[str], None] = lambda _text: None
    """A reply is over; the words of it that were heard."""


class VoiceSession:
    """Hears everybody in one voice channel, decides whose turn it is, and speaks."""

    def __init__(
        self,
        familiar: VoiceHost,
        ears: EarsFactory,
        synthesizer: SpeechSynthesizer,
        out: AudioOut,
        channel: VoiceChannel,
        *,
        show: Callable[[str], None],
        clock: Clock | None = None,
        later: CallLater = call_later,
        rng: random.Random | None = None,
        watcher: SessionWatcher | None = None,
    ) -> None:
        """*show* is given what can only be read: notices, trouble, and sentences that could not be spoken."""
        self._familiar = familiar
        self._make_ears = ears
        self._channel = channel
        self._show = show
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._watcher = watcher or SessionWatcher()
        self._people: dict[int, Author] = {}
        self._ears: Ears | None = None
        self._background = BackgroundTasks("voice session")
        self._lull = VoiceLullMonitor(
            lull_timeout=familiar.config.voice_lull_timeout,
            on_utterance_complete=self._take_utterance,
            channel_name=channel.name,
            later=later,
        )
        self._place = VoicePlace(
            synthesizer,
            out,
            StoredMessages(familiar.history_store, familiar.id, channel.channel_id, platform=channel.platform),
            show=show,
            scene=self._look_around,
            on_first_audio=self._watcher.on_first_audio,
        )

    async def start(self) -> None:
        """Begin to listen; a second time nothing happens."""
        if self._ears is None:
            self._ears = self._make_ears(
                HearingCallbacks(
                    on_transcript=self._on_transcript, on_activity=self._on_activity, on_trouble=self._show
                )
            )

    async def stop(self) -> None:
        """Be silent, and store what was said; a second time nothing happens."""
        ears, self._ears = self._ears, None
        if ears is not None:
            await ears.aclose()
        await self._lull.close()
        await self._background.aclose()

    def feed(self, speaker: Author, pcm: bytes) -> None:
        """Sound of *speaker*, mono 16-bit at `HEARING_RATE`; returns at once."""
        uid = self._join(speaker)
        if self._ears is not None:
            self._ears.feed(uid, pcm, speaker=speaker.label)

    def join(self, person: Author) -> None:
        """Somebody comes into the channel, who may never speak."""
        self._join(person)

    def leave(self, speaker: Author) -> None:
        """Somebody goes; what they said last is still recognised."""
        uid = _uid(speaker)
        self._people.pop(uid, None)
        self._lull.on_speech_end(uid)

    def type_text(self, author: Author, text: str) -> None:
        """Something that was typed while people talk: it is answered with what is said."""
        self._join(author)
        self._background.start(self._say(author, text), name="typed")

    async def wait_until_idle(self) -> None:
        """Wait until all that was fed is recognised and everything is answered and spoken."""
        await self._background.wait_until_idle()
        await self._lull.wait_until_idle()
        await self._familiar.intake.wait_until_idle()
        await self._familiar.intake.queue.wait_until_channel_idle(self._channel.channel_id)

    def _join(self, person: Author) -> int:
        uid = _uid(person)
        self._people[uid] = person
        return uid

    def _on_activity(self, uid: int, event: VoiceActivityEvent) -> None:
        if event is VoiceActivityEvent.started:
            self._lull.on_speech_start(uid)
        else:
            self._lull.on_speech_end(uid)

    def _on_transcript(self, uid: int, result: TranscriptionResult) -> None:
        self._lull.on_transcript(uid, replace(result, speaker=str(uid)))

    async def _take_utterance(self, said: TranscriptionResult) -> None:
        author = self._people.get(int(said.speaker or 0))
        if author is not None:
            await self._say(author, said.text)

    async def _say(self, author: Author, text: str) -> None:
        self._watcher.on_said(author, text)
        channel = self._channel
        message = InboundMessage(
            platform=channel.platform,
            channel_id=channel.channel_id,
            guild_id=channel.guild_id,
            author=author,
            text=text,
            timestamp=self._clock.now(),
            is_dm=channel.is_dm,
            is_mention=channel.is_dm,
            is_voice=True,
            channel_name=channel.name,
        )
        await self._familiar.intake.receive(message, self._place)

    async def _look_around(self) -> Scene:
        """What the platform shows, with everybody who is in the channel."""
        channel = self._channel
        if channel.scene is not None:
            scene = await channel.scene()
        else:
            scene = Scene(channel=ChannelContext(channel.name, ChannelKind.voice), is_dm=channel.is_dm)
        return replace(scene, participants=tuple(self._people.values()) or scene.participants)


def _uid(person: Author) -> int:
    """A number for *person*, the platform's own where it is one."""
    return int(person.user_id) if person.user_id.isdecimal() else hash(person.canonical_key)
