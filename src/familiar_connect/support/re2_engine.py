"""RE2 behind one door: patterns compiled with a limit, searched in time in proportion to the text."""

from __future__ import annotations

from typing import Any

MAX_PROGRAM_SIZE = 50_000
"""RE2 instructions; `\\w{3,20}` takes 27,000. Larger ones could take seconds on one file."""
TOO_LARGE = "it is too large once its repetitions are written out"


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


def _sentence(error: Exception) -> str:
    detail = error.args[0] if error.args else "it cannot be searched for"
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    return TOO_LARGE if "too large" in text else text
