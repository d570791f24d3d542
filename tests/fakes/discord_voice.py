"""FakeVoiceServer: Discord's voice server on loopback, encrypted as the real one, with somebody in the call.

It answers the main gateway's wish for a voice channel, speaks the voice gateway's protocol, finds addresses by UDP,
lets the familiar into the encrypted group, and carries packets both ways.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import struct
from types import TracebackType
from typing import Any, Self

import davey
from aiohttp import WSMsgType, web

from familiar_connect.extensions.discord.demo.server import DiscordServer, Note
from familiar_connect.extensions.discord.demo.world import FakePerson, Guild, Payload
from familiar_connect.extensions.discord.voice.opus import OpusHearing, OpusSpeech
from familiar_connect.extensions.discord.voice.packets import SILENCE
from tests.fakes.dave_group import DaveGroup
from tests.fakes.voice_wire import make_tone, seal, unseal

IDENTIFY, SELECT, READY, HEARTBEAT, DESCRIPTION, SPEAKING, ACK, HELLO, GONE = 0, 1, 2, 3, 4, 5, 6, 8, 13
EXTERNAL_SENDER, KEY_PACKAGE, WELCOME = 25, 26, 30
MODES = ["aead_aes256_gcm_rtpsize", "aead_xchacha20_poly1305_rtpsize"]
OUR_SSRC = 500


class FakeVoiceServer(asyncio.DatagramProtocol):
    """Use as an async context manager, with the person who is in the call before the familiar comes."""

    def __init__(self, server: DiscordServer, guild: Guild, speaker: FakePerson, *, is_encrypted: bool = True) -> None:
        self._server = server
        self._guild = guild
        self._is_encrypted = is_encrypted
        self.speaker = speaker
        self.key = secrets.token_bytes(32)
        self.group: DaveGroup | None = None
        self.said: list[Payload] = []
        """What the familiar told the voice gateway."""
        self.packets: list[bytes] = []
        """Packets of Opus that the familiar sent, opened."""
        self.sockets: set[web.WebSocketResponse] = set()
        self.is_silent = False
        """It takes connections and says nothing."""
        self._sequence = 0
        self._codec = OpusSpeech()
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
        self._server.follow(self._on_note)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.follow(None)
        await self.drop(1000)
        if self._udp is not None:
            self._udp.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._tasks:
            await asyncio.wait(self._tasks)

    # The main gateway

    def _on_note(self, note: Note) -> None:
        if note.what == "gateway:4":
            task = asyncio.get_running_loop().create_task(self._move_familiar(note.facts["d"]), name="voice-state")
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
            if self.is_silent:
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
        if frame[0] != KEY_PACKAGE:
            return
        room_id = self._guild.in_voice[self._server.world.bot.id]
        group = DaveGroup(room_id, self.speaker.id)
        await socket.send_bytes(struct.pack(">HB", 1, EXTERNAL_SENDER) + group.external_sender)
        welcome = group.admit(frame[1:])
        await socket.send_bytes(struct.pack(">HBH", 2, WELCOME, 0) + welcome)
        self.group = group

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
        _, payload = unseal(self.key, data)
        if self.group is not None and payload != SILENCE:
            payload = self.group.first.decrypt(self._server.world.bot.id, davey.MediaType.audio, payload)
        self.packets.append(payload)

    def heard_sound(self) -> bytes:
        """What the familiar has said, mono at 16 kHz."""
        codec = OpusHearing()
        return b"".join(codec.decode(each) for each in self.packets if each != SILENCE)

    async def speak(self, person: FakePerson, *, ssrc: int, frames: int = 25) -> None:
        """*person* says something: a tone, frame by frame, then silence. Only the speaker has keys."""
        await self.tell(SPEAKING, {"user_id": str(person.id), "ssrc": ssrc, "speaking": 1})
        for at in range(frames):
            packet = self._codec.encode(make_tone(at))
            self._send_packet(ssrc, self.group.first.encrypt_opus(packet) if self.group is not None else packet)
        self._send_packet(ssrc, SILENCE)

    def _send_packet(self, ssrc: int, payload: bytes) -> None:
        assert self._udp is not None
        assert self._peer is not None
        datagram = seal(self.key, payload, ssrc=ssrc, sequence=self._sequence, extension=b"\x10\xff\x00\x00")
        self._sequence += 1
        self._udp.sendto(datagram, self._peer)
