"""Guard: stands before every route; what it does not let through never reaches one.

In this order: a name of ours in Host (a foreign name that points here is refused), a request of our own page, not
too many of them, and somebody who was let in. Every answer, refusals too, carries the headers that keep the page
out of frames and let it load nothing but its own files.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie

from familiar_connect.platforms.web.access import Doorkeeper
from familiar_connect.support.http_server.checks import (
    BODY_WITHIN_S,
    AsgiApp,
    Message,
    PageAddress,
    Receive,
    RequestRate,
    Scope,
    Send,
    client_of,
    limit_body,
    read_headers,
    why_foreign,
)

OPEN_PATHS = frozenset({"/open", "/login"})
"""Where somebody asks to be let in."""
OPEN_FILES = ("/static/",)
"""What the way in itself needs: our own style and scripts, which hold nothing of anybody's."""
MAX_ENTRY_BYTES = 10_000
"""Of somebody who was not let in yet: a password."""
MAX_BODY_BYTES = 2_000_000
ENTRY_WITHIN_S = 15.0
"""What somebody sends who was not let in yet must have come by then."""
MAX_LENGTH_DIGITS = 19
MAX_FILE_BYTES = 50_000_000
MAX_ATTACHED_BYTES = 25_000_000
FILE_PATHS = frozenset({"/import", "/familiars", "/picture"})
"""Where a file may come, which is larger than words are."""
MESSAGES_PATH = re.compile(r"/chats/\d{1,19}/messages")
"""Where words may come with pictures."""
_OTHER_FAMILIAR = re.compile(r"^/f/[^/]{1,64}(?=/)")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "media-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = (
    ("content-security-policy", POLICY),
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(self), geolocation=()"),
)
NO_STORE = ("cache-control", "no-store")


class Guard:
    """The routes of *app* for those who may ask."""

    def __init__(self, app: AsgiApp, *, address: PageAddress, door: Doorkeeper, rate: RequestRate) -> None:
        self._app = app
        self._address = address
        self._door = door
        self._rate = rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # the page has none
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            return
        headers = read_headers(scope)
        refused = self._refusal(scope, headers)
        if refused is not None:
            await _answer(with_headers(send), *refused, as_page="text/html" in headers.get("accept", ""))
            return
        path = str(scope["path"])
        within_s = ENTRY_WITHIN_S if _is_way_in(path) else BODY_WITHIN_S
        await self._app(scope, limit_body(receive, body_limit(path), within_s), with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        path, method = str(scope["path"]), str(scope["method"])
        if not self._address.is_own_name(headers.get("host")):
            return 421, "The page does not know this address. Open the one that was printed when it started."
        if (reason := why_foreign(method, headers)) is not None:
            return 403, f"Refused: {reason}. Open the page itself and try again."
        is_let_in = self._is_let_in(headers)
        if not self._rate.may_ask(f"{'in' if is_let_in else 'stranger'} {client_of(scope)}"):
            return 429, "Too many requests. Wait a moment, then load the page again."
        length, most = headers.get("content-length", "0"), body_limit(path)
        if length.isdigit() and int(length[:MAX_LENGTH_DIGITS]) > most:
            return 413, f"That is more than {most:,} bytes. Send less."
        if _is_way_in(path) or is_let_in:
            return None
        way = "or log in at /login" if self._door.has_password else "or start the page again"
        return 401, f"This page is private. Open the address that was printed when it started, {way}."

    def _is_let_in(self, headers: dict[str, str]) -> bool:
        """Whether somebody was let in, and shows it under the name that only the page and its browsers know."""
        if not self._address.may_hold_cookie(headers.get("host")):
            return False
        return self._door.is_cookie(read_cookie(headers, self._door.cookie_name))


def read_cookie(headers: dict[str, str], name: str) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return found.value if found is not None else None


def with_headers(send: Send) -> Send:
    """*send* with our headers on every answer; pages are not stored unless they say how long."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            there = {bytes(name).lower() for name, _ in headers}
            for name, value in (*HEADERS, NO_STORE):
                if name.encode() not in there:
                    headers.append((name.encode(), value.encode()))
            message["headers"] = headers
        await send(message)

    return send_with_headers


def _is_way_in(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FILES)


def body_limit(path: str) -> int:
    """How much may be sent to *path*."""
    if _is_way_in(path):
        return MAX_ENTRY_BYTES
    path = _OTHER_FAMILIAR.sub("", path)
    if path in FILE_PATHS:
        return MAX_FILE_BYTES
    return MAX_ATTACHED_BYTES if MESSAGES_PATH.fullmatch(path) else MAX_BODY_BYTES


def draw_alone(sentence: str, links: Sequence[tuple[str, str]] = ()) -> str:
    """A page that says nothing but *sentence*, without a menu; below it *links*, each an address and its name."""
    items = "".join(f'<li><a href="{html.escape(at)}"><bdi>{html.escape(name)}</bdi></a></li>' for at, name in links)
    sheets = "".join(f'<link rel="stylesheet" href="/static/{name}.css">' for name in ("tokens", "page"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, '
        f'initial-scale=1"><title>Familiar</title>{sheets}</head><body class="alone"><main><h1>Not this way</h1>'
        f"<p>{html.escape(sentence)}</p>{f'<ul>{items}</ul>' if items else ''}</main></body></html>\n"
    )


async def _answer(send: Send, status: int, text: str, *, as_page: bool) -> None:
    body = (draw_alone(text) if as_page else f"{text}\n").encode()
    kind = b"text/html; charset=utf-8" if as_page else b"text/plain; charset=utf-8"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
