"""Fields of a card payload: the nine fields of a character, and everything else as extras, unchanged.

What a payload is, its content says: `data` where it holds a character, else the object itself, in the words of
V1, Pygmalion, text-generation-webui or Agnai. The label `spec` alone decides nothing.

A card as a V3 object, the way SillyTavern writes one: `data`, and its V1 mirror beside it.
"""

from __future__ import annotations

from collections.abc import Mapping

from familiar_connect.bootstrap.card_files.decode_json import parse_json
from familiar_connect.errors import CharacterCardError

TEXT_FIELDS = (
    "name",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "system_prompt",
    "post_history_instructions",
    "creator_notes",
)
"""The fields with a file of their own, in card order."""

FIELD_ALIASES: dict[str, tuple[str, ...]] = {
    "name": ("char_name",),
    "description": ("char_persona", "context", "persona"),
    "scenario": ("world_scenario",),
    "first_mes": ("char_greeting", "greeting"),
    "mes_example": ("example_dialogue", "sampleChat"),
    "creator_notes": ("creatorcomment",),
    "system_prompt": ("systemPrompt",),
    "post_history_instructions": ("postHistoryInstructions",),
}
"""Field → what other programs call it."""

EXTRA_FIELDS = (
    "alternate_greetings",
    "character_book",
    "tags",
    "creator",
    "character_version",
    "extensions",
    "assets",
    "nickname",
    "creator_notes_multilingual",
    "source",
    "group_only_greetings",
    "creation_date",
    "modification_date",
)
"""What V2 and V3 know besides the nine, inside `data`."""

DEFAULTS: dict[str, object] = {
    "tags": [],
    "creator": "",
    "character_version": "",
    "alternate_greetings": [],
    "extensions": {},
    "group_only_greetings": [],
    "character_book": None,
}
"""Fields that mean nothing at these values."""

OUTSIDE = "outside_data"
"""Where extras keep what stood beside `data`, or what only the file's own program understands."""

_ENVELOPE = ("spec", "spec_version", "data")
_IN_EXTENSIONS = ("talkativeness", "fav")


def has_text_field(payload: Mapping[str, object]) -> bool:
    """Whether any object of *payload* holds a field of a character."""
    top, inner = _objects(payload)
    if inner is None and "entries" in top and "description" not in top:
        return False  # a lorebook has a name too
    return inner is not None or _has_field(top)


def read_fields(payload: Mapping[str, object]) -> tuple[dict[str, str], dict[str, object]]:
    """The nine fields, each a text, and the extras."""
    top, inner = _objects(payload)
    beside = {key: value for key, value in top.items() if inner is None or key not in _ENVELOPE}
    texts, read = _texts({**beside, **(inner or {})})
    kept = {key: value for key, value in (inner or {}).items() if key not in read}
    for key in EXTRA_FIELDS:
        if key in beside:
            kept.setdefault(key, beside[key])
    extensions = kept.get("extensions")
    mirrored = {*read, *EXTRA_FIELDS, "spec", "spec_version"}
    if isinstance(extensions, dict):
        mirrored |= {key for key in _IN_EXTENSIONS if key in extensions}
    outside = {key: value for key, value in beside.items() if key not in mirrored}
    extras = {key: value for key, value in kept.items() if not (key in DEFAULTS and value == DEFAULTS[key])}
    return texts, {**extras, OUTSIDE: outside} if outside else extras


def _objects(payload: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object] | None]:
    """The outer object, and the inner one if that holds a character; stray blanks around names are taken off."""
    top = {key.strip(): value for key, value in payload.items()}
    inner = top.get("data")
    if isinstance(inner, str):
        try:
            inner = parse_json(inner)
        except CharacterCardError:
            inner = None
    if not isinstance(inner, dict):
        return top, None
    inner = {key.strip(): value for key, value in inner.items()}
    return top, inner if _has_field(inner) else None


def _has_field(values: Mapping[str, object]) -> bool:
    return any(isinstance(values.get(word), str) for word in _words())


def _words() -> set[str]:
    return {*TEXT_FIELDS, *(word for words in FIELD_ALIASES.values() for word in words)}


def _texts(values: Mapping[str, object]) -> tuple[dict[str, str], set[str]]:
    """Each of the nine as text, under its own name or else another program's; and the names that need no keeping."""
    found = {}
    read = {*TEXT_FIELDS, "creatorcomment"}
    for field in TEXT_FIELDS:
        words = (field, *FIELD_ALIASES.get(field, ()))
        word = next((word for word in words if _text(values.get(word))), field)
        found[field] = _text(values.get(word)) or ""
        read.add(word)
    return found, read


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return "\n".join(text for each in value if (text := _text(each)))
    if isinstance(value, dict):  # Agnai: {"kind": "text", "attributes": {"text": ["…"]}}
        return _text(value["attributes"].get("text")) if isinstance(value.get("attributes"), dict) else None
    return None


SPEC, SPEC_VERSION = "chara_card_v3", "3.0"
_MIRRORED = ("name", "description", "personality", "scenario", "first_mes", "mes_example", "tags")


def v3_payload(texts: Mapping[str, str], extras: Mapping[str, object]) -> dict[str, object]:
    """The object that reads back as *texts*, the nine, and *extras*."""
    data: dict[str, object] = {field: texts[field] for field in TEXT_FIELDS}
    data |= {key: value for key, value in DEFAULTS.items() if value is not None}
    data |= {key: value for key, value in extras.items() if key != OUTSIDE}
    outside = extras.get(OUTSIDE)
    payload: dict[str, object] = {field: data[field] for field in _MIRRORED}
    payload["creatorcomment"] = data["creator_notes"]
    if isinstance(data["extensions"], dict):
        payload |= {key: data["extensions"][key] for key in ("talkativeness", "fav") if key in data["extensions"]}
    payload |= outside if isinstance(outside, dict) else {}
    return payload | {"spec": SPEC, "spec_version": SPEC_VERSION, "data": data}
