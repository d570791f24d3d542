"""Any OpenAI-compatible server speaks and listens; what it does wrong is one plain sentence."""

from __future__ import annotations

import io
import wave
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.config.voice import STTConfig, TTSConfig
from familiar_connect.errors import ConfigError
from familiar_connect.extensions.voice_openai.hearing import OpenAIRecognizer
from familiar_connect.extensions.voice_openai.speaking import OpenAITTSClient
from familiar_connect.voice.backends import create_recognizer
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.speech_service import MAX_TEXT_CHARS, ServiceCalls, SpeechService
from familiar_connect.voice.tts.factory import create_tts_client
from tests.fakes.speech_server import (
    Answer,
    SpeechServer,
    cut_off,
    endless_answer,
    object_answer,
    silent_answer,
    sound_answer,
)

KEY = "sk-verysecretkey123"
SOUND = bytes(range(256)) * 10


def calls_to(server: SpeechServer, *, timeout_s: float = 20.0, max_bytes: int = 1_000_000) -> ServiceCalls:
    service = SpeechService(name="The server", base_url=f"{server.base_url}/v1", api_key=KEY, key_name="MY_SPEECH_KEY")
    return ServiceCalls(service, timeout_s=timeout_s, max_bytes=max_bytes, sleep=no_pause)


async def no_pause(_: float) -> None:
    pass


def form_of(body: bytes, kind: str) -> dict[str, bytes]:
    """The fields of a multipart form, read by the standard library."""
    message = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    parts: list[Any] = list(message.walk())[1:]
    return {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}


def wav_of(rate: int, seconds: float) -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(bytes(2 * int(rate * seconds)))
    return made.getvalue()


async def test_a_sentence_is_asked_for_as_plain_samples_and_comes_back() -> None:
    """With the key in a header, and nowhere else."""
    async with SpeechServer([sound_answer(SOUND)]) as server:
        voice = OpenAITTSClient(calls_to(server), model="tts-1", voice="alloy")
        made = await voice.synthesize("Good evening.")
        await voice.aclose()
    [call] = server.calls
    assert (made.audio, made.timestamps) == (SOUND, [])
    assert call.path == "/v1/audio/speech"
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.payload == {"model": "tts-1", "voice": "alloy", "input": "Good evening.", "response_format": "pcm"}


async def test_a_server_that_knows_only_wav_files_is_understood() -> None:
    """Whatever their sample rate."""
    async with SpeechServer([sound_answer(wav_of(48_000, 0.5), "audio/wav")]) as server:
        voice = OpenAITTSClient(calls_to(server), model="tts-1", voice="alloy")
        made = await voice.synthesize("Good evening.")
        await voice.aclose()
    assert len(made.audio) == voice.sample_rate


FAILURES: list[tuple[str, Answer, str]] = [
    ("a wrong key", object_answer({"error": {"message": f"bad key {KEY}"}}, 401), "keys set MY_SPEECH_KEY"),
    ("a wrong voice", object_answer({"error": {"message": "no such voice"}}, 404), "no such voice"),
    ("too many calls", object_answer({"error": {"message": "slow down"}}, 429), "fewer calls"),
    ("trouble there", object_answer({"error": "it broke"}, 500), "failed (500): it broke"),
    ("no sound", sound_answer(b""), "without any sound"),
    ("one stray byte", sound_answer(b"\0"), "without any sound"),
    ("an object", object_answer({"sound": "none"}), "answered with application/json"),
    ("compressed sound", sound_answer(b"ID3\x04whatever", "audio/mpeg"), "answered with audio/mpeg"),
    ("a broken file", sound_answer(b"RIFF....WAVEjunk", "audio/wav"), "WAV file that cannot be read"),
    ("sound without end", endless_answer(), "more than 1 MB"),
    ("a redirect", object_answer({}, 302), "redirect"),
]


@pytest.mark.parametrize(("answer", "says"), [each[1:] for each in FAILURES], ids=[each[0] for each in FAILURES])
async def test_what_goes_wrong_with_a_voice_is_one_sentence_without_the_key(answer: Answer, says: str) -> None:
    """And a RuntimeError."""
    async with SpeechServer([answer]) as server:
        voice = OpenAITTSClient(calls_to(server), model="tts-1", voice="alloy")
        with pytest.raises(RuntimeError) as caught:
            await voice.synthesize("Good evening.")
        await voice.aclose()
    assert says in str(caught.value)
    assert KEY not in str(caught.value)
    assert "Good evening" not in str(caught.value)


async def test_a_slow_server_is_not_waited_for_without_end() -> None:
    """The limit holds for the whole call."""
    async with SpeechServer([silent_answer]) as server:
        voice = OpenAITTSClient(calls_to(server, timeout_s=0.05), model="tts-1", voice="alloy")
        with pytest.raises(RuntimeError, match=r"no answer within 0\.05 seconds"):
            await voice.synthesize("Good evening.")
        await voice.aclose()


@pytest.mark.parametrize("first", [cut_off, object_answer({}, 503)], ids=["hung up", "busy"])
async def test_what_fails_in_passing_is_asked_once_more(first: Answer) -> None:
    """The person hears the sentence a moment later."""
    async with SpeechServer([first, sound_answer(SOUND)]) as server:
        voice = OpenAITTSClient(calls_to(server), model="tts-1", voice="alloy")
        assert (await voice.synthesize("Good evening.")).audio == SOUND
        await voice.aclose()
    assert len(server.calls) == 2


async def test_a_refused_key_is_not_tried_again() -> None:
    """Nor is a text that is too long sent at all."""
    async with SpeechServer([object_answer({}, 403)]) as server:
        voice = OpenAITTSClient(calls_to(server), model="tts-1", voice="alloy")
        with pytest.raises(RuntimeError):
            await voice.synthesize("Good evening.")
        with pytest.raises(RuntimeError, match="at most"):
            await voice.synthesize("a" * (MAX_TEXT_CHARS + 1))
        await voice.aclose()
    assert len(server.calls) == 1


async def test_a_key_never_goes_to_another_machine_over_plain_http() -> None:
    """Before anything is sent."""
    calls = ServiceCalls(SpeechService(name="The server", base_url="http://speech.example/v1", api_key=KEY))
    with pytest.raises(RuntimeError, match="https://"):
        await OpenAITTSClient(calls, model="m", voice="v").synthesize("Hello.")


async def test_speech_is_sent_as_a_file_and_comes_back_as_words() -> None:
    """With the model and the language that the settings name."""
    async with SpeechServer([object_answer({"text": " What is for dinner? "})]) as server:
        recognizer = OpenAIRecognizer(calls_to(server), model="whisper-1", language="en")
        words = await recognizer.recognize(bytes(32_000))
        await recognizer.aclose()
    [call] = server.calls
    form = form_of(call.body, call.headers["content-type"])
    assert words == "What is for dinner?"
    assert call.path == "/v1/audio/transcriptions"
    assert (form["model"], form["language"]) == (b"whisper-1", b"en")
    with wave.open(io.BytesIO(form["file"])) as file:
        assert (file.getframerate(), file.getnframes(), file.getnchannels()) == (16_000, 16_000, 1)


@pytest.mark.parametrize(
    "answer",
    [object_answer([]), object_answer({"text": 3}), object_answer({"text": "a" * 30_000}), sound_answer(b"\xff{")],
    ids=["a list", "a number", "a book", "no JSON"],
)
async def test_an_answer_that_is_no_transcript_is_said(answer: Answer) -> None:
    """As a RuntimeError, which costs one stretch of speech."""
    async with SpeechServer([answer]) as server:
        recognizer = OpenAIRecognizer(calls_to(server), model="whisper-1")
        with pytest.raises(RuntimeError, match="not a transcript"):
            await recognizer.recognize(bytes(32_000))
        await recognizer.aclose()


async def test_nothing_heard_asks_nobody() -> None:
    """Empty sound is no words."""
    async with SpeechServer([object_answer({"text": "Thank you for watching."})]) as server:
        recognizer = OpenAIRecognizer(calls_to(server), model="whisper-1")
        assert await recognizer.recognize(b"") == ""
    assert server.calls == []


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    """Of the service that the settings name."""
    access = ServiceAccess.of_home(tmp_path)
    with pytest.raises(ValueError, match=r"\[tts\] provider = \"openai\" needs a key: .*OPENAI_API_KEY"):
        create_tts_client(TTSConfig(provider="openai"), access=access)
    with pytest.raises(ValueError, match=r"\[stt\].*OPENAI_API_KEY"):
        create_recognizer(STTConfig(provider="openai"), access=access)


def test_an_address_in_the_settings_needs_the_owners_word(tmp_path: Path) -> None:
    """And a key goes nowhere but where it was given for."""
    access = ServiceAccess.of_home(tmp_path, file=tmp_path / "character.toml")
    access.secrets.put("OPENAI_API_KEY", KEY)
    elsewhere = TTSConfig(provider="openai", base_url="https://speech.example/v1")
    with pytest.raises(ConfigError, match=r"\[tts\] wants .*trust add https://speech\.example"):
        create_tts_client(elsewhere, access=access)
    TrustedOrigins(tmp_path).add("https://speech.example")
    assert create_tts_client(elsewhere, access=access)
    lured = TTSConfig(provider="openai", base_url="https://speech.example/v1", api_key_env="OPENAI_API_KEY")
    with pytest.raises(ConfigError, match="--key OPENAI_API_KEY"):
        create_tts_client(lured, access=access)
    TrustedOrigins(tmp_path).add("https://mine.example", "OPENAI_API_KEY")
    with pytest.raises(ConfigError, match=r"given for https://mine\.example"):
        create_tts_client(TTSConfig(provider="openai"), access=access)
    access.secrets.put("AZURE_SPEECH_REGION", "westeurope")
    with pytest.raises(ConfigError, match=r"given for https://mine\.example"):
        create_tts_client(TTSConfig(provider="azure", api_key_env="OPENAI_API_KEY"), access=access)
