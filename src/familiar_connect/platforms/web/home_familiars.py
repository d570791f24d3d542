"""HomeFamiliars: every familiar of the home on one page, each under an address of its own.

The one the program was started for is at `/`; another is at `/f/ID/…`, with the same pages, and is opened when somebody
looks at it. A few are open at once; the one not looked at for longest is closed when there are more.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import is_valid_familiar_id, list_familiars
from familiar_connect.errors import FamiliarError, HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.web.familiar_pictures import FamiliarPictures
from familiar_connect.platforms.web.guard import AsgiApp, Message, Receive, Scope, Send
from familiar_connect.support.aio import off_loop
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.text import one_line, truncate_chars

logger = logging.getLogger(__name__)

MOST_OPEN = 3
"""Familiars that are open besides the first; each has databases and perhaps a model of its own."""
MOST_LISTED = 30
MAX_NAME_BYTES, MAX_DESCRIPTION_BYTES = 400, 800
DESCRIPTION_CHARS = 140
_PREFIX = re.compile(r"/f/([A-Za-z0-9][A-Za-z0-9_-]{0,63})(/.*)?")


@dataclass(frozen=True, kw_only=True)
class FamiliarEntry:
    """A familiar in the menu."""

    id: str
    name: str
    path: str
    is_here: bool
    picture: str | None = None
    """The address of its picture."""


@dataclass(frozen=True)
class OpenedPages:
    """A familiar that is open, and its pages."""

    familiar: Familiar
    app: AsgiApp


def split_address(path: str) -> tuple[str | None, str]:
    """The familiar that an address names, None for the first, and the address within its pages."""
    found = _PREFIX.fullmatch(path)
    is_other = found is not None and is_valid_familiar_id(found[1])
    return (found[1], found[2] or "/") if found is not None and is_other else (None, path)


class HomeFamiliars:
    """The familiars of *home*; *first* is open from the start, the others are opened by *open_pages*."""

    def __init__(
        self, home: Path, first_id: str, open_pages: Callable[[str], AbstractAsyncContextManager[OpenedPages]]
    ) -> None:
        self._home = home
        self.first_id = first_id
        self._open_pages = open_pages
        self._open: dict[str, tuple[AsyncExitStack, OpenedPages]] = {}
        """The one looked at last comes last."""
        self._lock = asyncio.Lock()
        self.pictures = FamiliarPictures(HomeFolder(home))

    def ids(self) -> list[str]:
        """Every familiar of the home; reads the disk."""
        return list_familiars(self._home)

    def path_of(self, familiar_id: str) -> str:
        """Where its pages begin."""
        return "/" if familiar_id == self.first_id else f"/f/{familiar_id}/"

    def entries(self, here: str) -> list[FamiliarEntry]:
        """The familiars for the menu of the one that is looked at; reads the disk."""
        return [
            FamiliarEntry(
                id=each,
                name=self._name_of(each),
                path=f"/f/{each}/",
                is_here=each == here,
                picture=self.pictures.url_of(each),
            )
            for each in self.ids()[:MOST_LISTED]
            if is_valid_familiar_id(each)
        ]

    def describe(self, entry: FamiliarEntry) -> str:
        """How its description begins; empty where it has none."""
        text = self._read_start(entry.id, "description", MAX_DESCRIPTION_BYTES)
        return truncate_chars(text.replace("{{char}}", entry.name), DESCRIPTION_CHARS)

    def _name_of(self, familiar_id: str) -> str:
        return self._read_start(familiar_id, "name", MAX_NAME_BYTES) or familiar_id

    def _read_start(self, familiar_id: str, stem: str, most: int) -> str:
        """The first *most* bytes of a text of the character, in one line."""
        file = FamiliarFolder(HomeFolder(self._home).familiars / familiar_id).character / f"{stem}.md"
        try:
            return one_line(load_bytes(file, most).decode("utf-8", "ignore")).strip()
        except OSError:
            return ""

    async def load(self, familiar_id: str) -> OpenedPages:
        """A familiar with its pages, opened where it is not."""
        async with self._lock:
            known = self._open.pop(familiar_id, None)
            if known is None:
                if familiar_id not in await off_loop(self.ids):
                    raise HomeError("there is no such familiar here; the menu on the left lists them")
                while len(self._open) >= MOST_OPEN:
                    await self._close(next(iter(self._open)))
                stack = AsyncExitStack()
                known = (stack, await stack.enter_async_context(self._open_pages(familiar_id)))
            self._open[familiar_id] = known
            return known[1]

    async def _close(self, familiar_id: str) -> None:
        stack = self._open.pop(familiar_id)[0]
        try:
            await stack.aclose()
        except Exception as error:  # isolation: one that cannot be closed well closes no other
            logger.warning("a familiar could not be closed well", extra={"error": type(error).__name__})

    async def aclose(self) -> None:
        async with self._lock:
            for familiar_id in list(self._open):
                await self._close(familiar_id)


class FamiliarDispatcher:
    """Hands each request to the pages of the familiar that its address names."""

    def __init__(self, first: AsgiApp, familiars: HomeFamiliars) -> None:
        self._first = first
        self._familiars = familiars

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        familiar_id, path = split_address(str(scope["path"]))
        if familiar_id is None:
            await self._first(scope, receive, send)
        elif familiar_id == self._familiars.first_id:
            await _redirect(send, path, scope.get("query_string", b""))
        else:
            await self._ask_other(familiar_id, path, scope, receive, send)

    async def _ask_other(self, familiar_id: str, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            opened = await self._familiars.load(familiar_id)
        except FamiliarError as error:
            await _tell(send, str(error))
            return
        inner = {**scope, "path": path, "raw_path": path.encode("utf-8", "replace")}
        await opened.app(inner, receive, _with_prefix(send, f"/f/{familiar_id}"))


def _with_prefix(send: Send, prefix: str) -> Send:
    """*send* whose redirects stay with the familiar."""

    async def send_with_prefix(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                (name, prefix.encode() + value) if _is_inner_redirect(name, value) else (name, value)
                for name, value in message.get("headers", ())
            ]
        await send(message)

    return send_with_prefix


def _is_inner_redirect(name: bytes, value: bytes) -> bool:
    return name.lower() == b"location" and value.startswith(b"/") and not value.startswith((b"/f/", b"//"))


async def _redirect(send: Send, path: str, query: bytes) -> None:
    """To *path* here: written anew, so that nothing in it names another host or ends the header."""
    where = quote(path, errors="replace") if not path.startswith("//") else "/"
    headers = [(b"location", where.encode("ascii") + (b"?" + query if query else b"")), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _tell(send: Send, sentence: str) -> None:
    body = f"{sentence}.\nGo back, or open the page at / again.\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})
