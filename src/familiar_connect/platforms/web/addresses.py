"""Which familiar a request is for: every address of the page names it, `/f/ID/…`, whichever was the first to be open.

Besides there is the way in, and `/`, which leads to the familiar that the program was started for. An address without a
name is one of an earlier version: it leads on where the home has only one familiar, else the person is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from urllib.parse import quote

from familiar_connect.config.home import is_valid_familiar_id
from familiar_connect.errors import FamiliarError
from familiar_connect.platforms.web.guard import draw_alone
from familiar_connect.platforms.web.home_familiars import HomeFamiliars, NoSuchFamiliar, OpenedPages
from familiar_connect.support.aio import off_loop
from familiar_connect.support.http_server.checks import AsgiApp, Message, Receive, Scope, Send, read_headers

ENTRY_PATHS = re.compile(r"/open|/login|/static/.*", re.DOTALL)
"""What is nobody's: the way in, and our own files."""
HISTORY_HEADER, RUN_HEADER = "x-familiar-history", "x-familiar-run"
"""What every answer says about who gave it, and what a page says about who it is meant for."""
FOREIGN = (
    "Another familiar is at this address now than the one this page was opened for, so nothing was done. "
    "Load the page again"
)
NAMELESS = "This address does not say which familiar it belongs to, so nothing was done. Load the page again"
_PREFIX = re.compile(r"/f/([A-Za-z0-9][A-Za-z0-9_-]{0,63})(/.*)?")


def pages_at(familiar_id: str) -> str:
    """Where the pages of a familiar begin, without the slash behind it."""
    return f"/f/{familiar_id}"


def split_address(path: str) -> tuple[str | None, str]:
    """The familiar that an address names, None where it names none, and the address within its pages."""
    found = _PREFIX.fullmatch(path)
    is_named = found is not None and is_valid_familiar_id(found[1])
    return (found[1], found[2] or "/") if found is not None and is_named else (None, path)


class FamiliarDispatcher:
    """Hands each request to the pages of the familiar that its address names."""

    def __init__(
        self,
        first: OpenedPages,
        familiars: HomeFamiliars | None,
        *,
        entry: AsgiApp,
        ask_which: Callable[[str, list[str]], bytes],
        run: str,
    ) -> None:
        """*ask_which* draws the page that asks which of several an old address is of; *run* names this program."""
        self._first = first
        self._familiars = familiars
        self._entry = entry
        self._ask_which = ask_which
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        familiar_id, path = split_address(str(scope["path"]))
        if familiar_id == self._first.familiar.id:
            await self._ask(self._first, path, scope, receive, send)
        elif familiar_id is not None:
            await self._ask_other(familiar_id, path, scope, receive, send)
        elif ENTRY_PATHS.fullmatch(path):
            await self._entry(scope, receive, send)
        elif path.startswith("/f/"):
            await _tell(scope, send, 404, "There is no such familiar here", await self._links())
        else:
            await self._lead_on(path, scope, send)

    async def _ask_other(self, familiar_id: str, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if self._familiars is None:
                raise NoSuchFamiliar(f"there is no familiar {familiar_id} here")
            async with self._familiars.use(familiar_id) as opened:
                await self._ask(opened, path, scope, receive, send)
        except NoSuchFamiliar as error:
            await _tell(scope, send, 404, str(error), await self._links())
        except FamiliarError as error:
            await _tell(scope, send, 503, str(error))

    async def _links(self) -> list[tuple[str, str]]:
        """Where the familiars are that there are, and what they are called."""
        first = self._first.familiar
        if self._familiars is None:
            return [(f"{pages_at(first.id)}/", first.name)]
        return [(entry.path, entry.name) for entry in await off_loop(self._familiars.entries, first.id)]

    async def _ask(self, opened: OpenedPages, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask one familiar's pages, if it is the one that the asking page was opened for."""
        meant = read_headers(scope).get(HISTORY_HEADER)
        send = _with_names(send, opened, self._run)
        if meant is not None and meant != opened.history:
            await _tell(scope, send, 409, FOREIGN)
            return
        inner = {**scope, "path": path, "raw_path": path.encode("utf-8", "replace")}
        await opened.app(inner, receive, send)

    async def _lead_on(self, path: str, scope: Scope, send: Send) -> None:
        """From an address that names nobody to one that does, where there is no doubt which."""
        if scope["method"] not in ("GET", "HEAD"):
            await _tell(scope, send, 409, NAMELESS)
            return
        first = self._first.familiar.id
        there = [first] if self._familiars is None else await off_loop(self._familiars.ids)
        if path == "/":
            await _redirect(send, f"{pages_at(first)}/", scope.get("query_string", b""))
        elif len(there) == 1:
            await _redirect(send, pages_at(there[0]) + path, scope.get("query_string", b""))
        else:
            page = await off_loop(self._ask_which, quote(path, errors="replace"), there)
            await _answer(send, 300, "text/html", page)


def _with_names(send: Send, opened: OpenedPages, run: str) -> Send:
    """*send* whose answers say who gave them, and whose redirects stay with the familiar."""
    prefix = pages_at(opened.familiar.id).encode()
    names = [(HISTORY_HEADER.encode(), opened.history.encode()), (RUN_HEADER.encode(), run.encode())]

    async def send_with_names(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                (name, prefix + value) if _is_inner_redirect(name, value) else (name, value)
                for name, value in (*message.get("headers", ()), *names)
            ]
        await send(message)

    return send_with_names


def _is_inner_redirect(name: bytes, value: bytes) -> bool:
    return name.lower() == b"location" and value.startswith(b"/") and not value.startswith((b"/f/", b"//"))


async def _redirect(send: Send, path: str, query: bytes) -> None:
    """To *path* here: written anew, so that nothing in it names another host or ends the header."""
    headers = [(b"location", quote(path, errors="replace").encode("ascii") + (b"?" + query if query else b""))]
    await send({"type": "http.response.start", "status": 303, "headers": [*headers, (b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def _tell(scope: Scope, send: Send, status: int, sentence: str, links: Sequence[tuple[str, str]] = ()) -> None:
    sentence = sentence[:1].upper() + sentence[1:]
    if "application/json" in read_headers(scope).get("accept", ""):
        await _answer(send, status, "application/json", json.dumps({"problem": sentence}).encode())
    elif "text/html" in read_headers(scope).get("accept", ""):
        way = "Choose one of these:" if links else "Go back, or open the page at / again."
        await _answer(send, status, "text/html", draw_alone(f"{sentence}. {way}", links).encode())
    else:
        await _answer(send, status, "text/plain", f"{sentence}.\nGo back, or open the page at / again.\n".encode())


async def _answer(send: Send, status: int, kind: str, body: bytes) -> None:
    headers = [(b"content-type", f"{kind}; charset=utf-8".encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
