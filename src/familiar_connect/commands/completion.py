"""completion: what a shell needs to complete `familiar`."""

from __future__ import annotations

import click

from familiar_connect.commands.common import write_unchanged
from familiar_connect.commands.name_completion import COMPLETE_VARIABLE

PROGRAMS = ("familiar", "familiar-connect")
SHELLS = ("bash", "zsh", "fish")

EPILOG = """\b
Examples:
  familiar completion bash >> ~/.bashrc
  familiar completion zsh >> ~/.zshrc
  familiar completion fish > ~/.config/fish/completions/familiar.fish
It completes `familiar` and `familiar-connect`, where one of them is on the PATH: both are in .venv/bin.
"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes Tab complete verbs, options, familiars, chats and models in a shell."""
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    for program in PROGRAMS:
        found = kind(root, {}, program, COMPLETE_VARIABLE)
        script = found.source_template % {**found.source_vars(), "complete_func": f"_{program.replace('-', '_')}_tab"}
        write_unchanged(f"{script}\n")
