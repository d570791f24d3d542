"""Frames of a websocket: read in any pieces, bounded, and nothing taken for one that is none."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from aiohttp import WSMsgType, web
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.llm.connection import Connections
from familiar_connect.voice.websocket import (
    BadFrameError,
    Frame,
    FrameReader,
    MessageReader,
    WebSocket,
    WebSocketClosedError,
    WebSocketRefusedError,
    apply_mask,
    encode_frame,
    open_websocket,
)
from tests.fakes.speech_server import Answer, SpeechServer, cut_off, object_answer, silent_answer, talk_answer


async def connect(server: SpeechServer, *, timeout_s: float = 10.0, max_bytes: int = 100_000) -> WebSocket:
    return await open_websocket(
        Connections(), f"{server.base_url}/talk", {"X-Key": "k"}, timeout_s=timeout_s, max_bytes=max_bytes
    )


@given(st.lists(st.tuples(st.sampled_from([1, 2, 9, 10]), st.binary(max_size=125)), max_size=5), st.integers(1, 50))
def test_frames_are_read_in_pieces_of_any_size(sent: list[tuple[int, bytes]], size: int) -> None:
    """Whole, and in their order."""
    wire = b"".join(encode_frame(kind, payload) for kind, payload in sent)
    reader = FrameReader()
    found = [frame for at in range(0, len(wire), size) for frame in reader.feed(wire[at : at + size])]
    assert found == [Frame(kind, payload) for kind, payload in sent]


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536, 200_000])
def test_frames_of_every_length_come_back(size: int) -> None:
    """The three ways to write a length."""
    assert FrameReader().feed(encode_frame(2, bytes(size))) == [Frame(2, bytes(size))]


@given(st.binary(max_size=300), st.binary(min_size=4, max_size=4))
def test_a_mask_twice_is_none(payload: bytes, mask: bytes) -> None:
    """And each byte is under its own."""
    masked = apply_mask(payload, mask)
    assert apply_mask(masked, mask) == payload
    assert list(masked) == [byte ^ mask[at % 4] for at, byte in enumerate(payload)]


@given(st.binary(max_size=2_000))
def test_whatever_comes_is_frames_or_refused(data: bytes) -> None:
    """Nothing else comes out, and no more is kept than may come."""
    reader, messages = FrameReader(1_000), MessageReader(1_000)
    with suppress(BadFrameError):
        for frame in reader.feed(data):
            if frame.opcode < 8:
                messages.take(frame)


@pytest.mark.parametrize(
    "wire",
    [b"\xc1\x00", b"\x83\x00", b"\x81\x81aaaab", b"\x09\x00", b"\x89\x7e\x00\x80", b"\x82\x7f" + b"\xff" * 8],
    ids=["reserved bit", "unknown kind", "masked", "ping in parts", "long ping", "endless"],
)
def test_what_breaks_the_rules_is_refused(wire: bytes) -> None:
    """Before anything of it is waited for."""
    with pytest.raises(BadFrameError):
        FrameReader(1_000).feed(wire)


def test_fragments_are_joined_and_bounded() -> None:
    """Text that is none is refused."""
    messages = MessageReader(10)
    assert messages.take(Frame(1, b"good ", is_last=False)) is None
    assert messages.take(Frame(0, b"day")) == "good day"
    with pytest.raises(BadFrameError):
        messages.take(Frame(0, b"late"))
    with pytest.raises(BadFrameError):
        MessageReader(10).take(Frame(2, bytes(11)))
    with pytest.raises(BadFrameError):
        MessageReader(10).take(Frame(1, b"\xff"))


async def test_a_talk_with_a_server_of_another_make() -> None:
    """Text, sound, a large message, a ping, and a goodbye with its code."""

    async def talk(socket: web.WebSocketResponse) -> None:
        await socket.ping(b"there?")
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await socket.send_str(message.data.upper())
            else:
                await socket.send_bytes(message.data)
                await socket.close(code=4001, message=b"enough")

    async with SpeechServer([talk_answer(talk)]) as server:
        socket = await connect(server)
        await socket.send("grüß gott")
        assert await socket.receive() == "GRÜSS GOTT"
        await socket.send(bytes(70_000))
        assert await socket.receive() == bytes(70_000)
        with pytest.raises(WebSocketClosedError) as caught:
            await socket.receive()
        assert (caught.value.code, caught.value.reason) == (4001, "enough")
        with pytest.raises(WebSocketClosedError):
            await socket.send("more")
        await socket.close()
        await socket.close()
    assert server.calls[0].headers["x-key"] == "k"


async def test_a_handshake_that_is_refused_tells_the_status() -> None:
    """With the words beside it."""
    async with SpeechServer([object_answer({"error": "who are you"}, 401)]) as server:
        with pytest.raises(WebSocketRefusedError) as caught:
            await connect(server)
    assert caught.value.status == 401
    assert b"who are you" in caught.value.body


@pytest.mark.parametrize("answer", [cut_off, silent_answer], ids=["hung up", "silent"])
async def test_a_server_that_does_not_shake_hands_is_given_up(answer: Answer) -> None:
    """At once, or when the time is over."""
    async with SpeechServer([answer]) as server:
        with pytest.raises((WebSocketClosedError, TimeoutError)):
            await connect(server, timeout_s=0.5)


async def test_a_message_that_is_too_large_ends_the_connection() -> None:
    """With the code for it."""
    codes: asyncio.Queue[int | None] = asyncio.Queue()

    async def talk(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(bytes(200_000))
        await socket.receive()
        codes.put_nowait(socket.close_code)

    async with SpeechServer([talk_answer(talk)]) as server:
        socket = await connect(server)
        with pytest.raises(WebSocketClosedError) as caught:
            await socket.receive()
        assert caught.value.code == 1009
        assert await codes.get() == 1009
        await socket.close()
