"""OutputFilter: strips what a model should not have written, while it streams, without asking a model.

It takes away what commands a terminal, markup (the program's own, and a model's tags), the familiar's own name echoed
before its words, time
stamps copied from the history, white space at both ends, and everything from the point where the model begins to
speak for someone else. What it has let through is never taken back, so it can stand between the model and a speaker.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import Enum

from familiar_connect.chat.silence import SilenceFilter
from familiar_connect.context.processors.markup_filter import MarkupFilter
from familiar_connect.support.terminal_escapes import EscapeFilter

_STAMP = re.compile(r"(?:\[[0-9]{1,2}:[0-9]{2}\]|\(about [0-9]{1,6} [a-z]{1,12} later\))\s*")
_STAMP_BEGUN = re.compile(r"\[[0-9:]{0,5}|\((?:a[a-z0-9 ]{0,40})?")
"""What may still become a stamp; a wider net only waits a little longer."""
_MARKUP = "*_"
_COLONS = ":："
MAX_MARKS = 8
"""Marks of bold or italics that may stand between a name and its colon."""


class _Whose(Enum):
    """What the beginning of a line turned out to be."""

    unclear = "unclear"
    other = "other"
    own = "own"
    words = "words"


class OutputFilter:
    """One reply's filter: feed it pieces, print what it returns, stop when `ended`."""

    def __init__(self, own_names: Iterable[str], other_names: Iterable[str], known_tags: Collection[str] = ()) -> None:
        self._known_tags = known_tags
        self._own = _bare(own_names)
        self._others = _bare(other_names) - self._own
        self._escapes = EscapeFilter()
        self._markup = MarkupFilter(known_tags)
        self._held = ""
        self._gap = ""
        self._line_start = True
        self._spoken = False
        self.ended = False

    @property
    def end_reason(self) -> str:
        """Why it `ended` before the model did."""
        return "it began to speak for somebody else"

    def fresh(self) -> OutputFilter:
        """The same filter for another attempt at the reply."""
        return OutputFilter(self._own, self._others, self._known_tags)

    def feed(self, piece: str) -> str:
        """The part of what came so far that is surely the familiar's own words."""
        if self.ended:
            return ""
        self._held += self._markup.feed(self._escapes.feed(piece))
        return self._advance(final=False)

    def close(self) -> str:
        """What was held back and turns out to be words; white space at the end is dropped."""
        if self.ended:
            return ""
        self._held += self._markup.feed(self._escapes.close()) + self._markup.close()
        rest = self._advance(final=True)
        self.ended = True
        return rest

    def _advance(self, *, final: bool) -> str:
        out: list[str] = []
        while self._held and not self.ended:
            taken = self._take_line_start(final=final) if self._line_start else self._take_words()
            if taken is None:
                break
            out.append(taken)
        return "".join(out)

    def _take_line_start(self, *, final: bool) -> str | None:
        """Whose line begins here? White space before it is held until there are words to follow it."""
        line = self._held.lstrip()
        self._gap += self._held[: len(self._held) - len(line)]
        self._held = line
        if not line:
            return None
        whose, rest = self._read(line, final=final)
        if whose is _Whose.unclear:
            return None
        if whose is _Whose.other:
            self._held, self.ended = "", True
            return ""
        self._held = rest
        if whose is _Whose.own:
            return ""
        gap, self._gap = (self._gap if self._spoken else ""), ""
        self._line_start, self._spoken = False, True
        return gap

    def _take_words(self) -> str | None:
        """What is left of this line; the white space after it waits."""
        line, newline, rest = self._held.partition("\n")
        words = line.rstrip()
        after = line[len(words) :]
        if newline:
            self._gap, self._held, self._line_start = after, newline + rest, True
            return words
        self._held = after
        return words or None

    def _read(self, line: str, *, final: bool) -> tuple[_Whose, str]:
        """Whose *line* it is, and what of it remains to be read or said."""
        if not final and _STAMP_BEGUN.fullmatch(line):
            return _Whose.unclear, line
        stamp = _STAMP.match(line)
        said = line[stamp.end() :] if stamp else line
        if not said:
            return (_Whose.words, line) if self._spoken and final else (_Whose.own if final else _Whose.unclear, said)
        head = said.lstrip(_MARKUP)
        if _label_end(head, self._others) is not None:
            return _Whose.other, ""
        if (at := _label_end(head, self._own)) is not None:
            return self._after_own_label(said, head, at, final=final)
        if not final and _could_be_label(head, self._own | self._others):
            return _Whose.unclear, line
        return _Whose.words, line if self._spoken else said

    @staticmethod
    def _after_own_label(said: str, head: str, at: int, *, final: bool) -> tuple[_Whose, str]:
        """The words after the label, without the marks that close it (`**Wren:** hello`)."""
        rest = head[at:]
        opened = said[: len(said) - len(head)]
        if opened and head[at - 2] not in _MARKUP:
            if not final and opened.startswith(rest):
                return _Whose.unclear, said
            rest = rest.removeprefix(opened)
        rest = rest.lstrip()
        return (_Whose.own if rest or final else _Whose.unclear), rest


class SilenceAwareOutputFilter(OutputFilter):
    """Also takes out the mark of silence, which may end the reply before a word is shown."""

    def __init__(self, own_names: Iterable[str], other_names: Iterable[str], known_tags: Collection[str] = ()) -> None:
        super().__init__(own_names, other_names, known_tags)
        self._silence = SilenceFilter()

    @property
    def end_reason(self) -> str:
        return "it chose to stay silent" if self._silence.silent else super().end_reason

    def fresh(self) -> SilenceAwareOutputFilter:
        return SilenceAwareOutputFilter(self._own, self._others, self._known_tags)

    def feed(self, piece: str) -> str:
        shown = self._silence.feed(super().feed(piece))
        if self.ended:  # someone else's words follow: what was held back is the end
            shown += self._silence.close()
        self.ended = self.ended or self._silence.silent
        return shown

    def close(self) -> str:
        return self._silence.feed(super().close()) + self._silence.close()


def _bare(names: Iterable[str]) -> frozenset[str]:
    """*names* as they are compared: without case, and without the marks that would make them bold."""
    return frozenset(bare for name in names if (bare := name.casefold().strip(_MARKUP + " ")))


def _label_end(head: str, names: Collection[str]) -> int | None:
    """Where the words begin when *head* opens with one of *names* and a colon, else None."""
    longest = max(map(len, names), default=0) + MAX_MARKS
    ends = (i for i, char in enumerate(head[:longest]) if char in _COLONS)
    return next((i + 1 for i in ends if head[:i].rstrip(_MARKUP).casefold() in names), None)


def _could_be_label(head: str, names: Collection[str]) -> bool:
    """Whether more text could still turn *head* into a speaker's label."""
    start = head.casefold()
    longest = max(map(len, names), default=0) + MAX_MARKS
    return len(head) < longest and any(name.startswith(start) or start.rstrip(_MARKUP) == name for name in names)


def filter_output(text: str, own_names: Iterable[str], other_names: Iterable[str]) -> str:
    """The whole of *text*, tidied at once."""
    filtered = OutputFilter(own_names, other_names)
    return filtered.feed(text) + filtered.close()
