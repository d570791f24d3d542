"""One command of the program, called in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from familiar_connect.commands.help_lines import HELP_OPTIONS


def call_command(command: click.Command, home: Path, *words: str, name: str = "familiar") -> Any:
    """What *command* returns for *words*, in *home*.

    Its help is asked for as in the program: click settles that once for each command, for all later calls too.
    """
    return command.main(
        list(words), prog_name=name, standalone_mode=False, obj={"home": home}, help_option_names=HELP_OPTIONS
    )
