"""Cartesia's voices, over a websocket that stays open from sentence to sentence; it tells when words are spoken."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from familiar_connect.api.speech import (
    SERVICE_RATE,
    ServiceSockets,
    SpeechService,
    SpeechServiceError,
    TTSResult,
    WebSocket,
    WebSocketClosedError,
    WordTimestamp,
    check_speech_length,
)

API_VERSION = "2025-04-16"
SOCKET_PATH = "tts/websocket"
SAMPLE_BYTES = 2
MAX_WORDS = 5_000
CALL_TIMEOUT_S = 20.0
"""Longest that a sentence may take, a second try included."""
MAX_ANSWER_BYTES = 16 * 1024 * 1024
PAUSE_S = 0.25
"""Before the second try of a call that failed in passing."""
GOING_AWAY = 1001
TRIES = 2
"""A connection may have ended since the sentence before; a fresh one is tried once."""
STALE_S = 4.0
"""A connection that was kept open and says nothing for so long is taken for dead, though nobody has closed it."""


@dataclass
class _Sentence:
    """What has come of one sentence."""

    pcm: bytearray = field(default_factory=bytearray)
    words: list[WordTimestamp] = field(default_factory=list)


class CartesiaTTSClient:
    """Speaks through one of Cartesia's voices. One sentence at a time."""

    sample_rate = SERVICE_RATE

    def __init__(
        self,
        service: SpeechService,
        *,
        voice_id: str,
        model: str,
        timeout_s: float = CALL_TIMEOUT_S,
        max_bytes: int = MAX_ANSWER_BYTES,
        stale_s: float = STALE_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._service = service
        self._stale_s = stale_s
        self._sleep = sleep
        self._voice_id = voice_id
        self._model = model
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._sockets = ServiceSockets(service)
        self._socket: WebSocket | None = None
        self._alone = asyncio.Lock()

    async def synthesize(self, text: str) -> TTSResult:
        check_speech_length(text, self._service.name)
        self._service.check_key()
        async with self._alone:
            try:
                async with asyncio.timeout(self._timeout_s):
                    made = await self._speak(text)
            except TimeoutError as error:
                await self._hang_up()
                raise SpeechServiceError(
                    f"{self._service.name} gave no answer within {self._timeout_s:g} seconds."
                ) from error
            except BaseException:
                await self._hang_up()  # what is still on its way belongs to a sentence nobody waits for
                raise
        if not made.pcm:
            raise SpeechServiceError(f"{self._service.name} answered without any sound.")
        return TTSResult(bytes(made.pcm[: len(made.pcm) - len(made.pcm) % SAMPLE_BYTES]), made.words)

    async def aclose(self) -> None:
        async with self._alone:
            await self._hang_up()
        await self._sockets.aclose()

    async def _speak(self, text: str) -> _Sentence:
        for left in reversed(range(TRIES)):
            is_kept = self._socket is not None and self._socket.is_open
            try:
                socket = await self._connect()
                return await self._ask(socket, text, first_within_s=self._stale_s if is_kept and left else None)
            except WebSocketClosedError as error:
                await self._hang_up()
                if not left:
                    raise SpeechServiceError(f"{self._service.name} hung up: {error}.") from error
            except SpeechServiceError as error:
                await self._hang_up()
                if error.is_final or not left:
                    raise
                await self._sleep(PAUSE_S)
        raise AssertionError("unreachable")

    async def _connect(self) -> WebSocket:
        if self._socket is None or not self._socket.is_open:
            headers = {"Cartesia-Version": API_VERSION}
            if self._service.api_key:
                headers["X-API-Key"] = self._service.api_key
            self._socket = await self._sockets.open(SOCKET_PATH, headers)
        return self._socket

    async def _ask(self, socket: WebSocket, text: str, *, first_within_s: float | None) -> _Sentence:
        context = uuid.uuid4().hex
        await socket.send(json.dumps(self._request(text, context)))
        made = _Sentence()
        within_s = first_within_s
        while True:
            answer, within_s = read_object(await _receive_within(socket, within_s)), None
            if answer.get("context_id", context) != context:
                continue
            if answer.get("type") == "error" or answer.get("error"):
                status = answer.get("status_code")
                body = json.dumps({"error": answer.get("error") or answer.get("message")}).encode()
                raise self._service.error_of_status(status if isinstance(status, int) else 500, body, text)
            self._take(answer, made)
            if answer.get("type") == "done" or answer.get("done") is True:
                return made

    def _request(self, text: str, context: str) -> dict[str, object]:
        return {
            "model_id": self._model,
            "transcript": text,
            "voice": {"mode": "id", "id": self._voice_id},
            "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": SERVICE_RATE},
            "context_id": context,
            "continue": False,
            "add_timestamps": True,
        }

    def _take(self, answer: Mapping[str, object], made: _Sentence) -> None:
        if answer.get("type") == "chunk":
            try:
                made.pcm += base64.b64decode(str(answer.get("data") or ""), validate=True)
            except binascii.Error as error:
                raise SpeechServiceError(f"{self._service.name} sent sound that cannot be decoded.") from error
            if len(made.pcm) > self._max_bytes:
                raise SpeechServiceError(
                    f"{self._service.name} sent more than {self._max_bytes / 1e6:.0f} MB, "
                    "more than one call may bring.",
                    is_final=True,
                )
        elif answer.get("type") == "timestamps":
            made.words += read_words(answer.get("word_timestamps"))
            del made.words[MAX_WORDS:]

    async def _hang_up(self) -> None:
        if self._socket is not None:
            socket, self._socket = self._socket, None
            await socket.close()


async def _receive_within(socket: WebSocket, seconds: float | None) -> str | bytes:
    """The next message; a connection that brings none in time counts as closed."""
    try:
        async with asyncio.timeout(seconds):
            return await socket.receive()
    except TimeoutError as error:
        raise WebSocketClosedError(GOING_AWAY, "it said nothing any more") from error


def read_object(message: str | bytes) -> dict[str, object]:
    """The object in a message; an empty one where there is none, which means nothing to anybody."""
    try:
        found = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_words(told: object) -> list[WordTimestamp]:
    """Words with their times, told as three lists of the same length; nothing where they are not that."""
    if not isinstance(told, dict):
        return []
    columns = [told.get(name) for name in ("words", "start", "end")]
    if not all(isinstance(each, list) for each in columns):
        return []
    return [
        WordTimestamp(word, start * 1000, end * 1000)
        for word, start, end in zip(*columns, strict=False)
        if isinstance(word, str) and _is_time(start) and _is_time(end) and start <= end
    ]


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 86_400
