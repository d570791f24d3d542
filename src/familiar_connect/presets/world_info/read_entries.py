"""Entries of a world-info file as values: `read_entry(fields, book=...)`. What is missing or odd takes its default."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from familiar_connect.llm.types import Role
from familiar_connect.presets.world_info.types import CharacterFilter, EntryPosition, SecondaryLogic, WorldEntry

CARD_FIELDS = {
    "matchPersonaDescription": "persona",
    "matchCharacterDescription": "description",
    "matchCharacterPersonality": "personality",
    "matchCharacterDepthPrompt": "depth_prompt",
    "matchScenario": "scenario",
    "matchCreatorNotes": "creator_notes",
}
KNOWN_DECORATORS = ("@@activate", "@@dont_activate")
_ROLES: tuple[Role, ...] = ("system", "user", "assistant")


def read_entry(fields: Mapping[str, Any], *, book: str = "") -> WorldEntry:
    """The entry that *fields*, as a world-info file names them, describe."""
    decorators, content = split_decorators(_text(fields.get("content")))
    uid = fields.get("uid")
    return WorldEntry(
        book=book,
        uid=uid if isinstance(uid, int | str) else 0,
        title=_text(fields.get("comment")).strip(),
        keys=_texts(fields.get("key")),
        secondary_keys=_texts(fields.get("keysecondary")),
        content=content,
        decorators=decorators,
        is_constant=bool(fields.get("constant")),
        is_selective=bool(fields.get("selective", True)),
        logic=_logic(fields.get("selectiveLogic")),
        order=_number(fields.get("order"), 100),
        position=_position(fields.get("position")),
        is_disabled=bool(fields.get("disable")),
        ignores_budget=bool(fields.get("ignoreBudget")),
        exclude_recursion=bool(fields.get("excludeRecursion")),
        prevent_recursion=bool(fields.get("preventRecursion")),
        recursion_level=_whole(fields.get("delayUntilRecursion"), 0),
        probability=_number(fields.get("probability"), 100),
        use_probability=bool(fields.get("useProbability", True)),
        depth=_whole(fields.get("depth"), 4),
        role=_role(fields.get("role")),
        outlet=_text(fields.get("outletName")),
        group=_text(fields.get("group")),
        group_override=bool(fields.get("groupOverride")),
        group_weight=_number(fields.get("groupWeight"), 100),
        scan_depth=None if fields.get("scanDepth") is None else _whole(fields["scanDepth"], 0),
        case_sensitive=_flag(fields.get("caseSensitive")),
        whole_words=_flag(fields.get("matchWholeWords")),
        group_scoring=_flag(fields.get("useGroupScoring")),
        sticky=_whole(fields.get("sticky"), 0),
        cooldown=_whole(fields.get("cooldown"), 0),
        delay=_whole(fields.get("delay"), 0),
        card_fields=tuple(ours for theirs, ours in CARD_FIELDS.items() if fields.get(theirs)),
        triggers=_texts(fields.get("triggers")),
        character_filter=_filter(fields.get("characterFilter")),
        fingerprint=fingerprint(fields),
    )


def split_decorators(content: str) -> tuple[tuple[str, ...], str]:
    """The decorators that SillyTavern knows at the head of *content*, and the text below all of them.

    `@@@name` counts only where the decorator before it is unknown.
    """
    if not content.startswith("@@"):
        return (), content
    found: list[str] = []
    was_unknown = False
    lines = content.split("\n")
    for at, line in enumerate(lines):
        if not line.startswith("@@"):
            return tuple(found), "\n".join(lines[at:])
        is_fallback = line.startswith("@@@")
        if is_fallback and not was_unknown:
            continue
        plain = line[1:] if is_fallback else line
        was_unknown = not plain.startswith(KNOWN_DECORATORS)
        if not was_unknown:
            found.append(plain)
    return tuple(found), content


def fingerprint(fields: Mapping[str, Any]) -> str:
    """A short text that changes whenever anything in *fields* does."""
    plain = json.dumps(fields, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.blake2b(plain.encode("ascii"), digest_size=8).hexdigest()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    return tuple(str(each) for each in value if isinstance(each, str | int | float)) if isinstance(value, list) else ()


def _number(value: object, default: float) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return default
    return value if isinstance(value, int | float) and math.isfinite(value) else default


def _whole(value: object, default: int) -> int:
    return int(_number(value, default))


def _flag(value: object) -> bool | None:
    return None if value is None else bool(value)


def _position(value: object) -> EntryPosition:
    number = _whole(value, 0)
    return EntryPosition(number) if 0 <= number <= max(EntryPosition) else EntryPosition.before_card


def _logic(value: object) -> SecondaryLogic:
    number = _whole(value, 0)
    return SecondaryLogic(number) if 0 <= number <= max(SecondaryLogic) else SecondaryLogic.and_any


def _role(value: object) -> Role:
    if value in _ROLES:
        return value
    number = _whole(value, 0)
    return _ROLES[number] if 0 <= number < len(_ROLES) else "system"


def _filter(value: object) -> CharacterFilter:
    if not isinstance(value, Mapping):
        return CharacterFilter()
    return CharacterFilter(
        names=_texts(value.get("names")), tags=_texts(value.get("tags")), is_exclude=bool(value.get("isExclude"))
    )
