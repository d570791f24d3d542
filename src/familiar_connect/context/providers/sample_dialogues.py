"""SampleDialoguesProvider: the character's sample dialogues as pairs of turns, from `self/mes_example.md`.

A user's side that holds nothing but `-` only lets the familiar begin. The speaker's name stands in them;
in company nobody's, so that they stay the same whoever speaks.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.context.providers.mes_example import sample_items
from familiar_connect.context.providers.scene.text import ANYONE, persona_of, readable
from familiar_connect.context.types import ContextItem, ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.llm.types import TextPart
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.support.aio import off_loop
from familiar_connect.support.system_notes import speaker_name, wrap_note
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

DEADLINE_S = 0.25
FILE = "self/mes_example.md"
NEW_SCENE = "These were samples of how you talk. A new scene starts here."
_BRACES = str.maketrans("{}", "()")
"""A name goes into text whose macros are read later: none may come in with it."""
_SENTINELS = ("-", "—", "(none)", "<none>")


class SampleDialoguesProvider:
    """At most one contribution, of user and assistant items."""

    id = "sample_dialogues"
    deadline_s = DEADLINE_S

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


def partner_of(request: ContextRequest) -> str:
    """Whom the samples name: the one who speaks with the familiar; in company nobody."""
    shown = request.turn.messages if request.turn is not None else ()
    people = {each.author_name for each in shown if each.author_type == "user" and each.author_kind != "system"}
    if not shown:
        people = {speaker_name(each.author.label) for each in request.turns_to_answer if each.author is not None}
    return people.pop().translate(_BRACES) if len(people) == 1 else ANYONE


def _shown(request: ContextRequest, turns: Sequence[ContextItem]) -> list[ContextItem]:
    user, persona = partner_of(request), persona_of(request)
    own_names = request.turn is not None and request.turn.showing.own_names
    items: list[ContextItem] = []
    unpaired, role = False, "assistant"
    for item in turns:
        words = readable(request, item.words or item.text, user=user)
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
    if unpaired:
        items.append(ContextItem.of("user", wrap_note(NEW_SCENE), tag=ItemTag.SAMPLE, source="sample_dialogues"))
    return items


def _is_named(words: str, persona: str) -> bool:
    """Whether *words* begin with the familiar's label, with or without a sprite."""
    label = rf"\s*(?:{re.escape(persona)}|\{{char\}}|\{{bot\}})\s*(?:\([^()\n]{{0,40}}\)\s*)?[:\uff1a]"
    return re.match(label, words, re.IGNORECASE) is not None
