"""Edits the owner makes in a form: saved over what they began from; what changed meanwhile is kept.

A form says which text it began from by that text's hash. Where the file says something else by now, both changes are
brought together when they touch different lines; else nothing is written and both texts are told. What a saved edit
replaces stays in the versions, as after every change.

merge_lines: two changes of one text brought together, line by line, where they do not touch the same lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.audit import hash_of
from familiar_connect.memory.paths import quote_for_error, split_path
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import OWNER

MAX_LINES = 20_000
"""Longer texts are not brought together: comparing them takes too long."""

Change = tuple[int, int, list[str]]
"""Lines of the base from, to, and what stands there instead."""


def merge_lines(base: str, one: str, other: str) -> str | None:
    """*base* with what both *one* and *other* changed in it; None where they changed the same place differently."""
    if one == other or other == base:
        return one
    if one == base:
        return other
    lines = [text.splitlines(keepends=True) for text in (base, one, other)]
    if any(len(each) > MAX_LINES for each in lines):
        return None
    changes = _join(_changes(lines[0], lines[1]), _changes(lines[0], lines[2]))
    if changes is None:
        return None
    merged, at = [], 0
    for start, end, new in changes:
        merged += [*lines[0][at:start], *new]
        at = end
    return "".join([*merged, *lines[0][at:]])


def _changes(base: Sequence[str], changed: Sequence[str]) -> list[Change]:
    matcher = SequenceMatcher(None, base, changed, autojunk=False)
    return [
        (start, end, list(changed[first:last]))
        for kind, start, end, first, last in matcher.get_opcodes()
        if kind != "equal"
    ]


def _join(one: list[Change], other: list[Change]) -> list[Change] | None:
    """Both in order, what both did only once; None where they meet."""
    joined: list[Change] = []
    for change in sorted([*one, *other], key=lambda each: (each[0], each[1])):
        if joined and change == joined[-1]:
            continue
        if joined and change[0] <= joined[-1][1] and not _is_apart(joined[-1], change):
            return None
        joined.append(change)
    return joined


def _is_apart(before: Change, after: Change) -> bool:
    """Whether two neighbours that touch change different lines: each takes some away, and neither the other's."""
    return before[1] == after[0] and before[0] < before[1] and after[0] < after[1]


NO_FILE = ""
"""Begun from nothing: the file is new."""

EditResult = Literal["saved", "merged", "unchanged", "conflict"]


@dataclass(frozen=True, kw_only=True)
class EditOutcome:
    """What became of an edit."""

    result: EditResult
    current: str
    """What the file says now."""
    base: str
    """Its hash, for the next edit."""


def edit_base(text: str | None) -> str:
    """What a form that begins with *text* says of it."""
    return NO_FILE if text is None else hash_of(text.encode("utf-8"))


def save_edit(store: MemoryStore, rel_path: str, text: str, *, base: str) -> EditOutcome:
    """Write *text*, which was made from the text whose hash is *base*, into the file."""
    path = editable_path(rel_path)
    with store.lock():
        current = store.read_if_present(path)
        wanted = _with_line_ends(text, current)
        merged = wanted if edit_base(current) == base else _bring_together(store, base, wanted, current)
        if merged is None:
            return EditOutcome(result="conflict", current=current or "", base=edit_base(current))
        if merged == current:
            return EditOutcome(result="unchanged", current=merged, base=edit_base(merged))
        store.write_file(path, merged, source=OWNER)
    return EditOutcome(result="saved" if merged == wanted else "merged", current=merged, base=edit_base(merged))


def delete_edited(store: MemoryStore, rel_path: str, *, base: str) -> bool:
    """Delete the file, unless it says something else than the text whose hash is *base*; whether it is gone."""
    path = editable_path(rel_path)
    with store.lock():
        if edit_base(store.read_if_present(path)) != base:
            return False
        store.delete_file(path, source=OWNER)
    return True


def editable_path(rel_path: str) -> str:
    """*rel_path* as the store spells it; an error where it is no Markdown file that memory lists."""
    parts = split_path(rel_path)
    name = parts[-1] if parts else ""
    if not name.endswith(".md") or name == ".md" or any(part.startswith(".") for part in parts):
        raise MemoryStoreError(
            f"{quote_for_error(rel_path)} is not the name of a memory file: end it in .md, such as topics/garden.md"
        )
    return "/".join(parts)


def _bring_together(store: MemoryStore, base: str, wanted: str, current: str | None) -> str | None:
    """Both changes of the text whose hash is *base*; None where they meet, or where one of the texts is gone."""
    begun = _text_of(store, base)
    return None if begun is None or current is None else merge_lines(begun, wanted, current)


def _text_of(store: MemoryStore, base: str) -> str | None:
    """The text whose hash is *base*, where the versions still have it."""
    if store.audit is None or base == NO_FILE:
        return None
    try:
        return store.audit.read(base).decode("utf-8")
    except (MemoryStoreError, UnicodeDecodeError):
        return None


def _with_line_ends(text: str, current: str | None) -> str:
    """*text* with the line ends of the file; a browser sends its own."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    is_windows = current is not None and "\r\n" in current and current.count("\r\n") == current.count("\n")
    return plain.replace("\n", "\r\n") if is_windows else plain
