"""web: the page of a familiar in the browser."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import familiar_option, home_of, open_or_make_root, profile_of, say
from familiar_connect.commands.run import run_until, stop_on_signal
from familiar_connect.commands.trust import ask_about_endpoints
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.secrets import Secrets
from familiar_connect.errors import SetupError
from familiar_connect.support.clock import machine_zone

if TYPE_CHECKING:  # a verb loads no more than it needs
    import socket

    from familiar_connect.familiar import Familiar
    from familiar_connect.platforms.web.app import WebParts

DEFAULT_PORT = 8017
LOCAL_HOST = "127.0.0.1"
PASSWORD = "WEB_PASSWORD"
LEAST_PASSWORD_CHARS = 12
EPILOG = """\b
Examples:
  familiar web                          open the page in your browser
  familiar web --no-open --port 9000    only print the address
  familiar web --host 0.0.0.0           let other computers in; needs WEB_PASSWORD: `familiar keys set WEB_PASSWORD`
The address holds a token that lets in whoever opens it: do not pass it on. Ctrl-C stops.
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 something is set up wrong.
"""


@dataclass(frozen=True, kw_only=True)
class WebOptions:
    """Where the page listens."""

    host: str
    port: int
    names: tuple[str, ...]
    opens_browser: bool


@click.command(epilog=EPILOG)
@familiar_option
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--host", default=LOCAL_HOST, show_default=True, help="Where to listen; another needs WEB_PASSWORD.")
@click.option("--name", "names", multiple=True, metavar="NAME", help="A name the page goes by, with --host.")
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
@click.pass_context
def web(
    ctx: click.Context, familiar_id: str | None, port: int, host: str, names: tuple[str, ...], no_open: bool
) -> int:
    """Serve a page on this computer: talk there, see every prompt, look after memory."""
    require_web_packages()
    home = home_of(ctx)
    options = WebOptions(host=host, port=port, names=names, opens_browser=not no_open and sys.stdout.isatty())
    password = page_password(home, host)
    root = open_or_make_root(home, familiar_id)
    ask_about_endpoints(root, home)
    return asyncio.run(_serve(root, home, options, password))


def require_web_packages() -> None:
    """A sentence where the packages of the page are not installed."""
    from familiar_connect.platforms.requirements import how_to_install

    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "jinja2")):
        raise SetupError(f"the page: {how_to_install('web')}")


def page_password(home: Path, host: str) -> str | None:
    """The password of the page; None where only this computer can reach it and none is set."""
    from familiar_connect.platforms.web.access import is_loopback

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


async def _serve(root: Path, home: Path, options: WebOptions, password: str | None) -> int:
    from familiar_connect.bot import Bot, check_keys, load_familiar
    from familiar_connect.platforms.web.server import WebPlatform, listen_on
    from familiar_connect.support.aio import off_loop

    listening = await off_loop(listen_on, options.host, options.port)
    try:
        familiar, embedded = load_familiar(
            root, home=home, defaults_path=profile_of(home), zone=machine_zone(), wake=False
        )
        with stop_on_signal() as leaving:
            try:
                check_keys(familiar, home)
                parts = await off_loop(_build_page, familiar, home, options, listening, password)
                if embedded is not None:
                    embedded.start_in_background()
                await familiar.start()
                _announce(parts, options)
                return await run_until(leaving, Bot(familiar, [WebPlatform(parts, listening)], {}, _tell))
            finally:
                await familiar.aclose()
    finally:
        listening.close()


def _build_page(
    familiar: Familiar, home: Path, options: WebOptions, listening: socket.socket, password: str | None
) -> WebParts:
    from familiar_connect.platforms.web.access import Doorkeeper, PageAddress, load_signing_key
    from familiar_connect.platforms.web.app import WebParts
    from familiar_connect.platforms.web.chats import WebChats
    from familiar_connect.platforms.web.live import ChatEvents
    from familiar_connect.platforms.web.own_program import OwnProgram
    from familiar_connect.platforms.web.rehearsal_runs import RehearsalRuns
    from familiar_connect.platforms.web.settings_pages import read_settings

    program = OwnProgram((sys.executable, "-m", "familiar_connect", "--home", str(home)))
    port = int(listening.getsockname()[1])
    key = load_signing_key(HomeFolder(home).page_key_file)
    return WebParts(
        familiar=familiar,
        chats=WebChats(familiar, ChatEvents(familiar.clock)),
        address=PageAddress(
            host=options.host, port=port, names=frozenset(name.lower().rstrip(".") for name in options.names)
        ),
        door=Doorkeeper(key=key, port=port, clock=familiar.clock, password=password),
        program=program,
        rehearsals=RehearsalRuns(program, HomeFolder(home).rehearsals),
        settings_at_start=read_settings(familiar.root),
    )


def _announce(parts: WebParts, options: WebOptions) -> None:
    """Where the page is; in a browser too, where somebody watches."""
    address = f"{parts.address.url}/open?token={parts.door.token}"
    say(f"{parts.familiar.name} is at {address}")
    if not parts.address.is_local:
        say("Other computers log in with the password. What they send can be read on the way: put HTTPS before it.")
    say("Ctrl-C stops.")
    sys.stdout.flush()
    if options.opens_browser:
        import threading
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _tell(sentence: str) -> None:
    say(sentence, err=True)
