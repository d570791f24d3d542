"""Each speech service through the same troubles: a connection that breaks, a busy, slow, silent or senseless server.

What Deepgram's streams and Cartesia's connection do beyond that stands in their own tests.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web

from familiar_connect.extensions.voice_azure.client import AzureTTSClient
from familiar_connect.extensions.voice_cartesia.client import CartesiaTTSClient
from familiar_connect.extensions.voice_deepgram.recording import DeepgramRecognizer
from familiar_connect.extensions.voice_gemini.client import GeminiTTSClient
from familiar_connect.extensions.voice_openai.hearing import OpenAIRecognizer
from familiar_connect.extensions.voice_openai.speaking import OpenAITTSClient
from familiar_connect.voice.speech_service import ServiceCalls, SpeechService
from tests.fakes.speech_server import Answer, SpeechServer, cut_off, object_answer, silent_answer, talk_answer

SOUND = bytes(range(250)) * 10
WORDS = "Good evening."


@dataclass(frozen=True, kw_only=True)
class Backend:
    """One service: how it is asked, and what a good answer of it is made of."""

    ask: Callable[[SpeechService, float], Awaitable[object]]
    """Asks for `WORDS`, one way or the other, within so many seconds."""
    kind: str
    body: bytes
    is_socket: bool = False


async def _no_pause(_: float) -> None:
    pass


def _calls(service: SpeechService, timeout_s: float) -> ServiceCalls:
    return ServiceCalls(service, timeout_s=timeout_s, sleep=_no_pause)


async def _speak(voice: Any) -> object:
    try:
        return (await voice.synthesize(WORDS)).audio == SOUND
    finally:
        await voice.aclose()


async def _hear(recognizer: Any) -> object:
    try:
        return await recognizer.recognize(SOUND) == WORDS
    finally:
        await recognizer.aclose()


_INLINE = {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": base64.b64encode(SOUND).decode()}}
_BEST = {"channels": [{"alternatives": [{"transcript": WORDS}]}]}
BACKENDS = {
    "azure": Backend(
        ask=lambda service, timeout_s: _speak(AzureTTSClient(_calls(service, timeout_s), voice="en-US-AmberNeural")),
        kind="audio/basic",
        body=SOUND,
    ),
    "gemini": Backend(
        ask=lambda service, timeout_s: _speak(GeminiTTSClient(_calls(service, timeout_s), model="m", voice="Kore")),
        kind="application/json",
        body=json.dumps({"candidates": [{"content": {"parts": [_INLINE]}}]}).encode(),
    ),
    "openai voice": Backend(
        ask=lambda service, timeout_s: _speak(OpenAITTSClient(_calls(service, timeout_s), model="m", voice="alloy")),
        kind="audio/pcm",
        body=SOUND,
    ),
    "cartesia": Backend(
        ask=lambda service, timeout_s: _speak(
            CartesiaTTSClient(service, voice_id="v", model="m", timeout_s=timeout_s, sleep=_no_pause)
        ),
        kind="",
        body=b"",
        is_socket=True,
    ),
    "openai ears": Backend(
        ask=lambda service, timeout_s: _hear(OpenAIRecognizer(_calls(service, timeout_s), model="m")),
        kind="application/json",
        body=json.dumps({"text": WORDS}).encode(),
    ),
    "deepgram": Backend(
        ask=lambda service, timeout_s: _hear(DeepgramRecognizer(_calls(service, timeout_s), model="m", language="en")),
        kind="application/json",
        body=json.dumps({"results": _BEST}).encode(),
    ),
}
every_backend = pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)


def well(backend: Backend, *, breaks: bool = False, is_slow: bool = False) -> Answer:
    """A good answer; one that *breaks* ends in its middle, one that *is_slow* comes byte by byte, so to speak."""
    return _on_socket(breaks, is_slow) if backend.is_socket else _over_http(backend, breaks, is_slow)


def _over_http(backend: Backend, breaks: bool, is_slow: bool) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        headers = {"Content-Type": backend.kind, "Content-Length": str(len(backend.body))}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        step = 16 if is_slow else len(backend.body) // 2
        for at in range(0, len(backend.body), step):
            await response.write(backend.body[at : at + step])
            await asyncio.sleep(0)
            if breaks:
                return await cut_off(request)
        return response

    return answer


def _on_socket(breaks: bool, is_slow: bool) -> Answer:
    async def talk(socket: web.WebSocketResponse) -> None:
        context = json.loads((await socket.receive()).data)["context_id"]
        step = 16 if is_slow else len(SOUND) // 2
        for at in range(0, len(SOUND), step):
            data = base64.b64encode(SOUND[at : at + step]).decode()
            await socket.send_json({"type": "chunk", "context_id": context, "data": data})
            if breaks:
                return
        await socket.send_json({"type": "done", "context_id": context})

    return talk_answer(talk)


async def ask(backend: Backend, *answers: Answer, timeout_s: float = 60.0) -> tuple[object, int]:
    """What came of it, and how many calls it took."""
    async with SpeechServer(list(answers)) as server:
        service = SpeechService(name="The service", base_url=server.base_url, api_key="k3y", key_name="A_KEY")
        return await backend.ask(service, timeout_s), len(server.calls)


@every_backend
async def test_an_answer_that_breaks_off_is_asked_for_again(backend: Backend) -> None:
    """And is whole then: nothing of the first half comes twice."""
    assert await ask(backend, well(backend, breaks=True), well(backend)) == (True, 2)


@every_backend
async def test_a_service_that_hangs_up_without_a_word_is_asked_once_more(backend: Backend) -> None:
    """A connection may have ended at any time."""
    hangs_up = talk_answer(_say_nothing) if backend.is_socket else cut_off
    assert await ask(backend, hangs_up, well(backend)) == (True, 2)


@every_backend
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_service_is_asked_once_more(backend: Backend, status: int) -> None:
    """And no third time."""
    busy = object_answer({"error": "busy"}, status)
    assert await ask(backend, busy, well(backend)) == (True, 2)
    with pytest.raises(RuntimeError, match=rf"The service .*\({status}\)"):
        await ask(backend, busy, busy, well(backend))


@every_backend
async def test_a_slow_answer_is_waited_for(backend: Backend) -> None:
    """However small the pieces it comes in."""
    assert await ask(backend, well(backend, is_slow=True)) == (True, 1)


@every_backend
async def test_a_service_that_says_nothing_is_given_up_in_one_sentence(backend: Backend) -> None:
    """When its time is over, and not later."""
    silent = talk_answer(_stay_silent) if backend.is_socket else silent_answer
    with pytest.raises(RuntimeError, match=r"The service.* gave no answer within 0\.2 seconds\."):
        await ask(backend, silent, timeout_s=0.2)


@every_backend
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"text": 3, "results": [], "candidates": {}}', b"\xff\xfe<html>"])
async def test_an_answer_that_makes_no_sense_is_one_sentence(backend: Backend, body: bytes) -> None:
    """Never a traceback, and the key is not in it."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type="text/html")

    with pytest.raises(RuntimeError, match="The service") as caught:
        await ask(backend, answer)
    assert "k3y" not in str(caught.value)


async def test_a_kept_connection_that_died_silently_is_left_for_a_new_one() -> None:
    """Cartesia's stays open between sentences, and nobody need have closed it when it is gone."""
    spoken = 0

    async def speak_once(socket: web.WebSocketResponse) -> None:
        nonlocal spoken
        spoken += 1
        context = json.loads((await socket.receive()).data)["context_id"]
        await socket.send_json({"type": "chunk", "context_id": context, "data": base64.b64encode(SOUND).decode()})
        await socket.send_json({"type": "done", "context_id": context})
        await _stay_silent(socket)

    async with SpeechServer([talk_answer(speak_once)]) as server:
        service = SpeechService(name="Cartesia", base_url=server.base_url, api_key="k3y", key_name="A_KEY")
        voice = CartesiaTTSClient(service, voice_id="v", model="m", stale_s=0.1)
        assert [(await voice.synthesize(WORDS)).audio for _ in range(2)] == [SOUND, SOUND]
        await voice.aclose()
    assert spoken == 2


async def _say_nothing(_: web.WebSocketResponse) -> None:
    """Closes at once."""


async def _stay_silent(socket: web.WebSocketResponse) -> None:
    while not socket.closed and (await socket.receive()).type is web.WSMsgType.TEXT:
        pass
