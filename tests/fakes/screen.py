"""ScreenEmulator: what a terminal of a given size shows after everything that was written to it.

It knows what the program and its line editor use: cursor moves, erasing, scrolling, wrapping at the edge, and how wide
letters are. Styles are followed only as far as to skip them.
"""

from __future__ import annotations

import re

from familiar_connect.support.word_wrap import display_width

_SEQUENCE = re.compile(r"\x1b(?:\[(?P<given>[0-9;?]*)(?P<verb>[A-Za-z])|\][^\x07]*\x07|[()][A-Z0-9]|[=>78])")
_BEGUN = re.compile(r"\x1b(?:\[[0-9;?]*|\][^\x07]*|[()])?$")


class ScreenEmulator:
    """Feed it text; `lines` is the window, `scrolled` what has left it at the top."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.lines = [""] * rows
        self.scrolled: list[str] = []
        self.row = self.column = 0
        self._wraps = True
        self._is_past_edge = False
        self._held = ""

    @property
    def everything(self) -> str:
        """All lines ever shown, as they stand now, without blank ends."""
        return "\n".join(line.rstrip() for line in (*self.scrolled, *self.lines)).rstrip("\n")

    def resize(self, columns: int, rows: int) -> None:
        """Another size; what stands there stays as it is."""
        while len(self.lines) > rows:
            self.scrolled.append(self.lines.pop(0))
            self.row = max(0, self.row - 1)
        self.lines += [""] * (rows - len(self.lines))
        self.columns, self.rows = columns, rows

    def feed(self, text: str) -> None:
        text, self._held = self._held + text, ""
        at = 0
        while at < len(text):
            char = text[at]
            if char != "\x1b":
                self._letter(char)
                at += 1
            elif (found := _SEQUENCE.match(text, at)) is not None:
                if found["verb"]:
                    self._command(found["verb"], found["given"])
                at = found.end()
            elif _BEGUN.match(text, at):
                self._held = text[at:]
                return
            else:
                at += 1

    def _letter(self, char: str) -> None:
        if char == "\r":
            self.column, self._is_past_edge = 0, False
        elif char == "\n":
            self._down()
        elif char == "\x08":
            self.column, self._is_past_edge = max(0, self.column - 1), False
        elif char >= " ":
            self._show(char)

    def _show(self, char: str) -> None:
        width = display_width(char)
        if self._is_past_edge and self._wraps and width:
            self.column, self._is_past_edge = 0, False
            self._down()
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + char + line[self.column + max(1, width) :]
        self.column += width
        if self.column >= self.columns:
            self.column, self._is_past_edge = self.columns - 1, True

    def _down(self) -> None:
        self._is_past_edge = False
        if self.row + 1 < self.rows:
            self.row += 1
            return
        self.scrolled.append(self.lines.pop(0))
        self.lines.append("")

    def _command(self, verb: str, given: str) -> None:
        if given.startswith("?"):
            if given == "?7":
                self._wraps = verb == "h"
            return
        numbers = [int(each or 0) for each in given.split(";")] if given else []
        first = numbers[0] if numbers else 0
        if verb in "ABCDHfG":
            self._is_past_edge = False
        line = self.lines[self.row]
        match verb:
            case "A":
                self.row = max(0, self.row - max(1, first))
            case "B":
                self.row = min(self.rows - 1, self.row + max(1, first))
            case "C":
                self.column = min(self.columns - 1, self.column + max(1, first))
            case "D":
                self.column = max(0, self.column - max(1, first))
            case "G":
                self.column = max(1, first) - 1
            case "H" | "f":
                self.row, self.column = max(1, first) - 1, max(1, numbers[1] if len(numbers) > 1 else 1) - 1
            case "K":
                self.lines[self.row] = {0: line[: self.column], 1: " " * self.column + line[self.column :]}.get(
                    first, ""
                )
            case "J":
                if first == 0:
                    self.lines[self.row] = line[: self.column]
                    self.lines[self.row + 1 :] = [""] * (self.rows - self.row - 1)
                else:
                    self.lines = [""] * self.rows
            case _:
                pass
