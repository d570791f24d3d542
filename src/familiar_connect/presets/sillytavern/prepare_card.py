"""The card and the greeting with their macros read, before any prompt is.

One `MacroReader` expands every text of a build, over one store of variables, so the order of its calls is the order in
which `setvar` and `getvar` see each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

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
        if last_said is not None:
            context = replace(context, dynamic={**context.dynamic, "lastChatMessage": last_said})
        return expand(text, context, original=original).text


@dataclass(frozen=True)
class PreparedCard:
    """What is known once greeting and card are read."""

    reader: MacroReader
    card: CardFields
    chat: tuple[ChatLine, ...]

    def with_outlets(self, outlets: Mapping[str, str]) -> PreparedCard:
        """The same with what `{{outlet::name}}` stands for."""
        if not outlets:
            return self
        return replace(self, reader=MacroReader(replace(self.reader.context, outlets=outlets)))


def prepare_card(inputs: SillyTavernInputs) -> PreparedCard:
    """Greeting in place, then the card's fields one by one; later texts see them resolved.

    An answer that is to be made anew is gone from the chat for everyone.
    """
    card = inputs.card
    chat = inputs.chat
    if inputs.kind == "regenerate" and chat and not chat[-1].is_user:
        chat = chat[:-1]
    greeting = MacroReader(_context(inputs, card, chat))
    chat = tuple(replace(line, text=greeting.read(line.text)) if line.is_first else line for line in chat)
    reader = MacroReader(_context(inputs, card, chat))

    def field(text: str) -> str:
        return reader.read(js_trim(text)).replace("\r", "")

    persona = field(inputs.persona)
    resolved = replace(
        card,
        description=field(card.description),
        personality=field(card.personality),
        scenario=field(card.scenario),
        mes_example=field(card.mes_example),
        system_prompt=field(card.system_prompt) if inputs.prefers_card_prompts else "",
        post_history_instructions=field(card.post_history_instructions) if inputs.prefers_card_last_words else "",
        depth_prompt=field(card.depth_prompt),
    )
    context = replace(_context(inputs, resolved, chat), mes_example=card.mes_example, persona=persona)
    return PreparedCard(MacroReader(context), resolved, chat)


def _context(inputs: SillyTavernInputs, card: CardFields, chat: tuple[ChatLine, ...]) -> MacroContext:
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
        ours=False,
    )
