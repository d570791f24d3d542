"""Sessions: EventSub over websockets. Each session is told what its account asked for, at least once each.

A session that asks for nothing, or says something itself, is closed. A move gives the session another address: what
happens goes over the old connection until the new one has been greeted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiohttp import WSMsgType, web

from familiar_connect.extensions.twitch.demo.chat_room import ChatRoom, Payload, make_id
from familiar_connect.extensions.twitch.demo.tokens import Answer, Token, refuse
from familiar_connect.extensions.twitch.demo.topics import RULES, why_refused

SPOKE_ITSELF, UNUSED, NOT_MOVED = 4001, 4003, 4004
INTERNAL_ERROR, NETWORK_ERROR = 4000, 4006
KEEPALIVE_S, UNUSED_S, MOVE_WITHIN_S = 10.0, 10.0, 30.0
MAX_SESSIONS, MAX_TOPICS = 3, 300
"""Sessions of one account, and what one of them may ask for."""
MOVED = "moved"


@dataclass
class Grant:
    """Something that was asked for."""

    id: str
    wish: Payload
    user_id: str

    def about(self, status: str = "enabled") -> Payload:
        facts = {key: self.wish[key] for key in ("type", "version", "condition", "transport")}
        return {"id": self.id, "status": status, "cost": 0, **facts, "created_at": stamp_now()}


@dataclass(eq=False)
class Session:
    """One client's ear, over whichever connection it has now."""

    id: str
    socket: web.WebSocketResponse
    transport: asyncio.Transport | None
    keepalive_s: float
    user_id: str | None = None
    subscriptions: dict[str, Grant] = field(default_factory=dict)
    is_silent: bool = False
    """Half-open: nothing comes, and nothing is taken."""
    told_at: float = 0.0


class Sessions:
    """All that are open."""

    def __init__(self, room: ChatRoom, url: Callable[[], str], noted: Callable[[], None]) -> None:
        self._room = room
        self._url = url
        self._noted = noted
        self.open: dict[str, Session] = {}
        self.asked: list[Payload] = []
        """Everything that was asked for, granted or not, oldest first."""
        self.sockets: list[web.WebSocketResponse] = []
        """Every connection there was."""
        self.greeted: list[str] = []
        self.newest_event: str | None = None
        """The id under which something other than a line of chat was told last."""
        self.is_doubling = False
        """Everything is delivered twice, as at least once allows."""
        self.keepalive_s = KEEPALIVE_S
        self.unused_s = UNUSED_S
        self.move_within_s = MOVE_WITHIN_S
        self.stamp: Callable[[], str] = stamp_now

    # Connections

    async def handle_connection(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(timeout=0.1)
        await socket.prepare(request)
        self.sockets.append(socket)
        session = self._session_of(request, socket)
        work = [asyncio.create_task(self._keep_alive(session, socket)), asyncio.create_task(self._end_unused(session))]
        try:
            await self._greet(session)
            await self._read(socket)
        finally:
            for task in work:
                task.cancel()
            if session.socket is socket:
                self.open.pop(session.id, None)
            self._noted()
        return socket

    def _session_of(self, request: web.Request, socket: web.WebSocketResponse) -> Session:
        """The session that has moved here, or a new one."""
        moved = self.open.get(request.query.get(MOVED, ""))
        if moved is not None:
            moved.socket, moved.transport, moved.is_silent = socket, request.transport, False
            return moved
        session_id = f"session-{len(self.greeted) + 1}"
        self.open[session_id] = Session(session_id, socket, request.transport, self.keepalive_s)
        return self.open[session_id]

    async def _greet(self, session: Session) -> None:
        self.greeted.append(session.id)
        about: Payload = {"id": session.id, "status": "connected", "connected_at": stamp_now(), "reconnect_url": None}
        about["keepalive_timeout_seconds"] = session.keepalive_s
        await self.send(session, "session_welcome", {"session": about})
        self._noted()

    async def _read(self, socket: web.WebSocketResponse) -> None:
        async for message in socket:
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                await socket.close(code=SPOKE_ITSELF, message=b"client sent inbound traffic")
                return

    async def _keep_alive(self, session: Session, socket: web.WebSocketResponse) -> None:
        """A sign of life whenever nothing else was told for a while."""
        loop = asyncio.get_running_loop()
        while not socket.closed:
            wait_s = session.told_at + session.keepalive_s * 0.9 - loop.time()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            elif session.is_silent or session.socket is not socket:
                return
            else:
                await self.send(session, "session_keepalive", {})

    async def _end_unused(self, session: Session) -> None:
        await asyncio.sleep(self.unused_s)
        if not session.subscriptions:
            await session.socket.close(code=UNUSED, message=b"connection unused")

    # Asking

    def subscribe(self, wish: Payload, token: Token) -> Answer:
        """Grant or refuse what a token asks for."""
        self.asked.append(wish)
        self._noted()
        refused = why_refused(wish, token, self._room)
        if refused is not None:
            return refused
        transport = wish.get("transport") or {}
        session = self.open.get(str(transport.get("session_id")))
        if session is None or session.socket.closed:
            return refuse(400, "Bad Request", "websocket transport session does not exist or has already disconnected")
        if session.user_id not in (None, token.user_id):
            return refuse(400, "Bad Request", "websocket transport cannot be used by different users")
        others = [each for each in self.open.values() if each.user_id == token.user_id and each is not session]
        if len(others) >= MAX_SESSIONS or len(session.subscriptions) >= MAX_TOPICS:
            return refuse(429, "Too Many Requests", "number of websocket transports limit exceeded")
        same = [one.id for one in session.subscriptions.values() if _is_same(one.wish, wish)]
        if same:
            return refuse(409, "Conflict", "subscription already exists")
        made = Grant(make_id(), wish, token.user_id)
        session.user_id = token.user_id
        session.subscriptions[made.id] = made
        return 202, {"data": [made.about()], "total": len(session.subscriptions), "total_cost": 0, "max_total_cost": 10}

    def find(self, kind: str) -> Iterator[tuple[Session, Grant]]:
        """Everybody who asked for *kind*."""
        for session in list(self.open.values()):
            for each in list(session.subscriptions.values()):
                if each.wish["type"] == kind:
                    yield session, each

    # Telling

    async def tell(self, kind: str, event: Payload, *, message_id: str | None = None) -> None:
        """Tell of something that happened to whoever asked for it, under one id in each session."""
        for session, wanted in self.find(kind):
            if self._is_about(wanted.wish["condition"], event):
                await self.notify(session, kind, event, subscription=wanted.about(), message_id=message_id)

    async def notify(
        self, session: Session, kind: str, event: Payload, *, subscription: Payload, message_id: str | None = None
    ) -> None:
        named = message_id or make_id()
        self.newest_event = named if not RULES[kind].is_chat else self.newest_event
        more = {"subscription_type": kind, "subscription_version": subscription.get("version", "1")}
        for _ in range(2 if self.is_doubling else 1):
            payload = {"subscription": subscription, "event": event}
            await self.send(session, "notification", payload, message_id=named, **more)

    def _is_about(self, condition: Mapping[str, str], event: Payload) -> bool:
        """Whether an event is of the channel that was asked for; raids name theirs otherwise."""
        keys = ("broadcaster_user_id", "to_broadcaster_user_id")
        return all(condition[key] == event[key] for key in keys if key in condition and key in event)

    async def send(
        self, session: Session, kind: str, payload: Payload, *, message_id: str | None = None, **more: str
    ) -> None:
        """Say anything over a session; what nobody can hear is lost."""
        session.told_at = asyncio.get_running_loop().time()
        if session.is_silent or session.socket.closed:
            return
        metadata = {"message_id": message_id or make_id(), "message_type": kind}
        metadata |= {"message_timestamp": self.stamp(), **more}
        with suppress(ConnectionError, RuntimeError):
            await session.socket.send_str(json.dumps({"metadata": metadata, "payload": payload}))

    # Trouble

    async def ask_to_move(self) -> None:
        """Every session is to come to another address; whoever does not is closed after a while."""
        for session in list(self.open.values()):
            about = {"id": session.id, "status": "reconnecting", "keepalive_timeout_seconds": None}
            about["reconnect_url"] = f"{self._url()}?{MOVED}={session.id}"
            await self.send(session, "session_reconnect", {"session": about})
            loop = asyncio.get_running_loop()
            loop.call_later(self.move_within_s, self._close_unmoved, session, session.socket)

    def _close_unmoved(self, session: Session, old: web.WebSocketResponse) -> None:
        if not old.closed:
            self.closing = asyncio.ensure_future(old.close(code=NOT_MOVED, message=b"reconnect grace time expired"))

    async def revoke(self, status: str, *, user_id: str, kinds: tuple[str, ...] = ()) -> None:
        """Take back what an account was granted: of these kinds, or everything."""
        for session in list(self.open.values()):
            for each in list(session.subscriptions.values()):
                if each.user_id == user_id and (not kinds or each.wish["type"] in kinds):
                    del session.subscriptions[each.id]
                    about = {"subscription": each.about(status)}
                    more = {"subscription_type": str(each.wish["type"]), "subscription_version": "1"}
                    await self.send(session, "revocation", about, **more)

    async def drop(self, code: int = NETWORK_ERROR) -> None:
        """Close every connection; nothing of the sessions is kept."""
        sessions, self.open = list(self.open.values()), {}
        for session in sessions:
            await session.socket.close(code=code)

    def fall_silent(self) -> None:
        """Leave every connection half open: nothing is said over it any more, and nothing is read."""
        for session in self.open.values():
            session.is_silent = True
            if session.transport is not None:
                session.transport.pause_reading()


def _is_same(one: Payload, other: Payload) -> bool:
    return all(one[key] == other[key] for key in ("type", "version", "condition"))


def stamp_now() -> str:
    """The time with as many digits as Twitch gives."""
    return f"{datetime.now(UTC).isoformat().removesuffix('+00:00')}789Z"
