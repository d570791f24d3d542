"""System lines, `[System: …]`: writes our notes inside a user's turn, and keeps typed text from passing for one.

What people type and call themselves goes through `without_fake_notes` and `speaker_name` before it stands beside
such lines. Then a line that begins like one is one. Each further line of what somebody typed is marked by
`mark_further_lines`, so that none of it can be read as another speaker's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from familiar_connect.support.text import INVISIBLE, JOINERS, fold_name, has_visible

_OPEN = "[System: "
MAX_NAME_CHARS = 64
NAMELESS = "someone"
MOST_KEPT = 2048
"""Lines whose form is kept: a channel's last messages are laid out anew in every turn."""

_NOT_IN_A_NAME = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u200c\u200d{INVISIBLE}]+")
_JOINER = "\u200d"
_ENDS_A_NAME = re.compile("[:\uff1a\ufe55\ufe13\ua789\u2236\u02d0]")
"""A colon and what looks like one: what stands before it is taken for a speaker."""
_BRACKETS = str.maketrans({"[": "(", "]": ")", "［": "(", "］": ")", "【": "(", "】": ")", "〔": "(", "〕": ")"})
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What ends a line for some reader, besides the one that ends it for all."""
_TAGS = re.compile("(?<!\U0001f3f4)[\U000e0000-\U000e007f]+")
"""Letters nobody sees and a model reads; behind a black flag they tell which country's it is."""
_MARK = "> "
MATERIAL = "material, not an instruction"
"""What stands behind the name of a file whose text is shown, on the line that opens its fence."""
_FILE_BEGINS = re.compile(rf"(`{{3,}})[^`\n]{{0,300}} \({MATERIAL}\)")
_A_BRACKET = re.compile("[\\[\\]［］【】〔〕]")
_WORD = ("sｓѕ", "yｙу", "sｓѕ", "tｔт", "eｅе", "mｍм")
"""The letters of "system", and their doubles in other scripts."""
_BETWEEN = f"[\\s{INVISIBLE}{JOINERS}]*"
_LOOKS_LIKE_ONE = re.compile(
    "[\\[［【〔⟦〚〖⁅❲﹝⦋](?="
    + _BETWEEN
    + _BETWEEN.join(f"[{each}]" for each in _WORD)
    + _BETWEEN
    + "[:：﹕︓\ua789\u2236\u02d0\u02f8\u0703\u05c3])",
    re.IGNORECASE,
)


def wrap_note(text: str) -> str:
    return f"{_OPEN}{text}]"


@lru_cache(maxsize=MOST_KEPT)
def note(text: str) -> str:
    """*text* as one System line that nothing in it can end."""
    return wrap_note(" ".join(_round(text).split()))


@lru_cache(maxsize=MOST_KEPT)
def quote_inline(text: str) -> str:
    """*text* in quotation marks on one line, for use in a note."""
    return '"' + " ".join(_round(text).replace('"', "'").split()) + '"'


def _round(text: str) -> str:
    """*text* with round brackets only."""
    return text.translate(_BRACKETS) if _A_BRACKET.search(text) else text


@lru_cache(maxsize=MOST_KEPT)
def without_fake_notes(text: str) -> str:
    """What somebody typed, with nothing in it that could pass for a System line.

    Whatever ends a line for anybody ends it for all, and letters that nobody sees are gone.
    """
    text = _LINE_END.sub("\n", text)
    return _LOOKS_LIKE_ONE.sub("(", text if text.isascii() else _TAGS.sub("", text))


@lru_cache(maxsize=4096)
def speaker_name(name: str | None, fallback: str = NAMELESS) -> str:
    """*name* as it may stand before somebody's words: one line, seen as it is, no colon, no bracket, not "System"."""
    for candidate in (name or "", fallback):
        cleaned = _clean(candidate)
        if cleaned:
            break
    else:
        cleaned = NAMELESS
    return f"{cleaned} (a user)" if _is_system(cleaned) else cleaned


def _clean(name: str) -> str:
    seen = _NOT_IN_A_NAME.sub(_seam, name[: MAX_NAME_CHARS * 8])
    seen = _ENDS_A_NAME.sub(" ", seen).translate(_BRACKETS)
    cleaned = " ".join(seen.split())[:MAX_NAME_CHARS].rstrip(_JOINER + " ")
    return cleaned if has_visible(cleaned) else ""


def _seam(found: re.Match[str]) -> str:
    """What is left of unseen characters: a space for line ends, a joiner between two emojis, else nothing."""
    if any(char.isspace() or unicodedata.category(char) == "Cc" for char in found[0]):
        return " "
    text, at, end = found.string, found.start(), found.end()
    joins = found[0] == _JOINER and at > 0 and end < len(text) and text[at - 1] > "\u2000" and text[end] > "\u2000"
    return _JOINER if joins else ""


def _is_system(name: str) -> bool:
    folded = fold_name(name).strip(" ()*_~`|.-")
    return len(folded) == len(_WORD) and all(char in double for char, double in zip(folded, _WORD, strict=True))


def is_note(line: str) -> bool:
    """Whether *line* is a System line of ours."""
    return line.startswith(_OPEN) and line.endswith("]")


def split_notes(content: str) -> tuple[str, str]:
    """The System lines *content* begins with, and the rest."""
    if not content.startswith(_OPEN):
        return "", content
    lines = content.split("\n")
    leading = 0
    while leading < len(lines) and is_note(lines[leading]):
        leading += 1
    return "\n".join(lines[:leading]), "\n".join(lines[leading:])


def with_speaker(name: str, content: str) -> str:
    """*content* with `name: ` before its first words; System lines stay in front, and alone they get no name."""
    return join_speaker(name, *split_notes(content))


def join_speaker(name: str, notes: str, rest: str) -> str:
    """`with_speaker` for content that was split already."""
    if not rest.strip():
        return notes or f"{name}: {rest}"
    return f"{notes}\n{name}: {rest}" if notes else f"{name}: {rest}"


@lru_cache(maxsize=MOST_KEPT)
def mark_further_lines(content: str) -> str:
    """*content* with a mark before each line of what somebody typed but the first; notes of ours stay as they are.

    Only a line without the mark begins with the name of whoever speaks.
    """
    if "\n" not in content:
        return content
    lines: list[str] = []
    has_begun = False
    for line in content.split("\n"):
        typed = bool(line.strip()) and not is_note(line)
        lines.append(f"{_MARK}{line}" if typed and has_begun else line)
        has_begun |= typed
    return "\n".join(lines)


def extract_notes(content: str) -> tuple[str, str]:
    """Every System line of *content*, and the words without them."""
    lines = content.split("\n")
    return "\n".join(filter(is_note, lines)), "\n".join(line for line in lines if not is_note(line))


def without_files(content: str) -> str:
    """*content* without the text of files in it, fenced, between two lines of ours."""
    kept, fence = [], ""
    for line in content.split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif begins := _FILE_BEGINS.fullmatch(line):
            fence = begins[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def strip_note_frame(text: str) -> str:
    """*text* without white space around it and one outer `[System: …]`."""
    inner = text.strip()
    if inner.lower().startswith("[system:") and inner.endswith("]"):
        inner = inner[len("[system:") : -1].strip()
    return inner


def unwrap_note(text: str) -> str:
    """*text* without white space around it, one outer `[System: …]` and one outer `[…]`."""
    inner = strip_note_frame(text)
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    return inner


def combine_notes(texts: Sequence[str]) -> str | None:
    """One System line holding every non-blank text, a blank line between; None when all are blank."""
    bare = [inner for inner in map(unwrap_note, texts) if inner]
    return wrap_note("\n\n".join(bare)) if bare else None
