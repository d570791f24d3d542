"""run: be on every platform that is set up, until told to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    keep_log_apart,
    open_or_make_root,
    open_root,
    profile_of,
    say,
    say_command,
)
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
from familiar_connect.config.built_in import BUILT_IN_PLATFORMS
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import SetupError
from familiar_connect.support.sign_of_life import show_life

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.bot import Bot
    from familiar_connect.extensions.discord.demo.tour import TourStep
    from familiar_connect.familiar import Familiar

logger = logging.getLogger(__name__)

FINISH_REPLIES_S = 8.0
"""How long replies under way may take to be said before we leave."""
SHUTDOWN_S = 10.0
"""How long platforms may take to say goodbye."""
_WITH = ", ".join(
    ("Discord with DISCORD_BOT", *(f"{name.title()} with [{name}] channel" for name in BUILT_IN_PLATFORMS))
)
EPILOG = f"""\b
Examples:
  familiar run                            {_WITH}
  familiar run --familiar mira
  familiar run --page                     the page of `familiar web` as well: watch its channels, and take part in them
  familiar run --demo-discord             a copy of it on a Discord of ours, on this computer; no token needed
  familiar run --demo-discord --tour      the same, with people who speak by themselves
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 something is set up wrong, 3 a model has no key. A second Ctrl-C leaves
at once.
"""


@click.command(epilog=EPILOG)
@familiar_option
@click.option(
    "--demo-discord", is_flag=True, help="Talk with a copy of it on a small Discord of ours; no token, no network."
)
@click.option("--tour", is_flag=True, help="With --demo-discord: people speak by themselves, across a restart.")
@click.option("--page", "page_wanted", is_flag=True, help="Serve the page of `familiar web` as well.")
@click.option(
    "--page-port",
    default=PAGE_PORT,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="With --page. 0: a free one.",
)
@click.pass_context
def run(
    ctx: click.Context, familiar_id: str | None, demo_discord: bool, tour: bool, page_wanted: bool, page_port: int
) -> int:
    """Answer on every platform that is set up, until Ctrl-C."""
    home = home_of(ctx)
    if page_wanted and tour:
        raise click.UsageError("--page does not go with --tour, which ends by itself", ctx=ctx)
    if tour and not demo_discord:
        raise click.UsageError("--tour is of the demonstration: familiar run --demo-discord --tour", ctx=ctx)
    port = page_port if page_wanted else None
    if demo_discord:
        keep_log_apart(ctx, home)
        return _run_demo(open_or_make_root(home, familiar_id), home, tour=tour, page_port=port)
    root = open_root(home, familiar_id)
    prepare_to_start(root, home)
    return asyncio.run(_run(root, home, partial(_bot, home=home, has_page=page_wanted), page_port=port))


def _run_demo(root: Path, home: Path, *, tour: bool, page_port: int | None) -> int:
    """Let a copy of the familiar live on a Discord of ours, and say where what came of it can be looked at."""
    from familiar_connect.commands.trial import open_trial, say_trial

    prepare_to_start(root, home)
    require_discord()
    with open_trial(root, home) as copy:
        code = asyncio.run(_tour(copy, home) if tour else _run(copy, home, _demo, page_port=page_port))
    if code:
        return code
    if tour:
        say()
        say_command("talk there yourself", f"{command_name()} run --demo-discord --familiar {root.name}")
    say_trial(root, home)
    return code


async def _tour(root: Path, home: Path) -> int:
    """Let the demonstration's people speak, put the familiar away, load it anew from disk, and let them ask."""
    from familiar_connect.extensions.discord.demo.tour import first_half, second_half

    say("A tour: people of a small Discord on this computer talk with the familiar. Ctrl-C ends it.")
    for number, half in enumerate((first_half, second_half)):
        if number:
            say("\n— The familiar is put away and loaded anew from its files, as after a restart.")
        ended = asyncio.Event()
        code = await _run(root, home, partial(_demo, half=half, ended=ended))
        if code or not ended.is_set():  # something is wrong, or Ctrl-C
            return code
    say("\nAll of it went through the real Discord library; only the Discord was ours.")
    return 0


async def _run(root: Path, home: Path, make_bot: Callable[[Familiar], Bot], *, page_port: int | None = None) -> int:
    from familiar_connect.bot import check_keys, load_familiar

    familiar, embedded = load_familiar(root, home=home, defaults_path=profile_of(home), wake=False)
    with stop_on_signal() as leaving:
        try:
            check_keys(familiar, home)
            bot = make_bot(familiar)
            if embedded is not None:
                embedded.start_in_background()
            async with _with_page(bot, home, page_port), show_life(FamiliarFolder(root).running_file):
                _announce(bot)
                await familiar.start()
                return await run_until(leaving, bot)
        finally:
            await familiar.aclose()


@asynccontextmanager
async def _with_page(bot: Bot, home: Path, port: int | None) -> AsyncIterator[None]:
    """*bot* with the page as one more platform, where a port is given for it."""
    if port is None:
        yield
        return
    require_web_packages()
    options = WebOptions(host=LOCAL_HOST, port=port, names=(), opens_browser=False)
    async with open_socket(options) as listening:
        password = page_password(home, options.host)
        bot.platforms.append(await build_page(bot.familiar, home, options, listening, password))
        yield


def _bot(familiar: Familiar, home: Path, *, has_page: bool = False) -> Bot:
    from familiar_connect.bot import create_bot

    bot = create_bot(familiar, home=home, tell=_tell)
    if not bot.platforms and not has_page:
        reasons = " ".join(f"{name.title()}: {why}." for name, why in bot.absent.items())
        raise SetupError(f"there is no platform to run on. {reasons} To talk right here: `{command_name()} chat`")
    return bot


def _announce(bot: Bot) -> None:
    """Which platforms, and why not the others."""
    names = ", ".join(platform.id.title() for platform in bot.platforms)
    say(f"{bot.familiar.name} is starting on {names}. Ctrl-C stops.")
    for name, why in bot.absent.items():
        say(f"{name.title()}: {why}.")


def _tell(sentence: str) -> None:
    say(sentence, err=True)


async def run_until(leaving: asyncio.Event, bot: Bot) -> int:
    """Run until told to leave, or until nothing is left that runs; the exit code."""
    working = asyncio.create_task(bot.run(), name="platforms")
    asked = asyncio.create_task(leaving.wait(), name="leaving")
    try:
        await asyncio.wait({working, asked}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await _finish_replies(bot.familiar)
        return 1 if working.done() and working.result() else 0
    finally:
        for task in (working, asked):
            task.cancel()
        _, late = await asyncio.wait({working, asked}, timeout=SHUTDOWN_S)
        if late:
            logger.warning("a platform did not end in time", extra={"limit_s": SHUTDOWN_S})


async def _finish_replies(familiar: Familiar) -> None:
    """Let replies under way be said, within bounds; one that takes longer is ended."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FINISH_REPLIES_S):
            await familiar.reply_path.queue.wait_until_idle()


@contextmanager
def stop_on_signal() -> Iterator[asyncio.Event]:
    """Set by the first Ctrl-C or SIGTERM; the second one leaves at once. What was heard is on disk either way."""
    loop, leaving = asyncio.get_running_loop(), asyncio.Event()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if leaving.is_set():
            try:
                sys.stdout.flush()
            finally:  # the signal may have come in the middle of a write, which lets nobody flush
                os._exit(128 + number)
        leaving.set()
        loop.call_soon_threadsafe(_tell, "Stopping: ending replies and writing up memory. Once more to leave at once.")

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield leaving
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


TourHalf = Callable[[str], "tuple[TourStep, ...]"]
"""The steps of a part of the tour, for a familiar of that name."""


class _Demo:
    """A Discord of our own as the one platform."""

    id = "discord"
    places = ()  # the platform inside has its own

    def __init__(self, familiar: Familiar, half: TourHalf | None, ended: asyncio.Event | None) -> None:
        self._familiar = familiar
        self._half = half
        self._ended = ended

    async def run(self) -> None:
        from familiar_connect.extensions.discord.demo.demo import run_demo, write_line
        from familiar_connect.extensions.discord.demo.tour import TourReader

        if self._half is None:
            await run_demo(self._familiar)
            return
        reader = TourReader(self._half(self._familiar.name), write_line)
        await run_demo(self._familiar, reader=reader, is_scripted=True)
        if self._ended is not None:
            self._ended.set()


def require_discord() -> None:
    """A sentence where the Discord library is not installed."""
    from importlib.util import find_spec

    from familiar_connect.config.extras import how_to_install

    if find_spec("discord") is None:
        raise SetupError(f"the demo speaks through the real Discord library, and {how_to_install('discord')}")


def _demo(familiar: Familiar, *, half: TourHalf | None = None, ended: asyncio.Event | None = None) -> Bot:
    from familiar_connect.bot import Bot

    return Bot(familiar, [_Demo(familiar, half, ended)], {}, _tell, writes_to_owner=True)
