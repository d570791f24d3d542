"""What several verbs need: the home, the familiar that is meant, its parts, and one way to say something."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from familiar_connect.commands.name_completion import complete_familiars
from familiar_connect.config.command import program_name, set_familiar_option, with_command
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import (
    WHICH_FAMILIAR,
    familiar_root,
    find_home,
    home_nearby,
    list_familiars,
    pick_familiar,
    profile_path,
)
from familiar_connect.config.permissions import refuse_links, restrict_to_owner
from familiar_connect.config.secrets import FAMILIAR_VARIABLE, HOME_VARIABLE, Secrets
from familiar_connect.errors import HomeError
from familiar_connect.support.text import escape_controls, printable
from familiar_connect.support.word_wrap import (
    clip,
    columns_of,
    display_width,
    is_dumb_terminal,
    wants_no_colour,
    wrap_below,
    wrap_for,
)

if TYPE_CHECKING:
    from familiar_connect.config.limits import LimitsConfig
    from familiar_connect.observe.spending import DayRecord

familiar_option = click.option(
    "--familiar",
    "familiar_id",
    metavar="ID",
    shell_complete=complete_familiars,
    help=WHICH_FAMILIAR,
)
MOST_TURNS = 1_000_000
"""More turns than a ledger holds: a larger number is a slip of the hand."""
MOST_NAMED = 5
"""So many other familiars are named where one was chosen."""
BAR_COLUMNS, LEAST_BAR = 36, 5
BESIDE_BAR = len("  [") + len("]  ")
LONGEST_INFO = len("100%  9d 23:59:59")
"""How far it is, and the time that is left."""
SPINNER_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINNER_S = 0.1
LONG_WAIT_S = 3
"""From here on a wait is counted."""
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")


def say(text: str = "", *, nl: bool = True, err: bool = False, fg: str | None = None, bold: bool | None = None) -> None:
    """Print *text* for a person, broken at words, hints as they are typed here; nothing in it commands the terminal."""
    shown = printable(with_command(text))
    wrapped = wrap_for(sys.stderr if err else sys.stdout, shown) if nl else shown
    is_styled = (fg or bold) and not wants_no_colour()
    click.echo(click.style(wrapped, fg=fg, bold=bold) if is_styled else wrapped, nl=nl, err=err)


def say_command(what: str, command: str, *, err: bool = False) -> None:
    """Print the *command* that does *what*; one too long for the window in lines that a shell takes as one."""
    from familiar_connect.commands.help_lines import fit_example

    columns = columns_of(sys.stderr if err else sys.stdout)
    if display_width(f"  `{command}`") <= columns:
        say(f"  {what}: `{command}`", err=err)
    else:
        click.echo(fit_example(printable(f"  {command}  {what}"), columns), err=err)


def say_below(head: str, text: str) -> None:
    """Print *text* for a person behind *head*, such as the name of what it is about; its lines go on below it."""
    click.echo(_wrap_below(head, printable(with_command(text))))


def _wrap_below(head: str, text: str) -> str:
    return wrap_below(head, text, columns_of(sys.stdout)) if sys.stdout.isatty() else head + text


def say_verbatim(text: str, *, nl: bool = True) -> None:
    """Print what somebody said or wrote: as it is, but for what would command the terminal."""
    shown = printable(text)
    click.echo(wrap_for(sys.stdout, shown) if nl else shown, nl=nl)


def say_verbatim_below(head: str, text: str) -> None:
    """`say_verbatim` behind *head*, such as who said it; its lines go on below it."""
    click.echo(_wrap_below(printable(head), printable(text)))


def write_unchanged(text: str) -> None:
    """Write *text* for a file or another program: every byte as it is."""
    click.echo(text, nl=False)


def say_new_folder(target: Path) -> None:
    """Say that writing to *target* makes a folder, where it does."""
    if not target.parent.exists():
        say(f"Making the folder {target.parent}.")


def say_in_pages(text: str) -> None:
    """Print a long *text*: page by page where somebody watches and it does not fit the terminal."""
    shown = wrap_for(sys.stdout, printable(with_command(text)))
    lines = shown.count("\n") + 1
    if not sys.stdout.isatty() or not sys.stdin.isatty() or lines < shutil.get_terminal_size().lines:
        click.echo(shown)
        return
    os.environ.setdefault("LESS", "-FRX")  # what was shown stays on the screen
    click.echo_via_pager(shown)


def say_json(value: object) -> None:
    """Print *value* for a script: strict JSON, in which a number that is none of JSON's is null."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, indent=2, default=str)
    click.echo(escape_controls(text))


def say_json_line(value: object) -> None:
    """Print *value* on a line of its own, for a script that reads along."""
    click.echo(escape_controls(json.dumps(_finite(value), ensure_ascii=False, default=str)))


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def keep_log_apart(ctx: click.Context, home: Path) -> None:
    """Keep log lines out of a talk, in the program's own log; -v shows them, for whoever asks."""
    from familiar_connect.support.log import log_to_file

    if (ctx.find_root().obj or {}).get("verbose"):
        return
    failure = log_to_file(HomeFolder(home).log_file)
    if failure is not None:
        say(f"familiar: this run keeps no log: {failure}", err=True)


def say_kept_warnings() -> None:
    """One line, behind a talk, where warnings went to the log: nobody who asks once would look there."""
    from familiar_connect.support.log import count_kept_warnings

    if count := count_kept_warnings():
        what = "1 warning was logged" if count == 1 else f"{count:,} warnings were logged"
        shows = "it" if count == 1 else "them"
        say(f"{what}: `{program_name()} logs --program` shows {shows}.", err=True)


def home_of(ctx: click.Context) -> Path:
    """The data home that the flags and the environment choose."""
    options: dict[str, Any] = ctx.find_root().obj or {}
    flag = options.get("home")
    home = find_home(flag)
    there = next(path for path in (home, *home.parents) if path.exists())
    if not there.is_dir():
        raise HomeError(f"{home}: {there} is a file; name a folder with --home DIR or FAMILIAR_HOME")
    if not options.get("home_opened"):
        _say_about(home, is_named=bool(flag or Secrets(None).get(HOME_VARIABLE)))
        options["home_opened"] = True
    return home


def _say_about(home: Path, *, is_named: bool) -> None:
    """What the owner should know of the home, once in a run: another one lies nearby, this one was open to others."""
    nearby = None if is_named else home_nearby()
    if nearby is not None and nearby.resolve() != home.resolve():
        say(
            f"./data holds familiars but is not used unless you name it: `{program_name()} --home ./data chat` does.",
            err=True,
        )
    if restrict_to_owner(home):
        say(f"{home}: other people on this computer could read its files; now only you can.", err=True)


def root_of(ctx: click.Context, familiar_id: str | None) -> Path:
    """The folder of the familiar that is meant; where several live here and none is named, who it is is said."""
    home = home_of(ctx)
    root = open_root(home, familiar_id)
    set_familiar_option(familiar_id)
    options: dict[str, Any] = ctx.find_root().obj or {}
    if not (familiar_id or ctx.params.get("as_json") or options.get("choice_said") or familiar_from_env(home)):
        _say_choice(home, root)
        options["choice_said"] = True
    return root


def _say_choice(home: Path, root: Path) -> None:
    """Which of several familiars was chosen, and how to choose another; beside what is printed, for people to read."""
    others = [each for each in list_familiars(home) if each != root.name]
    if not others:
        return
    from familiar_connect.memory.persona import read_persona_name

    name = read_persona_name(FamiliarFolder(root).memory, root.name)
    shown = ", ".join(others[:MOST_NAMED]) + (" …" if len(others) > MOST_NAMED else "")
    say(f"This is {name}, the one you used last; --familiar ID chooses another: {shown}", err=True)


def familiar_meant(home: Path, familiar_id: str | None = None) -> str:
    """Which familiar is meant in *home*, by *familiar_id* or without."""
    from familiar_connect.history.chats import last_talk

    return pick_familiar(home, familiar_id, last_talk=last_talk)


def open_root(home: Path, familiar_id: str | None) -> Path:
    """The folder of the familiar that is meant in *home*; one with a link in it is refused."""
    root = familiar_root(home, familiar_meant(home, familiar_id))
    refuse_links(FamiliarFolder(root))
    return root


def is_first_start(home: Path, familiar_id: str | None) -> bool:
    """Whether nobody is meant and nobody is there: whoever wants to talk gets the familiar that comes along."""
    return not familiar_id and not familiar_from_env(home) and not list_familiars(home)


def open_or_make_root(home: Path, familiar_id: str | None) -> Path:
    """As `open_root`; at the first start the familiar that comes along is made."""
    if is_first_start(home, familiar_id):
        from familiar_connect.bootstrap.starter import STARTER_ID, make_starter

        make_starter(home, STARTER_ID)
    return open_root(home, familiar_id)


def familiar_from_env(home: Path) -> str | None:
    """The familiar that FAMILIAR_ID names, if it does."""
    return Secrets(home).get(FAMILIAR_VARIABLE)


def profile_of(home: Path) -> Path | None:
    return profile_path(home)


def read_today(root: Path) -> tuple[DayRecord, LimitsConfig]:
    """What the familiar in *root* used today, where its day is now, and its limits."""
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    from familiar_connect.config.load import load_character_config
    from familiar_connect.observe.spending import DayRecord, SpendingStore

    folder = FamiliarFolder(root)
    config = load_character_config(folder.settings_file, defaults_path=profile_of(folder.home.root))
    day = datetime.now(UTC).astimezone(ZoneInfo(config.display_tz)).date().isoformat()
    return SpendingStore(folder.metrics_db, root.name).read(day) or DayRecord(day), config.limits


def read_refusals_today(root: Path) -> DayRecord:
    """`read_today` for whoever asks only who was not answered; without the settings where nobody ever was refused."""
    from familiar_connect.observe.spending import DayRecord, SpendingStore

    if not SpendingStore(FamiliarFolder(root).metrics_db, root.name).has_refusals():
        return DayRecord("")
    return read_today(root)[0]


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on the error stream, once there is something to show; nothing where nobody watches.

    It goes when the work is done; where the work breaks off, it goes on showing how far it was.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    if is_dumb_terminal():
        say(f"{what} …", err=True)
        yield None
        return
    with ExitStack() as stack:
        bar: list[Any] = []

        def progress(done: int, total: int) -> None:
            if not bar:
                shape = _bar_shape(what, columns_of(sys.stderr))
                bar.append(stack.enter_context(click.progressbar(length=max(1, total), file=sys.stderr, **shape)))
            bar[0].length = max(1, total)
            bar[0].update(done - bar[0].pos)

        yield progress
    if bar:
        sys.stderr.write("\x1b[A\r\x1b[2K")
        sys.stderr.flush()


def _bar_shape(what: str, columns: int) -> dict[str, Any]:
    """A bar that fits the window, its label and the time left beside it; no bar where that leaves no room for one."""
    room = columns - 1 - LONGEST_INFO
    width = min(BAR_COLUMNS, room - BESIDE_BAR - display_width(what))
    if width >= LEAST_BAR:
        return {"label": what, "width": width}
    return {"label": clip(what, max(1, room - 2)), "width": 1, "bar_template": "%(label)s  %(info)s"}


@contextmanager
def spinner(words: str, *, quiet: bool = False) -> Iterator[None]:
    """A sign of life on the error stream while something is waited for; nothing where nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    turning = threading.Thread(
        target=_tell_once if is_dumb_terminal() else _spin, args=(printable(words), over), name="spinner", daemon=True
    )
    turning.start()
    try:
        yield
    finally:
        over.set()
        turning.join()


def _tell_once(words: str, over: threading.Event) -> None:
    """Where a line cannot be drawn over: say what is waited for once it takes long."""
    if not over.wait(LONG_WAIT_S):
        sys.stderr.write(f"{words} …\n")
        sys.stderr.flush()


def _spin(words: str, over: threading.Event) -> None:
    began, frame = time.monotonic(), 0
    while not over.wait(SPINNER_S):
        waited = int(time.monotonic() - began)
        seconds = f" {waited} s" if waited >= LONG_WAIT_S else ""
        sys.stderr.write(f"\r\x1b[2K{SPINNER_FRAMES[frame % len(SPINNER_FRAMES)]} {words}{seconds}")
        sys.stderr.flush()
        frame += 1
    sys.stderr.write("\r\x1b[2K")
    sys.stderr.flush()
