"""chat: talk with a familiar in the terminal. Works offline; the first start makes a familiar."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from familiar_connect.bootstrap.starter import STARTER_ID, STARTER_NAME, make_starter
from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    is_first_start,
    json_option,
    keep_log_apart,
    open_root,
    profile_of,
    root_of,
    say,
    say_json,
    say_kept_warnings,
)
from familiar_connect.commands.conversation import (
    TERMINAL_PLACE,
    ChatWish,
    TalkOptions,
    chat_options,
    is_new_chat,
    model_for_call,
    open_chat,
)
from familiar_connect.commands.group_chat import GroupWish, hold_group_chat, open_group
from familiar_connect.commands.name_completion import complete_familiars, complete_groups
from familiar_connect.commands.prepare import prepare_to_start
from familiar_connect.commands.upgrade import open_upgrade, wait_for_quiet
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.identity import Author
from familiar_connect.support.clock import machine_zone
from familiar_connect.support.text import pluralize
from familiar_connect.support.text_table import TableStyle, text_table
from familiar_connect.support.word_wrap import columns_of

if TYPE_CHECKING:
    from familiar_connect.config.llm import LLMSlotConfig
    from familiar_connect.familiar import Familiar
    from familiar_connect.llm.embedded.server import EmbeddedServer
    from familiar_connect.platforms.terminal.adapter import TerminalPlatform
    from familiar_connect.platforms.terminal.own_name import OwnName
    from familiar_connect.platforms.terminal.screen import Screen
    from familiar_connect.platforms.terminal.upgrade import UpgradeOffer

EPILOG = """\b
Examples:
  familiar chat                           talk now
  familiar chat --familiar mira --as Sam
  familiar chat --greeting 2              start with the card's second alternate greeting
  familiar chat --new                     start a new chat; what it remembers about you stays
  familiar chat --chat travels            the chat called travels, new if there is none
  familiar chat --with wren --with ember  several familiars at once, taking turns
  familiar chat --group hearth            the group that groups/hearth.toml describes
  familiar chat -m qwen2.5-coder-1.5b     with another model this time
  echo "hi" | familiar chat --plain       each reply in full, nothing else on stdout
Exit codes: 0 fine, 1 something is set up wrong, 3 a message got no reply.
"""


@click.command(epilog=EPILOG)
@familiar_option
@click.option("--as", "user_name", metavar="NAME", help="What the familiar calls you from now on.")
@click.option("--plain", is_flag=True, help="Replies only, no colours: for pipes and scripts.")
@click.option(
    "--greeting", type=click.IntRange(min=0), metavar="N", help="Start with the Nth greeting; 0 is the first."
)
@chat_options
@click.option(
    "--with",
    "members",
    metavar="ID",
    multiple=True,
    shell_complete=complete_familiars,
    help="A familiar to talk with; repeat it for each one.",
)
@click.option(
    "--group",
    "group_name",
    metavar="NAME",
    shell_complete=complete_groups,
    help="The group of this name; --with makes it.",
)
@click.option("--list", "list_chats", is_flag=True, help="List the chats with this familiar and leave.")
@json_option
@click.pass_context
def chat(
    ctx: click.Context,
    familiar_id: str | None,
    user_name: str | None,
    plain: bool,
    greeting: int | None,
    chat_name: str | None,
    is_new: bool,
    is_continued: bool,
    model: str | None,
    members: tuple[str, ...],
    group_name: str | None,
    list_chats: bool,
    as_json: bool,
) -> int:
    """Talk with a familiar in this terminal, or with several."""
    wish = ChatWish(name=chat_name, is_new=is_new, is_continued=is_continued)
    wish.check()
    if list_chats:
        say_chats(root_of(ctx, familiar_id), as_json=as_json)
        return exit_codes.OK
    if as_json:
        raise click.UsageError("--json works with --list here; `familiar ask --json` prints a reply as JSON")
    options = TalkOptions(user_name=user_name, plain=plain, greeting=greeting, model=model)
    if members or group_name is not None:
        return _talk_in_group(ctx, GroupWish(familiar_id, members, group_name), options, wish)
    return _talk(ctx, familiar_id, options, wish)


def _talk(ctx: click.Context, familiar_id: str | None, options: TalkOptions, wish: ChatWish) -> int:
    from familiar_connect.platforms.terminal.screen import Screen

    plain = options.plain or not sys.stdin.isatty() or not sys.stdout.isatty()
    screen = Screen(sys.stdout, sys.stderr, plain=plain)
    home = home_of(ctx)
    keep_log_apart(ctx, home)
    if is_first_start(home, familiar_id):
        root = make_starter(home, STARTER_ID)
        screen.note(f"Welcome! I made a familiar for you: {STARTER_NAME}.")
        screen.note(f"Its files are plain text in {root}; memory/self/description.md says who it is.")
    root = open_root(home, familiar_id)
    prepare_to_start(root, home, model=options.model)
    verbosity: int = ctx.find_root().obj["verbose"]
    speaks_through = model_for_call(root, home, options.model)
    is_new = is_new_chat(root, wish)
    place = open_chat(root, wish)
    if not place.is_first:
        screen.note(f"This is the chat {place.name!r}.{' It is new.' if is_new else ''}")
    shown = 0 if plain else verbosity
    code = asyncio.run(_chat(root, home, screen, place.channel_id, options, speaks_through, verbosity=shown))
    if plain and code == exit_codes.OK:  # what went wrong was told
        say_kept_warnings()
    return code


def _talk_in_group(ctx: click.Context, group: GroupWish, options: TalkOptions, wish: ChatWish) -> int:
    from familiar_connect.platforms.terminal.screen import Screen

    plain = options.plain or not sys.stdin.isatty() or not sys.stdout.isatty()
    home = home_of(ctx)
    keep_log_apart(ctx, home)
    opened = open_group(home, group, wish)
    for root in opened.roots:
        prepare_to_start(root, home, model=options.model)
    verbosity: int = ctx.find_root().obj["verbose"]
    screen = Screen(sys.stdout, sys.stderr, plain=plain)
    log_beside = partial(_log_beside, verbosity=0 if plain else verbosity)
    code = asyncio.run(hold_group_chat(opened, home, screen, options, busy_with=_busy, log_beside=log_beside))
    if plain and code == exit_codes.OK:  # what went wrong was told
        say_kept_warnings()
    return code


def say_chats(root: Path, *, as_json: bool) -> None:
    """The chats with a familiar in the terminal: how much was said in each, and when last."""
    from familiar_connect.history.chats import ChatRegistry
    from familiar_connect.history.message_edits import count_undone
    from familiar_connect.history.store import HistoryStore

    folder = FamiliarFolder(root)
    facts = []
    with closing(HistoryStore(folder.history_db)) as history:
        for each in ChatRegistry(folder).all(TERMINAL_PLACE):
            undone = count_undone(history, familiar_id=root.name, channel_id=each.channel_id)
            count = history.count(familiar_id=root.name, channel_id=each.channel_id) - undone
            last = history.recent(familiar_id=root.name, channel_id=each.channel_id, limit=1)
            when = last[0].timestamp.astimezone().isoformat(timespec="minutes") if last else None
            row: dict[str, Any] = {"name": each.name, "channel_id": each.channel_id, "turns": count, "last": when}
            facts.append({**row, "current": each.is_current})
    if as_json:
        say_json(facts)
        return
    rows = []
    for row in facts:
        when = str(row["last"])[:16].replace("T", " ") if row["last"] else "nothing said yet"
        rows.append([f"{'*' if row['current'] else ' '} {row['name']}", pluralize(row["turns"], "turn"), when])
    say(text_table(["", "", ""], rows, columns_of(sys.stdout), TableStyle(left=(0, 2), indent=0)))


async def _chat(
    root: Path,
    home: Path,
    screen: Screen,
    channel_id: int,
    options: TalkOptions,
    speaks_through: LLMSlotConfig | None = None,
    *,
    verbosity: int,
) -> int:
    from familiar_connect.bot import load_familiar
    from familiar_connect.platforms.terminal.adapter import TerminalPlatform, prompt_of
    from familiar_connect.platforms.terminal.completion import LineCompletion
    from familiar_connect.platforms.terminal.help import OWN_COMMANDS, list_slash_commands
    from familiar_connect.platforms.terminal.line_input import EditorReader, PipeReader
    from familiar_connect.platforms.terminal.place import person_at_terminal
    from familiar_connect.platforms.terminal.welcome import describe_model, greet, warm_up
    from familiar_connect.support.aio import off_loop

    familiar, embedded = load_familiar(
        root, home=home, defaults_path=profile_of(home), zone=machine_zone(), speaks_through=speaks_through
    )
    user_name = options.user_name
    try:
        own_name = _own_name(root, familiar, user_name)
        if user_name and user_name != familiar.config.user_name:
            user_name = await off_loop(own_name.keep, user_name)
        user = await off_loop(person_at_terminal, user_name or familiar.config.user_name, familiar)
        screen.note(describe_model(familiar))
        reader: PipeReader | EditorReader
        upgrade: UpgradeOffer | None = None
        if screen.plain:
            reader = PipeReader(sys.stdin)
        else:
            screen.note("Type and press Enter. /help lists commands, Ctrl-C stops a reply, Ctrl-D leaves.")
            suggest = LineCompletion(familiar, list_slash_commands(), OWN_COMMANDS).suggest
            lines = _typed_lines(familiar, user, home)
            reader = editor = EditorReader(prompt_of(screen, user), lines, screen=screen, suggest=suggest)
            if familiar.has_small_model and speaks_through is None:
                upgrade = open_upgrade([familiar], home, editor, note=lambda sentence: platform.note(sentence))
        await familiar.start()
        await greet(familiar, screen, user, greeting=options.greeting, channel_id=channel_id)
        warming = warm_up(familiar, user, channel_id)
        platform = TerminalPlatform(
            familiar,
            user=user,
            screen=screen,
            reader=reader,
            busy_with=lambda: _busy(familiar, embedded),
            own_name=own_name,
            channel_id=channel_id,
            upgrade=upgrade,
        )
        if upgrade is not None and familiar.config.offer_upgrade:
            upgrade.start(wait_for_quiet(familiar, warming))
        try:
            with _log_beside(platform, verbosity):
                await platform.run()
        finally:
            warming.cancel()
            if upgrade is not None:
                await upgrade.aclose()
            reader.close()
        return exit_codes.NO_REPLY if platform.exit_code else exit_codes.OK
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


def _typed_lines(familiar: Familiar, user: Author, home: Path) -> Path | None:
    """Where typed lines are kept for the up arrow; nowhere for someone of whom nothing is kept."""
    private = familiar.stores.privacy.is_full(user)
    return None if private else HomeFolder(home).chat_lines(familiar.id)


def _busy(familiar: Familiar, embedded: EmbeddedServer | None) -> str:
    """What keeps the reply waiting."""
    from familiar_connect.platforms.terminal.screen import THINKING

    waiting_for: str | None = getattr(familiar.llm_clients[MAIN_SLOT], "waiting_for", None)
    if waiting_for is not None:
        return waiting_for
    if embedded is not None and embedded.state == "starting":
        return "loading the model…"
    return THINKING
