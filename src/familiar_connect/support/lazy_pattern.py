"""LazyPattern: a regular expression that is compiled when it is first used.

A long list of words takes ten times as long to compile as to search with, and most commands never search with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property


class LazyPattern:
    """As much of `re.Pattern` as is asked of one; its text may be put together late, too."""

    def __init__(self, text: str | Callable[[], str], flags: int = 0) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    @property
    def is_compiled(self) -> bool:
        return "regex" in vars(self)

    @property
    def pattern(self) -> str:
        """The text of it, as `re.Pattern.pattern`."""
        return self._text if isinstance(self._text, str) else self._text()

    def search(self, text: str) -> re.Match[str] | None:
        return self.regex.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        return self.regex.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.regex.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.regex.finditer(text)

    def findall(self, text: str) -> list[str]:
        return self.regex.findall(text)

    def split(self, text: str, maxsplit: int = 0) -> list[str]:
        return self.regex.split(text, maxsplit)

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self.regex.sub(by, text, count)
