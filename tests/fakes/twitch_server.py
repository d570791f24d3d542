"""TwitchServer: the Twitch of the demonstration as tests use it: a bot on Ada's channel, and lines no rule holds up."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from familiar_connect.extensions.twitch.account import Addresses
from familiar_connect.extensions.twitch.demo import server
from familiar_connect.extensions.twitch.demo.chat_room import make_id
from familiar_connect.extensions.twitch.demo.faults import Fault
from familiar_connect.extensions.twitch.demo.tokens import CLIENT_ID, EVERYTHING, Token

__all__ = ["CLIENT_ID", "EVERYTHING", "STAMP", "Token", "TwitchServer"]

STAMP = "2025-06-01T12:00:00.123456789Z"


class TwitchServer:
    """Use as `async with TwitchServer() as server`; all that can be done there is done with `twitch`."""

    def __init__(
        self,
        *,
        tokens: dict[str, Token] | None = None,
        users: dict[str, str] | None = None,
        renewals: dict[str, tuple[str, str]] | None = None,
        keepalive_s: float = 30.0,
        send_statuses: tuple[int, ...] = (),
        stamp: Callable[[], str] = lambda: STAMP,
    ) -> None:
        self.twitch = server.TwitchServer()
        self.twitch.tokens.known = {"good-token": Token("900", "ember_bot")} if tokens is None else tokens
        self.twitch.tokens.renewals = renewals or {}
        self.twitch.sessions.keepalive_s = keepalive_s
        self.twitch.sessions.stamp = stamp
        if users == {}:
            self.twitch.room.viewers.clear()
        for login, user_id in {"ember_bot": "900", **(users or {})}.items():
            self.twitch.room.viewer(login, user_id)
        for status in send_statuses:
            self.twitch.faults.add(Fault("chat/messages", status=status))

    async def __aenter__(self) -> Self:
        await self.twitch.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.twitch.__aexit__(kind, error, trace)

    @property
    def addresses(self) -> Addresses:
        return self.twitch.addresses

    @property
    def tokens(self) -> dict[str, Token]:
        return self.twitch.tokens.known

    @property
    def sent(self) -> list[str]:
        return self.twitch.list_sent()

    @property
    def parents(self) -> list[str | None]:
        """Of each line sent, the message it was sent as the reply to."""
        return [line.parent_id for line in self.twitch.lines]

    @property
    def sent_ids(self) -> list[str]:
        return [line.id for line in self.twitch.lines]

    @property
    def asked(self) -> list[str]:
        """Every kind asked for, in order."""
        return [str(wish["type"]) for wish in self.twitch.sessions.asked]

    @property
    def subscriptions(self) -> dict[str, dict[str, Any]]:
        """Kind → the wish, of all that are granted now."""
        granted = [each for session in self.twitch.sessions.open.values() for each in session.subscriptions.values()]
        return {str(each.wish["type"]): each.wish for each in granted}

    @property
    def sockets(self) -> list[web.WebSocketResponse]:
        """Every connection there was."""
        return self.twitch.sessions.sockets

    async def until(self, condition: Callable[[], object], *, within_s: float = 200.0) -> None:
        await self.twitch.until(condition, within_s=within_s)

    async def raw(self, kind: str, payload: dict[str, Any], *, message_id: str | None = None) -> None:
        """Say anything over the newest connection, or over *socket*."""
        metadata = {"message_id": message_id or make_id(), "message_type": kind}
        metadata["message_timestamp"] = self.twitch.sessions.stamp()
        await self.sockets[-1].send_str(json.dumps({"metadata": metadata, "payload": payload}))

    async def notify(self, kind: str, event: dict[str, Any], **more: Any) -> None:
        """Tell of something over the newest connection, though nobody asked for it."""
        await self.raw("notification", {"subscription": {"type": kind, "id": kind}, "event": event}, **more)

    async def chat(self, text: str, *, who: str = "ben", user_id: str = "22", **more: Any) -> str:
        """Someone writes into the chat; the id of the message. *more* goes over what is told of it."""
        return await self.twitch.show(self.twitch.room.viewer(who, user_id, who.title()), text, **more)
