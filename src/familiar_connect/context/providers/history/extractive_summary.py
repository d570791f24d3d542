"""Extractive summaries: what was told and decided, in people's own words.

For models too small to summarise. Nothing is invented: every line is a sentence someone said, with the speaker's name.
The lines that weigh most stay when there are too many; `memory.weighing` says what weighs anything, as it does for the
files of people and sessions, so moods, weather and small talk are not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.weighing.statements import StatementReader, weigh_line
from familiar_connect.support.text import one_line, truncate_chars

MAX_LINES = 60
MAX_LINE_CHARS = 160
MAX_CHARS = 3_500


def extract_summary(
    previous: str, turns: Sequence[HistoryTurn], *, max_lines: int = MAX_LINES, max_chars: int = MAX_CHARS
) -> str:
    """The lines of *previous* and what *turns* say that lasts, oldest first: those that weigh most, within bounds."""
    lines = [(weigh_line(_words(line)), line) for line in previous.splitlines() if line.strip()]
    known = {line for _, line in lines}
    for weight, line in _telling_lines(turns):
        if line not in known:
            known.add(line)
            lines.append((weight, line))
    best: list[int] = []
    for i in sorted(range(len(lines)), key=lambda i: (-lines[i][0], -i))[:max_lines]:
        max_chars -= len(lines[i][1]) + 1
        if max_chars < 0:
            break
        best.append(i)
    return "\n".join(lines[i][1] for i in sorted(best))


def tell_elsewhere(turns: Sequence[HistoryTurn]) -> str:
    """One sentence on what was said in another channel: what weighs most, else the last words; empty when none were."""
    told = list(_telling_lines(turns))
    if told:
        weight = max(weight for weight, _ in told)
        return f"Meanwhile, in another channel, {next(line for each, line in reversed(told) if each == weight)}"
    said = [turn for turn in turns if turn.role == "user" and turn.author is not None and turn.display_text.strip()]
    if not said or said[-1].author is None:
        return ""
    words = truncate_chars(one_line(said[-1].display_text), MAX_LINE_CHARS)
    return f"Meanwhile, in another channel, {said[-1].author.label} said: {words}"


def _telling_lines(turns: Sequence[HistoryTurn]) -> Iterator[tuple[int, str]]:
    """What people said that weighs anything, each sentence with its speaker and its weight."""
    readers: dict[str, StatementReader] = {}
    for turn in turns:
        if turn.role != "user" or turn.author is None:
            continue
        reader = readers.setdefault(turn.author.slug, StatementReader(is_about_anyone=True))
        for statement in reader.read(turn.display_text):
            words = truncate_chars(one_line(statement.sentence), MAX_LINE_CHARS)
            yield statement.weight, f"{turn.author.label} said: {words}"


def _words(line: str) -> str:
    """A line of a summary without who said it."""
    return line.partition(" said: ")[2] or line
