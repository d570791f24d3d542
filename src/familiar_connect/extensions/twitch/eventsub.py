"""EventSub over a websocket: hears what was asked for, once each, for as long as it runs.

A connection that is silent longer than Twitch promised, or breaks, is made anew and everything is asked for again;
when Twitch itself asks to move, the new connection stands before the old one is left, so that nothing is missed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from familiar_connect.api import SetupError
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.twitch.event_types import Notification, Topic

logger = logging.getLogger(__name__)

WELCOME_S = 15.0
"""How long a new connection may take to say hello."""
GRACE_S = 5.0
"""Beyond the silence Twitch promises to break."""
LEFTOVERS_S = 0.2
"""How long a connection we leave may stay silent before nothing more is expected of it."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
SHUT_OUT_S = 300.0
"""How long to wait before asking again, where we are shut out of a chat."""
CLOSE_S = 1.0
"""How long a connection we close may take to say goodbye; one that is half open never does."""
MOST_IDS = 2_000
"""Message ids remembered, to hear nothing twice; the history knows older ones."""
LONGEST_MESSAGE = 1024 * 1024

Ask = Callable[[Topic, str], Awaitable[None]]
Sleep = Callable[[float], Awaitable[None]]


class Broken(Exception):
    """The connection ended or went silent."""


class ShutOut(Exception):
    """We may not hear this any more, and may again some day: nobody but a moderator can change that."""


@dataclass
class _Connection:
    socket: Any
    session_id: str
    keepalive_s: float


class EventSub:
    """One connection for one account's topics. *ask* places a subscription, *heard* is told each notification.

    *ask* and *revoked* raise `ShutOut` where all is to be asked for again after a while.
    """

    def __init__(
        self,
        url: str,
        *,
        topics: tuple[Topic, ...],
        ask: Ask,
        heard: Callable[[Notification], Awaitable[None]],
        revoked: Callable[[str, str], None],
        ready: Callable[[], None] = lambda: None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._url = url
        self._topics = topics
        self._ask = ask
        self._heard = heard
        self._revoked = revoked
        self._ready = ready
        self._sleep = sleep
        self._seen: LruCache[str, bool] = LruCache(MOST_IDS)

    async def run(self) -> None:
        """Hear until cancelled; what the operator must mend is raised."""
        from aiohttp import ClientError, ClientSession

        wait_s = FIRST_WAIT_S
        async with ClientSession() as http:
            while True:
                try:
                    async with asyncio.timeout(WELCOME_S):
                        connection = await self._open(http, self._url)
                    await self._ask_for_all(connection)
                    wait_s = FIRST_WAIT_S
                    await self._hear(http, connection)
                except ShutOut:
                    await self._sleep(SHUT_OUT_S)
                except (ClientError, Broken, TimeoutError, OSError) as error:
                    logger.info(
                        "the EventSub connection is made anew", extra={"reason": _reason(error), "wait_s": wait_s}
                    )
                    await self._sleep(wait_s)
                    wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    async def _open(self, http: Any, url: str) -> _Connection:
        from aiohttp import ClientWSTimeout

        wait = ClientWSTimeout(ws_close=CLOSE_S)
        socket = await http.ws_connect(url, max_msg_size=LONGEST_MESSAGE, timeout=wait)
        try:
            kind, _, payload = _parts(await _text(socket))
            if kind != "session_welcome":
                raise Broken("no welcome")
            session = payload["session"]
            return _Connection(socket, str(session["id"]), float(session.get("keepalive_timeout_seconds") or 10))
        except (KeyError, TypeError, ValueError) as error:
            await socket.close()
            raise Broken("a welcome that is none") from error
        except BaseException:
            await socket.close()
            raise

    async def _ask_for_all(self, connection: _Connection) -> None:
        try:
            for topic in self._topics:
                await self._ask(topic, connection.session_id)
        except BaseException:
            await connection.socket.close()
            raise
        self._ready()

    async def _hear(self, http: Any, connection: _Connection) -> None:
        """Read until the connection breaks, moving when Twitch asks to."""
        try:
            while True:
                async with asyncio.timeout(connection.keepalive_s + GRACE_S):
                    text = await _text(connection.socket)
                moved_to = await self._take(text)
                if moved_to is not None:
                    old = connection
                    async with asyncio.timeout(WELCOME_S):
                        connection = await self._open(http, moved_to)
                    await self._empty(old)
        finally:
            await connection.socket.close()

    async def _empty(self, old: _Connection) -> None:
        """Hear what still lies in the connection we leave; from the welcome on, news come over the other."""
        try:
            while True:
                async with asyncio.timeout(LEFTOVERS_S):
                    text = await _text(old.socket)
                await self._take(text)
        except (Broken, TimeoutError):
            await old.socket.close()

    async def _take(self, text: str) -> str | None:
        """Act on one message; returns the address to move to, if it asks for that."""
        try:
            kind, metadata, payload = _parts(text)
            if kind == "session_reconnect":
                return str(payload["session"]["reconnect_url"])
            if kind == "revocation":
                subscription = payload["subscription"]
                self._revoked(str(subscription["type"]), str(subscription["status"]))
            elif kind == "notification" and (notification := self._new(metadata, payload)) is not None:
                await self._heard(notification)
        except (SetupError, ShutOut):
            raise
        except Exception as error:  # isolation: one message that makes no sense silences no other
            logger.warning("a message of EventSub was not understood", extra={"reason": _reason(error)})
        return None

    def _new(self, metadata: Mapping[str, Any], payload: Mapping[str, Any]) -> Notification | None:
        """The notification in a message, or None when it was heard before."""
        message_id = str(metadata["message_id"])
        if message_id in self._seen:
            return None
        kind, event = str(payload["subscription"]["type"]), payload["event"]
        if not isinstance(event, dict):
            raise TypeError("an event that is no table")
        self._seen.put(message_id, True)
        when = _time(metadata.get("message_timestamp"))
        return Notification(message_id=message_id, kind=kind, event=event, timestamp=when)


async def _text(socket: Any) -> str:
    from aiohttp import WSMsgType

    message = await socket.receive()
    if message.type is WSMsgType.TEXT:
        return str(message.data)
    raise Broken(f"closed ({socket.close_code})")


def _parts(text: str) -> tuple[str, Mapping[str, Any], Mapping[str, Any]]:
    try:
        whole = json.loads(text)
        return str(whole["metadata"]["message_type"]), whole["metadata"], whole.get("payload") or {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not a message of EventSub") from error


def _time(stamp: object) -> datetime:
    """When it happened; Twitch counts nanoseconds, which is more than we keep."""
    try:
        head, _, fraction = str(stamp).removesuffix("Z").partition(".")
        return datetime.fromisoformat(f"{head}.{(fraction + '000000')[:6]}").replace(tzinfo=UTC)
    except ValueError:
        return datetime.now(UTC)


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if isinstance(error, Broken) else type(error).__name__
