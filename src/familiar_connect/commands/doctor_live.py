"""doctor --live: whether a program of ours runs a familiar now; for health checks, so it looks at one file alone."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.commands.common import open_root, say, say_json
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.support.sign_of_life import LATE_S, seconds_since_life


def show_live(home: Path, familiar_id: str | None, *, as_json: bool) -> int:
    """Say it in one sentence; 0 when the program runs and moves, else 1."""
    root = open_root(home, familiar_id)
    seconds = seconds_since_life(FamiliarFolder(root).running_file)
    is_live = seconds is not None and seconds <= LATE_S
    if seconds is None:
        says = f"{root.name} is not running: start it with `{command_name()} run`, or `{command_name()} web`."
    elif is_live:
        says = f"{root.name} is running; its last sign of life is {seconds:.0f} s old."
    else:
        says = f"{root.name} hangs: its program has given no sign of life for {seconds:.0f} s. Restart it."
    if as_json:
        say_json({"familiar": root.name, "live": is_live, "seconds_since_sign_of_life": seconds, "says": says})
    else:
        say(says, err=not is_live)
    return 0 if is_live else 1
