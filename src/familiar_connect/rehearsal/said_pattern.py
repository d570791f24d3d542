"""explain_no_match: whether a pattern of Python's is found in what was said, in bounded time whatever the pattern.

A line is searched by RE2, in time in proportion to its length. What RE2 cannot do (look-around, back-references) and
texts of several lines, in which `^` and `$` mean other places, are searched by Python itself in a child process that
has a second of work. Run as `python -m`, this is that child.
"""

from __future__ import annotations

import json
import re
import sys

from familiar_connect.support.bounded_process import (
    ProcessFailedError,
    ProcessLimitError,
    ProcessLimits,
    limit_this_process,
    print_answer,
    read_given,
    run_bounded,
)

LIMITS = ProcessLimits(cpu_s=1.0)
NOT_FOUND = "does not match"


def explain_no_match(pattern: str, text: str) -> str | None:
    """Why *pattern* is not found in *text*, as the middle of a sentence; None: it is found."""
    found = _find_in_line(pattern, text) if text.splitlines() == [text] else None
    if found is not None:
        return None if found else NOT_FOUND
    try:
        answer = run_bounded(__name__, (), json.dumps([pattern, text]).encode(), LIMITS)
    except ProcessLimitError:
        return f"takes more than {LIMITS.cpu_s:g} s of work, so write it without repetitions in repetitions, in"
    except ProcessFailedError:
        return "could not be looked for in"
    return None if answer.get("is_found") is True else NOT_FOUND


def _find_in_line(pattern: str, line: str) -> bool | None:
    """Whether the pattern is found in one line; None: RE2 cannot say."""
    from familiar_connect.support.line_regex import LinePattern
    from familiar_connect.support.re2_engine import PatternRefused

    try:
        return next(LinePattern(pattern).search(line.encode()), None) is not None
    except (PatternRefused, UnicodeError):
        return None


def _search(budget: str, length: str) -> None:
    limit_this_process(budget)
    pattern, text = json.loads(read_given(length))
    print_answer({"is_found": re.search(pattern, text) is not None})


if __name__ == "__main__":
    _search(*sys.argv[1:3])
