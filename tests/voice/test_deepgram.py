"""Deepgram's streams, against a server on loopback: reconnects with replay, keeps alive, ends in order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.config.voice import STTConfig
from familiar_connect.extensions.voice_deepgram import stream as deepgram
from familiar_connect.extensions.voice_deepgram.messages import read_result
from familiar_connect.extensions.voice_deepgram.stream import DeepgramTranscriber, LinkSettings, ReplayBuffer
from familiar_connect.voice.backends import create_ears_factory, create_recognizer
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.speech_service import SpeechServiceError
from familiar_connect.voice.stt.deepgram import create_transcriber_from_env
from familiar_connect.voice.types import TranscriptionResult
from familiar_connect.voice.vad import EnergyProbability
from tests.fakes.deepgram import BYTES_PER_S, DeepgramConnection, result_of
from tests.fakes.speech_server import Answer, SpeechServer, cut_off, object_answer, silent_answer
from tests.fakes.waiting import until

KEY = "verysecretkey123"


class Heard:
    """What a transcriber told."""

    def __init__(self) -> None:
        self.results: list[TranscriptionResult] = []
        self.troubles: list[str] = []
        self.changed = asyncio.Event()

    def on_result(self, result: TranscriptionResult) -> None:
        self.results.append(result)
        self.changed.set()

    def on_trouble(self, says: str) -> None:
        self.troubles.append(says)
        self.changed.set()

    @property
    def finals(self) -> list[str]:
        return [each.text for each in self.results if each.is_final]

    async def until_finals(self, count: int) -> None:
        while len(self.finals) < count:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 60)

    async def until_trouble(self) -> None:
        while not self.troubles:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 60)


def transcriber_at(server: SpeechServer, **settings: Any) -> DeepgramTranscriber:
    link = {"base_url": f"{server.base_url}/v1", "sleep": no_pause, **settings.pop("link", {})}
    return DeepgramTranscriber(api_key=KEY, sample_rate=16_000, link=LinkSettings(**link), **settings)


async def no_pause(_: float) -> None:
    await asyncio.sleep(0)


def sound(size: int, first: int = 0) -> bytes:
    """Bytes that tell where in the stream they are."""
    return b"".join((at % 251).to_bytes() for at in range(first, first + size))


async def test_sound_goes_in_and_words_come_out() -> None:
    """With the key in a header and the kind of sound in the address."""
    there = DeepgramConnection()
    async with SpeechServer([there.answer]) as server:
        transcriber, heard = transcriber_at(server, language="de"), Heard()
        await transcriber.start(heard.on_result, on_trouble=heard.on_trouble)
        await transcriber.send_audio(sound(16_000))
        await transcriber.send_audio(b"")
        await transcriber.finish()
    [call] = server.calls
    assert heard.finals == ["16000"]
    assert [each.text for each in heard.results] == ["mayb", "16000"]
    assert (heard.results[-1].start, heard.results[-1].end) == (0.0, 0.5)
    assert bytes(there.heard) == sound(16_000)
    assert there.empty_frames == 0
    assert there.controls == ["CloseStream"]
    assert call.path == "/v1/listen"
    assert call.headers["authorization"] == f"Token {KEY}"
    assert KEY not in json.dumps(call.query)
    wanted = {"model": "nova-3", "language": "de", "encoding": "linear16", "sample_rate": "16000", "channels": "1"}
    assert wanted.items() <= call.query.items()
    assert {"endpointing": "300", "utterance_end_ms": "1000", "interim_results": "true"}.items() <= call.query.items()
    assert heard.troubles == []


async def test_a_connection_that_ends_is_made_anew_and_what_was_not_understood_is_sent_again() -> None:
    """No word is lost, none comes twice, and times go on."""
    first, second = DeepgramConnection(drops_after=48_000), DeepgramConnection()
    async with SpeechServer([first.answer, second.answer]) as server:
        transcriber, heard = transcriber_at(server), Heard()
        await transcriber.start(heard.on_result, on_trouble=heard.on_trouble)
        await transcriber.send_audio(sound(32_000))
        transcriber.finalize()
        await heard.until_finals(1)
        await transcriber.send_audio(sound(16_000, 32_000))
        await until(lambda: len(server.calls) == 2)
        await transcriber.send_audio(sound(8_000, 48_000))
        await transcriber.finish()
    assert bytes(first.heard) == sound(48_000)
    assert bytes(second.heard) == sound(24_000, 32_000)
    assert heard.finals == ["32000", "24000"]
    assert [(each.start, each.end) for each in heard.results if each.is_final] == [(0.0, 1.0), (1.0, 1.75)]
    assert heard.troubles == []


async def test_a_connection_that_breaks_at_the_very_end_is_made_anew_for_the_last_words() -> None:
    """The sound has ended, the words have not come yet."""
    there = DeepgramConnection(says="good night")

    async with SpeechServer([cut_off, there.answer]) as server:
        transcriber, heard = transcriber_at(server), Heard()
        await transcriber.start(heard.on_result, on_trouble=heard.on_trouble)
        await transcriber.send_audio(sound(3_200))
        await transcriber.finish()
    assert heard.finals == ["good night"]


async def test_pauses_between_tries_grow_to_a_limit_and_then_it_gives_up_and_says_so() -> None:
    """In one sentence, once."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    link = {"sleep": pause, "reconnect_max_attempts": 5, "reconnect_backoff_cap_s": 3.0}
    async with SpeechServer([object_answer({"error": "busy"}, 503)]) as server:
        transcriber, heard = transcriber_at(server, link=link), Heard()
        await transcriber.start(heard.on_result, on_trouble=heard.on_trouble)
        await heard.until_trouble()
        with pytest.raises(SpeechServiceError):
            await transcriber.send_audio(sound(320))
        await transcriber.stop()
    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert len(server.calls) == 6
    assert len(heard.troubles) == 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (object_answer({"err_msg": f"Invalid {KEY}"}, 401), "keys set DEEPGRAM_API_KEY"),
        (object_answer({"error": "no such model"}, 400), "no such model"),
        (object_answer({}, 402), "payment"),
    ],
    ids=["a wrong key", "a wrong model", "no credit"],
)
async def test_a_refusal_is_final(answer: Answer, says: str) -> None:
    """It is said without the key, and nothing is tried again."""
    async with SpeechServer([answer]) as server:
        transcriber, heard = transcriber_at(server), Heard()
        await transcriber.start(heard.on_result, on_trouble=heard.on_trouble)
        await heard.until_trouble()
        await transcriber.finish()
    assert len(server.calls) == 1
    assert says in heard.troubles[0]
    assert KEY not in heard.troubles[0]


async def test_a_silent_speaker_keeps_the_connection_alive() -> None:
    """By signs of life, never by empty sound."""
    there = DeepgramConnection()
    async with SpeechServer([there.answer]) as server:
        transcriber, heard = transcriber_at(server, link={"keepalive_interval_s": 0.01}), Heard()
        await transcriber.start(heard.on_result)
        await until(lambda: there.controls.count("KeepAlive") >= 3)
        await transcriber.send_audio(sound(3_200))
        await transcriber.finish()
    assert len(server.calls) == 1
    assert there.empty_frames == 0
    assert heard.finals == ["3200"]


async def test_messages_that_make_no_sense_are_passed_over() -> None:
    """Whatever comes, words are heard."""
    noise = ("no object", "[1]", '{"type": "Results"}', b"\xff", '{"type": "SpeechStarted"}', '{"type": 7}')
    there = DeepgramConnection(noise=noise)
    async with SpeechServer([there.answer]) as server:
        transcriber, heard = transcriber_at(server), Heard()
        await transcriber.start(heard.on_result, on_trouble=heard.on_trouble)
        await transcriber.send_audio(sound(3_200))
        await transcriber.finish()
    assert heard.finals == ["3200"]
    assert heard.troubles == []


async def test_sound_before_the_start_is_refused_and_stopping_twice_is_nothing() -> None:
    """Nor does it connect again after the end."""
    there = DeepgramConnection()
    async with SpeechServer([there.answer]) as server:
        transcriber = transcriber_at(server)
        with pytest.raises(RuntimeError, match="not connected"):
            await transcriber.send_audio(sound(320))
        await transcriber.start(lambda _: None)
        await transcriber.send_audio(sound(320))
        await until(lambda: there.heard)
        await transcriber.stop()
        await transcriber.stop()
        with pytest.raises(RuntimeError, match="not connected"):
            await transcriber.send_audio(sound(320))
    assert len(server.calls) == 1
    never = DeepgramTranscriber(api_key=KEY)
    await never.stop()
    await never.stop()


async def test_the_end_waits_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says that the last words are missing."""
    monkeypatch.setattr(deepgram, "FINISH_TIMEOUT_S", 0.05)
    async with SpeechServer([silent_answer]) as server:
        transcriber, heard = transcriber_at(server), Heard()
        await transcriber.start(heard.on_result, on_trouble=heard.on_trouble)
        transcriber.feed(sound(3_200))
        await transcriber.finish()
    assert any("last words" in each for each in heard.troubles)


async def test_a_long_outage_loses_the_oldest_sound_and_says_so_once() -> None:
    """No more is kept than the buffer is good for."""
    async with SpeechServer([silent_answer]) as server:
        transcriber, heard = transcriber_at(server, replay_buffer_s=1.0), Heard()
        await transcriber.start(heard.on_result, on_trouble=heard.on_trouble)
        for at in range(20):
            transcriber.feed(sound(3_200, at * 3_200))
        await transcriber.stop()
    assert transcriber.unheard() == sound(32_000, 32_000)
    assert len(heard.troubles) == 1


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 40).map(lambda n: 2 * n)),
            st.tuples(st.just("take"), st.integers(1, 60).map(lambda n: 2 * n)),
            st.tuples(st.just("confirm"), st.integers(0, 2_000)),
            st.tuples(st.just("rewind"), st.just(0)),
        ),
        max_size=60,
    )
)
def test_a_replay_begins_where_understanding_ended(steps: list[tuple[str, int]]) -> None:
    """Nothing is skipped but what was confirmed or had no room, and what is taken is what was given."""
    buffer, written, at, lost = ReplayBuffer(100), 0, 0, 0
    for step, size in steps:
        if step == "append":
            lost += buffer.append(sound(size, written))
            written += size
        elif step == "take":
            at = buffer.end - buffer.unsent
            assert buffer.take(size) == sound(min(size, written - at), at)
        elif step == "confirm":
            buffer.confirm(size)
        else:
            buffer.rewind()
        assert buffer.end == written
        assert 0 <= buffer.unsent <= buffer.end - buffer.start <= 100
        assert buffer.all_sound() == sound(written - buffer.start, buffer.start)
        assert lost <= buffer.start


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["type", "channel", "alternatives", "transcript", "start", "duration", "words", "speaker", "end"]
            ),
            inner,
        ),
    ),
)


@given(JSON, JSON, JSON, JSON)
def test_whatever_is_told_is_a_transcript_or_nothing(start: Any, length: Any, words: Any, text: Any) -> None:
    """Its times are in order."""
    told = result_of(text, start, length, words=words)
    found = read_result(json.dumps(told), 3.0)
    if found is not None:
        assert 3.0 <= found.transcript.start <= found.transcript.end <= found.understood_s


@pytest.mark.parametrize(
    ("more", "is_told"),
    [({"from_finalize": True}, True), ({}, False), ({"from_finalize": True, "is_final": False}, False)],
    ids=["asked for", "unasked", "not final"],
)
def test_an_empty_answer_counts_where_the_words_so_far_were_asked_for(more: dict[str, bool], is_told: bool) -> None:
    """It says that no more are on their way; any other empty one says nothing."""
    found = read_result(json.dumps({**result_of("", 0.0, 1.0), **more}))
    assert found is not None
    assert found.is_asked_for is is_told


def test_times_are_those_of_the_words() -> None:
    """A pause after them is no speech; who spoke is told where the service tells people apart."""
    words = [{"word": "good", "start": 1.0, "end": 1.2, "speaker": 1}, {"word": "night", "start": 1.3, "end": 1.6}]
    found = read_result(json.dumps(result_of("good night", 0.0, 5.0, words=words)), 10.0)
    assert found is not None
    assert (found.transcript.start, found.transcript.end, found.understood_s) == (11.0, 11.6, 15.0)
    assert found.transcript.speaker == "Speaker 2"


def test_the_environment_names_key_model_and_limits() -> None:
    """What is missing or wrong is a ValueError that names it."""
    with pytest.raises(ValueError, match="DEEPGRAM_API_KEY"):
        create_transcriber_from_env(lambda _: None)
    for name in ("REPLAY_BUFFER_S", "KEEPALIVE_INTERVAL_S", "RECONNECT_MAX_ATTEMPTS", "RECONNECT_BACKOFF_CAP_S"):
        given_values: Mapping[str, str] = {"DEEPGRAM_API_KEY": KEY, f"DEEPGRAM_{name}": "soon"}
        with pytest.raises(ValueError, match=f"DEEPGRAM_{name}"):
            create_transcriber_from_env(given_values.get)
    made = create_transcriber_from_env({"DEEPGRAM_API_KEY": KEY}.get)
    assert KEY not in repr(made)


async def test_whole_stretches_are_recognised_in_one_call(tmp_path: Path) -> None:
    """As voice messages are; the model is that of the environment."""
    access = access_to(tmp_path)
    access.secrets.put("DEEPGRAM_MODEL", "nova-2")
    best = {"channels": [{"alternatives": [{"transcript": " Good night. "}]}]}
    async with SpeechServer([object_answer({"results": best}), object_answer({"results": {}})]) as server:
        TrustedOrigins(tmp_path).add(server.base_url, "EARS_KEY")
        recognizer = create_recognizer(config_at(server), access=access)
        assert await recognizer.recognize(bytes(BYTES_PER_S)) == "Good night."
        assert await recognizer.recognize(b"") == ""
        with pytest.raises(RuntimeError, match="not a transcript"):
            await recognizer.recognize(bytes(BYTES_PER_S))
    assert server.calls[0].query["model"] == "nova-2"
    assert server.calls[0].body.startswith(b"RIFF")
    assert server.calls[0].headers["authorization"] == f"Token {KEY}"


def test_what_ears_need_is_named_before_anybody_speaks(tmp_path: Path) -> None:
    """A key, or a number that is none."""
    access = ServiceAccess.of_home(tmp_path)
    with pytest.raises(ValueError, match="DEEPGRAM_API_KEY"):
        create_recognizer(STTConfig(provider="deepgram"), access=access)
    access.secrets.put("DEEPGRAM_API_KEY", KEY)
    access.secrets.put("DEEPGRAM_REPLAY_BUFFER_S", "long")
    recognizer = create_recognizer(STTConfig(provider="deepgram"), access=access)
    with pytest.raises(ValueError, match="DEEPGRAM_REPLAY_BUFFER_S"):
        create_ears_factory(STTConfig(provider="deepgram"), recognizer, EnergyProbability, access=access)


def access_to(home: Path) -> ServiceAccess:
    access = ServiceAccess.of_home(home)
    access.secrets.put("EARS_KEY", KEY)
    return access


def config_at(server: SpeechServer) -> STTConfig:
    return STTConfig(provider="deepgram", base_url=server.base_url, api_key_env="EARS_KEY")
