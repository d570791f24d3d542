"""Helix and the token service: who somebody is, what may be listened to, and lines for the chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from aiohttp import web

from familiar_connect.extensions.twitch.demo.chat_room import (
    MAX_CHARS,
    ChatRoom,
    DropReason,
    Payload,
    ShownLine,
    Viewer,
    make_id,
)
from familiar_connect.extensions.twitch.demo.faults import Faults
from familiar_connect.extensions.twitch.demo.rate_limits import RequestLimits
from familiar_connect.extensions.twitch.demo.sessions import Sessions
from familiar_connect.extensions.twitch.demo.tokens import Answer, Token, Tokens, refuse
from familiar_connect.extensions.twitch.demo.topics import CHAT

MAX_BODY = 64 * 1024


@dataclass(frozen=True)
class SentLine:
    """A line that a client sent and that everybody was shown."""

    id: str
    text: str
    parent_id: str | None
    sender: Viewer


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Helix:
    """The HTTP half of the server."""

    def __init__(
        self,
        room: ChatRoom,
        tokens: Tokens,
        sessions: Sessions,
        faults: Faults,
        *,
        on_line: Callable[[SentLine], None],
        on_dropped: Callable[[str, DropReason], None],
    ) -> None:
        self._room = room
        self._tokens = tokens
        self._sessions = sessions
        self._faults = faults
        self._on_line = on_line
        self._on_dropped = on_dropped
        self.limits = RequestLimits()

    def routes(self) -> Iterable[web.RouteDef]:
        return (
            web.get("/oauth2/validate", self._guard(self._validate)),
            web.post("/oauth2/token", self._guard(self._renew)),
            web.get("/helix/users", self._guard(self._users)),
            web.post("/helix/eventsub/subscriptions", self._guard(self._subscribe)),
            web.post("/helix/chat/messages", self._guard(self._send)),
        )

    def _guard(self, handle: Callable[[web.Request], Awaitable[web.Response]]) -> Handler:
        """*handle* behind the faults that were foreseen and the limit on requests."""

        async def handle_request(request: web.Request) -> web.StreamResponse:
            fault = await self._faults.take(request.path)
            headers: dict[str, str] = {}
            if fault is None or fault.is_after_effect:
                may, headers = self._count(request)
                answer = await handle(request) if may else _respond(refuse(429, "Too Many Requests", "slow down"))
                answer.headers.update(headers)
                if fault is None:
                    return answer
            if fault.status is None:
                assert request.transport is not None
                request.transport.abort()
                return web.Response(status=500)
            body = refuse(fault.status, "Trouble", "something went wrong")
            answer = _respond(body)
            answer.headers.update(headers | fault.headers)
            return answer

        return handle_request

    def _count(self, request: web.Request) -> tuple[bool, dict[str, str]]:
        if not request.path.startswith("/helix/"):
            return True, {}
        return self.limits.take(request.headers.get("Authorization", ""))

    def _token(self, request: web.Request) -> Token | None:
        """The token of a request, where it counts and belongs to the application that asks."""
        found = self._tokens.find(request.headers.get("Authorization", ""))
        if found is None or found[1].client_id != request.headers.get("Client-Id"):
            return None
        return found[1]

    async def _validate(self, request: web.Request) -> web.Response:
        return _respond(self._tokens.validate(request.headers.get("Authorization", "")))

    async def _renew(self, request: web.Request) -> web.Response:
        form = {key: str(value) for key, value in (await request.post()).items()}
        return _respond(self._tokens.renew(form))

    async def _users(self, request: web.Request) -> web.Response:
        if self._token(request) is None:
            return _respond(NO_TOKEN)
        logins = request.query.getall("login", [])
        found = [self._room.viewers[name] for name in logins if name in self._room.viewers]
        about = [{"id": each.id, "login": each.login, "display_name": each.name, "type": ""} for each in found]
        return _respond((200, {"data": about}))

    async def _subscribe(self, request: web.Request) -> web.Response:
        token = self._token(request)
        return _respond(NO_TOKEN if token is None else self._sessions.subscribe(await request.json(), token))

    async def _send(self, request: web.Request) -> web.Response:
        token = self._token(request)
        if token is None:
            return _respond(NO_TOKEN)
        if "user:write:chat" not in token.scopes:
            return _respond(refuse(401, "Unauthorized", "Missing scope: user:write:chat"))
        asked = dict(request.query) | (await request.json() if request.can_read_body else {})
        return _respond(await self._send_line(asked, token))

    async def _send_line(self, asked: Payload, token: Token) -> Answer:
        room, text = self._room, str(asked.get("message") or "")
        if asked.get("sender_id") != token.user_id:
            return refuse(401, "Unauthorized", "The ID in sender_id must match the user ID in the token.")
        if asked.get("broadcaster_id") != room.streamer.id:
            return refuse(404, "Not Found", "The broadcaster was not found.")
        if not text.strip():
            return refuse(400, "Bad Request", "The message is required.")
        if len(text) > MAX_CHARS:
            return refuse(422, "Unprocessable Entity", "The message is too large.")
        if token.user_id in room.banned:
            return refuse(403, "Forbidden", "The sender is not permitted to send chat messages to this chat room.")
        sender = room.find_viewer(token.user_id) or room.viewer(token.login, token.user_id)
        line_id = make_id()
        dropped = room.why_dropped(sender, text)
        if dropped is not None:
            self._on_dropped(text, dropped)
            reason = {"code": dropped.code, "message": dropped.message}
            return 200, {"data": [{"message_id": "", "is_sent": False, "drop_reason": reason}]}
        parent = room.find_line(asked.get("reply_parent_message_id"))
        await self._show(line_id, sender, text, parent)
        return 200, {"data": [{"message_id": line_id, "is_sent": True, "drop_reason": None}]}

    async def _show(self, line_id: str, sender: Viewer, text: str, parent: ShownLine | None) -> None:
        """The chat is told before the sender is: that is the order that catches who counts on the other."""
        event = self._room.show(line_id, sender, text, parent)
        await self._sessions.tell(CHAT, event)
        self._on_line(SentLine(line_id, text, parent.id if parent is not None else None, sender))


NO_TOKEN = refuse(401, "Unauthorized", "Invalid OAuth token")


def _respond(answer: Answer) -> web.Response:
    status, body = answer
    return web.json_response(body, status=status)
