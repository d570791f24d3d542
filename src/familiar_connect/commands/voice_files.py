"""The file doors of voice: a recording, or a script of several people, heard and answered in a session of its own.

Nobody waits for pauses: time is skipped where nothing is computed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import profile_of, say, say_json
from familiar_connect.config.voice import LOCAL_PROVIDER
from familiar_connect.errors import ConfigError, FamiliarError
from familiar_connect.identity import Author
from familiar_connect.platforms.terminal.place import PLATFORM, person_at_terminal
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import machine_zone
from familiar_connect.support.simulated_time import LoopClock, SkippingEventLoop, run_skipping, running_skipping_loop
from familiar_connect.voice.protocols import HEARING_RATE, EarsFactory, SpeechRecognizer
from familiar_connect.voice.script import ScriptLine, ScriptStart, read_script

if TYPE_CHECKING:  # sound is made of numpy, which waits for whoever needs it
    from familiar_connect.familiar import Familiar
    from familiar_connect.voice.backends import VoiceBackends
    from familiar_connect.voice.session import SessionWatcher, VoiceSession
    from familiar_connect.voice.wav import RecordingOut

FEED_S = 0.05
SAMPLE_BYTES = 2
FEED_BYTES = int(HEARING_RATE * FEED_S) * SAMPLE_BYTES
WAIT_FOR_SPEECH_S = 120.0
"""A line that counts from the familiar's speech is said after this long all the same."""
SILENCE_S = 1.2
"""Who has said their line is silent for so long, which is enough to be heard."""


def _refuse(problem: FamiliarError) -> int:
    """Say why a file cannot be listened to; nothing was done."""
    tell(str(problem))
    return exit_codes.USAGE


def tell(text: str) -> None:
    """Something that is to be read beside what is said."""
    say(f"familiar: {text}", err=True)


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """One thing that was said, what was answered, and how long it took."""

    said: str
    reply: str = ""
    first_audio_s: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class TalkEvent:
    """One thing that happened in a talk. Seconds count from its beginning."""

    at: float
    who: str
    said: str = ""
    first_sound_at: float | None = None
    """Of a reply: when it began to sound."""
    was_yielded: bool = False
    """Of a reply: whether it paused or ended for somebody who talked over it."""
    talked_on: bool = False
    """Of a reply: whether somebody talked over it and it went on."""


@dataclass(frozen=True, kw_only=True)
class FileDoor:
    """One familiar, and where what it says goes."""

    root: Path
    home: Path
    answer: Path | None
    shows_text: bool
    find_channel: Callable[[Familiar], int]
    """Which chat it is part of; may read a file."""

    def answer_recording(self, question: Path, user_name: str | None) -> int:
        """Answer what is said in *question*; the recording waits while the familiar speaks."""
        from familiar_connect.voice.wav import RecordingOut, SoundFileError, read_wav

        try:
            sound, out = read_wav(question), RecordingOut()
        except SoundFileError as error:
            return _refuse(error)
        spoken = run_skipping(self._listen(sound, out, user_name))
        self._write(out)
        if not self.shows_text:
            say_json({"familiar": self.root.name, "spoken": [asdict(each) for each in spoken]})
        elif not spoken:
            say(f"Nothing was understood in {question.name}: no speech, or too faint.", err=True)
        return exit_codes.OK if any(each.reply for each in spoken) else exit_codes.NO_REPLY

    def play_script(self, script: Path) -> int:
        """Play a talk of several people; nobody waits for anybody."""
        from familiar_connect.voice.wav import RecordingOut, SoundFileError, read_wav

        try:
            lines, out = read_script(script), RecordingOut(keeps_pauses=True)
            sounds = {line.wav: read_wav(line.wav) for line in lines if line.wav is not None}
        except (ConfigError, SoundFileError) as error:
            return _refuse(error)
        talk = run_skipping(self._play(lines, sounds, out))
        self._write(out)
        if not self.shows_text:
            say_json({"familiar": self.root.name, "talk": [asdict(each) for each in talk.events]})
        elif not talk.events:
            say(f"Nothing was understood in {script.name}.", err=True)
        return exit_codes.OK if any(each.first_sound_at is not None for each in talk.events) else exit_codes.NO_REPLY

    def _write(self, out: RecordingOut) -> None:
        from familiar_connect.voice.wav import write_wav

        if self.answer is not None and out.pcm:
            write_wav(self.answer, bytes(out.pcm), out.sample_rate)

    async def _listen(self, sound: bytes, out: RecordingOut, user_name: str | None) -> list[Spoken]:
        from familiar_connect.voice.session import SessionWatcher

        spoken: list[Spoken] = []
        loop, began = asyncio.get_running_loop(), 0.0

        def note_said(author: Author, text: str) -> None:
            nonlocal began
            began = loop.time()
            spoken.append(Spoken(said=text))
            if self.shows_text:
                say(f"{author.label}: {text}")

        def note_first_audio() -> None:
            if spoken:
                spoken[-1] = replace(spoken[-1], first_audio_s=round(loop.time() - began, 3))

        def note_reply(text: str) -> None:
            if spoken:
                spoken[-1] = replace(spoken[-1], reply=text, seconds=round(loop.time() - began, 3))
            if self.shows_text and text:
                say(f"{name}: {text}")

        watcher = SessionWatcher(on_said=note_said, on_first_audio=note_first_audio, on_reply=note_reply)
        async with self._session(out, watcher, is_dm=True) as (familiar, _, session):
            name = familiar.name
            user = await off_loop(person_at_terminal, user_name or familiar.config.user_name, familiar)
            await _feed(session, user, sound, wait=session.wait_until_idle)
            await session.finish()
            await session.wait_until_idle()
        return spoken

    async def _play(self, lines: list[ScriptLine], sounds: dict[Path, bytes], out: RecordingOut) -> _Talk:
        loop = asyncio.get_running_loop()
        talk = _Talk(loop, self.root.name, say if self.shows_text else None)
        async with self._session(out, talk.watcher, is_dm=False) as (familiar, backends, session):
            talk.name = familiar.name
            spoken = [await _sound_of(line, sounds, backends) for line in lines]
            people = {line.speaker: _person(line.speaker) for line in lines}
            for person in people.values():
                session.join(person)
            talk.begin()
            out.open()
            reached = talk.began_at
            async with asyncio.TaskGroup() as group:
                for line, sound in zip(lines, spoken, strict=True):
                    if line.counts_from is ScriptStart.speech:
                        await talk.wait_for_speech(after=reached, limit_s=WAIT_FOR_SPEECH_S)
                    origin = talk.began_at if line.counts_from is ScriptStart.start else loop.time()
                    reached = max(reached, origin + line.at)
                    group.create_task(_perform(line, origin + line.at, people[line.speaker], sound, session))
            await session.finish()
            await session.wait_until_idle()
        return talk

    @asynccontextmanager
    async def _session(
        self, out: RecordingOut, watcher: SessionWatcher, *, is_dm: bool
    ) -> AsyncIterator[tuple[Familiar, VoiceBackends, VoiceSession]]:
        from familiar_connect.bot import load_familiar
        from familiar_connect.extensions.speech import open_speech_access
        from familiar_connect.voice.backends import VoiceBackends
        from familiar_connect.voice.session import VoiceChannel, VoiceSession

        loop = running_skipping_loop()
        familiar, _ = load_familiar(self.root, home=self.home, defaults_path=profile_of(self.home), zone=machine_zone())
        backends = VoiceBackends(familiar.config, open_speech_access(self.root, self.home, familiar.config))
        is_local = familiar.config.stt.provider == LOCAL_PROVIDER
        channel_id = await off_loop(self.find_channel, familiar)
        session = VoiceSession(
            familiar,
            _whole_stretches(backends, loop if is_local else None),
            backends.synthesizer,
            out,
            VoiceChannel(platform=PLATFORM, channel_id=channel_id, is_dm=is_dm),
            show=tell,
            clock=LoopClock(),
            watcher=watcher,
        )
        writer = familiar.memory_writer_scheduler
        loop.skip_unless(lambda: not is_local or session.is_computing or writer.is_writing)
        try:
            await familiar.start()
            await session.start()
            yield familiar, backends, session
        finally:
            loop.skip_unless(lambda: True)  # what is left may be a call to a model
            await session.stop()
            await backends.aclose()
            await familiar.aclose()


class _TimelessRecognizer:
    """Recognises in no time of the talk, however slow this computer is; but not for ever."""

    def __init__(self, recognizer: SpeechRecognizer, loop: SkippingEventLoop) -> None:
        self._recognizer = recognizer
        self._loop = loop

    async def recognize(self, pcm: bytes) -> str:
        from familiar_connect.voice import hearing

        with self._loop.hold(hearing.RECOGNITION_TIMEOUT_S):
            return await self._recognizer.recognize(pcm)


def _whole_stretches(backends: VoiceBackends, loop: SkippingEventLoop | None) -> EarsFactory:
    """Ears that have each stretch of speech recognised at once; with *loop* that takes no time of the talk."""
    from familiar_connect.voice.hearing import Hearing

    # A service has time-outs and pauses between tries, so that its time must pass.
    recognizer = _TimelessRecognizer(backends.recognizer, loop) if loop is not None else backends.recognizer
    return lambda callbacks: Hearing(recognizer, backends.make_probability, callbacks)


@dataclass
class _Talk:
    """What happened in a talk, as it happened."""

    loop: asyncio.AbstractEventLoop
    name: str
    show: Callable[[str], None] | None
    events: list[TalkEvent] = field(default_factory=list)
    began_at: float = 0.0
    _first_sound: float | None = None
    _has_yielded: bool = False
    _has_talked_on: bool = False
    _sounds: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def watcher(self) -> SessionWatcher:
        from familiar_connect.voice.session import SessionWatcher

        return SessionWatcher(
            on_said=self._note_said,
            on_first_audio=self._note_first_audio,
            on_reply=self._note_reply,
            on_yield=self._note_yield,
            on_talk_on=self._note_talk_on,
        )

    def begin(self) -> None:
        """Seconds count from now."""
        self.began_at = self.loop.time()

    async def wait_for_speech(self, *, after: float, limit_s: float) -> None:
        """Wait until the familiar begins to speak, not before the moment *after*."""
        await asyncio.sleep(max(0.0, after - self.loop.time()))
        self._sounds.clear()
        try:
            async with asyncio.timeout(limit_s):
                await self._sounds.wait()
        except TimeoutError:
            tell(f"the familiar did not speak for {limit_s:g} seconds; the talk goes on")

    def _now(self) -> float:
        return round(self.loop.time() - self.began_at, 3)

    def _tell(self, event: TalkEvent) -> None:
        self.events.append(event)
        if self.show is not None and event.said:
            self.show(f"{event.who}: {event.said}")

    def _note_said(self, author: Author, text: str) -> None:
        self._tell(TalkEvent(at=self._now(), who=author.label, said=text))

    def _note_first_audio(self) -> None:
        self._first_sound = self._now()
        self._sounds.set()

    def _note_yield(self) -> None:
        self._has_yielded = True
        if self.show is not None:
            tell(f"{self.name} is talked over and stops")

    def _note_talk_on(self) -> None:
        self._has_talked_on = True
        if self.show is not None:
            tell(f"{self.name} is talked over and talks on")

    def _note_reply(self, text: str) -> None:
        if text or self._first_sound is not None:
            self._tell(
                TalkEvent(
                    at=self._now(),
                    who=self.name,
                    said=text,
                    first_sound_at=self._first_sound,
                    was_yielded=self._has_yielded,
                    talked_on=self._has_talked_on,
                )
            )
        self._first_sound, self._has_yielded, self._has_talked_on = None, False, False


async def _feed(
    session: VoiceSession, speaker: Author, sound: bytes, *, wait: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Let *speaker* be heard at the pace of speech; *wait* holds the next piece back."""
    for at in range(0, len(sound), FEED_BYTES):
        session.feed(speaker, sound[at : at + FEED_BYTES])
        await asyncio.sleep(FEED_S)
        if wait is not None:
            await wait()


async def _perform(line: ScriptLine, at: float, person: Author, sound: bytes, session: VoiceSession) -> None:
    await asyncio.sleep(max(0.0, at - asyncio.get_running_loop().time()))
    if line.typed is not None:
        session.type_text(person, line.typed)
    elif line.leaves:
        session.leave(person)
    else:
        await _feed(session, person, sound + bytes(int(HEARING_RATE * SILENCE_S) * SAMPLE_BYTES))


async def _sound_of(line: ScriptLine, sounds: dict[Path, bytes], backends: VoiceBackends) -> bytes:
    """What is heard of *line*, mono at `HEARING_RATE`."""
    if line.wav is not None:
        return sounds[line.wav]
    if line.text is None:
        return b""
    from familiar_connect.voice.audio import resample

    made = await backends.synthesizer.synthesize(line.text)
    return await off_loop(resample, made.audio, backends.synthesizer.sample_rate, HEARING_RATE)


def _person(name: str) -> Author:
    """Somebody of a script, known by their name."""
    return Author(platform=PLATFORM, user_id=f"script:{name.casefold()}", username=None, display_name=name)
