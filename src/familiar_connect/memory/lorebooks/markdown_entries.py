"""World-info entries made of Markdown alone: for lore that never was in a lorebook, and for what its owner changed."""

from __future__ import annotations

from familiar_connect.memory.lorebooks.entry_markdown import EntryParts, parse_entry, render_entry
from familiar_connect.memory.lorebooks.import_record import ImportRecord
from familiar_connect.memory.lorebooks.world_info import with_entry_defaults

_SAYS_LITTLE = ("addMemo", "selective")
"""Whether a comment is shown, and whether secondary keys count: nothing, where there are none."""


def entry_from_markdown(text: str, *, stem: str, uid: int) -> dict[str, object]:
    """An entry for a file of lore; without a list of keywords it answers to its title."""
    parts = parse_entry(text)
    title = parts.title or stem
    return with_entry_defaults(
        {
            "uid": uid,
            "key": [title] if parts.keys is None else list(parts.keys),
            "comment": title,
            "content": parts.content,
            "addMemo": True,
            **({"constant": True} if parts.is_pinned else {}),
        }
    )


def with_edits(entry: dict[str, object], text: str) -> dict[str, object]:
    """*entry* with whatever its file, which now says *text*, says otherwise."""
    before = render_entry(entry)
    if text == before:
        return entry
    was, now = parse_entry(before), parse_entry(text)
    return {**entry, **_changes(was, now)}


def is_record_redundant(record: ImportRecord) -> bool:
    """Whether the files alone would give every entry back, number and all."""
    by_file = sorted(record.entries, key=lambda kept: kept.file or "")
    return not record.top and all(
        kept.file is not None
        and kept.key == str(uid)
        and _essence(with_entry_defaults(kept.entry))
        == _essence(entry_from_markdown(render_entry(kept.entry), stem=kept.file.removesuffix(".md"), uid=uid))
        for uid, kept in enumerate(by_file)
    )


def _changes(was: EntryParts, now: EntryParts) -> dict[str, object]:
    changes: dict[str, object] = {}
    if now.title != was.title and now.title is not None:
        changes["comment"] = now.title
    if now.keys != was.keys:
        changes["key"] = list(now.keys or ())
    if now.content != was.content:
        changes["content"] = now.content
    if now.pin is not None and now.pin != was.is_pinned:
        changes["constant"] = now.pin
    return changes


def _essence(entry: dict[str, object]) -> dict[str, object]:
    few = not entry["keysecondary"]
    return {name: value for name, value in entry.items() if not (few and name in _SAYS_LITTLE)}
