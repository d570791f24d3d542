"""fit_to_model: a prompt trimmed to one model's window, oldest exchange first.

Only real turns go, never the newest thing a user said, never a note, a sample or a directive. When
nothing more can go and the newest message alone is too long for the window, its middle is left
out, because a model that is sent more than it can hold answers with an error.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.context.budget import MESSAGE_OVERHEAD, log_cut
from familiar_connect.context.messages import is_dialogue
from familiar_connect.context.types import ContextItem, DroppedNote, ItemTag, Layer, Prompt
from familiar_connect.llm.types import Capabilities, TextPart
from familiar_connect.support.text import shorten_middle
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

SAFETY = 0.9
DEFAULT_RESERVED_OUTPUT = 4096
LEAST_SHOWN_CHARS = 400


def safe_budget(capabilities: Capabilities) -> int | None:
    """Tokens a prompt may have on this model; None when its window is unknown."""
    if capabilities.window is None:
        return None
    reserved = capabilities.max_output or min(DEFAULT_RESERVED_OUTPUT, capabilities.window // 4)
    return math.floor((capabilities.window - min(reserved, capabilities.window)) * SAFETY)


def prompt_tokens(items: Sequence[ContextItem], model: str | None = None) -> int:
    return sum(estimate_tokens(item.text, model) for item in items)


def fit_to_model(prompt: Prompt, capabilities: Capabilities, *, model: str | None = None, scale: float = 1.0) -> Prompt:
    """*prompt* within the model's window. *scale* corrects the estimate where the model counted exactly."""
    budget = safe_budget(capabilities)
    if budget is None:
        return prompt
    items = list(prompt.items)
    notes: list[DroppedNote] = []
    tokens = prompt_tokens(items, model)
    while math.ceil(tokens * scale) > budget and (oldest := _oldest_exchange(items)):
        gone = [items[index] for index in sorted(oldest)]
        notes.append(
            DroppedNote(Layer.recent_history, gone[0].source or "history:recent", "dropped", _size(gone), "window")
        )
        items = [item for index, item in enumerate(items) if index not in oldest]
        tokens -= prompt_tokens(gone, model)
    excess = math.ceil(tokens * scale) - budget
    if excess > 0:
        items, note = _shorten_newest(items, math.ceil(excess / scale))
        notes += [note] if note else []
        if note is None:
            logger.warning("prompt is larger than the model's window", extra={"tokens_over": excess})
    for note in notes:
        log_cut(note)
    return replace(prompt, items=tuple(items), dropped=prompt.dropped + tuple(notes)) if notes else prompt


def _size(items: Sequence[ContextItem]) -> int:
    return prompt_tokens(items) + MESSAGE_OVERHEAD * len(items)


def _oldest_exchange(items: Sequence[ContextItem]) -> set[int]:
    """Positions of the oldest user turn that may go, its answer, and the date spacers before them."""
    turns = [index for index, item in enumerate(items) if is_dialogue(item)]
    newest = max((index for index in turns if items[index].role == "user"), default=-1)
    first = next((index for index in turns if items[index].role == "user" and index != newest), None)
    if first is None or first > newest:
        first = next((index for index in turns if index < newest), None)
        if first is None:
            return set()
        return _with_spacers(items, {first})
    answer = next((i for i in turns if first < i < newest and items[i].role == "assistant"), None)
    return _with_spacers(items, {first} if answer is None else {first, answer})


def _with_spacers(items: Sequence[ContextItem], gone: set[int]) -> set[int]:
    return gone | {i - 1 for i in gone if i > 0 and items[i - 1].tag is ItemTag.DATE_SPACER}


def _shorten_newest(items: list[ContextItem], excess: int) -> tuple[list[ContextItem], DroppedNote | None]:
    newest = max((i for i, item in enumerate(items) if is_dialogue(item) and item.role == "user"), default=None)
    if newest is None:
        return items, None
    text = items[newest].text
    limit = max(LEAST_SHOWN_CHARS, len(text) - excess * 4 - 64)
    if limit >= len(text):
        return items, None
    shown = shorten_middle(text, limit)
    shortened = replace(items[newest], parts=(TextPart(shown),))
    lost = estimate_tokens(text) - estimate_tokens(shown)
    note = DroppedNote(Layer.recent_history, items[newest].source or "pending", "truncated", lost, "window")
    return [*items[:newest], shortened, *items[newest + 1 :]], note
