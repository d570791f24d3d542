"""chat: talk with a familiar in the terminal. Works offline; the first start makes a familiar."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from familiar_connect.bootstrap.starter import STARTER_ID, STARTER_NAME, make_starter
from familiar_connect.commands.common import familiar_from_env, familiar_option, home_of, open_root, profile_of
from familiar_connect.commands.trust import ask_about_endpoints
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import list_familiars
from familiar_connect.errors import FamiliarError
from familiar_connect.identity import Author
from familiar_connect.support.clock import machine_zone

if TYPE_CHECKING:
    from familiar_connect.familiar import Familiar
    from familiar_connect.llm.embedded.server import EmbeddedServer
    from familiar_connect.platforms.terminal.adapter import TerminalPlatform
    from familiar_connect.platforms.terminal.own_name import OwnName
    from familiar_connect.platforms.terminal.screen import Screen

EPILOG = """\b
Examples:
  familiar chat                          talk now
  familiar chat --familiar mira --as Sam
  familiar chat --greeting 2             begin with the second alternate greeting of the card
  echo "hi" | familiar chat --plain      one answer per line, nothing else on stdout
Exit codes: 0 fine, 1 a message got no reply or something is set up wrong.
"""


@click.command(epilog=EPILOG)
@familiar_option
@click.option("--as", "user_name", metavar="NAME", help="What the familiar calls you from now on.")
@click.option("--plain", is_flag=True, help="Replies only, no colours: for pipes and scripts.")
@click.option(
    "--greeting", type=click.IntRange(min=0), metavar="N", help="Begin with the Nth greeting; 0 is the first."
)
@click.pass_context
def chat(ctx: click.Context, familiar_id: str | None, user_name: str | None, plain: bool, greeting: int | None) -> int:
    """Talk with a familiar in this terminal."""
    from familiar_connect.platforms.terminal.screen import Screen
    from familiar_connect.support.log import log_to_file

    plain = plain or not sys.stdin.isatty() or not sys.stdout.isatty()
    screen = Screen(sys.stdout, sys.stderr, plain=plain)
    home = home_of(ctx)
    if not familiar_id and not familiar_from_env(home) and not list_familiars(home):
        root = make_starter(home, STARTER_ID)
        screen.note(f"Welcome! This is your first start, so I made a familiar for you: {STARTER_NAME}.")
        screen.note(f"Its files are plain text in {root}; memory/self/description.md says who it is.")
    root = open_root(home, familiar_id)
    ask_about_endpoints(root, home)
    verbosity: int = ctx.find_root().obj["verbose"]
    if not plain and not verbosity:
        log_to_file(HomeFolder(home).log_file)
    return asyncio.run(_chat(root, home, screen, user_name, greeting, verbosity=0 if plain else verbosity))


async def _chat(
    root: Path, home: Path, screen: Screen, user_name: str | None, greeting: int | None, *, verbosity: int
) -> int:
    from familiar_connect.bot import load_familiar
    from familiar_connect.platforms.terminal.adapter import TerminalPlatform, prompt_of
    from familiar_connect.platforms.terminal.completion import LineCompletion
    from familiar_connect.platforms.terminal.help import OWN_COMMANDS, list_slash_commands
    from familiar_connect.platforms.terminal.line_input import EditorReader, PipeReader
    from familiar_connect.platforms.terminal.person import person_at_terminal
    from familiar_connect.platforms.terminal.welcome import describe_model, greet, warm_up
    from familiar_connect.support.aio import off_loop

    familiar, embedded = load_familiar(root, home=home, defaults_path=profile_of(home), zone=machine_zone())
    try:
        own_name = _own_name(root, familiar, user_name)
        if user_name and user_name != familiar.config.user_name:
            user_name = await off_loop(own_name.keep, user_name)
        user = await off_loop(person_at_terminal, user_name or familiar.config.user_name, familiar)
        screen.note(describe_model(familiar))
        offer = None if screen.plain else await off_loop(_offer, familiar, home)
        if offer is not None:
            screen.note(offer)
        reader: PipeReader | EditorReader
        if screen.plain:
            reader = PipeReader(sys.stdin)
        else:
            screen.note("Type and press Enter. /help lists commands, Ctrl-C stops a reply, Ctrl-D leaves.")
            suggest = LineCompletion(familiar, list_slash_commands(), OWN_COMMANDS).suggest
            lines = _typed_lines(familiar, user, home)
            reader = EditorReader(prompt_of(screen, user), lines, screen=screen, suggest=suggest)
        await familiar.start()
        await greet(familiar, screen, user, greeting=greeting)
        warming = warm_up(familiar, user)
        platform = TerminalPlatform(
            familiar,
            user=user,
            screen=screen,
            reader=reader,
            busy_with=lambda: _busy(familiar, embedded),
            own_name=own_name,
        )
        try:
            with _log_beside(platform, verbosity):
                await platform.run()
        finally:
            warming.cancel()
            reader.close()
        return platform.exit_code
    finally:
        await familiar.aclose()


@contextmanager
def _log_beside(platform: TerminalPlatform, verbosity: int) -> Iterator[None]:
    """Show the log that was asked for as notes of the chat."""
    from familiar_connect.platforms.terminal.log_lines import LogLines
    from familiar_connect.support.log import set_up_logging

    if not verbosity:
        yield
        return
    set_up_logging(verbosity, stream=cast(TextIO, LogLines(asyncio.get_running_loop(), platform.note)))
    try:
        yield
    finally:
        set_up_logging(verbosity)


def _own_name(root: Path, familiar: Familiar, given: str | None) -> OwnName:
    from familiar_connect.platforms.terminal.own_name import OwnName

    is_known = bool(given or familiar.config.user_name)
    return OwnName(FamiliarFolder(root).settings_file, is_known=is_known, is_fixed=bool(given))


def _offer(familiar: Familiar, home: Path) -> str | None:
    from familiar_connect.platforms.terminal.welcome import offer_better_model
    from familiar_connect.support.free_memory import free_memory

    try:
        return offer_better_model(familiar, HomeFolder(home), free_bytes=free_memory())
    except FamiliarError:  # a broken list of models: `model list` says what is wrong with it
        return None


def _typed_lines(familiar: Familiar, user: Author, home: Path) -> Path | None:
    """Where typed lines are kept for the up arrow; nowhere for someone of whom nothing is kept."""
    private = familiar.stores.privacy.is_full(user)
    return None if private else HomeFolder(home).chat_lines(familiar.id)


def _busy(familiar: Familiar, embedded: EmbeddedServer | None) -> str:
    """What keeps the reply waiting."""
    from familiar_connect.platforms.terminal.screen import THINKING

    waiting_for: str | None = getattr(familiar.llm_clients["main_prose"], "waiting_for", None)
    if waiting_for is not None:
        return waiting_for
    if embedded is not None and embedded.state == "starting":
        return "loading the model…"
    return THINKING
