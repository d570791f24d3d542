"""MarkdownStream: a reply's Markdown shown as a terminal can show it, while it is still being written.

With styles *actions* are italic, **bold** is bold, `code` is coloured and headings are bold. Without styles the
marks that carry meaning stay (the stars of an action, the backticks of code) and the others go. Either way a list has
its bullets and a block of code is set in, unbroken. A style ends with its line, so that a mark nobody closed
colours no more than that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from familiar_connect.support.word_wrap import WordWrap

CODE_INDENT = "    "
_UNDECIDED = re.compile(r" {0,12}(?:[-*+] *|#{1,6} *|`{1,2}|~{1,2}|(?:```|~~~)[^\n]*)?")
"""The beginning of a line of which the next letter may make something else."""
_FENCE = re.compile(r" {0,12}(?P<fence>`{3,}|~{3,})[^\n`]*(?:\n|$)")
_ITEM = re.compile(r"(?P<indent> {0,12})[-*+] +(?=[^\s])")
_HEADING = re.compile(r"(?P<mark>#{1,6}) +(?=[^\s#])")
_PLAIN = re.compile(r"[^*`\\\n]+")
_MARKS = re.compile(r"\*+|`+")
_ESCAPED = re.compile(r"\\([*_`#~])")
_OPENS_BEFORE = "\"'“‘«(…¡¿"
_STYLES = {"italic": ("\x1b[3m", "\x1b[23m"), "bold": ("\x1b[1m", "\x1b[22m"), "code": ("\x1b[36m", "\x1b[39m")}


@dataclass(frozen=True)
class TextPiece:
    """Something to write; verbatim: as it is, never broken."""

    text: str
    verbatim: bool = False


@dataclass
class MarkdownStream:
    """Feed it pieces of Markdown; what cannot be decided yet waits for the next."""

    styled: bool
    _held: str = ""
    _before: str = ""
    """The letter before the next one, in this line."""
    _is_at_start: bool = True
    _fence: str = ""
    _code_marks: str = ""
    """The backticks that began the code we are in; empty outside."""
    _styles: list[str] = field(default_factory=list)
    _out: list[TextPiece] = field(default_factory=list)

    def feed(self, text: str) -> list[TextPiece]:
        """What can be written now."""
        return self._read(text, is_last=False)

    def close(self) -> list[TextPiece]:
        """The rest."""
        self._read("", is_last=True)
        self._end_styles()
        out, self._out = self._out, []
        return out

    def _read(self, text: str, *, is_last: bool) -> list[TextPiece]:
        self._held += text
        while self._held and self._step(is_last=is_last):
            pass
        if is_last:
            return []
        out, self._out = self._out, []
        return out

    def _step(self, *, is_last: bool) -> bool:
        """Read a little of what is held; False where it takes more text to decide."""
        if self._is_at_start:
            return self._begin_line(is_last=is_last)
        if self._fence:
            line, newline, _ = self._held.partition("\n")
            self._write(line + newline, verbatim=True)
            self._held = self._held[len(line + newline) :]
            self._is_at_start = bool(newline)
            return True
        return self._read_inline(is_last=is_last)

    # The beginning of a line

    def _begin_line(self, *, is_last: bool) -> bool:
        if not is_last and _UNDECIDED.fullmatch(self._held):
            return False
        self._is_at_start, self._before = False, ""
        fence = _FENCE.match(self._held)
        if self._fence:
            if fence is not None and fence["fence"].startswith(self._fence):
                self._take(fence, "")
                self._fence, self._is_at_start = "", True
            elif not self._held.startswith("\n"):
                self._write(CODE_INDENT, verbatim=True)
        elif fence is not None:
            self._take(fence, "")
            self._fence, self._is_at_start = fence["fence"], True
        elif (item := _ITEM.match(self._held)) is not None:
            self._take(item, f"{item['indent']}{'•' if self.styled else '-'} ")
        elif (heading := _HEADING.match(self._held)) is not None:
            self._take(heading, "")
            self._switch("bold", on=True)
        return True

    def _take(self, found: re.Match[str], shown: str) -> None:
        self._held = self._held[found.end() :]
        self._write(shown)

    # Inside a line

    def _read_inline(self, *, is_last: bool) -> bool:
        if self._held[0] == "\n":
            self._end_styles()
            self._write("\n")
            self._held, self._is_at_start = self._held[1:], True
            return True
        if (plain := _PLAIN.match(self._held)) is not None:
            self._take(plain, plain[0])
            self._before = plain[0][-1]
            return True
        if not is_last and len(self._held.rstrip("*`\\")) == 0:
            return False
        if (escaped := _ESCAPED.match(self._held)) is not None and not self._code_marks:
            self._take(escaped, escaped[1])
            self._before = escaped[1]
            return True
        marks = _MARKS.match(self._held)
        if marks is None:  # a backslash that means itself
            self._write(self._held[0])
            self._before, self._held = self._held[0], self._held[1:]
            return True
        self._held = self._held[marks.end() :]
        self._read_marks(marks[0], self._held[:1])
        self._before = marks[0][-1]
        return True

    def _read_marks(self, marks: str, after: str) -> None:
        if self._code_marks or marks[0] == "`":
            self._read_code_marks(marks)
            return
        styles = {1: ["italic"], 2: ["bold"], 3: ["bold", "italic"]}.get(len(marks), [])
        is_on = bool(styles) and all(style in self._styles for style in styles)
        closes = is_on and bool(self._before.strip())
        opens = (after.isalnum() or after in tuple(_OPENS_BEFORE)) and not self._before.isalnum()
        if not closes and (not styles or is_on or not opens):
            self._write(marks)
            return
        if not self.styled and "italic" in styles:
            self._write("*")
        for style in reversed(styles) if closes else styles:
            self._switch(style, on=not closes)

    def _read_code_marks(self, marks: str) -> None:
        if self._code_marks and marks != self._code_marks:
            self._write(marks)
            return
        if not self.styled:
            self._write(marks)
        self._switch("code", on=not self._code_marks)
        self._code_marks = "" if self._code_marks else marks

    # Styles

    def _switch(self, style: str, *, on: bool) -> None:
        if on == (style in self._styles):
            return
        if on:
            self._styles.append(style)
        else:
            self._styles.remove(style)
        if self.styled:
            self._write(_STYLES[style][0 if on else 1])

    def _end_styles(self) -> None:
        for style in list(reversed(self._styles)):
            self._switch(style, on=False)
        self._code_marks = ""

    def _write(self, text: str, *, verbatim: bool = False) -> None:
        if text:
            self._out.append(TextPiece(text, verbatim))


class MarkdownFlow:
    """A reply on its way to the terminal: its Markdown rendered, its lines broken at words."""

    def __init__(self, width: Callable[[], int], column: int = 0, *, styled: bool) -> None:
        self._wrap = WordWrap(width, column)
        self._markdown = MarkdownStream(styled)
        self._is_behind_label = column > 0

    def feed(self, text: str) -> str:
        """What can be written now."""
        return self._place(self._markdown.feed(text))

    def close(self) -> str:
        """The rest of it."""
        return self._place(self._markdown.close()) + self._wrap.close()

    def _place(self, pieces: list[TextPiece]) -> str:
        return "".join(map(self._place_one, pieces))

    def _place_one(self, piece: TextPiece) -> str:
        begins, self._is_behind_label = self._is_behind_label, False
        if not piece.verbatim:
            return self._wrap.feed(piece.text)
        return (self._wrap.feed("\n") if begins else "") + self._wrap.feed_verbatim(piece.text)
