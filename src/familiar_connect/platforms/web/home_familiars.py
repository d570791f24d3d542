"""HomeFamiliars: every familiar of the home on one page, each under an address of its own.

Each is at `/f/ID/…`, whichever the program was started for, so that no address ever changes its meaning. That one is
open from the start; another is opened when somebody looks at it. A few are open at once; of those nobody asks anything
of, the one not looked at for longest is closed when there are more.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import is_valid_familiar_id, list_familiars
from familiar_connect.errors import HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.familiar_pictures import FamiliarPictures
from familiar_connect.platforms.web.familiar_shelf import FamiliarShelf
from familiar_connect.support.aio import off_loop
from familiar_connect.support.http_server.checks import AsgiApp
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.text import one_line, truncate_chars

logger = logging.getLogger(__name__)

MOST_OPEN = 3
"""Familiars that are open besides the first; each has databases and perhaps a model of its own."""
MOST_IN_USE = 12
"""Familiars besides the first that pages look at, all at once."""
MOST_LISTED = 30
MAX_NAME_BYTES, MAX_DESCRIPTION_BYTES = 400, 800
DESCRIPTION_CHARS = 140


class NoSuchFamiliar(HomeError):
    """An address names a familiar that the home has not got."""


@dataclass(frozen=True, kw_only=True)
class FamiliarEntry:
    """A familiar in the menu."""

    id: str
    name: str
    path: str
    is_here: bool
    picture: str | None = None
    """The address of its picture."""
    is_favourite: bool = False


@dataclass(frozen=True)
class OpenedPages:
    """A familiar that is open, and its pages."""

    familiar: Familiar
    app: AsgiApp
    history: str
    """What its history goes by: another one at the same address is another familiar."""
    chats: WebChats


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
        self._users: Counter[str] = Counter()
        """How many requests each answers now; none of these is closed."""
        self._lock = asyncio.Lock()
        self.pictures = FamiliarPictures(HomeFolder(home))
        self.shelf = FamiliarShelf(HomeFolder(home))

    def ids(self) -> list[str]:
        """Every familiar of the home; reads the disk."""
        return list_familiars(self._home)

    def list_opened(self) -> list[Familiar]:
        """Those that are open besides the first."""
        return [pages.familiar for _, pages in self._open.values()]

    def entries(self, here: str, *, most: int = MOST_LISTED) -> list[FamiliarEntry]:
        """The familiars for the menu of the one that is looked at, favourites first; reads the disk."""
        favourites = self.shelf.read_favourites()
        return [
            FamiliarEntry(
                id=each,
                name=self._name_of(each),
                path=f"/f/{each}/",
                is_here=each == here,
                picture=self.pictures.url_of(each),
                is_favourite=each in favourites,
            )
            for each in self.shelf.sort(self.ids())[:most]
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

    @asynccontextmanager
    async def use(self, familiar_id: str) -> AsyncIterator[OpenedPages]:
        """A familiar with its pages, opened where it is not, and open as long as this is."""
        async with self._lock:
            opened = await self._load(familiar_id)
            self._users[familiar_id] += 1
        try:
            yield opened
        finally:
            self._users[familiar_id] -= 1

    async def _load(self, familiar_id: str) -> OpenedPages:
        known = self._open.pop(familiar_id, None)
        if known is None:
            if familiar_id not in await off_loop(self.ids):
                raise NoSuchFamiliar(f"there is no familiar {familiar_id} here")
            await self._make_room()
            stack = AsyncExitStack()
            known = (stack, await stack.enter_async_context(self._open_pages(familiar_id)))
        self._open[familiar_id] = known
        return known[1]

    async def _make_room(self) -> None:
        """Close those that nobody asks anything of, until another may be opened."""
        for each in list(self._open):
            if len(self._open) >= MOST_OPEN and not self._users[each]:
                await self._close(each)
        if len(self._open) >= MOST_IN_USE:
            raise HomeError(f"pages of {MOST_IN_USE} other familiars are open; close some of them first")

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
