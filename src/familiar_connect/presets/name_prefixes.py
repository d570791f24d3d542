"""How speech is written in a prompt laid out by a preset: names before words, beside them or nowhere; quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.llm.types import TextPart
from familiar_connect.presets.types import PresetSettings

NAMES_NONE, NAMES_DEFAULT, NAMES_API, NAMES_CONTENT = -1, 0, 1, 2
"""No names · before words only in company · in the message's own name field · before all words."""
MAX_NAME = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_SPOKEN = (ItemTag.DIALOGUE, ItemTag.SAMPLE)


def names_behavior(settings: PresetSettings) -> int:
    """What the preset says of names; where it is silent, names stand before all words."""
    said = settings.names_behavior
    return said if said in (NAMES_NONE, NAMES_DEFAULT, NAMES_API, NAMES_CONTENT) else NAMES_CONTENT


def with_speaker_names(items: Sequence[ContextItem], settings: PresetSettings, *, char: str) -> list[ContextItem]:
    """*items* with turns and samples as the preset wants speech written."""
    behavior = names_behavior(settings)
    speakers = {item.sender.name for item in items if item.tag is ItemTag.DIALOGUE and item.sender is not None}
    in_front = behavior == NAMES_CONTENT or (behavior == NAMES_DEFAULT and len(speakers) > 1)
    done = []
    for item in items:
        if item.tag not in _SPOKEN or item.role == "system":
            done.append(item)
        elif item.role == "assistant":
            done.append(_own(item, behavior, char))
        else:
            quotes = settings.wrap_in_quotes and item.tag is ItemTag.DIALOGUE
            done.append(_others(item, behavior, in_front=in_front, quotes=quotes))
    return done


def with_char_prefix(text: str, char: str) -> str:
    """*text* with the familiar's name before it, once."""
    return text if text.lstrip().startswith((f"{char}:", f"{char}：")) else f"{char}: {text}"


def _own(item: ContextItem, behavior: int, char: str) -> ContextItem:
    if behavior == NAMES_API:
        return replace(item, name=_NOT_IN_NAMES.sub("_", char)[:MAX_NAME] or None)
    if behavior != NAMES_CONTENT:
        return item
    parts = list(item.parts)
    at = next((i for i, part in enumerate(parts) if isinstance(part, TextPart)), None)
    first = parts[at] if at is not None else None
    if at is None or not isinstance(first, TextPart):
        return item
    parts[at] = TextPart(with_char_prefix(first.text, char))
    return replace(item, parts=tuple(parts))


def _others(item: ContextItem, behavior: int, *, in_front: bool, quotes: bool) -> ContextItem:
    name = item.name if behavior in (NAMES_API, NAMES_CONTENT) else None
    words = item.words
    if words is None or not item.text.endswith(words) or len(item.parts) != 1:
        return item if name == item.name else replace(item, name=name)
    before = item.text[: len(item.text) - len(words)]
    if not in_front:
        before = before[: len(before) - len(label)] if before.endswith(label := _label(item, before)) else before
    said = f'"{words}"' if quotes and words.strip() else words
    if before + said == item.text and name == item.name:
        return item
    return replace(item, parts=(TextPart(before + said),), words=said, name=name)


def _label(item: ContextItem, before: str) -> str:
    """The speaker's name as it stands right before the words."""
    if item.sender is not None:
        return f"{item.sender.name}: "
    return before if item.tag is ItemTag.SAMPLE else ""
