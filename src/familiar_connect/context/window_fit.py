"""fit_to_window: a prompt trimmed to one model's window, oldest exchange first.

Only real turns go, never the newest thing a user said, never a note, a sample or a directive. When
nothing more can go and the newest message alone is too long for the window, its middle is left
out, because a model that is sent more than it can hold answers with an error. A prompt the model
has counted itself is kept from being far larger than suits that model, too.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from familiar_connect.context.budget import log_cut
from familiar_connect.context.messages import is_dialogue
from familiar_connect.context.types import ContextItem, DroppedNote, ItemTag, Layer, Prompt
from familiar_connect.errors import ModelError
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.types import Capabilities, TextPart, model_name_of
from familiar_connect.support.text import shorten_middle
from familiar_connect.support.tokens import MESSAGE_OVERHEAD, estimate_tokens

logger = logging.getLogger(__name__)

Count = Callable[[str], Awaitable[int]]

COUNT_ROUNDS = 3
"""A message is not equally dense throughout: what is left of a shortened one is counted again, so often at most."""

SAFETY = 0.9
DEFAULT_RESERVED_OUTPUT = 4096
LEAST_SHOWN_CHARS = 400
GAP_CHARS = 64
"""Room for the words that stand where the middle was."""
FAR_OVER = 1.5
"""A counted prompt this many times the budget that suits its model would be answered too late to be of use."""


def safe_budget(capabilities: Capabilities) -> int | None:
    """Tokens a prompt may have on this model; None when its window is unknown."""
    if capabilities.window is None:
        return None
    reserved = capabilities.max_output or min(DEFAULT_RESERVED_OUTPUT, capabilities.window // 4)
    return math.floor((capabilities.window - min(reserved, capabilities.window)) * SAFETY)


def prompt_tokens(items: Sequence[ContextItem], model: str | None = None) -> int:
    return sum(estimate_tokens(item.text, model) for item in items)


def budget_when_counted(capabilities: Capabilities) -> int | None:
    """The same for a prompt the model has counted: within its window, and not far over what suits it."""
    budget, suits = safe_budget(capabilities), capabilities.budget_tokens
    return budget if budget is None or suits is None else min(budget, math.floor(suits * FAR_OVER))


async def fit_to_window(base: Prompt, model: ChatModel, capabilities: Capabilities) -> Prompt:
    """*base* within the window of *model*, by its own count where it can count."""
    count: Count | None = getattr(model, "tokenize_count", None)
    if count is None:
        return fit_to_model(base, capabilities, model=model_name_of(model))
    prompt = base
    try:
        for _ in range(COUNT_ROUNDS):
            counted = await _count_items(prompt, count, budget_when_counted(capabilities))
            fitted = prompt if counted is None else fit_to_model(prompt, capabilities, counted=counted)
            if fitted is prompt:
                break
            prompt = fitted
    except ModelError as error:  # the call itself will tell, or be tried again
        logger.debug("counting the prompt failed", extra={"error": type(error).__name__})
        return fit_to_model(base, capabilities, model=model_name_of(model))
    return prompt


async def _count_items(prompt: Prompt, count: Count, room: int | None) -> list[int] | None:
    """Tokens of each item as the model counts them; None when together they are surely within *room*.

    No text has more tokens than bytes, so a short prompt need not be counted at all.
    """
    texts = [item.text for item in prompt.items]
    around = MESSAGE_OVERHEAD * len(texts)
    if room is None or sum(len(text.encode("utf-8", "replace")) for text in texts) + around <= room:
        return None
    if await count("\n".join(texts)) + around <= room:
        return None
    return [await count(text) + MESSAGE_OVERHEAD for text in texts]


def fit_to_model(
    prompt: Prompt,
    capabilities: Capabilities,
    *,
    model: str | None = None,
    scale: float = 1.0,
    counted: Sequence[int] | None = None,
) -> Prompt:
    """*prompt* within the model's window.

    *scale* corrects the estimate of every item; *counted* is what the model itself counted for each.
    """
    window = safe_budget(capabilities)
    budget = window if counted is None else budget_when_counted(capabilities)
    if window is None or budget is None:
        return prompt
    items = list(prompt.items)
    estimates = (estimate_tokens(item.text, model) * scale for item in items)
    sizes: list[float] = [*(estimates if counted is None else counted)]
    notes: list[DroppedNote] = []
    while math.ceil(sum(sizes)) > budget and (oldest := _oldest_exchange(items)):
        gone = [items[index] for index in sorted(oldest)]
        notes.append(_note_gone(gone, model))
        left = [index for index in range(len(items)) if index not in oldest]
        items, sizes = [items[index] for index in left], [sizes[index] for index in left]
    excess = math.ceil(sum(sizes)) - budget
    if excess > 0:
        items, note = _shorten_newest(items, sizes, excess)
        notes += [note] if note else []
        if note is None and excess + budget > window:
            logger.warning("prompt is larger than the model's window", extra={"tokens_over": excess + budget - window})
    for note in notes:
        log_cut(note)
    return replace(prompt, items=tuple(items), dropped=prompt.dropped + tuple(notes)) if notes else prompt


def drop_oldest(prompt: Prompt, exchanges: int) -> Prompt:
    """*prompt* without its oldest *exchanges*, however large it is: room for a model that found none to answer in."""
    items = list(prompt.items)
    notes: list[DroppedNote] = []
    for _ in range(exchanges):
        oldest = _oldest_exchange(items)
        if not oldest:
            break
        gone = [items[index] for index in sorted(oldest)]
        notes.append(_note_gone(gone))
        items = [item for index, item in enumerate(items) if index not in oldest]
    for note in notes:
        log_cut(note)
    return replace(prompt, items=tuple(items), dropped=prompt.dropped + tuple(notes)) if notes else prompt


def _note_gone(gone: Sequence[ContextItem], model: str | None = None) -> DroppedNote:
    text = "\n".join(item.text for item in gone)
    source = gone[0].source or "history:recent"
    return DroppedNote(Layer.recent_history, source, "dropped", _size(gone, model), "window", text)


def _size(items: Sequence[ContextItem], model: str | None) -> int:
    return prompt_tokens(items, model) + MESSAGE_OVERHEAD * len(items)


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
    spacers: set[int] = set()
    for index in gone:
        while index > 0 and items[index - 1].tag is ItemTag.DATE_SPACER:
            index -= 1
            spacers.add(index)
    return gone | spacers


def _shorten_newest(
    items: list[ContextItem], sizes: Sequence[float], excess: int
) -> tuple[list[ContextItem], DroppedNote | None]:
    newest = max((i for i, item in enumerate(items) if is_dialogue(item) and item.role == "user"), default=None)
    if newest is None:
        return items, None
    text = items[newest].text
    chars_per_token = len(text) / max(1, sizes[newest])
    limit = max(LEAST_SHOWN_CHARS, len(text) - math.ceil(excess * chars_per_token) - GAP_CHARS)
    if limit + GAP_CHARS >= len(text):
        return items, None
    shown = shorten_middle(text, limit)
    media = (part for part in items[newest].parts if not isinstance(part, TextPart))
    shortened = replace(items[newest], parts=(*media, TextPart(shown)))
    lost = estimate_tokens(text) - estimate_tokens(shown)
    note = DroppedNote(Layer.recent_history, items[newest].source or "pending", "truncated", lost, "window")
    return [*items[:newest], shortened, *items[newest + 1 :]], note
