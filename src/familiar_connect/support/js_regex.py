"""JavaScript's regular expressions, searched in linear time: `JsPattern(source, flags).test(text)`.

The pattern is rewritten for RE2, which takes time in proportion to the text whatever the pattern. What no linear
engine can do (look-around, back-references) and a pattern that would grow too large are refused in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from familiar_connect.support.re2_engine import PatternRefused, compile_bounded

MAX_PATTERN_CHARS = 5_000
FLAGS = frozenset("gimsuy")

_SPACE = r"\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
_NOT_SPACE = (
    r"\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}"
    r"\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}"
)
_LINE_ENDS = r"\n\r\x{2028}\x{2029}"
_ANYTHING = r"\x{0}-\x{10ffff}"
_LITERAL = re.compile(r"/([\w\W]+?)/([gimsuy]*)")
_UNESCAPED_SLASH = re.compile(r"(^|[^\\])/")
_KEPT_ESCAPES = frozenset("dDwWbBtnrfv")
_HEX = {"x": 2, "u": 4}


def split_literal(text: str) -> tuple[str, str] | None:
    """Pattern and flags of a text written `/pattern/flags`; None where it is no such literal."""
    found = _LITERAL.fullmatch(text)
    if found is None:
        return None
    source, flags = found[1], found[2]
    if _UNESCAPED_SLASH.search(source) or len(set(flags)) != len(flags):
        return None
    return source.replace("\\/", "/"), flags


class JsPattern:
    """One pattern, ready to search texts."""

    def __init__(self, source: str, flags: str = "", *, has_groups: bool = False) -> None:
        if len(source) > MAX_PATTERN_CHARS:
            raise PatternRefused(f"it is longer than {MAX_PATTERN_CHARS} characters")
        try:
            source.encode("utf-8")
        except UnicodeEncodeError:
            raise PatternRefused("it is not valid text") from None
        head = "".join(flag for flag in "ims" if flag in flags)
        body = "".join(_translate(source, dot_all="s" in flags))
        start = r"\A(?:" if "y" in flags else "(?:"
        self.rewritten = f"(?{head}){start}{body})" if head else f"{start}{body})"
        """The pattern in RE2's words."""
        self._engine = compile_bounded(self.rewritten, has_groups=has_groups)
        self._is_global = "g" in flags

    def test(self, text: str) -> bool:
        """Whether the pattern is anywhere in *text*."""
        return self.find(text) is not None

    def find(self, text: str) -> tuple[int, int] | None:
        """Where in *text* the first match stands."""
        found = self._engine.search(text.encode("utf-8", "replace").decode("utf-8"))
        return None if found is None else found.span()

    def replace(
        self,
        text: str,
        make: Callable[[str, Sequence[str | None], Mapping[str, str | None]], str | None],
        *,
        max_chars: int,
    ) -> str | None:
        """*text* with what *make* gives for each match, its groups and its named groups; without `g` the first.

        None, and no more is made, once *make* gives None or the result would be longer than *max_chars*.
        """
        text = text.encode("utf-8", "replace").decode("utf-8")
        pieces: list[str] = []
        at = size = 0
        for found in self._engine.finditer(text):
            begin, end = found.span()
            made = make(found.group(), found.groups(), found.groupdict())
            if made is None or (size := size + begin - at + len(made)) > max_chars:
                return None
            pieces += [text[at:begin], made]
            at = end
            if not self._is_global:
                break
        if not pieces:
            return text
        return "".join([*pieces, text[at:]]) if size + len(text) - at <= max_chars else None


class AnyPattern:
    """Several patterns in one: whether any of them is in a text. `PatternRefused` where together they are too large."""

    def __init__(self, patterns: Sequence[JsPattern]) -> None:
        self._engine = compile_bounded("|".join(f"(?:{pattern.rewritten})" for pattern in patterns))

    def test(self, text: str) -> bool:
        return self._engine.search(text.encode("utf-8", "replace").decode("utf-8")) is not None


@lru_cache(maxsize=512)
def compile_js_groups(source: str, flags: str) -> JsPattern:
    """As `compile_js`, for a pattern whose groups are wanted."""
    return JsPattern(source, flags, has_groups=True)


@lru_cache(maxsize=512)
def compile_js(source: str, flags: str) -> JsPattern:
    """The pattern, kept ready; `PatternRefused` where it cannot be."""
    return JsPattern(source, flags)


def _translate(source: str, *, dot_all: bool) -> Iterator[str]:
    """*source* in RE2's words, piece by piece."""
    at = 0
    while at < len(source):
        char = source[at]
        if char == "\\":
            text, at = _escape(source, at + 1, in_class=False)
            yield text
        elif char == "[":
            text, at = _class(source, at + 1)
            yield text
        elif char == "(" and source.startswith("(?", at):
            text, at = _group(source, at)
            yield text
        elif char == "." and not dot_all:
            yield f"[^{_LINE_ENDS}]"
            at += 1
        elif char == "{" and not re.match(r"\{\d+(,\d*)?\}", source[at:]):
            yield r"\{"
            at += 1
        else:
            yield char
            at += 1


def _group(source: str, at: int) -> tuple[str, int]:
    if source.startswith("(?:", at):
        return "(?:", at + 3
    if source.startswith(("(?=", "(?!", "(?<=", "(?<!"), at):
        raise PatternRefused("look-around cannot be searched in linear time; write it without")
    named = re.match(r"\(\?<(\w+)>", source[at:])
    if named is None:
        raise PatternRefused("it has a group that is not JavaScript's")
    return f"(?P<{named[1]}>", at + named.end()


def _class(source: str, at: int) -> tuple[str, int]:
    negated = source.startswith("^", at)
    at += negated
    members: list[str] = []
    while at < len(source) and source[at] != "]":
        if source[at] == "\\":
            text, at = _escape(source, at + 1, in_class=True)
        else:
            text, at = (f"\\{source[at]}" if source[at] in "[^" else source[at]), at + 1
        members.append(text)
    if at >= len(source):
        raise PatternRefused("a bracket is not closed")
    if not members:
        return (f"[{_ANYTHING}]" if negated else f"[^{_ANYTHING}]"), at + 1
    return f"[{'^' if negated else ''}{''.join(members)}]", at + 1


def _escape(source: str, at: int, *, in_class: bool) -> tuple[str, int]:
    """What the escape whose letter stands at *at* means, and where the next piece begins."""
    if at >= len(source):
        raise PatternRefused("it ends in a backslash")
    char = source[at]
    if char in "sS":
        inner = _SPACE if char == "s" else _NOT_SPACE
        return (inner if in_class else f"[{inner}]"), at + 1
    if char == "b" and in_class:
        return r"\x{8}", at + 1
    if char in _KEPT_ESCAPES:
        return f"\\{char}", at + 1
    if char == "0" and not source[at + 1 : at + 2].isdigit():
        return r"\x{0}", at + 1
    if char.isdigit() or (char == "k" and source.startswith("k<", at)):
        raise PatternRefused("back-references cannot be searched in linear time; write it without")
    if char in "pP" and (found := re.match(r"[pP]\{(?:\w+=)?(\w+)\}", source[at:])):
        return f"\\{char}{{{found[1]}}}", at + found.end()
    if char in _HEX:
        return _code_point(source, at)
    if char == "c" and source[at + 1 : at + 2].isalpha():
        return rf"\x{{{ord(source[at + 1]) % 32:x}}}", at + 2
    return (f"\\x{{{ord(char):x}}}" if not char.isalnum() else char), at + 1


def _code_point(source: str, at: int) -> tuple[str, int]:
    """`\\xHH`, `\\uHHHH` or `\\u{H…}`; anything else is the letter itself. A pair of surrogates is one character."""
    if found := re.match(r"u\{([0-9A-Fa-f]{1,6})\}", source[at:]):
        return rf"\x{{{found[1]}}}", at + found.end()
    if found := re.match(r"u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})", source[at:]):
        high, low = int(found[1], 16), int(found[2], 16)
        return rf"\x{{{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:x}}}", at + found.end()
    digits = source[at + 1 : at + 1 + _HEX[source[at]]]
    if len(digits) == _HEX[source[at]] and all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return rf"\x{{{digits}}}", at + 1 + len(digits)
    return source[at], at + 1
