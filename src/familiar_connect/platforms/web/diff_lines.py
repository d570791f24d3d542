"""diff_lines: a unified diff as lines with a kind each, for a template to colour."""

from __future__ import annotations

from familiar_connect.support.text import escape_controls

MAX_DIFF_LINES = 2_000
LINE_KINDS = {"+": "added", "-": "removed", "@": "place"}


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """Kind and text of every line; the two lines that name the files are left out."""
    lines = diff.splitlines()
    rest = [line for number, line in enumerate(lines) if not (number < 2 and line.startswith(("---", "+++")))]
    shown = [(LINE_KINDS.get(line[:1], "same"), escape_controls(line)) for line in rest[:MAX_DIFF_LINES]]
    left = len(rest) - len(shown)
    return [*shown, ("place", f"… {left:,} more lines")] if left else shown
