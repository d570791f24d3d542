"""The page as a platform: where it listens, who may come in, and the familiars it shows.

The models of the page: how one that was chosen there is tried, written, and answers from the next reply on.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.commands.common import open_root, profile_of, say
from familiar_connect.commands.model_choice import ModelChoice, write_model, write_reply_model
from familiar_connect.commands.upgrade import make_servers, try_model, write_asking
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.secrets import Secrets
from familiar_connect.errors import SetupError
from familiar_connect.support.aio import BackgroundTasks, off_loop
from familiar_connect.support.clock import machine_zone
from familiar_connect.support.files import SharedLock, is_held

if TYPE_CHECKING:
    import socket

    from familiar_connect.familiar import Familiar
    from familiar_connect.llm.embedded.server import EmbeddedServers
    from familiar_connect.platforms.web.app import Visitors, WebParts
    from familiar_connect.platforms.web.chats import WebChats
    from familiar_connect.platforms.web.home_familiars import OpenedPages
    from familiar_connect.platforms.web.page_models import ModelWish, PageModels
    from familiar_connect.platforms.web.server import WebPlatform
    from familiar_connect.support.http_server.checks import PageAddress


def open_page_models(home: Path, familiars: Callable[[], Sequence[Familiar]]) -> PageModels:
    """The models of *home* for its page; *familiars* are those that are open there."""
    from familiar_connect.platforms.web.page_models import ModelActions, PageModels

    changes = _ModelChanges(home, familiars)
    return PageModels(
        home,
        ModelActions(
            adopt=changes.adopt,
            adopt_written=changes.adopt_written,
            reload=changes.reload,
            keep_asking=changes.keep_asking,
            aclose=changes.aclose,
        ),
    )


class _ModelChanges:
    """One change after the other; clients that are not used any more are closed when their replies are over."""

    def __init__(self, home: Path, familiars: Callable[[], Sequence[Familiar]]) -> None:
        self._home = home
        self._familiars = familiars
        self._lock = asyncio.Lock()
        self._background = BackgroundTasks("old-models")

    async def adopt(self, wish: ModelWish) -> None:
        async with self._lock:
            here = next(each for each in self._familiars() if each.id == wish.here)
            servers = make_servers(here, self._home)
            choice = await try_model(servers, wish.upgrade)
            await off_loop(write_model, self._home, None if wish.for_all else wish.here, choice)
            await off_loop(write_reply_model, self._home, wish.here, choice)
            await self._swap(here, servers)
            await self._swap_others(here)

    async def adopt_written(self, here: str, model: str, base_url: str | None, key_name: str | None) -> None:
        choice = ModelChoice(model=model, base_url=base_url, api_key_env=key_name)
        await off_loop(write_reply_model, self._home, here, choice)
        await self.reload()

    async def reload(self) -> None:
        async with self._lock:
            await self._swap_others(None)

    async def _swap_others(self, done: Familiar | None) -> None:
        for each in self._familiars():
            if each is not done:
                await self._swap(each, make_servers(each, self._home))

    async def _swap(self, familiar: Familiar, servers: EmbeddedServers) -> None:
        from familiar_connect.bot import close_models, swap_models

        unused = await swap_models(familiar, servers, home=self._home, zone=machine_zone())
        self._background.start(close_models(familiar, unused), name=familiar.id)

    async def keep_asking(self, asks: bool) -> None:
        await off_loop(write_asking, self._home, asks=asks)

    async def aclose(self) -> None:
        await self._background.aclose()


PAGE_PORT = 8017
LOCAL_HOST = "127.0.0.1"
PASSWORD = "WEB_PASSWORD"
LEAST_PASSWORD_CHARS = 12


@dataclass(frozen=True, kw_only=True)
class WebOptions:
    """Where the page listens."""

    host: str
    port: int
    names: tuple[str, ...]
    opens_browser: bool
    has_own_name: bool = True
    """Whether browsers of this computer are sent to a name that no other server here goes by."""


def require_web_packages() -> None:
    """A sentence where the packages of the page are not installed."""
    from familiar_connect.config.extras import how_to_install

    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "jinja2")):
        raise SetupError(f"the page: {how_to_install('web')}")


def page_password(home: Path, host: str) -> str | None:
    """The password of the page; None where only this computer can reach it and none is set."""
    from familiar_connect.support.http_server.checks import is_loopback

    password = Secrets(home).get(PASSWORD)
    if is_loopback(host):
        return password
    file = HomeFolder(home).secrets_file
    if password is None:
        raise SetupError(
            f"--host {host} lets other computers in, which needs a password: `familiar keys set {PASSWORD}` keeps one "
            f"in {file}"
        )
    if len(password) < LEAST_PASSWORD_CHARS:
        raise SetupError(f"{PASSWORD} in {file} is too short for --host: use {LEAST_PASSWORD_CHARS} characters or more")
    return password


@asynccontextmanager
async def open_socket(options: WebOptions, home: Path) -> AsyncIterator[socket.socket]:
    """A socket that listens where *options* say, as long as this is open."""
    opened = SharedLock(HomeFolder(home).open_page_file(options.port))
    listening = await off_loop(_listen, options, home)
    try:
        if options.port:  # a free one is taken by nobody else
            await off_loop(opened.hold)
        yield listening
    finally:
        opened.release()
        listening.close()


def _listen(options: WebOptions, home: Path) -> socket.socket:
    """A socket that listens; where the page of this home does already, the sentence says where it is."""
    from familiar_connect.support.http_server.server import listen_on

    try:
        return listen_on(options.host, options.port)
    except SetupError as error:
        if not (options.port and is_held(HomeFolder(home).open_page_file(options.port))):
            raise
        url = _address_of(options, options.port, home).url
        raise SetupError(
            f"the page of this home is already open at {url}; to start it again, first stop the program that serves it"
        ) from error


def _address_of(options: WebOptions, port: int, home: Path) -> PageAddress:
    from familiar_connect.platforms.web.access import host_name_of, load_signing_key
    from familiar_connect.support.http_server.checks import PageAddress, is_loopback

    has_own_name = options.has_own_name and is_loopback(options.host)
    return PageAddress(
        host=options.host,
        port=port,
        names=frozenset(name.lower().rstrip(".") for name in options.names),
        own_name=host_name_of(load_signing_key(HomeFolder(home).page_key_file)) if has_own_name else None,
    )


async def build_page(
    familiar: Familiar,
    home: Path,
    options: WebOptions,
    listening: socket.socket,
    password: str | None,
    *,
    reload: asyncio.Event | None = None,
    visitors: Visitors | None = None,
) -> WebPlatform:
    """The page of *familiar* and of the others of the home, announced.

    *reload* is set when they are to be loaded again; *visitors* are those of the page until then, who stay.
    """
    from familiar_connect.platforms.web.chats import WebChats
    from familiar_connect.platforms.web.group_rooms import GroupRooms
    from familiar_connect.platforms.web.home_familiars import HomeFamiliars
    from familiar_connect.platforms.web.live import ChatEvents
    from familiar_connect.platforms.web.server import WebPlatform
    from familiar_connect.support.aio import off_loop

    familiars = HomeFamiliars(home, familiar.id, lambda other: _open_other(other, home, parts))
    models = open_page_models(home, lambda: [familiar, *familiars.list_opened()])
    groups = GroupRooms(home, familiars, lambda: (parts.familiar, parts.chats))
    chats = WebChats(familiar, ChatEvents(familiar.clock), groups.find_lines)
    parts = await off_loop(_build_parts, familiar, chats, models, home, options, listening, password)
    parts = replace(parts, familiars=familiars, groups=groups, reload=reload)
    if visitors is not None:
        parts = replace(parts, door=visitors.door, run=visitors.run)
    else:
        _announce(parts, options)
    return WebPlatform(parts, listening)


@asynccontextmanager
async def _open_other(familiar_id: str, home: Path, first: WebParts) -> AsyncIterator[OpenedPages]:
    """Another familiar of the home behind the same door, as long as this is open."""
    from familiar_connect.bot import check_keys, load_familiar
    from familiar_connect.platforms.web.app import make_pages
    from familiar_connect.platforms.web.chats import WebChats
    from familiar_connect.platforms.web.live import ChatEvents
    from familiar_connect.platforms.web.other_lines import no_lines
    from familiar_connect.platforms.web.settings_pages import read_settings
    from familiar_connect.support.aio import off_loop

    root = await off_loop(open_root, home, familiar_id)
    familiar, _ = await off_loop(
        partial(load_familiar, root, home=home, defaults_path=profile_of(home), zone=machine_zone(), wake=False)
    )
    try:
        await off_loop(check_keys, familiar, home)
        await familiar.start()
        chats = WebChats(familiar, ChatEvents(familiar.clock), first.groups.find_lines if first.groups else no_lines)
        at_start = await off_loop(read_settings, root)
        try:
            with chats.connect_reminders(), first.models.connect(chats.events):
                parts = replace(first, familiar=familiar, chats=chats, settings_at_start=at_start)
                yield await off_loop(make_pages, parts)
        finally:
            await chats.aclose()
    finally:
        await familiar.aclose()


def _build_parts(
    familiar: Familiar,
    chats: WebChats,
    models: PageModels,
    home: Path,
    options: WebOptions,
    listening: socket.socket,
    password: str | None,
) -> WebParts:
    from familiar_connect.platforms.web.access import Doorkeeper, load_signing_key
    from familiar_connect.platforms.web.app import WebParts
    from familiar_connect.platforms.web.own_program import OwnProgram
    from familiar_connect.platforms.web.rehearsal_runs import RehearsalRuns
    from familiar_connect.platforms.web.settings_pages import read_settings

    program = OwnProgram((sys.executable, "-m", "familiar_connect", "--home", str(home)))
    port = int(listening.getsockname()[1])
    key = load_signing_key(HomeFolder(home).page_key_file)
    return WebParts(
        familiar=familiar,
        chats=chats,
        address=_address_of(options, port, home),
        door=Doorkeeper(key=key, port=port, clock=familiar.clock, password=password),
        program=program,
        rehearsals=RehearsalRuns(program, HomeFolder(home).rehearsals),
        models=models,
        settings_at_start=read_settings(familiar.root),
        read_aloud=partial(_read_aloud, home),
    )


def _read_aloud(home: Path, root: Path, text: str) -> AsyncGenerator[bytes, None]:
    from familiar_connect.commands.read_aloud import read_aloud  # speech is loaded when somebody listens

    return read_aloud(home, root, text)


def _announce(parts: WebParts, options: WebOptions) -> None:
    """Where the page is; in a browser too, where somebody watches."""
    address = f"{parts.address.url}/open?token={parts.door.token}"
    say(f"{parts.familiar.name} is at {address}")
    if not parts.address.is_local:
        say("Other computers log in with the password. Others can read what they send: put HTTPS in front of it.")
    say("Ctrl-C stops.")
    sys.stdout.flush()
    if options.opens_browser:
        import threading
        import webbrowser

        once = f"{parts.address.url}/open?token={parts.door.issue_pass()}"
        threading.Thread(target=webbrowser.open, args=(once,), daemon=True).start()
