"""LinePattern: Python's regular expressions, searched line by line in linear time.

The pattern is read by Python's own parser and handed to RE2, which takes time proportional to the
text whatever the pattern. Classes (`\\w`, `\\d`, `\\s`, `\\b`) mean what they mean in Python, in every
script. What no linear engine can do (look-around, back-references, possessive and atomic groups) is
refused in a sentence, and so is a pattern that would grow too large.

A match never crosses a line, so a whole text is searched in one go and only lines that match are
looked at. RE2 knows word boundaries of ASCII alone; lines in other scripts are therefore searched
in a copy where each character is replaced by an ASCII one of the same kind: what the pattern
cannot tell apart, it may see as one.
"""

from __future__ import annotations

import importlib
import re
import threading
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from familiar_connect.support.re2_engine import PatternRefused, compile_bounded

MAX_PATTERN_CHARS = 1000

_WORD = r"\p{L}\p{N}_"
_ASCII_WORD = "0-9A-Za-z_"
_SPACE = r"\t-\r\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_NOT_SPACE = (
    r"\x{0}-\x{8}\x{e}-\x{1b}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}"
    r"\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}"
)
_CLASSES = {
    "CATEGORY_DIGIT": (r"\p{Nd}", "0-9"),
    "CATEGORY_NOT_DIGIT": (r"\P{Nd}", r"\D"),
    "CATEGORY_SPACE": (_SPACE, r"\t-\r "),
    "CATEGORY_NOT_SPACE": (_NOT_SPACE, r"\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{10ffff}"),
    "CATEGORY_WORD": (_WORD, _ASCII_WORD),
    "CATEGORY_NOT_WORD": ("", r"\W"),
}
_NOTHING = r"[^\x{0}-\x{10ffff}]"
_WORD_STAND_INS = "".join(map(chr, (*range(97, 123), *range(65, 91), *range(48, 58), 95)))
_OTHER_STAND_INS = "".join(chr(c) for c in range(128) if c != 10 and chr(c) not in _WORD_STAND_INS)
_parsing = threading.Lock()


class LineHit(NamedTuple):
    """The first match in a line; offsets count characters."""

    line_number: int
    line: str
    start: int
    end: int


class _Leaf(NamedTuple):
    """What matches one character, in RE2's words."""

    text: str


class _Fold(NamedTuple):
    """Opens a group in which case does or does not matter."""

    ignore_case: bool


class _Boundary(NamedTuple):
    """`\\b` or `\\B` between characters of any script."""

    text: str


_Piece = str | _Leaf | _Fold | _Boundary


class LinePattern:
    """One pattern, ready to search texts; safe to share between threads."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        if len(pattern) > MAX_PATTERN_CHARS:
            raise PatternRefused(f"it is longer than {MAX_PATTERN_CHARS} characters")
        pieces, folded = _read(pattern, ignore_case=ignore_case)
        flags = "(?im)" if folded else "(?m)"
        self._loose = self._exact = compile_bounded(
            flags + "".join(_plain(piece) for piece in pieces), within_lines=True
        )
        self._stand_ins: _StandIns | None = None
        if any(isinstance(piece, _Boundary) for piece in pieces):
            loose = (_plain(piece) for piece in pieces if not isinstance(piece, _Boundary))
            self._loose = compile_bounded(flags + "".join(loose), within_lines=True)
            self._stand_ins = _StandIns(pieces, folded=folded)

    def may_match(self, data: bytes) -> bool:
        """Whether `search` may find anything in *data*; False is certain."""
        return self._loose.search(data.replace(b"\r\n", b"\n") if b"\r" in data else data) is not None

    def search(self, data: bytes) -> Iterator[LineHit]:
        """The first match of every matching line of *data*, UTF-8 text; not UTF-8 is a `UnicodeDecodeError`.

        Lines end at line feeds, with or without a carriage return before them.
        """
        if not data:
            return
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        data = data.removesuffix(b"\n")
        if self._stand_ins is None or data.isascii():
            yield from _walk(self._exact, data, None)
        else:
            yield from _walk(self._loose, data, self._stand_ins)


def _walk(engine: Any, data: bytes, stand_ins: _StandIns | None) -> Iterator[LineHit]:
    """Lines of *data* in which *engine* and, where given, *stand_ins* find something."""
    position, number, counted = 0, 1, 0
    while position <= len(data) and (match := engine.search(data, position)) is not None:
        if position == 0:
            data.decode("utf-8")
        first, last = match.span()
        number += data.count(b"\n", counted, first)
        counted = first
        line_start = data.rfind(b"\n", 0, first) + 1
        line_end = data.find(b"\n", first)
        line_end = len(data) if line_end < 0 else line_end
        line = data[line_start:line_end].decode("utf-8")
        if stand_ins is not None:
            span = stand_ins.search(line)
        else:
            start = len(data[line_start:first].decode("utf-8"))
            span = (start, start + len(data[first:last].decode("utf-8")))
        if span is not None:
            yield LineHit(number, line, *span)
        position = line_end + 1


class _StandIns:
    """Characters met so far, sorted into kinds the pattern tells apart, each kind one ASCII character."""

    def __init__(self, pieces: list[_Piece], *, folded: bool) -> None:
        self._sorting = threading.Lock()
        self._pieces = pieces
        self._leaves: dict[tuple[str, bool], Any] = {}
        for leaf, fold in _leaves(pieces, folded):
            if (leaf, fold) not in self._leaves:
                self._leaves[leaf, fold] = compile_bounded(f"(?i:{leaf})" if fold else leaf, within_lines=True)
        self._folded = folded
        self._kinds: dict[tuple[bool, ...], str] = {}
        self._table: dict[int, str] = {}
        self._engine: Any = None

    def search(self, line: str) -> tuple[int, int] | None:
        with self._sorting:
            for character in set(line):
                if ord(character) not in self._table:
                    self._sort_in(character)
            if self._engine is None:
                self._engine = compile_bounded("".join(self._rewritten()), within_lines=True)
            engine = self._engine
        match = engine.search(line.translate(self._table).encode("ascii"))
        return None if match is None else match.span()

    def _sort_in(self, character: str) -> None:
        is_word = character.isalnum() or character == "_"
        kind = (is_word, *(engine.fullmatch(character) is not None for engine in self._leaves.values()))
        if kind not in self._kinds:
            free = _WORD_STAND_INS if is_word else _OTHER_STAND_INS
            taken = sum(1 for known in self._kinds if known[0] == is_word)
            if taken == len(free):
                raise PatternRefused("it names too many different characters beside a word boundary")
            self._kinds[kind] = free[taken]
            self._engine = None
        self._table[ord(character)] = self._kinds[kind]

    def _rewritten(self) -> Iterator[str]:
        columns = {leaf: index for index, leaf in enumerate(self._leaves, start=1)}
        yield "(?m)"
        leaves = _leaves(self._pieces, self._folded)
        for piece in self._pieces:
            if isinstance(piece, _Leaf):
                column = columns[next(leaves)]
                members = "".join(rf"\x{{{ord(c):x}}}" for kind, c in self._kinds.items() if kind[column])
                yield f"[{members}]" if members else _NOTHING
            else:
                yield "(?:" if isinstance(piece, _Fold) else _plain(piece)


def _leaves(pieces: list[_Piece], folded: bool) -> Iterator[tuple[str, bool]]:
    """Every leaf with whether case is ignored where it stands."""
    scopes = [folded]
    for piece in pieces:
        if isinstance(piece, _Leaf):
            yield piece.text, scopes[-1]
        elif isinstance(piece, _Fold):
            scopes.append(piece.ignore_case)
        elif piece.startswith("(") if isinstance(piece, str) else False:
            scopes.append(scopes[-1])
        elif isinstance(piece, str) and piece.startswith(")"):
            scopes.pop()


def _plain(piece: _Piece) -> str:
    if isinstance(piece, _Fold):
        return "(?i:" if piece.ignore_case else "(?-i:"
    return piece if isinstance(piece, str) else piece.text


def _read(pattern: str, *, ignore_case: bool) -> tuple[list[_Piece], bool]:
    """*pattern* as pieces for RE2, and whether it ignores case from the start."""
    parser: Any = importlib.import_module("re._parser")
    with _parsing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pattern.encode("utf-8")
            tree = parser.parse(pattern, int(re.IGNORECASE) if ignore_case else 0)
            pieces: list[_Piece] = []
            flags = int(tree.state.flags)
            _emit(tree, flags, pieces)
        except UnicodeEncodeError:
            raise PatternRefused("it is not valid text") from None
        except (re.error, OverflowError) as error:
            raise PatternRefused(str(error)) from None
        except RecursionError:
            raise PatternRefused("its groups are nested too deeply") from None
    return pieces, bool(flags & re.IGNORECASE)


def _emit(tree: Any, flags: int, out: list[_Piece]) -> None:
    for op, value in tree:
        name = str(op)
        if name in ("LITERAL", "NOT_LITERAL"):
            out.append(_Leaf(_escape(value) if name == "LITERAL" else f"[^{_escape(value)}]"))
        elif name == "ANY":
            out.append(_Leaf("."))
        elif name == "IN":
            out.append(_Leaf(_set(value, flags)))
        elif name == "AT":
            out.append(_at(str(value), flags))
        elif name == "BRANCH":
            _emit_branch(value[1], flags, out)
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, inner = value
            out.append("(?:")
            _emit(inner, flags, out)
            out.append(")" + _times(int(low), str(high)) + ("?" if name == "MIN_REPEAT" else ""))
        elif name == "SUBPATTERN":
            _, added, removed, inner = value
            within = (flags | added) & ~removed
            changed = (within ^ flags) & re.IGNORECASE
            out.append(_Fold(bool(within & re.IGNORECASE)) if changed else "(?:")
            _emit(inner, within, out)
            out.append(")")
        else:
            raise PatternRefused(_why_not(name))


def _emit_branch(branches: list[Any], flags: int, out: list[_Piece]) -> None:
    out.append("(?:")
    for index, branch in enumerate(branches):
        if index:
            out.append("|")
        _emit(branch, flags, out)
    out.append(")")


def _at(where: str, flags: int) -> _Piece:
    if where in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        return "^"
    if where in ("AT_END", "AT_END_STRING"):
        return "$"
    text = r"\b" if where == "AT_BOUNDARY" else r"\B"
    return text if flags & re.ASCII else _Boundary(text)


def _set(items: list[Any], flags: int) -> str:
    negated = bool(items) and str(items[0][0]) == "NEGATE"
    inner = "".join(_member(str(op), value, flags) for op, value in items[negated:])
    return f"[{'^' if negated else ''}{inner}]"


def _member(op: str, value: Any, flags: int) -> str:
    if op == "LITERAL":
        return _escape(value)
    if op == "RANGE":
        return rf"\x{{{value[0]:x}}}-\x{{{value[1]:x}}}"
    unicode_text, ascii_text = _CLASSES[str(value)]
    if flags & re.ASCII:
        return ascii_text
    return unicode_text or _not_word()


@lru_cache(maxsize=1)
def _not_word() -> str:
    """Every character that is not part of a word, as ranges: RE2 has no complement within a class."""
    ranges = []
    for first in range(0, 0x110000, 0x800):  # in small steps: one long call would hold up every other thread
        if 0xD800 <= first < 0xE000:
            continue
        for run in re.finditer(r"\W+", "".join(map(chr, range(first, first + 0x800)))):
            ranges.append(rf"\x{{{first + run.start():x}}}-\x{{{first + run.end() - 1:x}}}")
    return "".join(ranges)


def _escape(code: int) -> str:
    return chr(code) if chr(code).isalnum() else rf"\x{{{code:x}}}"


def _times(low: int, high: str) -> str:
    if high == "MAXREPEAT":
        return {0: "*", 1: "+"}.get(low, f"{{{low},}}")
    return "?" if (low, high) == (0, "1") else f"{{{low},{high}}}"


def _why_not(name: str) -> str:
    known = {
        "ASSERT": "look-around",
        "ASSERT_NOT": "look-around",
        "GROUPREF": "back-references",
        "GROUPREF_EXISTS": "conditional groups",
        "ATOMIC_GROUP": "atomic groups",
        "POSSESSIVE_REPEAT": "possessive repetition",
    }
    return f"{known.get(name, 'this construct')} cannot be searched in linear time; write it without"
