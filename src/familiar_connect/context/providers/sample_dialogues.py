"""SampleDialoguesProvider: the character's sample dialogues as pairs of turns, from `self/mes_example.md`.

A user's side that holds nothing but `-` only lets the familiar begin. They are marked as samples, and no living
person's name stands in them: nobody here said it, and they stay the same whoever speaks.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.config.types import HEAVY_HUMANIZER
from familiar_connect.context.providers.casual_text import to_casual_text
from familiar_connect.context.providers.mes_example import sample_items
from familiar_connect.context.providers.scene.text import ANYONE, persona_of, readable
from familiar_connect.context.types import (
    FILES_DEADLINE_S,
    ContextItem,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Priority,
)
from familiar_connect.llm.types import TextPart
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.support.aio import off_loop
from familiar_connect.support.system_notes import wrap_note
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

FILE = "self/mes_example.md"
SAMPLES = "Samples of how you talk follow; nobody here said them."
NEW_SCENE = "These were samples of how you talk. A new scene starts here."
_SENTINELS = ("-", "—", "(none)", "<none>")


class SampleDialoguesProvider:
    """At most one contribution, of user and assistant items."""

    id = "sample_dialogues"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        if request.turn is not None and request.turn.imitated is not None:
            return []
        turns = sample_items(await off_loop(self._read), self.id, char=persona_of(request))
        if not any(item.role == "assistant" for item in turns):
            return []
        items = tuple(_shown(request, turns))
        text = "\n".join(item.text for item in items)
        return [
            Contribution(
                Layer.examples,
                int(Priority.SAMPLE),
                text,
                sum(estimate_tokens(item.text) for item in items),
                self.id,
                tag=ItemTag.SAMPLE,
                items=items,
                authored=True,
            )
        ]

    def _read(self) -> str:
        try:
            return self._store.read_if_present(FILE) or ""
        except MemoryStoreError as error:
            logger.warning("sample dialogues skipped", extra={"reason": type(error).__name__})
            return ""


def _shown(request: ContextRequest, turns: Sequence[ContextItem]) -> list[ContextItem]:
    user, persona = ANYONE, persona_of(request)
    own_names = request.turn is not None and request.turn.showing.own_names
    items: list[ContextItem] = []
    unpaired, role = False, "assistant"
    for item in turns:
        words = readable(request, item.words or item.text, user=user)
        words = to_casual_text(words) if request.settings.humanizer == HEAVY_HUMANIZER else words
        if item.role == "user" and words.strip() in _SENTINELS:
            unpaired, role = True, "user"
            continue
        unpaired |= item.role == role
        role = item.role
        if item.role == "user":
            shown = f"{user}: {words}"
        else:
            shown = f"{persona}: {words}" if own_names and not _is_named(words, persona) else words
        items.append(replace(item, parts=(TextPart(shown),), words=words))
    unpaired |= role == "user"
    return _marked(items, unpaired=unpaired)


def _marked(items: list[ContextItem], *, unpaired: bool) -> list[ContextItem]:
    """*items* between a note that says what they are and one that says that they are over.

    A model so small that notes confuse it is shown pairs without them (`words`).
    """
    first = items[0]
    if first.role == "user":
        items = [replace(first, parts=(TextPart(f"{wrap_note(SAMPLES)}\n{first.text}"),)), *items[1:]]
    else:
        items = [_note(SAMPLES, words=""), *items]
    return [*items, _note(NEW_SCENE, words=None if unpaired else "")]


def _note(text: str, *, words: str | None) -> ContextItem:
    note = ContextItem.of("user", wrap_note(text), tag=ItemTag.SAMPLE, source="sample_dialogues")
    return replace(note, words=words)


def _is_named(words: str, persona: str) -> bool:
    """Whether *words* begin with the familiar's label, with or without a sprite."""
    label = rf"\s*(?:{re.escape(persona)}|\{{char\}}|\{{bot\}})\s*(?:\([^()\n]{{0,40}}\)\s*)?[:\uff1a]"
    return re.match(label, words, re.IGNORECASE) is not None
