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
_INTEGER, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
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


def read_labelled(text: str) -> dict[str, object] | None:
    """The fields of a text in which each part stands behind its label, or of one in W++; None for other text."""
    marks = list(_LABEL.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    parts: dict[str, list[str]] = {}
    for mark, end in zip(marks, ends, strict=False):
        words = text[mark.end() : end].strip()
        if words:
            parts.setdefault(LABELS[mark["label"].lower()], []).append(words)
    found: dict[str, object] = {field: "\n".join(words) for field, words in parts.items()}
    if len(found) >= 2 or "name" in found:
        return found
    named = _W_PLUS_PLUS.match(text)
    if named is None:
        return None
    return {"name": named["name"].strip(), "description": text}


_OTHER = object()
"""Stands for a YAML value that is left out."""
_DEEPEST = 20
_MOST_EVENTS = 20_000
"""Values, beginnings and ends; a card in YAML has about a hundred."""
_LONGEST_NUMBER = 40
_TAG_DIRECTIVE = re.compile("^%TAG", re.MULTILINE)
"""The parser compares each of these with all before it."""
_SLOW_READER_CHARS = 64 * 1024
"""All that is read where PyYAML has only its Python half."""


def _is_tame(text: str) -> bool:
    """Whether *text* is safe to construct: shallow and short enough for recursion, and without aliases."""
    import yaml

    if (not yaml.__with_libyaml__ and len(text) > _SLOW_READER_CHARS) or _TAG_DIRECTIVE.search(text):
        return False
    depth = 0
    events = yaml.parse(text, Loader=yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)
    for number, event in enumerate(events):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if number > _MOST_EVENTS or depth > _DEEPEST or isinstance(event, yaml.AliasEvent):
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
    """The safe loader without what no card needs and a hostile one misuses: merging, dates, numbers of any length."""
    import yaml

    safe = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

    class CardLoader(safe):  # type: ignore[misc, valid-type]
        yaml_implicit_resolvers = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_MERGE, _TIMESTAMP)]
            for first, resolvers in safe.yaml_implicit_resolvers.items()
        }

        def flatten_mapping(self, node: object) -> None:
            """Let `<<` be a key like any other."""

        def construct_number(self, node: Any) -> Any:
            """A number; what is too long for one, or counted in sixties (`12:30`), stays the text it is."""
            text = self.construct_scalar(node)
            if len(text) > _LONGEST_NUMBER or ":" in text:
                return text
            return self.construct_yaml_int(node) if node.tag == _INTEGER else self.construct_yaml_float(node)

    CardLoader.add_constructor(_INTEGER, CardLoader.construct_number)
    CardLoader.add_constructor(_FLOAT, CardLoader.construct_number)
    return CardLoader
