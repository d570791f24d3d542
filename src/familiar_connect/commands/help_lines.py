"""HelpLines: the help of every verb, fitted to the terminal, examples and narrow windows included."""

from __future__ import annotations

import re
import sys

import click

from familiar_connect.config.command import with_command_in_help
from familiar_connect.support.word_wrap import display_width, terminal_width, wrap_words

HELP_OPTIONS = ["-h", "--help"]
MAX_COLUMNS = 80
MIN_COLUMNS = 20
MOST_SHORT_HELP = 400
"""More than any verb's first sentence has; click's own limit cuts it off in the middle."""
_EXAMPLE = re.compile(r"(?P<indent> +)(?P<command>\S.*?\S) {2,}(?P<meaning>\S.*)")


class HelpLines(click.HelpFormatter):
    """Click's layout with every command as it is typed here; examples stay within the edge, columns fit the window."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        columns = min(terminal_width(), max_width or MAX_COLUMNS)
        super().__init__(indent_increment, width or max(columns - 2, MIN_COLUMNS), max_width)

    def write_dl(self, rows: object, col_max: int = 30, col_spacing: int = 2) -> None:
        narrow = max(self.width // 3, 12)
        super().write_dl(rows, col_max if self.width >= 70 else narrow, col_spacing)  # type: ignore[arg-type]

    def getvalue(self) -> str:
        text = with_command_in_help(super().getvalue())
        if not sys.stdout.isatty():
            return text
        return "\n".join(_fit(line, terminal_width()) for line in text.split("\n"))


def _fit(line: str, columns: int) -> str:
    """*line*, an example's meaning below it where both do not fit."""
    if display_width(line) <= columns:
        return line
    if max(map(display_width, line.split())) > columns:
        line = line.replace("|", "| ")  # a long list of choices
    example = _EXAMPLE.fullmatch(line)
    if example is None:
        return wrap_words(line, columns)
    meaning = f"{example['indent']}    {example['meaning']}"
    return f"{wrap_words(example['indent'] + example['command'], columns)}\n{wrap_words(meaning, columns)}"


class HelpContext(click.Context):
    """A context whose help is fitted."""

    formatter_class = HelpLines


def fit_help(command: click.Command) -> None:
    """Let *command* and everything below it show its help so, and be told in a whole sentence where it is listed."""
    command.context_class = HelpContext
    command.short_help = command.get_short_help_str(MOST_SHORT_HELP)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            fit_help(each)
