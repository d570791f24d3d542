"""RE2 behind one door: patterns compiled with a limit, searched in time in proportion to the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

MAX_PROGRAM_SIZE = 50_000
"""RE2 instructions; `\\w{3,20}` takes 27,000. Larger ones could take seconds on one file."""
MAX_SET_BYTES = 16 * 1024 * 1024
"""What a set of patterns may keep of the steps it went."""
TOO_LARGE = "it is too large once its repetitions are written out"

_LOOKAROUND = ("(?=", "(?!", "(?<=", "(?<!")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<?[=!]|.", re.DOTALL)
"""A piece of a pattern: an escape, a class of characters, the begin of a group that looks around, or a sign."""


class PatternRefused(Exception):
    """The pattern is invalid, or no linear-time engine can search for it; the message says which."""


def compile_bounded(text: str, *, within_lines: bool = False, has_groups: bool = False) -> Any:
    """RE2's engine for *text*; a `PatternRefused` where it has none.

    *within_lines*: no match crosses a line end. *has_groups*: matches tell what their groups hold.
    """
    import re2  # a native library; most commands never search

    options = re2.Options()
    options.log_errors = False
    options.never_capture = not has_groups
    options.never_nl = within_lines
    try:
        engine = re2.compile(text, options)
    except re2.error as error:
        raise PatternRefused(_sentence(error)) from None
    finally:
        re2.purge()  # its cache of 128 could hold a gigabyte
    if engine.programsize > MAX_PROGRAM_SIZE:
        raise PatternRefused(TOO_LARGE)
    return engine


class PatternSet:
    """Which of many patterns may be found in a text, by one look at it, however many they are.

    The patterns are Python's, without regard to case. RE2 cannot look ahead or behind, so that is left out of them:
    what is told is never too little in a text of ASCII letters, and may be too much.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        import re2

        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.case_sensitive = False
        options.max_mem = MAX_SET_BYTES
        self._set = re2.Set.SearchSet(options)
        for pattern in patterns:
            self._set.Add(without_lookaround(pattern))
        self._set.Compile()

    def find_possible(self, text: str) -> Sequence[int]:
        """The places of the patterns that may be found in *text*, which is all ASCII."""
        return self._set.Match(text) or ()


def without_lookaround(pattern: str) -> str:
    """*pattern* without what it asks of the text before and behind its match."""
    kept: list[str] = []
    depths: list[bool] = []  # for each group that is open, whether it only looks around
    for found in _TOKEN.finditer(pattern):
        token = found[0]
        if token.startswith("("):
            depths.append(token in _LOOKAROUND)
        if not any(depths):
            kept.append(token)
        if token == ")":
            depths.pop()
    return "".join(kept)


def _sentence(error: Exception) -> str:
    detail = error.args[0] if error.args else "it cannot be searched for"
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    return TOO_LARGE if "too large" in text else text
