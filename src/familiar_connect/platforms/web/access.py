"""Who may ask the page for anything: a token in the opened address, then a signed cookie; a password for other hosts.

Plain values and checks without any web library. Every comparison of a secret takes the same time whatever it holds.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from familiar_connect.support.clock import Clock
from familiar_connect.support.files import atomic_write
from familiar_connect.support.lru import LruCache
from familiar_connect.support.no_follow import load_bytes

SESSION_S = 30 * 24 * 3600
"""How long a browser is let in without being asked again."""
KEY_BYTES = 32
TOKEN_BYTES = 24
PASS_S = 120.0
"""How long a browser that is opened may take to come."""
MAX_COOKIE_CHARS = 200
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
LOOPBACK_ENDING = ".localhost"
"""Browsers look for names with this ending on their own computer, and ask nobody."""
NAME_BYTES = 15
SAFE_METHODS = frozenset({"GET", "HEAD"})
MAX_PASSES = 8
"""Browsers that may be on their way at once."""
CLIENTS_KEPT = 1_000
"""Addresses whose number of requests is known; the one that asked longest ago is forgotten."""
_ONLY_OWNER = 0o600


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
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and not _is_origin(origin, host):
        return "another site asked for it"
    site = headers.get("sec-fetch-site")
    if site in ("cross-site", "same-site"):
        is_visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if method not in SAFE_METHODS or not is_visit:
            return "another site asked for it"
    if method not in SAFE_METHODS and origin is None and site != "same-origin":
        return "nothing says which page asked for it"
    return None


def _is_origin(origin: str, host: str) -> bool:
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and bool(parts.netloc) and parts.netloc.lower() == host.lower()


class Doorkeeper:
    """Lets in who shows the token, the password or a cookie that was given for one of them."""

    def __init__(self, *, key: bytes, port: int, clock: Clock, password: str | None = None) -> None:
        """*key* signs cookies; a new one, or a new password, turns away everybody who was let in before."""
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.cookie_name = f"familiar_{port}"
        self._clock = clock
        self._password = password
        self._key = hmac.digest(key, (password or "").encode(), hashlib.sha256)
        self._passes: LruCache[str, float] = LruCache(MAX_PASSES)

    @property
    def has_password(self) -> bool:
        return self._password is not None

    def issue_pass(self) -> str:
        """A token that lets in one browser, soon: other people of this computer can see how a browser is started."""
        issued = secrets.token_urlsafe(TOKEN_BYTES)
        self._passes.put(issued, self._clock.monotonic() + PASS_S)
        return issued

    def is_token(self, given: str) -> bool:
        """Whether *given* is the token, or the pass, which is no pass any more then."""
        if hmac.compare_digest(given.encode(), self.token.encode()):
            return True
        until = self._passes.pop(given)  # random, and gone once it was shown: how long the look takes tells nothing
        return until is not None and self._clock.monotonic() < until

    def is_password(self, given: str) -> bool:
        return self._password is not None and hmac.compare_digest(given.encode(), self._password.encode())

    def issue_cookie(self) -> str:
        """A cookie's value: until when, something random, and our signature."""
        until = int(self._clock.now().timestamp()) + SESSION_S
        body = f"{until}.{secrets.token_urlsafe(12)}"
        return f"{body}.{self._sign(body)}"

    def is_cookie(self, value: str | None) -> bool:
        """Whether *value* is a cookie of ours that still holds."""
        if not value or len(value) > MAX_COOKIE_CHARS:
            return False
        body, _, signature = value.rpartition(".")
        until, _, _ = body.partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(body).encode()):
            return False
        return until.isascii() and until.isdigit() and int(until) > self._clock.now().timestamp()

    def _sign(self, body: str) -> str:
        return hmac.new(self._key, body.encode(), hashlib.sha256).hexdigest()


def host_name_of(key: bytes) -> str:
    """A name for this computer that follows from *key*, so that bookmarks hold, and that nobody else can guess."""
    drawn = hmac.new(key, b"name of the page", hashlib.sha256).digest()[:NAME_BYTES]
    return f"familiar-{base64.b32encode(drawn).decode().lower()}{LOOPBACK_ENDING}"


def load_signing_key(path: Path) -> bytes:
    """The key in the file at *path*, made at the first time, so that a restart turns no browser away."""
    try:
        key = bytes.fromhex(load_bytes(path, 1_000).decode("ascii", "replace").strip())
    except (FileNotFoundError, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        key = secrets.token_bytes(KEY_BYTES)
        atomic_write(path, key.hex() + "\n", mode=_ONLY_OWNER)
    return key


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
