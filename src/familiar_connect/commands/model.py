"""model: which models run on this computer, getting a better one, using it, removing it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from familiar_connect.commands.common import home_of, json_option, profile_of, progress_bar, say, say_json, spinner
from familiar_connect.commands.connect import ConnectOptions, connect_home, say_choice
from familiar_connect.commands.exit_codes import asking_a_model
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.commands.model_choice import ModelChoice, write_model
from familiar_connect.commands.model_embedder import (
    find_embedder,
    get_embedder,
    remove_embedder,
    say_embedders,
    use_embedder,
)
from familiar_connect.commands.usage_hints import MODEL_HINTS
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import PROFILE_NAME, FamiliarFolder
from familiar_connect.config.home import familiar_root, list_familiars
from familiar_connect.config.llm import EMBEDDED_MODEL, EMBEDDED_PREFIX, MAIN_SLOT
from familiar_connect.errors import ConfigError, FamiliarError
from familiar_connect.support.text import describe_wait
from familiar_connect.support.word_wrap import terminal_width

if TYPE_CHECKING:
    from familiar_connect.llm.local.listing import ModelRow

MODEL_EPILOG = """\b
Examples:
  familiar model list                         what answers now, and what could run on this computer
  familiar model get qwen2.5-coder-1.5b && familiar model use qwen2.5-coder-1.5b
  familiar model use ~/Downloads/some.gguf    any model file in the GGUF format
  familiar model use http://127.0.0.1:8080/v1 your own server
  familiar model use embedded                 back to the small included model
"""
TOLD_EVERY_S = 10.0
"""Without a terminal, progress is a line now and then."""
MEGABYTE = 1_000_000
TABLE_COLUMNS = 80
"""What the table of models takes."""


@click.group(cls=VerbGroup, hints=MODEL_HINTS, epilog=MODEL_EPILOG)
def model() -> None:
    """Get and use a better model on this computer; see which one answers."""


# list


@dataclass(frozen=True, kw_only=True)
class AnsweringModel:
    """Which model writes a familiar's replies; without a name, those of familiars to come."""

    familiar: str | None
    model: str
    address: str | None


@model.command(name="list")
@json_option
@click.pass_context
def list_local_models(ctx: click.Context, as_json: bool) -> None:
    """Show which model answers, which are on this computer, and which you can get."""
    from familiar_connect.llm.local.listing import list_model_rows
    from familiar_connect.support.free_memory import free_memory

    home = home_of(ctx)
    free = free_memory()
    answering = _answering(home)
    rows = list_model_rows(home, free, {each.model for each in answering})
    if as_json:
        shown = {"answering": [asdict(each) for each in answering], "models": [asdict(row) for row in rows]}
        say_json({**shown, "free_memory_bytes": free})
        return
    for each in answering:
        say(f"{each.familiar or 'new familiars'}: {each.model}" + (f" at {each.address}" if each.address else ""))
    if free is not None:
        say(f"{free / MEGABYTE:,.0f} MB of memory free.")
    say()
    _say_rows(rows, is_narrow=sys.stdout.isatty() and terminal_width() < TABLE_COLUMNS)
    say_embedders(home)
    say()
    say(f"Get one: `{command_name()} model get NAME`. Use it: `{command_name()} model use NAME`.")


def _say_rows(rows: list[ModelRow], *, is_narrow: bool) -> None:
    """The models as a table; where it does not fit, each with what is said of it below its name."""
    if not is_narrow:
        say(f"  {'NAME':<28} {'STATE':<9} {'FILE':>9} {'MEMORY':>9}  {'FITS':<5} LICENCE")
    for row in rows:
        fits = {True: "yes", False: "no", None: "?"}[row.fits]
        size, memory = (f"{count / MEGABYTE:,.0f} MB" for count in (row.bytes, row.memory_bytes))
        if is_narrow:
            say(f"  {row.name}: {row.state}")
            say(f"      file {size}, memory {memory}, fits: {fits}, {row.licence}")
        else:
            say(f"  {row.name:<28} {row.state:<9} {size:>9} {memory:>9}  {fits:<5} {row.licence}")
        if row.note:
            say(f"      {row.note}")


def _answering(home: Path) -> list[AnsweringModel]:
    from familiar_connect.config.load import load_character_config

    found = []
    names: list[str | None] = [*list_familiars(home)]
    for name in names or [None]:
        file = FamiliarFolder(familiar_root(home, name or PROFILE_NAME)).settings_file
        try:
            slot = load_character_config(file, defaults_path=profile_of(home)).llm[MAIN_SLOT]
        except FamiliarError as error:
            say(str(error), err=True)
            continue
        found.append(AnsweringModel(familiar=name, model=slot.model, address=slot.address))
    return found


# get


@model.command(name="get")
@click.argument("name")
@click.option(
    "--from",
    "source",
    type=click.Choice(["auto", "publisher", "packages"]),
    default="auto",
    help="Where from. auto: its publisher, or packages if that cannot be reached.",
)
@json_option
@click.pass_context
def get_model(ctx: click.Context, name: str, source: Any, as_json: bool) -> None:
    """Download the model NAME of the list, or the rest of one that was interrupted."""
    from familiar_connect.llm.embedded.weights import find_small_model
    from familiar_connect.llm.local.fetch import fetch_model
    from familiar_connect.llm.local.library import ModelLibrary

    home = home_of(ctx)
    if (embedder := find_embedder(home, name)) is not None:
        was_here = get_embedder(home, embedder, quiet=as_json, show=lambda title: fetch_progress(title, quiet=as_json))
        if as_json:
            say_json({"name": name, "folder": str(embedder.folder_in(home)), "was_here": was_here})
            return
        say(f"{name} is here already." if was_here else f"{name} is here, checked: {embedder.folder_in(home)}")
        say(f"Use it: `{command_name()} model use {name}`")
        return
    library = ModelLibrary(home)
    entry, target = library.entry(name), library.path_for(name)
    if name == EMBEDDED_MODEL:
        target = find_small_model(home) or target
    was_here, began = target.exists(), time.monotonic()
    if not was_here:
        if not as_json:
            say(f"Fetching {entry.title}: {entry.bytes / MEGABYTE:,.0f} MB, licence {entry.licence}.", err=True)
        try:
            with fetch_progress(entry.title, quiet=as_json) as progress:
                fetch_model(entry, target, source=source, progress=progress, tell=_tell_below_bar)
        except KeyboardInterrupt:
            say(f"What has arrived is kept: `familiar model get {name}` continues from there.", err=True)
            raise
    seconds = time.monotonic() - began
    if as_json:
        facts = {"name": name, "file": str(target), "bytes": target.stat().st_size, "sha256": entry.sha256}
        say_json({**facts, "was_here": was_here, "seconds": round(seconds, 1)})
        return
    say(f"{name} is here already." if was_here else f"{name} is here, checked, after {seconds:.0f} s: {target}")
    say(f"Use it: `{command_name()} model use {name}`")


def _tell_below_bar(sentence: str) -> None:
    """*sentence* on a line of its own, also where a bar stands half drawn."""
    if sys.stderr.isatty():
        say(err=True)
    say(sentence, err=True)


@contextmanager
def fetch_progress(title: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left on a terminal, a line now and then elsewhere."""
    with progress_bar(title, quiet=quiet) as bar:
        if bar is not None:
            yield bar
        elif quiet:
            yield lambda done, total: None
        else:
            yield _ProgressLines()


class _ProgressLines:
    """Says how far a fetch is and how long it may take, every few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: tuple[float, int] | None = None
        self._told_at = clock()

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if self._first is None:
            self._first = (now, done)
        if now - self._told_at < TOLD_EVERY_S:
            return
        self._told_at = now
        began, had = self._first
        speed = (done - had) / (now - began) if now > began else 0.0
        left = f", about {describe_wait((total - done) / speed)} left" if speed > 0 else ""
        say(f"  {done * 100 // total} % of {total / MEGABYTE:,.0f} MB{left}", err=True)


# use


@model.command(name="use")
@click.argument("what", metavar="NAME|FILE.gguf|URL")
@click.option("--familiar", "familiar_id", metavar="ID", help="Only this familiar (default: all in this home).")
@click.option("--model", "model_id", help="With a URL: the model's id there; without it you choose from a list.")
@click.option("--no-test", is_flag=True, help="Save without testing the model first.")
@click.pass_context
def use_model(ctx: click.Context, what: str, familiar_id: str | None, model_id: str | None, no_test: bool) -> int:
    """Let every familiar of this home, or one, speak through a model of the list, a model file or a server."""
    home = home_of(ctx)
    if what.startswith(("http://", "https://")):
        if what.lower().split("?")[0].endswith(".gguf"):
            raise ConfigError("A model file is downloaded first: fetch it yourself, then `model use FILE.gguf`")
        return connect_home(home, familiar_id, ConnectOptions(url=what, model=model_id, test=not no_test))
    if model_id is not None:
        raise ConfigError("--model goes with a URL: a name or a file says which model already")
    if (embedder := find_embedder(home, what)) is not None:
        use_embedder(home, embedder, familiar_id)
        return 0
    chosen = what
    if what != EMBEDDED_MODEL:
        path = _local_file(home, what)
        if not no_test:
            _test_local(what, path)
        chosen = f"{EMBEDDED_PREFIX}{_local_name(home, what, path)}"
    say_choice(write_model(home, familiar_id, ModelChoice(model=chosen)), chosen)
    return 0


def _local_file(home: Path, what: str) -> Path:
    """The file that *what* names, which is a model that can be run here."""
    from familiar_connect.config.secrets import expand_folder
    from familiar_connect.llm.embedded.gguf import read_gguf
    from familiar_connect.llm.embedded.run_plan import plan_run
    from familiar_connect.llm.local.library import ModelLibrary

    path = expand_folder(what) if _is_path(what) else ModelLibrary(home).file_of(what.removeprefix(EMBEDDED_PREFIX))
    plan_run(replace(read_gguf(path), title=what))
    return path


def _local_name(home: Path, what: str, path: Path) -> str:
    """How settings name the model; a file of the owner's gets a name."""
    from familiar_connect.llm.local.library import ModelLibrary

    return ModelLibrary(home).add_file(path) if _is_path(what) else what.removeprefix(EMBEDDED_PREFIX)


def _is_path(what: str) -> bool:
    return what.lower().endswith(".gguf") or "/" in what or "\\" in what


def _test_local(what: str, path: Path) -> None:
    """Load the model and ask it for a word; why it cannot is one sentence, and nothing is written then."""
    import asyncio

    from familiar_connect.llm.embedded.probe import ask_model_file

    say(f"Loading {what} and asking it for a word …")
    with asking_a_model("Nothing was written."), spinner("loading the model"):
        answer = asyncio.run(ask_model_file(what, path))
    took = f"loaded in {answer.load_s:.1f} s, answered in {answer.seconds:.1f} s"
    say(f"It answered: {answer.text or '(nothing, but it works)'} ({took})")


# remove


@model.command(name="remove")
@click.argument("name")
@click.pass_context
def remove_model(ctx: click.Context, name: str) -> int:
    """Delete the downloaded model NAME, or forget the name of your own file, which stays where it is."""
    from familiar_connect.llm.local.library import ModelLibrary

    home = home_of(ctx)
    name = name.removeprefix(EMBEDDED_PREFIX)
    if (embedder := find_embedder(home, name)) is not None:
        return remove_embedder(home, embedder)
    model_id = f"{EMBEDDED_PREFIX}{name}"
    users = [each.familiar or "new familiars" for each in _answering(home) if each.model == model_id]
    if users:
        raise ConfigError(
            f"{', '.join(users)} would be left without a model: first `{command_name()} model use` another"
        )
    freed = ModelLibrary(home).remove(name)
    say(f"{name} is deleted: {freed / MEGABYTE:,.0f} MB freed." if freed else f"{name} is forgotten; its file stays.")
    return 0
