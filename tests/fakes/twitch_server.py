"""TwitchServer: our own Twitch on loopback: tokens, users, chat, and EventSub over a websocket.

What the client did is kept; `until` waits for what is still to come.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import WSMsgType, web

from familiar_connect.extensions.twitch.account import Addresses

CLIENT_ID = "client-1"
EVERYTHING = (
    "user:read:chat",
    "user:write:chat",
    "channel:read:redemptions",
    "channel:read:subscriptions",
    "bits:read",
    "moderator:read:followers",
    "channel:read:ads",
)
STAMP = "2025-06-01T12:00:00.123456789Z"


@dataclass
class Token:
    """Whose it is and what it allows."""

    user_id: str
    login: str
    scopes: tuple[str, ...] = EVERYTHING
    client_id: str = CLIENT_ID


@dataclass
class TwitchServer:
    """Use as `async with TwitchServer() as server`."""

    tokens: dict[str, Token] = field(default_factory=lambda: {"good-token": Token("900", "ember_bot")})
    users: dict[str, str] = field(default_factory=lambda: {"ada_live": "500", "ember_bot": "900"})
    renewals: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Refresh token → the token and refresh token given for it."""
    keepalive_s: float = 30.0
    sent: list[str] = field(default_factory=list)
    parents: list[str | None] = field(default_factory=list)
    """Of each line sent, the message it was sent as the reply to."""
    sent_ids: list[str] = field(default_factory=list)
    subscriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Kind → the wish, of the newest session that asked."""
    asked: list[str] = field(default_factory=list)
    """Every kind asked for, in order."""
    sessions: list[web.WebSocketResponse] = field(default_factory=list)
    drop_reason: str | None = None
    stamp: Callable[[], str] = lambda: STAMP
    """When what it tells of happened."""
    send_statuses: list[int] = field(default_factory=list)
    """Statuses the next sends are answered with, before all is well again."""
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)
    _ids: Any = field(default_factory=lambda: itertools.count(1))
    _runner: web.AppRunner | None = None
    _port: int = 0

    @property
    def addresses(self) -> Addresses:
        base = f"127.0.0.1:{self._port}"
        return Addresses(api=f"http://{base}/helix/", auth=f"http://{base}/oauth2/", eventsub=self.socket_url())

    def socket_url(self, way: str = "ws") -> str:
        return f"ws://127.0.0.1:{self._port}/{way}"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes(
            [
                web.get("/oauth2/validate", self._validate),
                web.post("/oauth2/token", self._renew),
                web.get("/helix/users", self._users),
                web.post("/helix/eventsub/subscriptions", self._subscribe),
                web.post("/helix/chat/messages", self._send),
                web.get("/ws", self._socket),
                web.get("/moved", self._socket),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def until(self, condition: Callable[[], object], *, within_s: float = 200.0) -> None:
        async with asyncio.timeout(within_s), self._news:
            await self._news.wait_for(condition)

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    # HTTP

    def _token(self, request: web.Request) -> Token | None:
        return self.tokens.get(request.headers.get("Authorization", "").partition(" ")[2])

    async def _validate(self, request: web.Request) -> web.Response:
        token = self._token(request)
        if token is None:
            return web.json_response({"status": 401, "message": "invalid access token"}, status=401)
        facts = {"client_id": token.client_id, "login": token.login, "user_id": token.user_id}
        return web.json_response({**facts, "scopes": list(token.scopes), "expires_in": 5000})

    async def _renew(self, request: web.Request) -> web.Response:
        given = self.renewals.get(str((await request.post()).get("refresh_token")))
        if given is None:
            return web.json_response({"status": 400, "message": "Invalid refresh token"}, status=400)
        return web.json_response({"access_token": given[0], "refresh_token": given[1], "scope": []})

    async def _users(self, request: web.Request) -> web.Response:
        if self._token(request) is None:
            return web.json_response({"status": 401, "message": "Invalid OAuth token"}, status=401)
        names = [name for name in request.query.getall("login", []) if name in self.users]
        found = [{"id": self.users[name], "login": name, "display_name": name.title()} for name in names]
        return web.json_response({"data": found})

    async def _subscribe(self, request: web.Request) -> web.Response:
        token = self._token(request)
        if token is None:
            return web.json_response({"status": 401, "message": "Invalid OAuth token"}, status=401)
        wish = await request.json()
        self.asked.append(wish["type"])
        condition = wish["condition"]
        mine = "to_broadcaster_user_id" in condition or token.user_id in (
            condition.get("user_id") or condition.get("moderator_user_id"),
            condition["broadcaster_user_id"],
        )
        if not mine:
            await self._tell()
            return web.json_response(
                {"status": 403, "message": "subscription missing proper authorization"}, status=403
            )
        self.subscriptions[wish["type"]] = wish
        await self._tell()
        return web.json_response({"data": [{"id": wish["type"]}]}, status=202)

    async def _send(self, request: web.Request) -> web.Response:
        if self._token(request) is None:
            return web.json_response({"status": 401, "message": "Invalid OAuth token"}, status=401)
        if self.send_statuses and (status := self.send_statuses.pop(0)) != 200:
            return web.json_response({"status": status, "message": "no"}, status=status)
        answer: dict[str, Any] = {"message_id": f"sent-{next(self._ids)}", "is_sent": self.drop_reason is None}
        if self.drop_reason is not None:
            answer["drop_reason"] = {"code": self.drop_reason, "message": "dropped"}
        else:
            self.sent.append(request.query["message"])
            self.parents.append(request.query.get("reply_parent_message_id"))
            self.sent_ids.append(answer["message_id"])
        await self._tell()
        return web.json_response({"data": [answer]})

    # EventSub

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(timeout=0.1)
        await socket.prepare(request)
        self.sessions.append(socket)
        session = {"id": f"session-{len(self.sessions)}", "status": "connected"}
        welcome = {**session, "keepalive_timeout_seconds": self.keepalive_s}
        await self.raw("session_welcome", {"session": welcome}, socket=socket)
        await self._tell()
        async for message in socket:
            if message.type is WSMsgType.ERROR:
                break
        return socket

    async def raw(
        self,
        kind: str,
        payload: dict[str, Any],
        *,
        message_id: str | None = None,
        socket: web.WebSocketResponse | None = None,
    ) -> None:
        """Say anything over the newest session, or over *socket*."""
        metadata = {"message_id": message_id or f"m-{next(self._ids)}", "message_type": kind}
        text = json.dumps({"metadata": {**metadata, "message_timestamp": self.stamp()}, "payload": payload})
        await (socket or self.sessions[-1]).send_str(text)

    async def notify(self, kind: str, event: dict[str, Any], **more: Any) -> None:
        """Tell of something that happened."""
        await self.raw("notification", {"subscription": {"type": kind, "id": kind}, "event": event}, **more)

    async def chat(
        self,
        text: str,
        *,
        who: str = "ben",
        user_id: str = "22",
        socket: web.WebSocketResponse | None = None,
        **more: Any,
    ) -> str:
        """Someone writes into the chat; the id of the message."""
        facts: dict[str, Any] = {
            "broadcaster_user_id": "500",
            "badges": [],
            "chatter_user_id": user_id,
            "chatter_user_login": who,
            "chatter_user_name": who.title(),
            "message_id": f"chat-{next(self._ids)}",
            "message": {"text": text, "fragments": [{"type": "text", "text": text, "mention": None}]},
            "cheer": None,
            "reply": None,
        }
        await self.notify("channel.chat.message", {**facts, **more}, socket=socket)
        return str(facts["message_id"])
