"""VoiceServer: Discord's voice server on loopback, encrypted as the real one, for people who speak and a familiar.

It answers the main gateway's wish for a voice channel, speaks the voice gateway's protocol, finds addresses by UDP,
lets the familiar into the encrypted group of those who are there, and carries packets both ways. Import this module
only once voice is wanted: it needs the packages of voice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import struct
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

import davey
from aiohttp import WSMsgType, web

from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.voice.dave_group import DaveGroup
from familiar_connect.extensions.discord.demo.voice.wire import seal, unseal
from familiar_connect.extensions.discord.demo.world import FakePerson, Guild, Payload
from familiar_connect.extensions.discord.voice.opus import FRAME_S, OpusHearing, OpusSpeech
from familiar_connect.extensions.discord.voice.packets import SILENCE

IDENTIFY, SELECT, READY, HEARTBEAT, DESCRIPTION, SPEAKING, ACK, HELLO, GONE = 0, 1, 2, 3, 4, 5, 6, 8, 13
EXTERNAL_SENDER, KEY_PACKAGE, PROPOSALS, COMMIT, WELCOME = 25, 26, 27, 29, 30
APPEND = b"\0"
AT_ONCE = 0
"""The number of a change of keys that nobody has to be ready for first."""
MODES = ["aead_aes256_gcm_rtpsize", "aead_xchacha20_poly1305_rtpsize"]
OUR_SSRC, FIRST_SSRC = 500, 601
MAX_SAID = 1_000
MAX_PACKETS = 30_000
"""Packets that are kept: ten minutes of speech."""
EXTENSION = b"\x10\xff\x00\x00"
"""How loud a packet is, which Discord's own programs tell."""


class VoiceServer(asyncio.DatagramProtocol):
    """Use as an async context manager, for the voice channels of one server."""

    def __init__(
        self,
        server: DiscordServer,
        guild: Guild,
        *,
        is_encrypted: bool = True,
        on_packet: Callable[[bytes], None] = lambda packet: None,
    ) -> None:
        """*on_packet* is given each packet of Opus that the familiar sends, opened."""
        self._server = server
        self._guild = guild
        self._is_encrypted = is_encrypted
        self._on_packet = on_packet
        self.key = secrets.token_bytes(32)
        self.group: DaveGroup | None = None
        self.said: deque[Payload] = deque(maxlen=MAX_SAID)
        """What the familiar told the voice gateway."""
        self.packets: deque[bytes] = deque(maxlen=MAX_PACKETS)
        """Packets of Opus that the familiar sent, opened."""
        self.sockets: set[web.WebSocketResponse] = set()
        self.is_unresponsive = False
        """It takes connections and says nothing."""
        self._codecs: dict[int, OpusSpeech] = {}
        self._sequences: dict[int, int] = {}
        """How many packets each person has sent, by their id; who is here has a stream, numbered as they came."""
        self._sent = 0
        self._peer: tuple[str, int] | None = None
        self._runner: web.AppRunner | None = None
        self._udp: asyncio.DatagramTransport | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes([web.get("/", self._serve)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        loop = asyncio.get_running_loop()
        self._udp, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        self._server.follow_voice(self._on_wish)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.follow_voice(None)
        await self.drop(1000)
        if self._udp is not None:
            self._udp.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._tasks:
            await asyncio.wait(self._tasks)

    # The main gateway

    def _on_wish(self, wanted: Payload) -> None:
        task = asyncio.get_running_loop().create_task(self._move_familiar(wanted), name="voice-state")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _move_familiar(self, wanted: Payload) -> None:
        bot = self._server.world.bot
        if wanted["channel_id"] is None:
            await self._server.move_voice(self._guild, bot, None)
            return
        room = self._guild.rooms[int(wanted["channel_id"])]
        await self._server.move_voice(self._guild, bot, room)
        assert self._runner is not None
        host, port = self._runner.addresses[0][:2]
        endpoint = {"token": "voice-token", "guild_id": str(self._guild.id), "endpoint": f"{host}:{port}"}
        await self._server.gateway.dispatch("VOICE_SERVER_UPDATE", endpoint)

    # The voice gateway

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.add(socket)
        try:
            if self.is_unresponsive:
                await socket.receive()
                return socket
            await self._send(socket, HELLO, {"v": 8, "heartbeat_interval": 13_750})
            async for frame in socket:
                if frame.type is WSMsgType.BINARY:
                    await self._on_binary(socket, frame.data)
                elif frame.type is WSMsgType.TEXT:
                    await self._on_text(socket, json.loads(frame.data))
        finally:
            self.sockets.discard(socket)
        return socket

    async def _on_text(self, socket: web.WebSocketResponse, said: Payload) -> None:
        self.said.append(said)
        op = said["op"]
        if op == IDENTIFY:
            assert self._udp is not None
            host, port = self._udp.get_extra_info("sockname")[:2]
            await self._send(socket, READY, {"ssrc": OUR_SSRC, "ip": host, "port": port, "modes": MODES})
        elif op == SELECT:
            version = davey.DAVE_PROTOCOL_VERSION if self._is_encrypted else 0
            described = {"mode": said["d"]["data"]["mode"], "secret_key": list(self.key)}
            await self._send(socket, DESCRIPTION, described | {"dave_protocol_version": version})
        elif op == HEARTBEAT:
            await self._send(socket, ACK, {"t": said["d"]["t"]})

    async def _on_binary(self, socket: web.WebSocketResponse, frame: bytes) -> None:
        room_id = self._guild.in_voice.get(self._server.world.bot.id)
        people = [
            key for key, where in self._guild.in_voice.items() if where == room_id and key != self._server.world.bot.id
        ]
        if frame[0] != KEY_PACKAGE or room_id is None or not people:
            return
        group = DaveGroup(room_id, people[0])
        welcome = group.admit(frame[1:]).welcome
        await socket.send_bytes(struct.pack(">HB", 1, EXTERNAL_SENDER) + group.external_sender)
        await socket.send_bytes(struct.pack(">HBH", 2, WELCOME, AT_ONCE) + welcome)
        self.group = group

    async def _let_in(self, group: DaveGroup, person: FakePerson) -> None:
        """Give *person* the keys of the call, and the familiar new ones, as it is done whenever somebody comes."""
        change = group.admit_person(person.id)
        for socket in list(self.sockets):
            await socket.send_bytes(struct.pack(">HB", 3, PROPOSALS) + APPEND + change.proposals)
            await socket.send_bytes(struct.pack(">HBH", 4, COMMIT, AT_ONCE) + change.commit)

    @staticmethod
    async def _send(socket: web.WebSocketResponse, op: int, data: Payload) -> None:
        await socket.send_json({"op": op, "d": data})

    async def tell(self, op: int, data: Payload) -> None:
        """Tell whoever is connected."""
        for socket in list(self.sockets):
            await self._send(socket, op, data)

    async def drop(self, code: int) -> None:
        """Close every connection."""
        for socket in list(self.sockets):
            with contextlib.suppress(ConnectionError):
                await socket.close(code=code)

    # Packets

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        if len(data) == 74 and data[:2] == b"\x00\x01":
            self._peer = addr
            answer = struct.pack(">HH", 2, 70) + data[4:8] + str(addr[0]).encode().ljust(64, b"\0")
            assert self._udp is not None
            self._udp.sendto(answer + struct.pack(">H", addr[1]), addr)
            return
        payload = unseal(self.key, data)
        if payload is not None and self.group is not None and payload != SILENCE:
            try:
                payload = self.group.first.decrypt(self._server.world.bot.id, davey.MediaType.audio, payload)
            except (ValueError, RuntimeError):  # sent with keys of before
                return
        if payload:
            self.packets.append(payload)
            self._on_packet(payload)

    def decode_sound(self) -> bytes:
        """What the familiar has said, mono at 16 kHz."""
        codec = OpusHearing()
        return b"".join(codec.decode(each) for each in self.packets if each != SILENCE)

    async def speak(self, person: FakePerson, frames: Iterable[bytes], *, frame_s: float = FRAME_S) -> None:
        """*person* says something, a frame of PCM each *frame_s* seconds, then silence."""
        codec = self._codecs.setdefault(person.id, OpusSpeech())
        self._sequences.setdefault(person.id, 0)
        group = self.group
        if group is not None and group.find(person.id) is None:
            await self._let_in(group, person)
        speaking = {"user_id": str(person.id), "ssrc": self._ssrc_of(person), "speaking": 1}
        await self.tell(SPEAKING, speaking)
        loop = asyncio.get_running_loop()
        due = loop.time()
        try:
            for frame in frames:
                self._send_packet(person, self._encrypt(person, codec.encode(frame)))
                if frame_s:
                    due += frame_s
                    await asyncio.sleep(max(0.0, due - loop.time()))
        finally:
            self._send_packet(person, SILENCE)
        await self.tell(SPEAKING, speaking | {"speaking": 0})

    def _ssrc_of(self, person: FakePerson) -> int:
        return FIRST_SSRC + list(self._sequences).index(person.id)

    def _encrypt(self, person: FakePerson, packet: bytes) -> bytes:
        """*packet* for everybody in the call; as it is where that has no keys."""
        member = self.group.find(person.id) if self.group is not None else None
        return packet if member is None else member.encrypt_opus(packet)

    def _send_packet(self, person: FakePerson, payload: bytes) -> None:
        assert self._udp is not None
        if self._peer is None:  # nobody listens yet
            return
        sequence = self._sequences[person.id]
        self._sequences[person.id] += 1
        self._sent += 1
        datagram = seal(
            self.key, payload, ssrc=self._ssrc_of(person), sequence=sequence, count=self._sent, extension=EXTENSION
        )
        self._udp.sendto(datagram, self._peer)
