"""The card and the greeting with their macros read, before any prompt is.

One `MacroReader` expands every text of a build, over one store of variables, so the order of its calls is the order in
which `setvar` and `getvar` see each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from familiar_connect.presets.macros.engine import expand
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.sillytavern.js_text import js_trim
from familiar_connect.presets.sillytavern.types import SillyTavernInputs
from familiar_connect.presets.types import CardFields, ChatLine


class MacroReader:
    """Macros of one build."""

    def __init__(self, context: MacroContext) -> None:
        self.context = context

    def read(self, text: str, *, original: str | None = None, last_said: str | None = None) -> str:
        """*text* with its macros resolved; *original* and *last_said* are macros of this text alone."""
        if not any(mark in text for mark in "{<\\"):
            return text
        context = self.context
        if context.read_card is not None:  # within one text a field of the card is read once
            context = replace(context, read_card=cache(context.read_card))
        if last_said is not None:
            context = replace(context, dynamic={**context.dynamic, "lastChatMessage": last_said})
        return expand(text, context, original=original).text


@dataclass(frozen=True)
class PreparedCard:
    """What is known once greeting and card are read."""

    reader: MacroReader
    card: CardFields
    chat: tuple[ChatLine, ...]
    persona: str = ""

    def with_outlets(self, outlets: Mapping[str, str]) -> PreparedCard:
        """The same with what `{{outlet::name}}` stands for."""
        if not outlets:
            return self
        return replace(self, reader=MacroReader(replace(self.reader.context, outlets=outlets)))

    def with_story_parts(self, parts: Mapping[str, str]) -> PreparedCard:
        """The same with what the parts of a story string stand for."""
        context = self.reader.context
        return replace(self, reader=MacroReader(replace(context, dynamic={**context.dynamic, **parts})))


def prepare_card(inputs: SillyTavernInputs) -> PreparedCard:
    """The card's fields one by one, then the greeting in its place.

    Macros of the card are empty in the card itself. Every other text reads its fields anew.
    """
    chat = _without_old_answer(inputs)
    shown = _shown_card(inputs)
    read = _card_reader(inputs, chat)
    order = ("system_prompt", "mes_example", "description", "personality")
    found: dict[str, Any] = {name: read(getattr(shown, name)) for name in order}
    persona = read(inputs.persona)
    for name in ("scenario", "post_history_instructions", "depth_prompt", "creator_notes", "first_mes"):
        found[name] = read(getattr(shown, name))
    found["alternate_greetings"] = tuple(map(read, shown.alternate_greetings))
    reader = MacroReader(_context(inputs, shown, chat, read))
    chat = tuple(replace(line, text=reader.read(line.text)) if line.is_first else line for line in chat)
    reader = MacroReader(replace(reader.context, chat=chat, read_card=_card_reader(inputs, chat)))
    return PreparedCard(reader, replace(shown, **found), chat, persona)


def _without_old_answer(inputs: SillyTavernInputs) -> tuple[ChatLine, ...]:
    """The chat as it is while an answer is made anew: without it, or with a version of it still to come."""
    chat = inputs.chat
    if not chat or chat[-1].is_user or inputs.kind not in ("regenerate", "swipe"):
        return chat
    if inputs.kind == "regenerate":
        return chat[:-1]
    swipes = chat[-1].swipes or (chat[-1].text,)
    return (*chat[:-1], replace(chat[-1], swipes=swipes, swipe_id=len(swipes)))


def read_sent(inputs: SillyTavernInputs, text: str) -> str:
    """*text* as it is kept once it is sent: macros are read then, once, over the chat before it."""
    read = _card_reader(inputs, inputs.chat)
    return MacroReader(_context(inputs, _shown_card(inputs), inputs.chat, read)).read(text)


def _shown_card(inputs: SillyTavernInputs) -> CardFields:
    """The card without the words that the owner lets the preset have."""
    card = inputs.card
    return replace(
        card,
        system_prompt=card.system_prompt if inputs.prefers_card_prompts else "",
        post_history_instructions=card.post_history_instructions if inputs.prefers_card_last_words else "",
    )


def _card_reader(inputs: SillyTavernInputs, chat: tuple[ChatLine, ...]) -> Callable[[str], str]:
    """Reads a field of the card, in which the card's macros are empty."""
    reader = MacroReader(replace(inputs.context, chat=chat, generation=inputs.kind, card=False, persona="", ours=False))
    return lambda text: reader.read(js_trim(text)).replace("\r", "")


def _context(
    inputs: SillyTavernInputs, card: CardFields, chat: tuple[ChatLine, ...], read: Callable[[str], str]
) -> MacroContext:
    context = inputs.context
    return replace(
        context,
        char=context.char or card.name,
        description=card.description,
        personality=card.personality,
        scenario=card.scenario,
        persona=inputs.persona,
        mes_example=card.mes_example,
        system_prompt=card.system_prompt,
        post_history_instructions=card.post_history_instructions,
        creator_notes=card.creator_notes,
        character_version=card.character_version,
        depth_prompt=card.depth_prompt,
        first_mes=card.first_mes,
        alternate_greetings=card.alternate_greetings,
        chat=chat,
        generation=inputs.kind,
        read_card=read,
        ours=False,
    )
