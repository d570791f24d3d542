"""The gateway: hello, identify, resume, heartbeats, members on request, and every event in order to every session.

A session outlives its connection: what happens while nobody is connected waits, and a resume is told of it. A session
hears only what its intents and the bot's rights let it hear.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import WSCloseCode, WSMsgType, web

from familiar_connect.extensions.discord.demo.guild_members import members_at_start, members_chunks
from familiar_connect.extensions.discord.demo.visibility import as_session_hears
from familiar_connect.extensions.discord.demo.world import Payload, World

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
VOICE_STATE, REQUEST_MEMBERS = 4, 8
UNKNOWN_OPCODE, NOT_AUTHENTICATED, WRONG_TOKEN, ALREADY_AUTHENTICATED = 4001, 4003, 4004, 4005
INVALID_SEQUENCE, TOO_FAST, INTENTS_NOT_GRANTED = 4007, 4008, 4014
GUILD_MEMBERS, MEMBERS_FLAG = 1 << 1, 1 << 14
PRIVILEGED = {GUILD_MEMBERS: MEMBERS_FLAG, 1 << 8: 1 << 12, 1 << 15: 1 << 18}
"""Each intent that must be switched on, and the application flag that says it is: members, presence, content."""
MAX_REPLAYED = 5_000
MAX_COMMANDS = 1_000
"""What one connection may send, heartbeats aside; Discord allows 120 in a minute."""
KNOWN = frozenset({HEARTBEAT, IDENTIFY, 3, VOICE_STATE, RESUME, REQUEST_MEMBERS})


@dataclass
class Session:
    """One client, connected or away."""

    id: str
    shard: list[int]
    intents: int = 0
    large_threshold: int = 50
    sequence: int = 0
    sent_events: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=MAX_REPLAYED))
    socket: web.WebSocketResponse | None = None

    def can_replay(self, after: int) -> bool:
        """Whether nothing that came after the event *after* has been forgotten."""
        oldest = self.sent_events[0][0] if self.sent_events else self.sequence + 1
        return oldest - 1 <= after <= self.sequence


class Gateway:
    """The websocket half of the server."""

    def __init__(
        self, world: World, *, token: str, url: Callable[[], str], noted: Callable[[str, Payload], None]
    ) -> None:
        self._world = world
        self._token = token
        self._url = url
        self._noted = noted
        self._began = 0
        self.sessions: dict[str, Session] = {}
        self.sockets: set[web.WebSocketResponse] = set()
        """Every connection, whoever it belongs to."""
        self.flags = sum(PRIVILEGED.values())
        """What the application may do: every privileged intent, unless taken away."""
        self.lists_members = True
        """Whether a client that asks for the members of a server is told them."""
        self.forgets_sessions = False
        """Every resume is refused, and the client must begin anew."""
        self.answers_heartbeats = True
        """Without an answer a client takes its connection for dead."""
        self.late_guilds: set[int] = set()
        """Servers that are not told of yet, as those of a shard that comes later."""
        self.heartbeat_ms = 41_250
        self.max_commands = MAX_COMMANDS

    async def handle_connection(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.add(socket)
        try:
            return await self._serve(socket)
        finally:
            self.sockets.discard(socket)

    async def _serve(self, socket: web.WebSocketResponse) -> web.WebSocketResponse:
        await socket.send_json({"op": HELLO, "d": {"heartbeat_interval": self.heartbeat_ms}})
        session: Session | None = None
        commands = 0
        async for frame in socket:
            if frame.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                continue
            said: Payload = json.loads(frame.data)
            commands += said["op"] != HEARTBEAT
            refused = self._why_refused(said["op"], session, commands)
            if refused is not None:
                await socket.close(code=refused)
                break
            session = await self._take(socket, said, session)
            self._noted(f"gateway:{said['op']}", said)
        if session is not None and session.socket is socket:
            session.socket = None
        return socket

    def _why_refused(self, op: int, session: Session | None, commands: int) -> int | None:
        """The code a connection is closed with for what it sends; None: it may."""
        if op not in KNOWN:
            return UNKNOWN_OPCODE
        if commands > self.max_commands:
            return TOO_FAST
        if op in (IDENTIFY, RESUME) and session is not None:
            return ALREADY_AUTHENTICATED
        return NOT_AUTHENTICATED if op == REQUEST_MEMBERS and session is None else None

    async def _take(self, socket: web.WebSocketResponse, said: Payload, session: Session | None) -> Session | None:
        """Do what the client asks for; the session that its connection belongs to from now on."""
        if said["op"] == HEARTBEAT and self.answers_heartbeats:
            await socket.send_json({"op": ACK})
        elif said["op"] == IDENTIFY:
            return await self._identify(socket, said["d"])
        elif said["op"] == RESUME:
            return await self._resume(socket, said["d"])
        elif said["op"] == REQUEST_MEMBERS and session is not None:
            await self._tell_members(session, said["d"])
        return session

    async def _identify(self, socket: web.WebSocketResponse, said: Payload) -> Session | None:
        if said["token"] != self._token:
            await socket.close(code=WRONG_TOKEN, message=b"Authentication failed.")
            return None
        if any(said["intents"] & intent and not self.flags & flag for intent, flag in PRIVILEGED.items()):
            await socket.close(code=INTENTS_NOT_GRANTED, message=b"Disallowed intent(s).")
            return None
        shard = said.get("shard", [0, 1])
        self._began += 1
        session = Session(f"session-{self._began}", shard, intents=said["intents"], socket=socket)
        session.large_threshold = said.get("large_threshold", session.large_threshold)
        for stale in [key for key, other in self.sessions.items() if other.shard == shard]:
            del self.sessions[stale]  # a new beginning ends what was
        self.sessions[session.id] = session
        known = [guild for guild in self._world.guilds.values() if guild.id not in self.late_guilds]
        guilds = [guild for guild in known if (guild.id >> 22) % shard[1] == shard[0]]
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
        session, heard = self.sessions.get(said["session_id"]), said["seq"] or 0
        if session is not None and heard > session.sequence:
            await socket.close(code=INVALID_SEQUENCE, message=b"Invalid seq.")
            return None
        is_known = session is not None and session.can_replay(heard)
        if session is None or not is_known or said["token"] != self._token or self.forgets_sessions:
            await socket.send_json({"op": INVALID_SESSION, "d": False})
            return None
        session.socket = socket
        for sequence, text in list(session.sent_events):
            if sequence > heard:
                await socket.send_str(text)
        await self._dispatch(session, "RESUMED", {})
        return session

    async def _tell_members(self, session: Session, asked: Payload) -> None:
        """Answer a request for members, in chunks. Everybody at once is told only to who has the intent."""
        guild = self._world.guilds.get(int(asked["guild_id"]))
        if guild is None or not self.lists_members:
            return
        may_list = bool(session.intents & GUILD_MEMBERS)
        for chunk in members_chunks(guild, asked, may_list=may_list):
            await self._dispatch(session, "GUILD_MEMBERS_CHUNK", chunk)

    async def dispatch(self, event: str, data: Payload) -> None:
        """Tell every session that *event* happened, if it is one it may hear."""
        for session in list(self.sessions.values()):
            await self._dispatch(session, event, data)

    async def _dispatch(self, session: Session, event: str, data: Payload) -> None:
        heard = as_session_hears(self._world, session.intents, event, data)
        if heard is None:
            return
        guild = self._world.guilds.get(int(data["id"])) if event == "GUILD_CREATE" and data.get("id") else None
        if guild is not None:
            heard = heard | members_at_start(guild, self._world.bot, session.intents, session.large_threshold)
        session.sequence += 1
        text = json.dumps({"op": DISPATCH, "t": event, "s": session.sequence, "d": heard})
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

    async def ask_to_reconnect(self) -> None:
        """Tell every client to come again and resume, as Discord does when it moves a connection."""
        await self.send_raw(json.dumps({"op": RECONNECT, "d": None}))

    async def invalidate(self, *, is_resumable: bool) -> None:
        """Tell every client that its session is no good; unless it may be resumed, it is forgotten."""
        sockets = [session.socket for session in self.sessions.values() if session.socket is not None]
        if not is_resumable:
            self.sessions.clear()
        for socket in sockets:
            await socket.send_json({"op": INVALID_SESSION, "d": is_resumable})

    def forget(self) -> None:
        """Close the book on every session: nobody can resume."""
        self.sessions.clear()
