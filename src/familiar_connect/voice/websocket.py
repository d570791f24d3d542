"""A websocket to a speech service: frames (RFC 6455) over a connection that the HTTP library opened.

The library does certificates, proxies and the handshake's HTTP; here are masks, fragments, pings and limits.

ServiceSockets: websockets to a speech service, for those that hear or speak while sound is on its way.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import struct
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any

from familiar_connect.errors import FamiliarError
from familiar_connect.llm.connection import Connections
from familiar_connect.voice.speech_service import SpeechService, SpeechServiceError

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
CONNECT_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 1.0
READ_BYTES = 64 * 1024
NORMAL_CLOSURE = 1000
PROTOCOL_ERROR = 1002
TOO_LARGE = 1009
ABNORMAL_CLOSURE = 1006
"""Stands for an end without a word."""
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_CONTROL = (_CLOSE, _PING, _PONG)
_MAX_CONTROL_BYTES = 125


class WebSocketClosedError(ConnectionError):
    """The connection has ended, by whichever side; its code says why."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"the connection was closed ({code}{': ' + reason if reason else ''})")
        self.code = code
        self.reason = reason


class WebSocketRefusedError(ConnectionError):
    """The server answered the handshake with a status of HTTP."""

    def __init__(self, status: int, body: bytes = b"") -> None:
        super().__init__(f"the connection was refused ({status})")
        self.status = status
        self.body = body


class BadFrameError(Exception):
    """What came is no frame of this protocol, or more than may come."""

    def __init__(self, says: str, code: int = PROTOCOL_ERROR) -> None:
        super().__init__(says)
        self.code = code


@dataclass(frozen=True)
class Frame:
    """One frame as it came."""

    opcode: int
    payload: bytes
    is_last: bool = True


def encode_frame(opcode: int, payload: bytes, mask: bytes | None = None) -> bytes:
    """A whole frame; with *mask* (four bytes) as a client sends it."""
    size = len(payload)
    masked = 0x80 if mask is not None else 0
    if size <= _MAX_CONTROL_BYTES:
        head = bytes((0x80 | opcode, masked | size))
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x80 | opcode, masked | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, masked | 127, size)
    return head + payload if mask is None else head + mask + apply_mask(payload, mask)


def apply_mask(payload: bytes, mask: bytes) -> bytes:
    """*payload* under *mask*; twice gives it back."""
    if not payload:
        return b""
    whole = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload) ^ int.from_bytes(whole)).to_bytes(len(payload))


class FrameReader:
    """Makes frames of bytes that come in pieces of any size."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._waiting = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that *data* completes."""
        self._waiting += data
        found = []
        while (frame := self._take()) is not None:
            found.append(frame)
        return found

    def _take(self) -> Frame | None:
        buffer = self._waiting
        if len(buffer) < 2:
            return None
        opcode, size, at = buffer[0] & 0x0F, buffer[1] & 0x7F, 2
        is_last = bool(buffer[0] & 0x80)
        if buffer[0] & 0x70 or opcode not in (_CONTINUATION, _TEXT, _BINARY, *_CONTROL):
            raise BadFrameError("a frame of no known kind")
        if buffer[1] & 0x80:
            raise BadFrameError("a masked frame from a server")
        if opcode in _CONTROL and (size > _MAX_CONTROL_BYTES or not is_last):
            raise BadFrameError("a control frame that is too long or in parts")
        if size > _MAX_CONTROL_BYTES:
            width = 2 if size == 126 else 8
            if len(buffer) < at + width:
                return None
            size, at = int.from_bytes(buffer[at : at + width]), at + width
        if size > self._max_bytes:
            raise BadFrameError("a frame larger than allowed", TOO_LARGE)
        if len(buffer) < at + size:
            return None
        payload = bytes(buffer[at : at + size])
        del buffer[: at + size]
        return Frame(opcode, payload, is_last)


class MessageReader:
    """Makes messages of frames: joins fragments, keeps to a size, checks text."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kind: int | None = None
        self._parts = bytearray()

    def take(self, frame: Frame) -> str | bytes | None:
        """The message that a data frame completes."""
        if (frame.opcode == _CONTINUATION) != (self._kind is not None):
            raise BadFrameError("a fragment out of its order")
        self._kind = frame.opcode if self._kind is None else self._kind
        self._parts += frame.payload
        if len(self._parts) > self._max_bytes:
            raise BadFrameError("a message larger than allowed", TOO_LARGE)
        if not frame.is_last:
            return None
        kind, whole = self._kind, bytes(self._parts)
        self._kind = None
        self._parts.clear()
        if kind == _BINARY:
            return whole
        try:
            return whole.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadFrameError("text that is no UTF-8") from error


class WebSocket:
    """One open connection. One task receives; any task may send."""

    def __init__(self, stream: Any, stack: AsyncExitStack, *, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        """*stream* is the HTTP library's network stream, *stack* closes what holds it."""
        self._stream = stream
        self._stack = stack
        self._frames = FrameReader(max_bytes)
        self._messages = MessageReader(max_bytes)
        self._arrived: list[Frame] = []
        self._sending = asyncio.Lock()
        self._closed: WebSocketClosedError | None = None

    @property
    def is_open(self) -> bool:
        return self._closed is None

    async def send(self, message: str | bytes) -> None:
        """Send a whole message."""
        if isinstance(message, str):
            await self._send(_TEXT, message.encode("utf-8"))
        else:
            await self._send(_BINARY, message)

    async def receive(self) -> str | bytes:
        """The next message; pings are answered meanwhile. `WebSocketClosedError` at the end."""
        while self._closed is None:
            try:
                if not self._arrived:
                    self._arrived = self._frames.feed(await self._read())
                elif (message := await self._handle(self._arrived.pop(0))) is not None:
                    return message
            except BadFrameError as error:
                await self._end(error.code, str(error))
        raise self._closed

    async def close(self) -> None:
        """Say goodbye and hang up; a second time is nothing."""
        if self._closed is None:
            await self._end(NORMAL_CLOSURE, "")
        await self._stack.aclose()

    async def _read(self) -> bytes:
        try:
            data: bytes = await self._stream.read(READ_BYTES)
        except Exception as error:  # whatever the HTTP library and the system have for a broken connection
            self._closed = WebSocketClosedError(ABNORMAL_CLOSURE, type(error).__name__)
            raise self._closed from error
        if not data:
            self._closed = WebSocketClosedError(ABNORMAL_CLOSURE)
            raise self._closed
        return data

    async def _handle(self, frame: Frame) -> str | bytes | None:
        if frame.opcode == _PING:
            await self._send(_PONG, frame.payload)
        elif frame.opcode == _CLOSE:
            code = int.from_bytes(frame.payload[:2]) if len(frame.payload) >= 2 else NORMAL_CLOSURE
            await self._end(code, frame.payload[2:].decode("utf-8", "replace"))
        elif frame.opcode != _PONG:
            return self._messages.take(frame)
        return None

    async def _end(self, code: int, reason: str) -> None:
        """Close our side with *code*."""
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._send(_CLOSE, struct.pack("!H", code if 1000 <= code < 5000 else NORMAL_CLOSURE))
        self._closed = self._closed or WebSocketClosedError(code, reason[:200])

    async def _send(self, opcode: int, payload: bytes) -> None:
        if self._closed is not None:
            raise self._closed
        async with self._sending:
            try:
                await self._stream.write(encode_frame(opcode, payload, os.urandom(4)))
            except Exception as error:  # as above
                self._closed = self._closed or WebSocketClosedError(ABNORMAL_CLOSURE, type(error).__name__)
                raise self._closed from error


async def open_websocket(
    connections: Connections,
    url: str,
    headers: Mapping[str, str],
    *,
    timeout_s: float = CONNECT_TIMEOUT_S,
    max_bytes: int = MAX_MESSAGE_BYTES,
) -> WebSocket:
    """Shake hands with *url*, an http:// or https:// address.

    `WebSocketRefusedError` where the server answers with a status, `WebSocketClosedError` where it cannot be reached,
    `TimeoutError` where it takes too long.
    """
    async with asyncio.timeout(timeout_s), AsyncExitStack() as stack:
        http = await connections.client_for(url)
        import httpx2  # loaded in a thread by the line above

        key = base64.b64encode(os.urandom(16))
        asked = http.stream(
            "GET",
            url,
            headers={
                **headers,
                "Connection": "Upgrade",
                "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": key.decode("ascii"),
            },
        )
        try:
            response = await stack.enter_async_context(asked)
            if response.status_code != 101:
                body = b""
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > 8192:
                        break
                raise WebSocketRefusedError(response.status_code, body[:8192])
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
            raise WebSocketClosedError(ABNORMAL_CLOSURE, type(error).__name__) from error
        proof = base64.b64encode(hashlib.sha1(key + _MAGIC, usedforsecurity=False).digest()).decode("ascii")
        if response.headers.get("sec-websocket-accept") != proof:
            raise WebSocketClosedError(PROTOCOL_ERROR, "no websocket")
        return WebSocket(response.extensions["network_stream"], stack.pop_all(), max_bytes=max_bytes)
    raise AssertionError("unreachable")


PASSING_STATUSES = (408, 425, 429)
"""Below 500: those that pass."""


class ServiceSockets:
    """Opens websockets to one service. Bound to no loop before it is used."""

    def __init__(self, service: SpeechService) -> None:
        self._service = service
        self._connections = Connections()

    async def open(self, path: str, headers: Mapping[str, str]) -> WebSocket:
        """A connection to *path* of the service; a refusal is a `SpeechServiceError`, final unless it passes.

        `WebSocketClosedError` where the service cannot be reached, `TimeoutError` where it takes too long.
        """
        self._service.check_key()
        try:
            return await open_websocket(self._connections, self._service.url(path), headers)
        except WebSocketRefusedError as error:
            problem = self._service.error_of_status(error.status, error.body)
            passes = error.status >= 500 or error.status in PASSING_STATUSES
            raise SpeechServiceError(str(problem), is_final=not passes) from error
        except FamiliarError as error:  # a proxy that cannot be used
            raise SpeechServiceError(str(error), is_final=True) from error

    async def aclose(self) -> None:
        await self._connections.close()
