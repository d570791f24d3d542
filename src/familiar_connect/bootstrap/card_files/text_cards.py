"""Cards written as plain text: YAML as text-generation-webui keeps them, labelled lines, and W++."""

from __future__ import annotations

import math
import re
from typing import Any

from familiar_connect.bootstrap.card_files.decode_json import json_without_surrogates

LABELS: dict[str, str] = {
    "name": "name",
    "character name": "name",
    "char name": "name",
    "description": "description",
    "persona": "description",
    "character": "description",
    "personality": "personality",
    "personality summary": "personality",
    "scenario": "scenario",
    "first message": "first_mes",
    "first_mes": "first_mes",
    "greeting": "first_mes",
    "example messages": "mes_example",
    "example dialogue": "mes_example",
    "example dialogues": "mes_example",
    "examples of dialogue": "mes_example",
    "mes_example": "mes_example",
    "system prompt": "system_prompt",
    "post history instructions": "post_history_instructions",
    "creator notes": "creator_notes",
    "creator's notes": "creator_notes",
}
"""What people write before a part of a character → the field it is."""

_LABEL = re.compile(
    r"^[ \t]*(?:#+[ \t]*|\*\*)?(?P<label>" + "|".join(sorted(map(re.escape, LABELS), key=len, reverse=True)) + r")"
    r"(?:\*\*)?[ \t]*[:=](?:\*\*)?[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_W_PLUS_PLUS = re.compile(r"""\[?[ \t]*character\s*[(:]\s*["'“]?(?P<name>[^"'”\n(){}\[\]]{1,100})""", re.IGNORECASE)
_MERGE = "tag:yaml.org,2002:merge"
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


def read_yaml(text: str) -> dict[str, Any] | None:
    """The mapping *text* is as YAML, or None when it is no mapping, no YAML, or YAML that no card needs."""
    import yaml

    try:
        if not _is_tame(text):
            return None
        found = yaml.load(text, Loader=_card_loader())
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, OverflowError, LookupError, RecursionError):
        return None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        return None
    plain: dict[str, Any] = _plain(found)
    return plain


def read_labelled(text: str) -> dict[str, Any] | None:
    """The fields of a text in which each part stands behind its label, or of one in W++; None for other text."""
    marks = list(_LABEL.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    found: dict[str, Any] = {}
    for mark, end in zip(marks, ends, strict=False):
        words = text[mark.end() : end].strip()
        field = LABELS[mark["label"].lower()]
        if words:
            found[field] = f"{found[field]}\n{words}" if field in found else words
    if len(found) >= 2 or "name" in found:
        return found
    named = _W_PLUS_PLUS.match(text)
    if named is None:
        return None
    return {"name": named["name"].strip(), "description": text}


_OTHER = object()
"""Stands for a YAML value that is left out."""
_DEEPEST = 20
_SLOW_READER_CHARS = 64 * 1024
"""All that is read where PyYAML has only its Python half."""


def _is_tame(text: str) -> bool:
    """Whether *text* is flat enough to be built, which recurses, and repeats nothing by alias."""
    import yaml

    if not yaml.__with_libyaml__ and len(text) > _SLOW_READER_CHARS:
        return False
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST or isinstance(event, yaml.AliasEvent):
            return False
    return True


def _plain(value: Any) -> Any:
    """*value* as JSON would hold it."""
    if isinstance(value, str):
        return json_without_surrogates(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [plain for each in value if (plain := _plain(each)) is not _OTHER]
    if isinstance(value, dict):
        return {
            json_without_surrogates(str(key)): plain
            for key, each in value.items()
            if (plain := _plain(each)) is not _OTHER
        }
    return _OTHER


def _card_loader() -> Any:
    """The safe loader without what no card needs and a hostile one misuses: merging, and dates that are none."""
    import yaml

    safe = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

    class CardLoader(safe):  # type: ignore[misc, valid-type]
        yaml_implicit_resolvers = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_MERGE, _TIMESTAMP)]
            for first, resolvers in safe.yaml_implicit_resolvers.items()
        }

        def flatten_mapping(self, node: Any) -> None:
            """Let `<<` be a key like any other."""

    return CardLoader
