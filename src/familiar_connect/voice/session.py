"""VoiceSession: one voice channel, from the sound of those in it to the familiar's spoken reply.

What is heard is gathered until nobody has spoken for a while, stored as turns of those who said it, and answered.
Who talks while the familiar thinks or speaks is dealt with by `interruption`; what was heard of a reply is what is
recorded. One task of the session acts, so that nothing happens twice or out of order.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.types import Exchange, ReplyDue
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.support.aio import BackgroundTasks, CallLater, RestartableTimer, call_later, cancel_and_wait
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.voice.audio import SAMPLE_BYTES
from familiar_connect.voice.audio_feed import AudioFeed
from familiar_connect.voice.back_channels import BackChannelFilter
from familiar_connect.voice.end_of_turn import MAX_HOLD_S, interruption_limits, longest_reply_s, turn_pauses
from familiar_connect.voice.interruption import (
    Burst,
    BurstOutcome,
    InterruptionDetector,
    ResponseState,
    ResponseTracker,
    Speakers,
    compute_tolerance,
    uid_of,
)
from familiar_connect.voice.mood import MoodEvaluator
from familiar_connect.voice.place import VoicePlace
from familiar_connect.voice.protocols import (
    HEARING_RATE,
    AudioOut,
    EarsFactory,
    HearingCallbacks,
    SpeechSynthesizer,
)
from familiar_connect.voice.turn_taking import VoiceLullMonitor
from familiar_connect.voice.types import TranscriptionResult, VoiceActivityEvent
from familiar_connect.voice.unclear_speech import UnclearSpeech
from familiar_connect.voice.utterances import (
    SpeechJournal,
    Utterance,
    merge_by_speaker,
    note_talked_on,
    note_while_generating,
    note_while_speaking,
    when_due,
)
from familiar_connect.voice.voice_host import VoiceHost

MIN_HOLD_S = 0.05
WORDS_GRACE_S = 3.0
"""How long the end of an interruption waits for its words."""
FINISH_S = 10.0
"""How long leaving waits for the last words to be recognised."""
GOODBYE = bytes(HEARING_RATE * SAMPLE_BYTES * 2)
"""Silence, after which whoever left has stopped speaking."""

logger = logging.getLogger(__name__)


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
    on_yield: Callable[[], None] = lambda: None
    """The familiar stops talking for somebody."""
    on_talk_on: Callable[[], None] = lambda: None
    """Somebody talks over the familiar, and it goes on."""


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
        self.channel = channel
        self._show = show
        self._clock = clock or SystemClock()
        self._watcher = watcher or SessionWatcher()
        self._queue = familiar.intake.queue
        self._speakers = Speakers()
        told = HearingCallbacks(
            on_transcript=self._on_transcript,
            on_activity=self._on_activity,
            on_trouble=show,
            on_unclear=self._on_unclear,
        )
        self._audio = AudioFeed(ears, told, show, self._clock)
        self._said: list[Utterance] = []
        """What is to be stored and answered."""
        self._first_said_at = 0.0
        self._is_due = False
        self._bursts: deque[Burst] = deque()
        self._has_grace = False
        """Words of an interruption are still waited for."""
        self._last_heard = ""
        self._mood = 0.0
        self._mood_task: asyncio.Task[None] | None = None
        self._moods = MoodEvaluator.for_model(familiar.side_model("mood_eval"), familiar.history_store)
        self._background = BackgroundTasks("voice session")
        self._wake = asyncio.Event()
        self._acting: asyncio.Task[None] | None = None
        self._rest = asyncio.Event()
        """Set while no reply is being made or spoken."""
        self._rest.set()
        self._has_settled = asyncio.Event()
        """Set while nothing is left to act on."""
        self._has_settled.set()
        self._lull_s = familiar.config.voice_lull_timeout
        self._lull = VoiceLullMonitor(
            lull_timeout=self._lull_s,
            on_utterance_complete=self._on_lull,
            channel_name=channel.name,
            pause_after=self._pause_after,
            later=later,
        )
        self._pauses = turn_pauses(familiar.config)
        self._back_channels = BackChannelFilter(familiar.config.stt.language_if_known, familiar.config.back_channels)
        self._hold = RestartableTimer(self._hold_lull_back, later)
        self._grace = RestartableTimer(self._stop_waiting_for_words, later)
        self._patience = RestartableTimer(self._answer_now, later)
        self._tracker = ResponseTracker(channel.guild_id or channel.channel_id, clock=self._clock)
        self._detector = self._make_detector(later, rng)
        self._place = VoicePlace(
            synthesizer,
            out,
            StoredMessages(familiar.history_store, familiar.id, channel.channel_id, platform=channel.platform),
            show=show,
            scene=self.look_around,
            on_first_audio=self._on_first_audio,
            follow=self._follow_reply,
            longest_reply_s=longest_reply_s(familiar.config),
        )
        self._unclear = UnclearSpeech(self._place, familiar.config.stt.unclear_reply, self._clock)
        self._journal = SpeechJournal(familiar.intake, self._place)

    def _make_detector(self, later: CallLater, rng: random.Random | None) -> InterruptionDetector:
        return InterruptionDetector(
            self._tracker,
            interruption_limits(self._familiar.config),
            tolerance=self._tolerance,
            on_yield=self._yield_turn,
            on_burst=self._on_burst,
            on_talk_on=self._watcher.on_talk_on,
            clock=self._clock,
            later=later,
            rng=rng,
        )

    @property
    def state(self) -> ResponseState:
        """What the familiar does."""
        return self._tracker.state

    @property
    def is_computing(self) -> bool:
        """Whether somebody else's work is waited for, rather than people or the end of a sound."""
        feels = self._mood_task is not None and not self._mood_task.done()
        return self.state is ResponseState.GENERATING or self._place.is_waiting or feels

    # Beginning and ending

    async def start(self) -> None:
        """Begin to listen; a second time nothing happens."""
        if self._acting is None:
            self._audio.open()
            self._acting = self._background.start(self._act(), name=self.channel.name)

    async def finish(self) -> None:
        """All streams have ended: have the last words recognised, and answer them without waiting for a pause."""
        await self._audio.finish()
        self._lull.clear()
        self._is_due = bool(self._said)
        self._nudge()

    async def stop(self) -> None:
        """Be silent, and store what was said without answering it; a second time nothing happens."""
        acting, self._acting = self._acting, None
        if acting is None:
            return
        self._place.pause()
        try:
            async with asyncio.timeout(FINISH_S):
                await self._audio.finish()
        except TimeoutError:
            self._show("The last words could not be made out in time.")
        await self._audio.aclose()
        await cancel_and_wait(acting)
        for timer in (self._hold, self._grace, self._patience):
            timer.cancel()
        self._detector.clear()
        self._speakers.clear_speech()
        await self._lull.close()
        await self._queue.stop(self.channel.channel_id)
        self._bursts.clear()
        for each in merge_by_speaker(self._take_said()):
            await self._store(each, ReplyDue.never)
        await self._unclear.aclose()
        await self._background.aclose()
        self._has_settled.set()

    async def wait_until_idle(self) -> None:
        """Wait until all that was fed is heard, and what is due is answered and spoken; a lull is not waited for."""
        while True:
            await self._audio.wait_until_idle()
            await self._has_settled.wait()
            await self._familiar.intake.wait_until_idle()
            await self._queue.wait_until_channel_idle(self.channel.channel_id)
            if self._has_settled.is_set() and self._rest.is_set():
                return

    # What comes in

    def feed(self, speaker: Author, pcm: bytes) -> None:
        """Sound of *speaker*, mono 16-bit at `HEARING_RATE`; returns at once."""
        self._audio.feed(self._speakers.join(speaker), pcm, speaker.label)

    def join(self, person: Author) -> None:
        """Somebody comes into the channel, who may never speak."""
        self._speakers.join(person)

    def leave(self, speaker: Author) -> None:
        """Somebody goes; what they said last is still recognised."""
        known = self._speakers.leave(speaker)
        if known is not None and known.is_speaking:
            self._audio.feed(uid_of(speaker), GOODBYE, speaker.label)

    def type_text(self, author: Author, text: str) -> None:
        """Something that was typed while people talk: it is answered with what is said."""
        self._speakers.join(author)
        if not text.strip():
            return
        waits_for_lull = bool(self._said) or bool(self._speakers.speaking())
        self._add(Utterance(author=author, text=text.strip()))
        if not waits_for_lull:
            self._is_due = True
            self._nudge()

    def _on_activity(self, uid: int, event: VoiceActivityEvent) -> None:
        if event is VoiceActivityEvent.started:
            self._speakers.on_speech_start(uid, self.state)
            self._lull.on_speech_start(uid)
            self._hold.restart(self._lull_s / 2)
            self._detector.on_speech_start(uid)
        else:
            self._speakers.on_speech_end(uid, self.state)
            self._lull.on_speech_end(uid)
            self._detector.on_speech_end(uid)

    def _on_transcript(self, uid: int, result: TranscriptionResult) -> None:
        if not result.is_final:
            return
        speaker, text = self._speakers.on_words(uid), result.text.strip()
        if speaker is not None and text:
            is_aside = speaker.spoke_over and self._back_channels.matches(text)
            self._add(Utterance(author=speaker.author, text=text, is_back_channel=is_aside))
            self._lull.on_transcript(uid, result)
        elif speaker is not None:  # nothing more is on its way
            self._lull.rearm()
        self._nudge()

    def _on_unclear(self, uid: int) -> None:
        speaker = self._speakers.find(uid)
        is_meant = len(self._speakers.present()) == 1 and self.state is ResponseState.IDLE
        self._unclear.tell(speaker.author.label if speaker else "somebody", is_meant=is_meant)

    def _add(self, said: Utterance) -> None:
        if not self._said:
            self._first_said_at = self._clock.monotonic()
            self._patience.restart(MAX_HOLD_S)
        self._said.append(replace(said, keys=(self._journal.add(self._message(said)),)))

    def _take_said(self) -> list[Utterance]:
        said, self._said = self._said, []
        self._is_due = False
        self._patience.cancel()
        return said

    # Whose turn it is

    def _hold_lull_back(self) -> None:
        """While somebody speaks there is no lull, unless what was said has waited for too long."""
        speaking = self._speakers.speaking()
        waited = self._clock.monotonic() - self._first_said_at if self._said else 0.0
        if not speaking or waited > MAX_HOLD_S:
            return
        for uid in speaking:
            self._lull.on_speech_start(uid)
        self._hold.restart(max(self._lull_s / 2, MIN_HOLD_S))

    def _pause_after(self, text: str) -> float:
        """How long the lull is after these words, if nobody speaks and no words are on their way."""
        return self._lull_s if self._speakers.is_anybody_busy() else self._pauses.after(text)

    def _on_lull(self, _said: TranscriptionResult) -> None:
        self._answer_now()

    def _answer_now(self) -> None:
        """What was said is answered, though somebody may go on."""
        self._is_due = bool(self._said)
        self._nudge()

    def _on_burst(self, burst: Burst) -> None:
        self._bursts.append(burst)
        self._has_grace = self._speakers.await_words(burst.speakers)
        if self._has_grace:
            self._grace.restart(WORDS_GRACE_S)
        self._nudge()

    def _stop_waiting_for_words(self) -> None:
        self._has_grace = False
        self._nudge()

    def _yield_turn(self) -> None:
        self._place.pause()
        self._watcher.on_yield()

    def _tolerance(self) -> float:
        """The chance of talking on; sure where they only show that they listen."""
        if self._said and all(each.is_back_channel for each in self._said):
            return 1.0
        base = self._familiar.config.interrupt_tolerance.base_probability
        return compute_tolerance(base, self._mood, is_unsolicited=self._tracker.is_unsolicited)

    # Replies

    @contextmanager
    def _follow_reply(self, exchange: Exchange) -> Iterator[None]:
        """From the moment a reply is begun until it is recorded."""
        if self._mood_task is not None:
            self._mood_task.cancel()  # nothing stands beside a reply
        self._rest.clear()
        self._detector.change_state(ResponseState.GENERATING)
        self._tracker.is_unsolicited = exchange.trigger.is_unsolicited
        try:
            yield
        finally:
            self._last_heard = self._place.take_heard()
            self._detector.change_state(ResponseState.IDLE)
            self._rest.set()
            self._watcher.on_reply(self._last_heard)
            if self._acting is not None:
                self._mood_task = self._background.start(self._feel_mood(), name="mood")
            self._nudge()

    def _on_first_audio(self) -> None:
        self._watcher.on_first_audio()
        self._detector.change_state(ResponseState.SPEAKING)

    async def _feel_mood(self) -> None:
        """How the room feels, for the next time the familiar is talked over."""
        self._mood = await self._moods.evaluate(self.channel.channel_id, self._familiar.id)

    # The one task that acts

    def _nudge(self) -> None:
        if self._acting is None:
            return
        self._has_settled.clear()
        self._wake.set()

    async def _act(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._act_on_bursts()
                if self._is_due and self.state is ResponseState.IDLE and not self._detector.has_open_burst:
                    await self._hand_on(self._take_said())
            except Exception:  # isolation: the next thing that is said is heard all the same
                logger.exception("a voice session could not act", extra={"channel": self.channel.name})
            if not self._wake.is_set():
                if not (self._bursts or self._is_due):
                    self._has_settled.set()
                await self._wake.wait()

    async def _act_on_bursts(self) -> None:
        while self._bursts:
            words_may_come = self._has_grace and self._speakers.await_words(self._bursts[0].speakers)
            if words_may_come:
                return
            self._grace.cancel()
            await self._end_burst(self._bursts.popleft())

    async def _end_burst(self, burst: Burst) -> None:
        said = merge_by_speaker([each for each in self._said if not each.is_back_channel])
        outcome = burst.outcome if said else BurstOutcome.nothing
        channel_id = self.channel.channel_id
        if outcome is BurstOutcome.generate_anew and self.state is ResponseState.GENERATING:
            await self._queue.withdraw(channel_id)
            self._queue.note_interruption(channel_id, note_while_generating(said))
        elif outcome is BurstOutcome.reply_anew:
            await self._cut_reply()
            self._queue.note_interruption(channel_id, note_while_speaking(self._last_heard, said))
        elif outcome is BurstOutcome.note_words:
            self._queue.note_interruption(channel_id, note_talked_on(said))
        if outcome is not BurstOutcome.reply_anew:
            self._place.resume()
        self._is_due = self._is_due or bool(self._said)

    async def _cut_reply(self) -> None:
        """End the reply that is paused, and wait until what was heard of it is recorded."""
        if self.state is ResponseState.SPEAKING:
            self._place.cut()
            await self._rest.wait()
        elif self.state is ResponseState.GENERATING:  # the next one has begun
            await self._queue.withdraw(self.channel.channel_id)

    async def _hand_on(self, said: list[Utterance]) -> None:
        """Store what was said and have it answered, together."""
        turns = merge_by_speaker(said)
        for each, due in zip(turns, when_due(turns), strict=True):
            await self._store(each, due)
        self._queue.answer_waiting(self.channel.channel_id)  # what was withdrawn, if nothing else was to be answered

    async def _store(self, said: Utterance, due: ReplyDue) -> None:
        self._watcher.on_said(said.author, said.text)
        await self._journal.wait_for(said.keys)
        await self._familiar.intake.receive(self._message(said), self._place, due=due, speech=said.keys)

    def _message(self, said: Utterance) -> InboundMessage:
        """*said* as it is heard now."""
        channel = self.channel
        return InboundMessage(
            platform=channel.platform,
            channel_id=channel.channel_id,
            guild_id=channel.guild_id,
            author=said.author,
            text=said.text,
            timestamp=self._clock.now(),
            is_dm=channel.is_dm,
            is_mention=channel.is_dm,
            is_voice=True,
            channel_name=channel.name,
        )

    async def look_around(self) -> Scene:
        """What the platform shows, with everybody who is in the channel."""
        channel, people = self.channel, self._speakers.present()
        if channel.scene is not None:
            scene = await channel.scene()
            return replace(scene, participants=people or scene.participants)
        keys = frozenset(each.canonical_key for each in people)
        context = ChannelContext(channel.name, ChannelKind.voice)
        return Scene(channel=context, participants=people, is_dm=channel.is_dm, reader_keys=keys)
