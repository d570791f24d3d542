"""The gateway: hello, identify, resume, heartbeats, and every event in order to every session.

A session outlives its connection: what happens while nobody is connected waits, and a resume is told of it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import WSCloseCode, WSMsgType, web

from familiar_connect.testing.discord_server.world import Payload, World

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
WRONG_TOKEN, INTENTS_NOT_GRANTED = 4004, 4014
PRIVILEGED = {1 << 1: 1 << 14, 1 << 8: 1 << 12, 1 << 15: 1 << 18}
"""Each intent that must be switched on, and the application flag that says it is: members, presence, content."""
MAX_REPLAYED = 5_000


@dataclass
class Session:
    """One client, connected or away."""

    id: str
    shard: list[int]
    sequence: int = 0
    sent_events: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=MAX_REPLAYED))
    socket: web.WebSocketResponse | None = None


class Gateway:
    """The websocket half of the server."""

    def __init__(
        self, world: World, *, token: str, url: Callable[[], str], noted: Callable[[str, Payload], None]
    ) -> None:
        self._world = world
        self._token = token
        self._url = url
        self._noted = noted
        self.sessions: dict[str, Session] = {}
        self.sockets: set[web.WebSocketResponse] = set()
        """Every connection, whoever it belongs to."""
        self.flags = sum(PRIVILEGED.values())
        """What the application may do: every privileged intent, unless taken away."""
        self.forgets_sessions = False
        """Every resume is refused, and the client must begin anew."""

    async def handle_connection(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.add(socket)
        try:
            return await self._serve(socket)
        finally:
            self.sockets.discard(socket)

    async def _serve(self, socket: web.WebSocketResponse) -> web.WebSocketResponse:
        await socket.send_json({"op": HELLO, "d": {"heartbeat_interval": 41_250}})
        session: Session | None = None
        async for frame in socket:
            if frame.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                continue
            said: Payload = json.loads(frame.data)
            if said["op"] == HEARTBEAT:
                await socket.send_json({"op": ACK})
            elif said["op"] == IDENTIFY:
                session = await self._identify(socket, said["d"])
            elif said["op"] == RESUME:
                session = await self._resume(socket, said["d"])
            self._noted(f"gateway:{said['op']}", said)
        if session is not None and session.socket is socket:
            session.socket = None
        return socket

    async def _identify(self, socket: web.WebSocketResponse, said: Payload) -> Session | None:
        if said["token"] != self._token:
            await socket.close(code=WRONG_TOKEN, message=b"Authentication failed.")
            return None
        if any(said["intents"] & intent and not self.flags & flag for intent, flag in PRIVILEGED.items()):
            await socket.close(code=INTENTS_NOT_GRANTED, message=b"Disallowed intent(s).")
            return None
        shard = said.get("shard", [0, 1])
        session = Session(f"session-{len(self.sessions) + 1}", shard, socket=socket)
        for known in [key for key, other in self.sessions.items() if other.shard == shard]:
            del self.sessions[known]  # a new beginning ends what was
        self.sessions[session.id] = session
        guilds = [guild for guild in self._world.guilds.values() if (guild.id >> 22) % shard[1] == shard[0]]
        await self._dispatch(
            session,
            "READY",
            {
                "v": 10,
                "user": self._world.bot.payload(),
                "guilds": [{"id": str(guild.id), "unavailable": True} for guild in guilds],
                "session_id": session.id,
                "resume_gateway_url": self._url(),
                "application": {"id": str(self._world.bot.id), "flags": self.flags},
                "shard": shard,
                "private_channels": [],
            },
        )
        for guild in guilds:
            await self._dispatch(session, "GUILD_CREATE", guild.payload())
        return session

    async def _resume(self, socket: web.WebSocketResponse, said: Payload) -> Session | None:
        session = self.sessions.get(said["session_id"])
        if session is None or said["token"] != self._token or self.forgets_sessions:
            await socket.send_json({"op": INVALID_SESSION, "d": False})
            return None
        session.socket = socket
        for sequence, text in list(session.sent_events):
            if sequence > (said["seq"] or 0):
                await socket.send_str(text)
        await self._dispatch(session, "RESUMED", {})
        return session

    async def dispatch(self, event: str, data: Payload) -> None:
        """Tell every session that *event* happened."""
        for session in list(self.sessions.values()):
            await self._dispatch(session, event, data)

    async def _dispatch(self, session: Session, event: str, data: Payload) -> None:
        session.sequence += 1
        text = json.dumps({"op": DISPATCH, "t": event, "s": session.sequence, "d": data})
        session.sent_events.append((session.sequence, text))
        await self._send(session, text)

    async def send_raw(self, text: str) -> None:
        """Send something that need not be an event at all."""
        for session in list(self.sessions.values()):
            await self._send(session, text)

    @staticmethod
    async def _send(session: Session, text: str) -> None:
        socket = session.socket
        if socket is None or socket.closed:
            return
        try:
            await socket.send_str(text)
        except (ConnectionError, RuntimeError):  # it went away while we spoke: a resume tells it
            session.socket = None

    async def drop(self, code: int = WSCloseCode.SERVICE_RESTART) -> None:
        """Close every connection; the sessions stay."""
        for session in self.sessions.values():
            session.socket = None
        for socket in list(self.sockets):
            await socket.close(code=code)

    def forget(self) -> None:
        """Close the book on every session: nobody can resume."""
        self.sessions.clear()
