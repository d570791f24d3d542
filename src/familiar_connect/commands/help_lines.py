"""HelpLines: the help of every verb, fitted to the terminal, examples and narrow windows included."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

import click

from familiar_connect.config.command import with_command_in_help
from familiar_connect.support.word_wrap import ENDLESS, NO_BREAK, display_width, terminal_width, wrap_words

HELP_OPTIONS = ["-h", "--help"]
MAX_COLUMNS = 80
MIN_COLUMNS = 20
MOST_SHORT_HELP = 400
"""More than any verb's first sentence has; click's own limit cuts it off in the middle."""
EXAMPLES = "Examples:"
GOES_ON = " \\"
"""A shell takes the next line as part of this one."""
_EXAMPLE = re.compile(r"(?P<indent> +)(?P<command>\S.*?\S)(?: {2,}(?P<meaning>\S.*))?")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


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
        return "\n".join(_fit_lines(text.split("\n"), terminal_width()))


def _fit_lines(lines: Iterable[str], columns: int) -> Iterator[str]:
    """*lines* within the edge; what stands below "Examples:" are commands."""
    indent_of_examples = ENDLESS
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() == EXAMPLES:
            indent_of_examples = indent
        elif line and indent <= indent_of_examples:
            indent_of_examples = ENDLESS
        if display_width(line) <= columns:
            yield line
        elif indent > indent_of_examples:
            yield fit_example(line, columns)
        else:
            yield _fit(line, columns)


def _fit(line: str, columns: int) -> str:
    if max(map(display_width, line.split())) > columns:
        line = line.replace("|", "| ")  # a long list of choices
    return wrap_words(line, columns)


def fit_example(line: str, columns: int) -> str:
    """A command in lines that a shell takes as one, and below it what it means."""
    example = _EXAMPLE.fullmatch(line)
    if example is None:
        return wrap_words(line, columns)
    indent, command, meaning = example.groups()
    shown = indent + command
    if display_width(shown) > columns:
        whole = _QUOTED.sub(lambda quoted: quoted[0].replace(" ", NO_BREAK), shown)
        lines = wrap_words(whole, columns - len(GOES_ON)).replace(NO_BREAK, " ").split("\n")
        shown = f"{GOES_ON}\n".join(lines)
    return f"{shown}\n{wrap_words(f'{indent}    {meaning}', columns)}" if meaning else shown


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
