"""World-info entries made of Markdown alone: for lore that never was in a lorebook, and for what its owner changed."""

from __future__ import annotations

from typing import Any

from familiar_connect.bootstrap.lorebook_files.markdown import Parts, parse, render
from familiar_connect.bootstrap.lorebook_files.native import completed
from familiar_connect.bootstrap.lorebook_files.record import Record

_SAYS_LITTLE = ("addMemo", "selective")
"""Whether a comment is shown, and whether secondary keys count: nothing, where there are none."""


def plain_entry(text: str, *, stem: str, uid: int) -> dict[str, Any]:
    """An entry for a file of lore; without a list of keywords it answers to its title."""
    parts = parse(text)
    title = parts.title or stem
    return completed(
        {
            "uid": uid,
            "key": [title] if parts.keys is None else list(parts.keys),
            "comment": title,
            "content": parts.content,
            "addMemo": True,
        }
    )


def with_edits(entry: dict[str, Any], text: str) -> dict[str, Any]:
    """*entry* with whatever its file, which now says *text*, says otherwise."""
    before = render(entry)
    if text == before:
        return entry
    was, now = parse(before), parse(text)
    return {**entry, **_changes(was, now)}


def tells_all(record: Record) -> bool:
    """Whether the files alone would give every entry back, number and all."""
    by_file = sorted(record.entries, key=lambda kept: kept.file or "")
    return not record.top and all(
        kept.file is not None
        and kept.key == str(uid)
        and _essence(completed(kept.entry))
        == _essence(plain_entry(render(kept.entry), stem=kept.file.removesuffix(".md"), uid=uid))
        for uid, kept in enumerate(by_file)
    )


def _changes(was: Parts, now: Parts) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if now.title != was.title and now.title is not None:
        changes["comment"] = now.title
    if now.keys != was.keys:
        changes["key"] = list(now.keys or ())
    if now.content != was.content:
        changes["content"] = now.content
    return changes


def _essence(entry: dict[str, Any]) -> dict[str, Any]:
    few = not entry["keysecondary"]
    return {name: value for name, value in entry.items() if not (few and name in _SAYS_LITTLE)}
