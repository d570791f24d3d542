"""The silence mark, by which a model declines to reply, and the filter that removes it.

The mark is told from words on the first characters of a reply, so nobody ever sees it.
"""

from __future__ import annotations

import re

SILENCE = "<silence>"
CHOSE_SILENCE = "it chose to stay silent"
"""Why a reply ended that turned out to be none."""

SILENCE_DIRECTIVE = (
    f"Nobody is surely waiting for you here. If you would not speak up at this point, answer with {SILENCE} and "
    "nothing else; otherwise answer as usual, without mentioning it."
)

_MARK = re.compile(re.escape(SILENCE), re.IGNORECASE | re.ASCII)
_AROUND = " \t\r\n\"'`*_“”‘’([{"
"""What a model may write before the mark without meaning anything by it."""


class SilenceFilter:
    """Feed it pieces, show what it returns; `silent` once the reply turned out to be none."""

    def __init__(self) -> None:
        self._held = ""
        self._begun = False
        self.silent = False

    def feed(self, piece: str) -> str:
        """The part of what came so far that is surely words."""
        if self.silent:
            return ""
        self._held += piece
        if not self._begun:
            start = self._held.lstrip(_AROUND).casefold()
            if start.startswith(SILENCE):
                self.silent, self._held = True, ""
                return ""
            if SILENCE.startswith(start):
                return ""
            self._begun = True
        return self._words(final=False)

    def close(self) -> str:
        """What was held back and is words after all."""
        return "" if self.silent else self._words(final=True)

    def _words(self, *, final: bool) -> str:
        """What is held, without any mark in it; the beginning of a possible mark stays."""
        text = _strip_mark(self._held)
        kept = 0 if final else _mark_begun(text)
        shown, self._held = text[: len(text) - kept], text[len(text) - kept :]
        return shown


def _strip_mark(text: str) -> str:
    while (bare := _MARK.sub("", text)) != text:
        text = bare
    return text


def _mark_begun(text: str) -> int:
    """Characters at the end of *text* that may be the beginning of a mark."""
    end = text[-len(SILENCE) :].casefold()
    return next((size for size in range(len(SILENCE) - 1, 0, -1) if end.endswith(SILENCE[:size])), 0)
