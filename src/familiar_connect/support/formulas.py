"""Formulas: LaTeX as MathML, which browsers draw by themselves, without a script or a font of ours.

The one place where latex2mathml is used. It is part of the extra `web`; where it is not installed, and where a formula
is too long, too deep or wrong, there is no MathML and whoever asks shows the source. What the library makes is written
anew from its elements: only tags and attributes of a list, only short plain values, so that no command of LaTeX links
anywhere, names a style, or puts something far outside of its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import escape, unescape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from familiar_connect.support.lru import LruCache

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_FORMULA_CHARS = 1_000
MAX_BRACES = 24
"""Braces within each other."""
MAX_ELEMENTS, MAX_DEPTH = 2_000, 60
MATHML_TAGS = frozenset(
    [
        *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "mfrac", "msqrt", "mroot", "msub", "msup"),
        *("msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd", "mpadded", "mphantom", "menclose"),
    ]
)
MATHML_ATTRIBUTES = frozenset(
    [
        *("display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "form", "largeop", "symmetric"),
        *("movablelimits", "accent", "accentunder", "linethickness", "width", "height", "depth", "lspace", "rspace"),
        *("voffset", "minsize", "maxsize", "columnalign", "notation"),
    ]
)
_VALUE = re.compile(r"[a-z][a-z -]{0,40}|[0-3]|-?[0-9]{0,1}(\.[0-9]{1,6})?(em|ex|mu)|[0-9]{1,2}(\.[0-9]{1,6})?(pt|px)")
"""A word, a level, or a length that stays near its place."""
_DEFINES = re.compile(
    r"\\(?:(?:re|provide)?newcommand|def|let|DeclareMathOperator|[gex]def|newenvironment)(?![A-Za-z])"
)
_drawn: LruCache[tuple[str, bool], str] = LruCache(500, size=2_000_000, size_of=len)
"""Formula, and whether it stands alone → its MathML, empty where there is none; a reply is drawn many times."""


def draw_formula(latex: str, *, is_block: bool) -> str | None:
    """*latex* as MathML; None where it cannot be drawn."""
    latex = latex.strip()
    if not latex or len(latex) > MAX_FORMULA_CHARS or not _is_harmless(latex) or not _is_installed():
        return None
    found = _drawn.get((latex, is_block))
    if found is None:
        found = _draw(latex, "block" if is_block else "inline")
        _drawn.put((latex, is_block), found)
    return found or None


def _is_harmless(latex: str) -> bool:
    """Whether it is not nested too deep and defines no commands, which could stand for anything."""
    depth = deepest = 0
    for char in latex:
        depth += (char == "{") - (char == "}")
        deepest = max(deepest, depth)
    return deepest <= MAX_BRACES and _DEFINES.search(latex) is None


@cache
def _is_installed() -> bool:
    return find_spec("latex2mathml") is not None


def _draw(latex: str, display: str) -> str:
    from latex2mathml.converter import Converter

    try:
        root = Converter(display=display).convert_to_element(latex)
    except Exception:  # isolation: the library has a dozen errors for wrong LaTeX, and raises others, too
        return ""
    pieces: list[str] = []
    for piece in _write(root):
        pieces.append(piece)
        if len(pieces) > 2 * MAX_ELEMENTS:
            return ""
    return "".join(pieces) if not _is_too_deep(root) else ""


def _is_too_deep(root: Element) -> bool:
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [child for each in level for child in each]
        if not level:
            return False
    return True


def _write(root: Element) -> Iterator[str]:
    """Tags in order; an element that is not on the list is a row, and nothing is called within itself."""
    todo: list[Element | str] = [root]
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            yield each
            continue
        tag = each.tag if each.tag in MATHML_TAGS else "mrow"
        given = "".join(
            f' {name}="{escape(value, quote=True)}"'
            for name, value in each.attrib.items()
            if name in MATHML_ATTRIBUTES and _VALUE.fullmatch(value)
        )
        yield f"<{tag}{given}>{escape(unescape(each.text or ''))}"
        todo.append(f"</{tag}>{escape(unescape(each.tail or ''))}")
        todo.extend(reversed(each))
