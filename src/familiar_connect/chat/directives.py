"""place_tail: the one function that orders the last words of a prompt.

Lower notes stand before the latest pair of turns; then, at the end, one combined tail, the
queued-reply note, the operator's own directive, and last the assistant's first words. Nothing may
land behind the strongest position by accident, so this closes assembly.
"""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.support.system_line import combine


def place_tail(prompt: Prompt) -> Prompt:
    """*prompt* with its directives placed; they stay on it for whoever wants to see them."""
    directives = prompt.directives
    items = list(prompt.items)
    if lower := combine(directives.lower):
        at = _before_latest_pair(items)
        items.insert(at, _tail_item(lower))
    for texts in (directives.tail, (directives.queued_reply or "",), (directives.uncensor or "",)):
        if text := combine(texts):
            items.append(_tail_item(text))
    if prefill := (directives.prefill or "").strip():
        items.append(ContextItem.of("assistant", prefill, tag=ItemTag.PREFILL, source="prefill"))
    return replace(prompt, items=tuple(items)) if len(items) != len(prompt.items) else prompt


def _before_latest_pair(items: list[ContextItem]) -> int:
    turns = [index for index, item in enumerate(items) if item.tag is ItemTag.DIALOGUE]
    if not turns:
        return len(items)
    return turns[-2] if len(turns) > 1 else turns[-1]


def _tail_item(text: str) -> ContextItem:
    return ContextItem.of("user", text, tag=ItemTag.TAIL, source="tail")
