"""rehearse: play a scripted week through the real program before you let it loose."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import familiar_option, home_of, json_option, profile_of, say, say_json_line
from familiar_connect.commands.consent import scripts_of, scripts_option, waiting_scripts
from familiar_connect.errors import FamiliarError, SetupError
from familiar_connect.support.text import pluralize

if TYPE_CHECKING:
    from familiar_connect.rehearsal.play import PlaySettings
    from familiar_connect.rehearsal.types import Rehearsal

EXIT_HELD, EXIT_FAILED, EXIT_UNREADABLE = 0, 1, 2
EPILOG = """\b
Examples:
  familiar rehearse examples/rehearse/week_among_friends.json
  familiar rehearse week.json --scripted            no real model is asked, whatever happens
  familiar rehearse week.json --familiar mira       plays with a copy; your familiar stays as it is
  familiar rehearse week.json --keep tried          look at the files afterwards: familiar --home tried memory list
  familiar rehearse week.json --json                one object a line, the last one counts
Exit codes: 0 everything held, 1 something did not, 2 the file cannot be read.
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@familiar_option
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Play in this new home and keep it.")
@click.option("--scripted", is_flag=True, help="Ask no real model: a call without a script fails its step.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed for random choices.")
@json_option
@scripts_option
@click.pass_context
def rehearse(
    ctx: click.Context,
    file: Path,
    familiar_id: str | None,
    keep: Path | None,
    scripted: bool,
    seed: int,
    as_json: bool,
    allow_scripts: bool | None,
) -> int:
    """Play the people, places and steps in FILE, a JSON file, on simulated time, in a home that is then deleted."""
    from familiar_connect.commands.rehearsal_home import make_rehearsal_home
    from familiar_connect.rehearsal.play import PlaySettings
    from familiar_connect.rehearsal.script_file import read_rehearsal

    home = home_of(ctx)
    profile = profile_of(home)
    with _new_home(keep) as stage:
        try:
            rehearsal = read_rehearsal(file)
            if familiar_id is not None:
                rehearsal = replace(rehearsal, familiar=replace(rehearsal.familiar, base=familiar_id, card=None))
            root = make_rehearsal_home(rehearsal, stage, home=home, allow_scripts=bool(allow_scripts))
        except SetupError as error:
            say(f"familiar: {error}", err=True)
            return EXIT_UNREADABLE
        if allow_scripts is None and (waiting := waiting_scripts(scripts_of(root))):
            what = pluralize(len(waiting), "regex script")
            say(f"{what} of {root.name} stay off here: --allow-scripts plays with them.", err=True)
        settings = PlaySettings(root=root, home=home, profile=profile, is_scripted=scripted, seed=seed)
        failed = _play(rehearsal, settings, as_json=as_json)
    if keep is not None and not as_json:
        say(f"Kept in {root}")
    return EXIT_FAILED if failed else EXIT_HELD


def _play(rehearsal: Rehearsal, settings: PlaySettings, *, as_json: bool) -> int:
    """Play it and tell of each step as it ends; how many failed."""
    from familiar_connect.config.folders import FamiliarFolder
    from familiar_connect.memory.persona import persona_name
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.rehearsal.play import play_rehearsal
    from familiar_connect.rehearsal.player import StepResult
    from familiar_connect.rehearsal.report import step_as_json, step_as_text

    name = persona_name(MemoryStore(FamiliarFolder(settings.root).memory), settings.root.name)

    def tell(result: StepResult) -> None:
        if as_json:
            say_json_line(step_as_json(result))
        else:
            say(step_as_text(result, rehearsal, name), fg="red" if result.failed else None)

    outcome = play_rehearsal(rehearsal, settings, tell)
    if as_json:
        say_json_line({"passed": outcome.passed, "failed": outcome.failed, "files": outcome.files})
    else:
        held = f"{outcome.passed} {'expectation' if outcome.passed == 1 else 'expectations'} held"
        say(f"{len(rehearsal.steps)} steps, {held}, {outcome.failed} failed", bold=True)
    return outcome.failed


@contextmanager
def _new_home(keep: Path | None) -> Iterator[Path]:
    """A home to play in: *keep*, which must be new, or one that is gone afterwards."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="familiar-", ignore_cleanup_errors=True) as folder:
            yield Path(folder).resolve()
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise click.UsageError(f"--keep {keep}: exists already; name a new folder")
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FamiliarError(f"--keep {keep}: cannot be made ({error.strerror}); name another folder") from error
    yield keep.resolve()
