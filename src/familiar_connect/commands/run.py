"""run: be on every platform that is set up, until told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

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
from familiar_connect.config.built_in import BUILT_IN_PLATFORMS, has_demo, name_first_need
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import SetupError
from familiar_connect.support.sign_of_life import show_life

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.bot import Bot
    from familiar_connect.extensions.parts import TourStep
    from familiar_connect.familiar import Familiar

DEMOS = tuple(name for name in BUILT_IN_PLATFORMS if has_demo(name))
"""The platforms that can be tried on a network of ours."""
_WITH = ", ".join(f"{name.title()} with {name_first_need(name)}" for name in BUILT_IN_PLATFORMS)
_WITH_DEMO = " or ".join(f"--demo-{name}" for name in DEMOS)
_ON_OURS = "a copy of it on a small {title} on this computer; no token needed"
_DEMO_EXAMPLES = "\n".join(
    f"  {f'familiar run --demo-{name}':<40}{_ON_OURS.format(title=name.title())}\n"
    f"  {f'familiar run --demo-{name} --tour':<40}the same, with people who speak by themselves"
    for name in DEMOS
)
EPILOG = f"""\b
Examples:
  familiar run                            {_WITH}
  familiar run --familiar mira
  familiar run --page                     the page of `familiar web` as well: watch its channels, and take part in them
{_DEMO_EXAMPLES}
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 something is set up wrong, 3 a model has no key. A second Ctrl-C leaves
at once.
"""


Command = TypeVar("Command", bound=Callable[..., object])


def _demo_options(command: Command) -> Command:
    """A flag for each platform that has a demonstration; nothing of it is loaded to say so."""
    for name in reversed(DEMOS):
        says = f"Talk with a copy of it on a small local {name.title()}; no token, no network."
        command = click.option(f"--demo-{name}", "demo", flag_value=name, default=None, help=says)(command)
    return command


@click.command(epilog=EPILOG)
@familiar_option
@_demo_options
@click.option("--tour", is_flag=True, help=f"With {_WITH_DEMO}: people speak by themselves, across a restart.")
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
    ctx: click.Context, familiar_id: str | None, demo: str | None, tour: bool, page_wanted: bool, page_port: int
) -> int:
    """Answer on every platform that is set up, until Ctrl-C."""
    home = home_of(ctx)
    if page_wanted and tour:
        raise click.UsageError("--page does not go with --tour, which ends by itself", ctx=ctx)
    if tour and demo is None:
        raise click.UsageError(f"--tour goes with the demonstration: familiar run --demo-{DEMOS[0]} --tour", ctx=ctx)
    port = page_port if page_wanted else None
    if demo is not None:
        keep_log_apart(ctx, home)
        return _run_demo(demo, open_or_make_root(home, familiar_id), home, tour=tour, page_port=port)
    root = open_root(home, familiar_id)
    prepare_to_start(root, home)
    return asyncio.run(_run(root, home, partial(_bot, home=home, has_page=page_wanted), page_port=port))


def _run_demo(name: str, root: Path, home: Path, *, tour: bool, page_port: int | None) -> int:
    """Let a copy of the familiar live on a network of ours, and say where what came of it can be looked at."""
    from familiar_connect.commands.trial import open_trial, say_trial

    prepare_to_start(root, home)
    require_library(name)
    with open_trial(root, home) as copy:
        demo = partial(_demo, name, home=home)
        playing = _tour(name, copy, home) if tour else _run(copy, home, demo, page_port=page_port)
        code = asyncio.run(playing)
    if code:
        return code
    if tour:
        say()
        say_command("talk there yourself", f"{command_name()} run --demo-{name} --familiar {root.name}")
    say_trial(root, home)
    return code


async def _tour(name: str, root: Path, home: Path) -> int:
    """Let the demonstration's people speak, put the familiar away, load it anew from disk, and let them ask."""
    from familiar_connect.extensions.load import find_platform

    demo, title = find_platform(name).demo, name.title()
    say(f"A tour: people of a small {title} on this computer talk with the familiar. Ctrl-C ends it.")
    for number, steps in enumerate(demo.tour() if demo is not None else ()):
        if number:
            say("\n— The familiar is closed and loaded again from its files, as after a restart.")
        ended = asyncio.Event()
        code = await _run(root, home, partial(_demo, name, home=home, steps=steps, ended=ended))
        if code or not ended.is_set():  # something is wrong, or Ctrl-C
            return code
    say(f"\nAll of it went through the real {title} library; only the {title} server was our own.")
    return 0


async def _run(root: Path, home: Path, make_bot: Callable[[Familiar], Bot], *, page_port: int | None = None) -> int:
    from familiar_connect.bot import check_keys, load_familiar, stop_on_signal

    familiar, embedded = load_familiar(root, home=home, defaults_path=profile_of(home), wake=False)
    with stop_on_signal(_tell) as leaving:
        try:
            check_keys(familiar, home)
            bot = make_bot(familiar)
            if embedded is not None:
                embedded.start_in_background()
            async with _with_page(bot, home, page_port), show_life(FamiliarFolder(root).running_file):
                _announce(bot)
                await familiar.start()
                return await bot.run_until(leaving)
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
    async with open_socket(options, home) as listening:
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


def require_library(name: str) -> None:
    """A sentence where the library of a platform is not installed."""
    from familiar_connect.config.extras import how_to_install
    from familiar_connect.extensions.load import find_platform
    from familiar_connect.extensions.setup import is_installed

    library = find_platform(name).library
    if library and not is_installed(library):
        raise SetupError(f"the demo speaks through the real {name.title()} library, and {how_to_install(name)}")


def _demo(
    name: str,
    familiar: Familiar,
    *,
    home: Path,
    steps: Sequence[TourStep] | None = None,
    ended: asyncio.Event | None = None,
) -> Bot:
    """The demonstration of the platform *name*; with *steps* its people speak by themselves, and *ended* says when."""
    from familiar_connect.bot import Bot
    from familiar_connect.extensions.load import find_platform
    from familiar_connect.platforms.terminal.demonstration import Demonstration, TourReader, write_line

    part, on_end = find_platform(name), (ended or asyncio.Event()).set
    if steps is None:
        platform = Demonstration(familiar, name, part, tell=_tell, home=home)
    else:
        reader = TourReader(steps, familiar.name, write_line)
        platform = Demonstration(
            familiar, name, part, reader=reader, tell=_tell, is_scripted=True, on_end=on_end, home=home
        )
    return Bot(familiar, [platform], {}, _tell, writes_to_owner=part.writes_to_owner)
