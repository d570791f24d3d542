"""SillyTavern's own view of a card: what its import makes of one, and which version its validator sees."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from familiar_connect.errors import CharacterCardError

V1_FIELDS = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
V2_FIELDS = (
    *V1_FIELDS,
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
    "alternate_greetings",
    "tags",
    "creator",
    "character_version",
    "extensions",
)
DEFAULT_TALKATIVENESS = 0.5
NOTES_PLACEHOLDER = "Creator's notes go here."

_FORBIDDEN = re.compile(r'[/?<>\\:*|"\x00-\x1f\x80-\x9f]')
_RESERVED = re.compile(r"\.+|(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_MOST_NAME_BYTES = 255


def card_version(payload: Mapping[str, object]) -> int | bool:
    """1, 2 or 3, the first whose rules *payload* meets; False when it meets none."""
    if all(field in payload for field in V1_FIELDS):
        return 1
    data = payload.get("data")
    if payload.get("spec") == "chara_card_v2" and payload.get("spec_version") == "2.0" and _is_v2(data):
        return 2
    if payload.get("spec") == "chara_card_v3" and _is_three(payload.get("spec_version")):
        return 3 if isinstance(data, dict | list) else False
    return False


def import_like_sillytavern(payload: Mapping[str, Any], *, kind: str = "json") -> dict[str, Any]:
    """*payload* as SillyTavern stores it after an import; `CharacterCardError` where it refuses one without a name.

    Times and file names, which change with every import, are left out.
    """
    card = copy.deepcopy(dict(payload))
    if kind in ("yaml", "text"):
        return _from_v1(
            {"name": card.get("name"), "description": card.get("context"), "first_mes": card.get("greeting")}
        )
    if "spec" in card:
        return _from_envelope(card)
    if kind == "charx":
        raise CharacterCardError("SillyTavern takes no CHARX without spec")
    if "name" in card:
        return _from_v1(card)
    if "char_name" in card and kind != "png":
        return _from_v1(
            {
                **{
                    key: card[key]
                    for key in ("creatorcomment", "creator_notes", "talkativeness", "creator", "tags")
                    if key in card
                },
                "name": card["char_name"],
                "description": card.get("char_persona"),
                "first_mes": card.get("char_greeting"),
                "mes_example": card.get("example_dialogue"),
                "scenario": card.get("world_scenario"),
            }
        )
    raise _nameless()


def sillytavern_file_name(name: object) -> str:
    """*name* without what a file name may not hold."""
    if not isinstance(name, str):
        raise _nameless()
    safe = _FORBIDDEN.sub("", name)
    safe = "" if _RESERVED.fullmatch(safe) else safe.rstrip(". ")
    return safe.encode("utf-8", "replace")[:_MOST_NAME_BYTES].decode("utf-8", "ignore")


def _from_envelope(card: dict[str, object]) -> dict[str, object]:
    """A card with `spec`: fields of `data` copied up, private ones reset, the rest as it is."""
    data = card.setdefault("data", {})
    if not isinstance(data, dict):
        data = card["data"] = {}
    name = sillytavern_file_name(data.get("name") or card.get("name"))
    if not name:
        raise _nameless()
    if "name" in data:
        data["name"] = name
    card["name"] = name
    extensions = data.get("extensions")
    if not isinstance(extensions, dict):
        extensions = data["extensions"] = {}
    extensions["fav"] = False
    for field in (*V1_FIELDS, "tags"):
        if field in data:
            card[field] = data[field]
    card["fav"] = False
    card.pop("talkativeness", None)
    if "talkativeness" in extensions:
        card["talkativeness"] = extensions["talkativeness"]
    for volatile in ("chat", "create_date", "avatar", "json_data"):
        card.pop(volatile, None)
    card["spec"], card["spec_version"] = "chara_card_v3", "3.0"
    return card


def _from_v1(card: Mapping[str, object]) -> dict[str, object]:
    """A card without `spec`: a new object of the fields V1 knows, and nothing else."""
    name = sillytavern_file_name(card.get("name"))
    if not name:
        raise _nameless()
    notes = card.get("creatorcomment")
    if notes is None:
        notes = card.get("creator_notes") or ""
        notes = notes.replace(NOTES_PLACEHOLDER, "", 1) if isinstance(notes, str) else notes
    texts = {field: card.get(field) or "" for field in V1_FIELDS[1:]}
    tags = card.get("tags") or []
    if isinstance(tags, str):
        tags = [tag.strip() for tag in tags.split(",") if tag.strip()]
    talkativeness = card.get("talkativeness") or DEFAULT_TALKATIVENESS
    creator = card.get("creator")
    return {
        "name": name,
        **texts,
        "creatorcomment": notes or "",
        "talkativeness": talkativeness,
        "creator": "" if creator is None else creator,
        "tags": tags,
        "fav": False,
        "spec": "chara_card_v3",
        "spec_version": "3.0",
        "data": {
            "name": name,
            **texts,
            "creator_notes": notes or "",
            "system_prompt": "",
            "post_history_instructions": "",
            "tags": tags,
            "creator": creator or "",
            "character_version": "",
            "alternate_greetings": [],
            "extensions": {
                "talkativeness": talkativeness,
                "fav": False,
                "world": "",
                "depth_prompt": {"prompt": "", "depth": 4, "role": "system"},
            },
        },
    }


def _is_v2(data: object) -> bool:
    if not isinstance(data, dict) or not all(field in data for field in V2_FIELDS):
        return False
    if not isinstance(data["alternate_greetings"], list) or not isinstance(data["tags"], list):
        return False
    book = data.get("character_book")
    return _is_object(data["extensions"]) and (not _is_set(book) or _is_book(book))


def _is_book(book: object) -> bool:
    if not isinstance(book, dict) or "extensions" not in book:
        return False
    return isinstance(book.get("entries"), list) and _is_object(book["extensions"])


def _is_object(value: object) -> bool:
    """Whether JavaScript would call *value* an object: null and lists are."""
    return value is None or isinstance(value, dict | list)


def _is_set(value: object) -> bool:
    """Whether JavaScript takes *value* for true: empty objects are."""
    return isinstance(value, dict | list) or bool(value)


def _is_three(version: object) -> bool:
    if isinstance(version, bool) or not isinstance(version, str | int | float):
        return False
    try:
        return 3.0 <= float(version) < 4.0
    except ValueError:
        return False


def _nameless() -> CharacterCardError:
    return CharacterCardError("the card has no name")
