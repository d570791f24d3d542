"""web: the page of a familiar in the browser."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import familiar_option, home_of, open_or_make_root, profile_of, say
from familiar_connect.commands.page_server import (
    LOCAL_HOST,
    PAGE_PORT,
    WebOptions,
    build_page,
    open_socket,
    page_password,
    require_web_packages,
)
from familiar_connect.commands.prepare import prepare_to_start
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.support.clock import machine_zone
from familiar_connect.support.sign_of_life import show_life

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.familiar import Familiar
    from familiar_connect.platforms.web.app import Visitors
    from familiar_connect.platforms.web.server import WebPlatform

EPILOG = """\b
Examples:
  familiar web                          open the page in your browser
  familiar web --no-open --port 9000    only print the address
  familiar web --host 0.0.0.0           let other computers in; needs WEB_PASSWORD: `familiar keys set WEB_PASSWORD`
The address holds a token that lets in whoever opens it: do not pass it on. Ctrl-C stops.
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 something is set up wrong, 3 a model has no key.
"""


@click.command(epilog=EPILOG)
@familiar_option
@click.option("--port", default=PAGE_PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--host", default=LOCAL_HOST, show_default=True, help="Where to listen; another needs WEB_PASSWORD.")
@click.option("--name", "names", multiple=True, metavar="NAME", help="A name the page goes by, with --host.")
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
@click.option("--plain-address", is_flag=True, help="Stay at 127.0.0.1, for a browser that finds no .localhost.")
@click.pass_context
def web(
    ctx: click.Context,
    familiar_id: str | None,
    port: int,
    host: str,
    names: tuple[str, ...],
    no_open: bool,
    plain_address: bool,
) -> int:
    """Serve a page on this computer: talk there, see every prompt, look after memory."""
    require_web_packages()
    home = home_of(ctx)
    options = WebOptions(
        host=host,
        port=port,
        names=names,
        opens_browser=not no_open and sys.stdout.isatty(),
        has_own_name=not plain_address,
    )
    password = page_password(home, host)
    root = open_or_make_root(home, familiar_id)
    prepare_to_start(root, home)
    return asyncio.run(_serve(root, home, options, password))


async def _serve(root: Path, home: Path, options: WebOptions, password: str | None) -> int:
    """Serve the page; a changed setting loads the familiars again behind the same door."""
    from familiar_connect.bot import stop_on_signal

    async with open_socket(options, home) as listening:
        with stop_on_signal(_tell) as leaving:
            visitors: Visitors | None = None
            while True:
                reload = asyncio.Event()
                build = partial(build_page, listening=listening, password=password, reload=reload, visitors=visitors)
                code, visitors = await _serve_until_changed(root, home, options, build, leaving)
                if leaving.is_set() or not reload.is_set():
                    return code


async def _serve_until_changed(
    root: Path,
    home: Path,
    options: WebOptions,
    build: Callable[[Familiar, Path, WebOptions], Awaitable[WebPlatform]],
    leaving: asyncio.Event,
) -> tuple[int, Visitors]:
    """One loading of the familiar and its page; the exit code, and who was let in."""
    from familiar_connect.bot import Bot, check_keys, load_familiar
    from familiar_connect.platforms.web.app import Visitors

    familiar, embedded = load_familiar(root, home=home, defaults_path=profile_of(home), zone=machine_zone(), wake=False)
    try:
        check_keys(familiar, home)
        page = await build(familiar, home, options)
        if embedded is not None:
            embedded.start_in_background()
        async with show_life(FamiliarFolder(root).running_file):
            await familiar.start()
            code = await Bot(familiar, [page], {}, _tell).run_until(leaving)
            return code, Visitors(page.parts.door, page.parts.run)
    finally:
        await familiar.aclose()


def _tell(sentence: str) -> None:
    say(sentence, err=True)
