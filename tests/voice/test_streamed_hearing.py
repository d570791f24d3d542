"""Several people are heard through streams, one for each; a stream is open while somebody has something to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from familiar_connect.config import CharacterConfig
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.support.simulated_time import run_skipping, running_skipping_loop
from familiar_connect.voice.backends import create_ears_factory, create_recognizer
from familiar_connect.voice.protocols import HearingCallbacks
from familiar_connect.voice.speech_service import SpeechServiceError
from familiar_connect.voice.stt.streamed_hearing import IDLE_CLOSE_S, StreamedHearing
from familiar_connect.voice.types import TranscriptionResult, VoiceActivityEvent
from familiar_connect.voice.vad import EnergyProbability
from tests.fakes.deepgram import DeepgramConnection
from tests.fakes.speech_server import SpeechServer
from tests.fakes.voice_room import ANA, short_limits, voice_room
from tests.fakes.waiting import until
from tests.voice.fake_timers import FakeTimers
from tests.voice.test_deepgram import access_to, config_at
from tests.voice.test_vad import silence, tone


class FakeTranscriber:
    """Tells how much it was given whenever it is asked for the words so far."""

    def __init__(self, *, fails_after: int | None = None, is_final: bool = False) -> None:
        self.sound = bytearray()
        self.ended = False
        self._fails_after = fails_after
        self._is_final = is_final
        self._on_result: Callable[[TranscriptionResult], None] | None = None

    def begin(
        self, on_result: Callable[[TranscriptionResult], None], *, on_trouble: Callable[[str], None] | None = None
    ) -> None:
        self._on_result = on_result

    def feed(self, pcm: bytes) -> None:
        if self._fails_after is not None and len(self.sound) >= self._fails_after:
            raise SpeechServiceError("gone", is_final=self._is_final)
        self.sound += pcm

    def finalize(self) -> None:
        assert self._on_result is not None
        self._on_result(TranscriptionResult("not sure", False, 0.0, 1.0))
        self._on_result(TranscriptionResult("some words", True, 0.5, 1.0))

    def unheard(self) -> bytes:
        return bytes(self.sound)

    async def finish(self) -> None:
        self.ended = True

    async def stop(self) -> None:
        self.ended = True


class Told:
    def __init__(self) -> None:
        self.transcripts: list[tuple[int, TranscriptionResult]] = []
        self.activity: list[tuple[int, VoiceActivityEvent]] = []
        self.troubles: list[str] = []
        self.callbacks = HearingCallbacks(
            on_transcript=lambda uid, result: self.transcripts.append((uid, result)),
            on_activity=lambda uid, event: self.activity.append((uid, event)),
            on_trouble=self.troubles.append,
        )


class Streams:
    """Streamed hearing whose transcribers are kept."""

    def __init__(self, *made: FakeTranscriber) -> None:
        self._coming = list(made)
        self.made: list[FakeTranscriber] = []
        self.told = Told()
        self.timers = FakeTimers()
        self.hearing = StreamedHearing(self._make, EnergyProbability, self.told.callbacks, later=self.timers.later)

    def _make(self) -> FakeTranscriber:
        self.made.append(self._coming.pop(0) if self._coming else FakeTranscriber())
        return self.made[-1]

    def feed(self, pcm: bytes, uid: int = 1, speaker: str | None = "Ada") -> None:
        for at in range(0, len(pcm), 640):
            self.hearing.feed(uid, pcm[at : at + 640], speaker=speaker)


async def test_a_stream_opens_with_the_first_sound_of_speech() -> None:
    """Silence costs nothing, and the moment before is not lost; times are those of the whole stream."""
    streams = Streams()
    streams.feed(silence(3))
    assert streams.made == []
    streams.feed(tone(1) + silence(1))
    [made] = streams.made
    assert tone(1) in bytes(made.sound)
    [(uid, result)] = streams.told.transcripts
    assert (uid, result.text, result.speaker) == (1, "some words", "Ada")
    assert 2.9 < result.start < 3.1
    assert streams.told.activity == [(1, VoiceActivityEvent.started), (1, VoiceActivityEvent.ended)]
    await streams.hearing.aclose()
    assert made.ended


async def test_each_person_has_a_stream() -> None:
    """And is told under their own id and name."""
    streams = Streams()
    for uid in range(10):
        streams.feed(tone(0.5) + silence(1), uid, f"Person {uid}")
    assert len(streams.made) == 10
    assert {(uid, each.speaker) for uid, each in streams.told.transcripts} == {(n, f"Person {n}") for n in range(10)}
    await streams.hearing.aclose()


async def test_a_stream_nobody_uses_is_closed_and_opened_again() -> None:
    """After a while, not between two sentences."""
    streams = Streams()
    streams.feed(tone(0.5) + silence(1))
    streams.timers.advance(IDLE_CLOSE_S - 1)
    streams.feed(tone(0.5) + silence(1))
    assert len(streams.made) == 1
    streams.timers.advance(IDLE_CLOSE_S + 1)
    await streams.hearing.finish()
    assert streams.made[0].ended
    streams.feed(tone(0.5) + silence(1))
    assert len(streams.made) == 2
    await streams.hearing.aclose()


async def test_a_stream_that_gave_up_is_followed_by_another_with_what_was_not_understood() -> None:
    """A recogniser that dies in the middle of a word costs no word."""
    streams = Streams(FakeTranscriber(fails_after=16_000))
    streams.feed(tone(2) + silence(1))
    first, second = streams.made
    await streams.hearing.finish()
    assert first.ended
    assert tone(2) in bytes(second.sound)
    await streams.hearing.aclose()


async def test_a_service_that_refuses_is_not_asked_again() -> None:
    """Who speaks is still told, so that nobody is talked over."""
    streams = Streams(FakeTranscriber(fails_after=0, is_final=True))
    streams.feed((tone(0.5) + silence(1)) * 3)
    assert len(streams.made) == 1
    assert len(streams.told.activity) == 6
    await streams.hearing.aclose()


async def test_two_people_speak_to_deepgram_at_once(tmp_path: Path) -> None:
    """Through the ears that the settings name, against a server that speaks its protocol."""
    connections = [DeepgramConnection(says="good evening"), DeepgramConnection(says="good evening")]
    async with SpeechServer([each.answer for each in connections]) as server:
        TrustedOrigins(tmp_path).add(server.base_url, "EARS_KEY")
        told, access, config = Told(), access_to(tmp_path), config_at(server)
        recognizer = create_recognizer(config, access=access)
        ears = create_ears_factory(config, recognizer, EnergyProbability, access=access)(told.callbacks)
        for _ in range(2):
            for uid, name in ((1, "Ada"), (2, "Bob")):
                ears.feed(uid, tone(0.5) + silence(1), speaker=name)
        await ears.finish()
        await ears.aclose()
    assert len(server.calls) == 2
    assert {(uid, each.speaker, each.text) for uid, each in told.transcripts} == {
        (1, "Ada", "good evening"),
        (2, "Bob", "good evening"),
    }
    assert told.troubles == []


def test_a_talk_is_streamed_and_answered_though_a_connection_breaks(tmp_path: Path) -> None:
    """In a voice session, in real time: the words become the speaker's turn, and the reply follows."""
    first, second = DeepgramConnection(drops_after=20_000), DeepgramConnection(says="good evening")

    async def talk() -> None:
        running_skipping_loop().skip_unless(lambda: True)  # a server takes the time it takes
        async with SpeechServer([first.answer, second.answer]) as server:
            TrustedOrigins(tmp_path).add(server.base_url, "EARS_KEY")
            access, config = access_to(tmp_path), config_at(server)
            recognizer = create_recognizer(config, access=access)
            ears = create_ears_factory(config, recognizer, EnergyProbability, access=access)
            async with voice_room(tmp_path, ["Hello Ana."], ears=ears, settings=impatient) as room:
                sound = tone(1) + silence(1)
                for at in range(0, len(sound), 3_200):
                    room.session.feed(ANA, sound[at : at + 3_200])
                await until(lambda: len(room.turns()) == 2)
                assert room.turns() == [("Ana", "good evening"), ("assistant", "Hello Ana.")]
                assert room.shown == []

    run_skipping(talk())
    assert bytes(second.heard).startswith(bytes(first.heard))


def impatient(config: CharacterConfig) -> CharacterConfig:
    return replace(short_limits(config), voice_lull_timeout=0.3)
