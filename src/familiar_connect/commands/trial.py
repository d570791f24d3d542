"""open_trial: a copy of a familiar to try things with; the familiar itself is left as it is and hears nothing."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from familiar_connect.commands.common import say, say_command
from familiar_connect.commands.sandbox import copy_familiar
from familiar_connect.config.command import program_name
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.errors import HomeError
from familiar_connect.memory.persona import read_persona_name
from familiar_connect.support.files import hold_alone
from familiar_connect.support.no_follow import make_folder

LOOKS = {"what was said": "logs", "what the model was shown last": "inspect", "its memory": "memory list"}
"""What can be looked at after a trial, and the verb that shows it."""


@contextmanager
def open_trial(root: Path, home: Path) -> Iterator[Path]:
    """The folder of a copy of the familiar in *root*, as it is now, in a home of its own below *home*.

    It stays until the next trial, so that one can look at what came of it.
    """
    folder = HomeFolder(home)
    with hold_alone(folder.trial_lock) as is_ours:
        if not is_ours:
            raise HomeError(f"another trial runs in this home ({folder.trial_lock} is held): stop it first")
        try:
            if folder.trial.is_symlink() or folder.trial.exists():
                shutil.rmtree(folder.trial)
            familiars = HomeFolder(folder.trial).familiars
            make_folder(familiars)
            if folder.profile.root.is_dir():
                shutil.copytree(folder.profile.root, familiars / folder.profile.root.name, symlinks=True)
        except OSError as error:
            raise HomeError(
                f"{folder.trial}: cannot be replaced for a trial ({error.strerror or error}); delete it and try again"
            ) from error
        yield copy_familiar(root, familiars, is_whole=True)


def say_trial(root: Path, home: Path, *, err: bool = False) -> None:
    """Who was there instead of the familiar in *root*, and how to look at what came of it."""
    name = read_persona_name(FamiliarFolder(root).memory, root.name)
    command = f"{program_name()} --home {shlex.quote(str(HomeFolder(home).trial))}"
    say(
        f"\nThat was a copy of {name}; {name} itself heard nothing of it. The copy stays until the next trial:", err=err
    )
    for what, verb in LOOKS.items():
        say_command(what, f"{command} {verb}", err=err)
