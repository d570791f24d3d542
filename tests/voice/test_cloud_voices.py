"""Azure, Gemini and Cartesia, each against a server on loopback that speaks its protocol."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.config.voice import TTSConfig
from familiar_connect.extensions.voice_azure.client import build_ssml
from familiar_connect.extensions.voice_azure.extension import azure_address
from familiar_connect.extensions.voice_cartesia.client import CartesiaTTSClient, read_words
from familiar_connect.voice.protocols import SpeechSynthesizer
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.speech_service import SpeechService
from familiar_connect.voice.tts.factory import create_tts_client
from familiar_connect.voice.types import WordTimestamp
from tests.fakes.speech_server import (
    Answer,
    SpeechServer,
    endless_answer,
    object_answer,
    sound_answer,
    talk_answer,
)

KEY = "verysecretkey123"
SOUND = bytes(range(200)) * 10
VOICE_ID = "a0e99841-438c-4a64-b679-ae501e7d6091"


def voice_at(server: SpeechServer, home: Path, provider: str, **settings: str) -> SpeechSynthesizer:
    """The voice that settings name, at a server on loopback."""
    access = ServiceAccess.of_home(home)
    access.secrets.put("VOICE_KEY", KEY)
    TrustedOrigins(home).add(server.base_url, "VOICE_KEY")
    config = TTSConfig(provider=provider, base_url=server.base_url, api_key_env="VOICE_KEY", **settings)  # type: ignore[arg-type]
    return create_tts_client(config, access=access)


# Azure


async def test_azure_is_sent_a_document_and_answers_with_samples(tmp_path: Path) -> None:
    """What is spoken cannot change the document."""
    async with SpeechServer([sound_answer(SOUND, "audio/basic")]) as server:
        voice = voice_at(server, tmp_path, "azure", azure_voice="de-DE-KatjaNeural")
        made = await voice.synthesize('Fish & <break time="9s"/> chips')
    [call] = server.calls
    speak = ElementTree.fromstring(call.body)
    assert made.audio == SOUND
    assert call.path == "/cognitiveservices/v1"
    assert call.headers["ocp-apim-subscription-key"] == KEY
    assert call.headers["x-microsoft-outputformat"] == "raw-24khz-16bit-mono-pcm"
    assert speak.attrib["{http://www.w3.org/XML/1998/namespace}lang"] == "de-DE"
    assert [each.attrib["name"] for each in speak] == ["de-DE-KatjaNeural"]
    assert speak[0].text == 'Fish & <break time="9s"/> chips'
    assert len(speak[0]) == 0


@given(st.text(max_size=100), st.text(max_size=30))
def test_whatever_is_said_stays_a_readable_document(text: str, voice: str) -> None:
    """With one voice in it and nothing inside."""
    speak = ElementTree.fromstring(build_ssml(text, voice).encode("utf-8"))
    assert len(speak) == 1
    assert len(speak[0]) == 0


@pytest.mark.parametrize("region", ["", "west europe", "evil.example/", "a@b", "West"])
def test_a_region_that_is_none_never_becomes_an_address(region: str) -> None:
    """The key would go there."""
    with pytest.raises(ValueError, match="AZURE_SPEECH_REGION"):
        azure_address(region)


# Gemini


def gemini_answer(pcm: bytes, kind: str = "audio/L16;codec=pcm;rate=24000") -> Answer:
    data = base64.b64encode(pcm).decode()
    parts = [{"inlineData": {"mimeType": kind, "data": data}}]
    return object_answer({"candidates": [{"content": {"parts": parts}}]})


async def test_gemini_is_told_how_to_speak_and_answers_with_samples(tmp_path: Path) -> None:
    """Directions stand apart from the words; the key is in a header."""
    async with SpeechServer([gemini_answer(SOUND)]) as server:
        voice = voice_at(
            server, tmp_path, "gemini", gemini_model="tts-preview", gemini_style="dry", gemini_scene="a library"
        )
        made = await voice.synthesize("Good evening.")
    [call] = server.calls
    told = call.payload["contents"][0]["parts"][0]["text"]
    speech = call.payload["generationConfig"]["speechConfig"]
    assert made.audio == SOUND
    assert call.path == "/models/tts-preview:generateContent"
    assert call.headers["x-goog-api-key"] == KEY
    assert call.query == {}
    assert "Style: dry" in told
    assert "a library" in told
    assert told.endswith("Good evening.")
    assert speech["voiceConfig"]["prebuiltVoiceConfig"]["voiceName"] == "Kore"


async def test_gemini_at_another_sample_rate_is_brought_to_ours(tmp_path: Path) -> None:
    """Without directions the words go alone."""
    async with SpeechServer([gemini_answer(bytes(96_000), "audio/pcm;rate=48000")]) as server:
        made = await voice_at(server, tmp_path, "gemini").synthesize("Hi.")
    assert len(made.audio) == 48_000
    assert server.calls[0].payload["contents"] == [{"parts": [{"text": "Hi."}]}]


# Cartesia

Exchange = Callable[[web.WebSocketResponse, dict[str, Any]], Awaitable[None]]


def cartesia_answer(*exchanges: Exchange) -> Answer:
    """A connection on which each request in turn is answered; after the last it is closed."""

    async def talk(socket: web.WebSocketResponse) -> None:
        for exchange in exchanges:
            message = await socket.receive()
            if not isinstance(message.data, str):
                return
            await exchange(socket, json.loads(message.data))

    return talk_answer(talk)


async def speak_well(socket: web.WebSocketResponse, request: dict[str, Any]) -> None:
    context = request["context_id"]
    half = len(SOUND) // 2
    for part in (SOUND[:half], SOUND[half:]):
        data = base64.b64encode(part).decode()
        await socket.send_json({"type": "chunk", "context_id": context, "data": data, "done": False})
    words = {"words": ["Good", "evening."], "start": [0.0, 0.25], "end": [0.2, 0.7]}
    await socket.send_json({"type": "timestamps", "context_id": context, "word_timestamps": words})
    await socket.send_json({"type": "done", "context_id": context, "done": True})


async def speak_badly(socket: web.WebSocketResponse, request: dict[str, Any]) -> None:
    """Things nobody asked for, around a good answer."""
    await socket.send_str("no object")
    await socket.send_bytes(b"\xff\x00")
    await socket.send_str("[1]")
    await socket.send_json({"type": "chunk", "context_id": "another", "data": "AAAA"})
    await socket.send_json({"type": "timestamps", "context_id": request["context_id"], "word_timestamps": [3]})
    await speak_well(socket, request)


def cartesia(server: SpeechServer, **limits: Any) -> CartesiaTTSClient:
    service = SpeechService(name="Cartesia", base_url=server.base_url, api_key=KEY, key_name="CARTESIA_API_KEY")
    return CartesiaTTSClient(service, voice_id=VOICE_ID, model="sonic-2", **limits)


async def test_cartesia_speaks_sentence_after_sentence_on_one_connection() -> None:
    """And tells when each word is spoken."""
    requests: list[dict[str, Any]] = []

    async def note(socket: web.WebSocketResponse, request: dict[str, Any]) -> None:
        requests.append(request)
        await speak_well(socket, request)

    async with SpeechServer([cartesia_answer(note, note)]) as server:
        voice = cartesia(server)
        made = [await voice.synthesize("Good evening."), await voice.synthesize("Good night.")]
        await voice.aclose()
    [call] = server.calls
    assert [each.audio for each in made] == [SOUND, SOUND]
    assert made[0].timestamps == [WordTimestamp("Good", 0.0, 200.0), WordTimestamp("evening.", 250.0, 700.0)]
    assert (call.path, call.query, call.headers["x-api-key"]) == ("/tts/websocket", {}, KEY)
    assert [each["transcript"] for each in requests] == ["Good evening.", "Good night."]
    assert requests[0]["voice"] == {"mode": "id", "id": VOICE_ID}
    assert requests[0]["output_format"]["sample_rate"] == voice.sample_rate


async def test_cartesia_is_connected_to_anew_when_it_hung_up_between_sentences() -> None:
    """The sentence is asked for again, and heard once."""
    async with SpeechServer([cartesia_answer(speak_well), cartesia_answer(speak_well)]) as server:
        voice = cartesia(server)
        made = [await voice.synthesize("Good evening."), await voice.synthesize("Good night.")]
        await voice.aclose()
    assert [each.audio for each in made] == [SOUND, SOUND]
    assert len(server.calls) == 2


async def test_frames_that_mean_nothing_are_passed_over() -> None:
    """Those of another sentence, too."""
    async with SpeechServer([cartesia_answer(speak_badly)]) as server:
        voice = cartesia(server)
        made = await voice.synthesize("Good evening.")
        await voice.aclose()
    assert made.audio == SOUND
    assert [each.word for each in made.timestamps] == ["Good", "evening."]


async def test_a_sentence_given_up_leaves_nothing_behind_for_the_next() -> None:
    """Whoever interrupts ends the call; the next sentence has a connection of its own."""
    asked = asyncio.Event()

    async def hang(socket: web.WebSocketResponse, request: dict[str, Any]) -> None:
        asked.set()
        await socket.receive()

    async with SpeechServer([cartesia_answer(hang), cartesia_answer(speak_well)]) as server:
        voice = cartesia(server)
        speaking = asyncio.create_task(voice.synthesize("Good evening."))
        await asked.wait()
        speaking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await speaking
        assert (await voice.synthesize("Good night.")).audio == SOUND
        await voice.aclose()


async def _end_without_sound(socket: web.WebSocketResponse, request: dict[str, Any]) -> None:
    await socket.send_json({"type": "done", "context_id": request["context_id"], "done": True})


async def _fail(socket: web.WebSocketResponse, request: dict[str, Any]) -> None:
    error = {"type": "error", "context_id": request["context_id"], "error": "no such voice", "status_code": 400}
    await socket.send_json({**error, "done": True})


async def _send_without_end(socket: web.WebSocketResponse, request: dict[str, Any]) -> None:
    data = base64.b64encode(bytes(60_000)).decode()
    for _ in range(100):
        await socket.send_json({"type": "chunk", "context_id": request["context_id"], "data": data})


async def _stay_silent(socket: web.WebSocketResponse, request: dict[str, Any]) -> None:
    await socket.receive()


CARTESIA_FAILURES: list[tuple[str, Answer, str]] = [
    ("no sound", cartesia_answer(_end_without_sound), "without any sound"),
    ("an error", cartesia_answer(_fail), "no such voice"),
    ("a wrong key", object_answer({"error": f"bad {KEY}"}, 401), "keys set CARTESIA_API_KEY"),
    ("sound without end", cartesia_answer(_send_without_end), "more than 1 MB"),
    ("silence", cartesia_answer(_stay_silent), "no answer within 1 seconds"),
    ("always hung up", cartesia_answer(), "hung up"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "says"), [each[1:] for each in CARTESIA_FAILURES], ids=[each[0] for each in CARTESIA_FAILURES]
)
async def test_what_goes_wrong_with_cartesia_is_one_sentence(answer: Answer, says: str) -> None:
    """Without the key."""
    async with SpeechServer([answer]) as server:
        voice = cartesia(server, timeout_s=1.0 if "within" in says else 60.0, max_bytes=1_000_000)
        with pytest.raises(RuntimeError) as caught:
            await voice.synthesize("Good evening.")
        await voice.aclose()
    assert says in str(caught.value)
    assert KEY not in str(caught.value)


@given(
    st.recursive(
        st.one_of(st.none(), st.text(max_size=5), st.floats(), st.integers(), st.booleans()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["words", "start", "end"]), inner)
        ),
    )
)
def test_times_of_words_are_read_or_passed_over(told: object) -> None:
    """Whatever the service makes of them."""
    assert all(0 <= each.start_ms <= each.end_ms for each in read_words(told))


# All of them

REFUSALS: list[tuple[str, str, Answer, str]] = [
    ("azure", "a wrong key", object_answer({}, 401), "keys set VOICE_KEY"),
    ("azure", "no sound", sound_answer(b"", "audio/basic"), "without any sound"),
    ("azure", "sound without end", endless_answer("audio/basic"), "MB"),
    ("gemini", "a wrong key", object_answer({"error": {"message": "no"}}, 403), "keys set VOICE_KEY"),
    ("gemini", "a refusal", object_answer({"candidates": [{"finishReason": "SAFETY"}]}), "without any sound"),
    ("gemini", "an empty answer", object_answer({}), "without any sound"),
    ("gemini", "no samples", gemini_answer(b"ID3", "audio/mpeg"), "audio/mpeg"),
]


@pytest.mark.parametrize(
    ("provider", "answer", "says"),
    [(each[0], *each[2:]) for each in REFUSALS],
    ids=[f"{each[0]}: {each[1]}" for each in REFUSALS],
)
async def test_what_goes_wrong_with_a_service_is_one_sentence(
    provider: str, answer: Answer, says: str, tmp_path: Path
) -> None:
    """A RuntimeError without the key and without what was to be said."""
    async with SpeechServer([answer]) as server:
        with pytest.raises(RuntimeError) as caught:
            await voice_at(server, tmp_path, provider).synthesize("Good evening.")
    assert says in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (TTSConfig(provider="azure"), "AZURE_SPEECH_REGION"),
        (TTSConfig(provider="cartesia"), "cartesia_voice_id"),
        (TTSConfig(provider="cartesia", cartesia_voice_id="x"), "cartesia_model"),
        (TTSConfig(provider="cartesia", cartesia_voice_id="x", cartesia_model="y"), "CARTESIA_API_KEY"),
        (TTSConfig(provider="gemini"), "GOOGLE_API_KEY"),
        (TTSConfig(provider="openai"), "OPENAI_API_KEY"),
    ],
    ids=["region", "voice", "model", "cartesia key", "gemini key", "openai key"],
)
def test_what_is_missing_is_named(config: TTSConfig, names: str, tmp_path: Path) -> None:
    """As a ValueError, before anything is sent."""
    with pytest.raises(ValueError, match=names):
        create_tts_client(config, home=tmp_path)


def test_azure_speaks_from_the_moment_its_key_is_kept(tmp_path: Path) -> None:
    """Until then, and always where the settings say so, the voice on this computer does."""
    access, default = ServiceAccess.of_home(tmp_path), TTSConfig()

    assert default.provider == "azure"
    assert access.choose_voice(default).provider == "local"
    assert access.choose_voice(TTSConfig(provider="gemini")).provider == "gemini"
    access.secrets.put("AZURE_SPEECH_KEY", KEY)
    assert access.choose_voice(default) is default
    assert access.choose_voice(TTSConfig(provider="local")).provider == "local"


def test_with_its_key_each_service_is_ready(tmp_path: Path) -> None:
    """Without being told any address."""
    access = ServiceAccess.of_home(tmp_path)
    for name in ("AZURE_SPEECH_KEY", "CARTESIA_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        access.secrets.put(name, KEY)
    access.secrets.put("AZURE_SPEECH_REGION", "westeurope")
    for provider in ("azure", "cartesia", "gemini", "openai"):
        config = TTSConfig(provider=provider, cartesia_voice_id="x", cartesia_model="y")
        made = create_tts_client(config, home=tmp_path)
        assert KEY not in repr(made) + repr(vars(made))
