"""What every request is asked before it reaches a route: which name it asks for, who made it, how often, how much.

Plain values and checks without any web library.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from familiar_connect.errors import HomeError
from familiar_connect.support.clock import Clock
from familiar_connect.support.lru import LruCache

Scope = MutableMapping[str, Any]
"""What a request says of itself, as ASGI has it."""
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
"""Gives the next part of a request."""
Send = Callable[[Message], Awaitable[None]]
"""Takes the next part of an answer."""
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
"""What answers requests."""

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD"})
CLIENTS_KEPT = 1_000
"""Addresses whose number of requests is known; the one that asked longest ago is forgotten."""
BODY_WITHIN_S = 300.0
"""All of what is sent must have come by then."""


@dataclass(frozen=True, kw_only=True)
class PageAddress:
    """Where the page listens and under which names it may be asked for."""

    host: str
    port: int
    names: frozenset[str] = frozenset()
    """Further names, such as the one a proxy goes by."""
    own_name: str | None = None
    """The one name under which a browser of this computer is let in; None: any of them.

    Browsers send a host's cookies to every port of it. Nobody else on this computer goes by a name that nobody knows.
    """

    @property
    def is_local(self) -> bool:
        """Whether only this computer can reach it."""
        return is_loopback(self.host)

    def is_own_name(self, host: str | None) -> bool:
        """Whether the Host header *host* names us, and not a name that somebody else pointed at this computer."""
        name, port = split_host(host or "")
        if not name:
            return False
        if self.is_local:
            return (name in LOCAL_NAMES or name == self.own_name) and port == self.port
        return name in LOCAL_NAMES or name in self.names or _is_address(name)

    def may_hold_cookie(self, host: str | None) -> bool:
        """Whether a browser that asks for *host* tells the cookie to no other server of this computer."""
        return self.own_name is None or split_host(host or "")[0] == self.own_name

    @property
    def own_url(self) -> str:
        """Where a browser stays once it was let in."""
        return self.url if self.own_name is None else f"http://{self.own_name}:{self.port}"

    @property
    def url(self) -> str:
        """What a browser on this computer opens."""
        shown = self.host if self.is_local else "127.0.0.1"
        return f"http://[{shown}]:{self.port}" if ":" in shown else f"http://{shown}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach *host*."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def split_host(header: str) -> tuple[str, int]:
    """Name, lower-cased and without brackets, and port of a Host header; an empty name where it is none."""
    try:
        parts = urlsplit(f"//{header}")
        if not header or parts.path or parts.query or parts.fragment or "@" in header:
            return "", 0
        return (parts.hostname or "").rstrip("."), parts.port or 80
    except ValueError:
        return "", 0


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def why_foreign(method: str, headers: Mapping[str, str]) -> str | None:
    """Why a request was not made by a page of ours, by what browsers say of it; None: it was, or a person typed it.

    Something that changes anything must come from a page of ours in so many words. Reading is refused to pages
    of others; a person may follow a link of theirs to ours.
    """
    if (reason := why_other_site(method, headers)) is not None:
        return reason
    if method not in SAFE_METHODS and headers.get("origin") is None and headers.get("sec-fetch-site") != "same-origin":
        return "nothing says which page asked for it"
    return None


def why_other_site(method: str, headers: Mapping[str, str]) -> str | None:
    """Why a request was made by the page of another site, by what browsers say of it; None: nothing says so."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and not _is_origin(origin, host):
        return "another site asked for it"
    site = headers.get("sec-fetch-site")
    if site in ("cross-site", "same-site"):
        is_visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if method not in SAFE_METHODS or not is_visit:
            return "another site asked for it"
    return None


def _is_origin(origin: str, host: str) -> bool:
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and bool(parts.netloc) and parts.netloc.lower() == host.lower()


class RequestRate:
    """How often each client may ask: *burst* at once, then *per_second*."""

    def __init__(self, per_second: float, burst: int, clock: Clock) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._left: LruCache[str, tuple[float, float]] = LruCache(CLIENTS_KEPT)
        """Client → requests it has left, and when that was counted."""

    def may_ask(self, client: str) -> bool:
        """Whether *client* has a request left; it is taken."""
        left = self._available(client)
        self._left.put(client, (max(0.0, left - 1.0), self._clock.monotonic()))
        return left >= 1.0

    def has_left(self, client: str) -> bool:
        """Whether *client* has a request left, without taking it."""
        return self._available(client) >= 1.0

    def _available(self, client: str) -> float:
        now = self._clock.monotonic()
        left, counted = self._left.get(client) or (float(self._burst), now)
        return min(float(self._burst), left + (now - counted) * self._per_second)


def read_headers(scope: Scope) -> dict[str, str]:
    """What a request says about itself, by name."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def client_of(scope: Scope) -> str:
    """The address that asks."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def limit_body(receive: Receive, most: int, within_s: float = BODY_WITHIN_S) -> Receive:
    """*receive* that ends a request which sends more than it may, whatever it said before, or takes too long."""
    taken, is_whole = 0, False
    until = asyncio.get_running_loop().time() + within_s

    async def receive_limited() -> Message:
        nonlocal taken, is_whole
        if is_whole:  # what comes now is that somebody left
            return await receive()
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            raise HomeError("the rest of it did not arrive in time; send it again") from None
        taken += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        if taken > most:
            raise HomeError(f"that is more than {most:,} bytes; send less")
        return message

    return receive_limited
