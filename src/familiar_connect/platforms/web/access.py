"""Who may ask the page for anything: a token in the opened address, then a signed cookie; a password for other hosts.

Plain values and checks without any web library. Every comparison of a secret takes the same time whatever it holds.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from pathlib import Path

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
LOOPBACK_ENDING = ".localhost"
"""Browsers look for names with this ending on their own computer, and ask nobody."""
NAME_BYTES = 15
MAX_PASSES = 8
"""Browsers that may be on their way at once."""
_ONLY_OWNER = 0o600


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
