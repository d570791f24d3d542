"""The reader of macros: text in, a tree of calls and their places out, never an error.

Braces pair up the way people read them: `{{` opens, the next free `}}` closes, and what never closes is plain text. One
pass with a stack of openings does it, so a page of nothing but braces costs no more than a page of words. Nothing is
copied: arguments are spans of the text, and whoever walks the tree cuts out what it needs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

SPACE = " \t\n\r\v\f\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""What counts as blank around a name or an argument."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
VARIABLE = re.compile(r"([.$])[ \t\r\n]*([A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)")
COMMENT = "//"
MAX_ARGS = 4096
"""Arguments a list is split into; what stands behind them is part of the last."""

MAX_OPENINGS = 20_000
"""Opening braces that are read in one text; the rest of a text with more is taken literally."""

_BRACES = re.compile(r"\{\{+|\}\}")
_BLANK = re.compile(f"[{SPACE}]*")
_PLAIN = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)\}\}")
"""The commonest call by far: a name alone."""
_HEAD = re.compile(f"[{SPACE}]*((?:(?!//)[!?~>/#][{SPACE}]*)*)(?:(//)|({NAME.pattern})|{VARIABLE.pattern})")
_STRANGE = re.compile(f"(?:(?!}}}})[^{SPACE}:|])+")
"""Characters right after a name that no name may have; they are skipped, single braces included."""
_STRAY = re.compile(f"{NAME.pattern}|[^-|:{SPACE}]")
"""Extra text after a variable, which is ignored."""
_OPERATOR = re.compile(r"\+\+|--|\|\|=|\?\?=|\|\||\?\?|==|!=|>=|<=|\+=|-=|=|>|<")


@dataclass(slots=True)
class TextSpan:
    """A stretch of the text and the calls that stand in it, in order."""

    start: int
    end: int
    calls: Sequence[MacroCall]
    complete: bool = True
    """False when reading stopped before the end."""
    open: Sequence[int] = ()
    """Of a whole text: where calls begin that nothing closes."""


@dataclass(slots=True)
class MacroCall:
    """One `{{…}}`: what it names and where its arguments stand."""

    start: int
    end: int
    name: str
    """As it was typed; for a variable the variable's own name."""
    flags: str
    args: Sequence[TextSpan]
    closing: bool = False
    """`{{/name}}`: the end of a block."""
    scope: str = ""
    """`.` for a local variable, `$` for a shared one, else nothing."""
    operator: str = ""
    key: str = field(init=False)
    """The name in small letters."""

    def __post_init__(self) -> None:
        self.key = self.name.lower()


def parse_macros(text: str) -> TextSpan:
    """The calls of *text*, outermost first level."""
    found: list[MacroCall] = []
    open_: list[tuple[int, int, re.Match[str] | None]] = []  # where, how many calls came before, how it begins
    last_end = text.rfind("}}")
    at, left = 0, MAX_OPENINGS
    while (braces := _BRACES.search(text, at)) is not None and (start := braces.start()) <= last_end:
        at = braces.end()
        if text[start] == "}":
            if open_:
                _close(text, found, *open_.pop(), at)
            continue
        left -= (at - start) // 2
        if left < 0:
            return TextSpan(0, len(text), found, complete=False)
        if (at - start) % 2 and open_ and open_[-1][2] is not None:
            continue  # within a call an odd number of braces opens nothing
        plain = _PLAIN.match(text, at)
        head = None if plain else _HEAD.match(text, at)
        if at - start > 3:  # a run of braces: the last two open this call, the pairs before them may hold it
            open_.extend((place, len(found), None) for place in range(start + (at - start) % 2, at - 2, 2))
        if plain is not None:
            found.append(MacroCall(at - 2, plain.end(), plain[1], "", ()))
            at = plain.end()
        elif head is not None or not _in_comment(open_):
            open_.append((at - 2, len(found), head))
            if head is not None and head[3] and (strange := _STRANGE.match(text, head.end())) is not None:
                at = strange.end()
    return TextSpan(0, len(text), found, open=[start for start, _, head in open_ if head is not None])


def _in_comment(open_: Sequence[tuple[int, int, re.Match[str] | None]]) -> bool:
    head = open_[-1][2] if open_ else None
    return head is not None and bool(head[2])


def _close(text: str, found: list[MacroCall], start: int, first: int, head: re.Match[str] | None, end: int) -> None:
    """Puts a call in the place of its inner ones. What is not written like a call is text, and they stay."""
    stop = end - 2
    if head is None:
        return
    flags, name, scope, variable = head[1], head[2] or head[3], head[4], head[5]
    strange = _STRANGE.match(text, head.end(), stop) if head[3] else None
    after = strange.end() if strange else head.end()
    at = _skip(text, after, stop)
    closing = "/" in flags or (name == COMMENT and text.startswith("/", at, stop) and _skip(text, at + 1, stop) == stop)
    if scope:
        operator = _OPERATOR.match(text, at, stop)
        sign = operator[0] if operator else ""
        value = _skip(text, operator.end() if operator else at, stop)
        alone = sign in ("", "++", "--")
        if alone and value < stop and (sign or not _STRAY.fullmatch(text, value, stop)):
            return
        args = () if alone else (trim_span(text, value, stop, found[first:]),)
        call = MacroCall(start, end, variable, flags, args, scope=scope, operator=sign)
    elif closing:
        call = MacroCall(start, end, name, flags, (), closing=True)
    elif at < stop and at == after and text[at] != ":" and name != COMMENT:
        return
    else:
        call = MacroCall(start, end, name, flags, _arguments(text, at, stop, found[first:]))
    del found[first:]
    found.append(call)


def _arguments(text: str, at: int, stop: int, inner: list[MacroCall]) -> Sequence[TextSpan]:
    """`::` begins a list; `:` or a space begins one argument that may hold colons."""
    if at == stop:
        return ()
    if text.startswith("::", at, stop):
        return _list(text, at + 2, stop, inner)
    return (trim_span(text, at + 1 if text[at] == ":" else at, stop, inner),)


def _list(text: str, at: int, stop: int, inner: list[MacroCall]) -> Sequence[TextSpan]:
    args: list[TextSpan] = []
    start, first = at, 0
    for index in range(len(inner) + 1):
        edge = inner[index].start if index < len(inner) else stop
        while len(args) < MAX_ARGS - 1 and (cut := text.find("::", at, edge)) >= 0:
            args.append(trim_span(text, start, cut, inner[first:index]))
            start, first, at = cut + 2, index, cut + 2
        if index < len(inner):
            at = inner[index].end
    args.append(trim_span(text, start, stop, inner[first:]))
    return args


def trim_span(text: str, start: int, end: int, calls: Sequence[MacroCall]) -> TextSpan:
    """The span without the blanks at its ends."""
    start = _skip(text, start, end)
    while end > start and text[end - 1] in SPACE:
        end -= 1
    return TextSpan(start, end, calls)


def _skip(text: str, at: int, stop: int) -> int:
    blank = _BLANK.match(text, at, stop)
    return blank.end() if blank else at
