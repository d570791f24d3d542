"""Entries of other lorebook formats as world-info entries, mapped as SillyTavern maps them.

Each mapping takes an entry and its place in the book. What has no world-info field of its own is kept under
`extensions`, by `to_world_info`, so that an export loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from familiar_connect.memory.lorebooks.book_shelf import DEFAULTS, with_entry_defaults

Entry = dict[str, object]

_BOOK_EXTENSIONS: dict[str, str] = {
    "excludeRecursion": "exclude_recursion",
    "preventRecursion": "prevent_recursion",
    "delayUntilRecursion": "delay_until_recursion",
    "probability": "probability",
    "useProbability": "useProbability",
    "depth": "depth",
    "selectiveLogic": "selectiveLogic",
    "outletName": "outlet_name",
    "group": "group",
    "groupOverride": "group_override",
    "groupWeight": "group_weight",
    "scanDepth": "scan_depth",
    "caseSensitive": "case_sensitive",
    "matchWholeWords": "match_whole_words",
    "useGroupScoring": "use_group_scoring",
    "automationId": "automation_id",
    "role": "role",
    "vectorized": "vectorized",
    "sticky": "sticky",
    "cooldown": "cooldown",
    "delay": "delay",
    "matchPersonaDescription": "match_persona_description",
    "matchCharacterDescription": "match_character_description",
    "matchCharacterPersonality": "match_character_personality",
    "matchCharacterDepthPrompt": "match_character_depth_prompt",
    "matchScenario": "match_scenario",
    "matchCreatorNotes": "match_creator_notes",
    "triggers": "triggers",
    "ignoreBudget": "ignore_budget",
}
"""World-info field → its name among a character book entry's extensions."""


@dataclass(frozen=True)
class LorebookFormat:
    """How one kind of file names the parts of an entry."""

    name: str
    content: str
    """The field that holds the text."""
    convert: Callable[[Entry, int], Entry]
    used: frozenset[str]
    """Fields that have a place in a world-info entry."""


def native_entry(raw: Entry, index: int) -> Entry:
    return with_entry_defaults(raw)


def character_book_entry(raw: Entry, index: int) -> Entry:
    found = raw.get("extensions")
    extensions = found if isinstance(found, dict) else {}
    position = extensions.get("position")
    place = 0 if raw.get("position") == "before_char" else 1
    entry: Entry = {
        "uid": index if raw.get("id") is None else raw["id"],
        "key": _or(raw.get("keys"), []),
        "keysecondary": _or(raw.get("secondary_keys"), []),
        "comment": _or(raw.get("comment"), ""),
        "content": raw.get("content"),
        "constant": _or(raw.get("constant"), False),
        "selective": _or(raw.get("selective"), False),
        "order": raw.get("insertion_order", DEFAULTS["order"]),
        "position": place if position is None else position,
        "disable": not raw.get("enabled"),
        "addMemo": bool(raw.get("comment")),
        "displayIndex": index if extensions.get("display_index") is None else extensions["display_index"],
    }
    for name, short in _BOOK_EXTENSIONS.items():
        value = extensions.get(short)
        default = False if name == "delayUntilRecursion" else DEFAULTS[name]
        entry[name] = default if value is None else value
    return with_entry_defaults(entry)


def novelai_entry(raw: Entry, index: int) -> Entry:
    config = raw.get("contextConfig")
    priority = config.get("budgetPriority") if isinstance(config, dict) else None
    name = raw.get("displayName")
    return _plain(
        index,
        key=_or(raw.get("keys"), []),
        comment=name or "",
        content=raw.get("text"),
        order=0 if priority is None else priority,
        disable=not raw.get("enabled"),
        addMemo=_says_something(name),
    )


def agnai_entry(raw: Entry, index: int) -> Entry:
    return _plain(
        index,
        key=_or(raw.get("keywords"), []),
        comment=_or(raw.get("name"), ""),
        content=raw.get("entry"),
        order=raw.get("weight", DEFAULTS["order"]),
        disable=not raw.get("enabled"),
        addMemo=bool(raw.get("name")),
    )


def risu_entry(raw: Entry, index: int) -> Entry:
    percent = raw.get("activationPercent")
    return _plain(
        index,
        key=_comma_list(raw.get("key"), keep_empty=True),
        keysecondary=_comma_list(raw.get("secondkey")),
        comment=_or(raw.get("comment"), ""),
        content=raw.get("content"),
        constant=_or(raw.get("alwaysActive"), False),
        selective=_or(raw.get("selective"), False),
        order=raw.get("insertorder", DEFAULTS["order"]),
        addMemo=True,
        probability=100 if percent is None else percent,
        useProbability=True if percent is None else percent,  # the number itself, as there
    )


def _plain(index: int, **fields: object) -> Entry:
    """An entry of a format that knows little more than keys and text."""
    basis = {"uid": index, "displayIndex": index, "selective": False, "delayUntilRecursion": False, "role": 0}
    return with_entry_defaults({**basis, **fields})


def _or(value: object, default: object) -> object:
    return value or default


def _says_something(name: object) -> bool:
    return isinstance(name, str) and bool(name.strip())


def _comma_list(value: object, *, keep_empty: bool = False) -> list[object]:
    if isinstance(value, list):
        return value
    if not isinstance(value, str) or not (value or keep_empty):
        return []
    return [word.strip() for word in value.split(",")]


NATIVE = LorebookFormat("native", "content", native_entry, frozenset())
CHARACTER_BOOK = LorebookFormat(
    "character_book",
    "content",
    character_book_entry,
    frozenset(
        [
            "id",
            "keys",
            "secondary_keys",
            "comment",
            "content",
            "constant",
            "selective",
            "insertion_order",
            "enabled",
            "position",
            "extensions",
        ]
    ),
)
NOVELAI = LorebookFormat("novelai", "text", novelai_entry, frozenset({"keys", "displayName", "text", "enabled"}))
AGNAI = LorebookFormat("agnai", "entry", agnai_entry, frozenset({"keywords", "name", "entry", "weight", "enabled"}))
RISU = LorebookFormat(
    "risu",
    "content",
    risu_entry,
    frozenset(
        ["key", "secondkey", "comment", "content", "alwaysActive", "selective", "insertorder", "activationPercent"]
    ),
)


def to_world_info(format: LorebookFormat, raw: Entry, index: int) -> Entry:
    """*raw* as a world-info file holds it, with what has no field there under `extensions`.

    An entry that does not say whether it is enabled counts as enabled. A native entry stays exactly as it is.
    """
    if format is NATIVE:
        return raw
    told = raw if "enabled" not in format.used or "enabled" in raw else {**raw, "enabled": True}
    entry = format.convert(told, index)
    left = {name: value for name, value in raw.items() if name not in format.used}
    kept: Entry = {}
    if format is CHARACTER_BOOK:
        extensions = raw.get("extensions") or {}
        kept, left = (
            (_drop_place(extensions), left)
            if isinstance(extensions, dict)
            else ({}, {**left, "extensions": extensions})
        )
    if left:
        kept[format.name] = left
    if kept:
        entry["extensions"] = kept
    return entry


_BOOK_FIELDS = {
    "key": "keys",
    "keysecondary": "secondary_keys",
    "comment": "comment",
    "content": "content",
    "constant": "constant",
    "selective": "selective",
    "order": "insertion_order",
    "uid": "id",
}
"""World-info field → its name in a character book's entry."""


def with_world_info(raw: Entry, changes: Entry) -> Entry:
    """An entry of a character book with what became of it as a world-info entry."""
    made, found = dict(raw), raw.get("extensions")
    extensions: Entry = dict(found) if isinstance(found, dict) else {}
    for name, value in changes.items():
        if name in _BOOK_FIELDS:
            made[_BOOK_FIELDS[name]] = value
        elif name == "disable":
            made["enabled"] = not value
        elif name == "position":
            made["position"] = "before_char" if value == 0 else "after_char"
            extensions["position"] = value
        elif name in _BOOK_EXTENSIONS:
            extensions[_BOOK_EXTENSIONS[name]] = value
        elif name == "displayIndex":
            extensions["display_index"] = value
    return {**made, "extensions": extensions} if extensions or "extensions" in raw else made


def _drop_place(extensions: Entry) -> Entry:
    placed = {*_BOOK_EXTENSIONS.values(), "position", "display_index"}
    return {name: value for name, value in extensions.items() if name not in placed}
