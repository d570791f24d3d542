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
  mkdir -p ~/.config/fish/completions && familiar completion fish > ~/.config/fish/completions/familiar.fish
It completes `familiar` and `familiar-connect` if they are on the PATH: both are in .venv/bin.
"""
_TAKE_WORD = "COMPREPLY+=($value)"
_TAKE_QUOTED_WORD = 'printf -v value %q "$value"; COMPREPLY+=("$value")'
"""A name with spaces is put into bash's line as one word."""
_SPLIT_ALL, _SPLIT_KIND = 'string split "," $completion', 'string split --max 1 "," $completion'
"""What fish shows beside a word goes on behind its first comma."""
_LOAD_ZSH_COMPLETION = """
if ! whence compdef > /dev/null; then
    autoload -Uz compinit && compinit -i
fi
"""
"""What zsh needs before it completes anything, where the person's own settings have not said it."""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the shell code that lets Tab complete verbs, options, familiars, chats and models."""
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    scripts = []
    for program in PROGRAMS:
        found = kind(root, {}, program, COMPLETE_VARIABLE)
        names = {**found.source_vars(), "complete_func": f"_{program.replace('-', '_')}_tab"}
        scripts.append(found.source_template % names)
    write_unchanged("\n".join([*_fit_to_shell(shell, scripts), ""]))


def _fit_to_shell(shell: str, scripts: list[str]) -> list[str]:
    """The scripts with what click's lack in *shell*."""
    if shell == "bash":
        return [script.replace(_TAKE_WORD, _TAKE_QUOTED_WORD) for script in scripts]
    if shell == "fish":
        return [script.replace(_SPLIT_ALL, _SPLIT_KIND) for script in scripts]
    first_line, newline, rest = scripts[0].partition("\n")  # zsh looks there for what a file completes
    return [f"{first_line}{newline}{_LOAD_ZSH_COMPLETION}{rest}", *scripts[1:]]
