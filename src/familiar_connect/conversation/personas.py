"""Which personas answer: those called by name, else those whose messages were replied to, else the main one alone.

Each takes a turn of its own, one after another, before anything that was said meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from familiar_connect.conversation.types import Exchange
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import fold_name

Respond = Callable[[Exchange, Any], Awaitable[Any]]

MOST_READ_CHARS = 32_000
MAIN_PERSONA: str | None = None
"""The persona that a familiar is when it is no alter."""


class Personas:
    """The main persona and its alters, each with the words it is called by."""

    def __init__(
        self, respond: Respond, called: Callable[[], Sequence[str]], alters: Mapping[str, Sequence[str]]
    ) -> None:
        self._respond = respond
        self._main_names = called
        """What the main persona is called by; asked each time, for a name may change."""
        self._alters: dict[str | None, Sequence[str]] = {name: (name, *words) for name, words in alters.items()}

    async def respond(self, exchange: Exchange, place: Any) -> Any:
        """Have everyone who was called answer; what the last of them returned."""
        if not self._alters or exchange.asked.alter is not None or exchange.asked.imitate is not None:
            return await self._respond(exchange, place)
        outcome = None
        for at, persona in enumerate(await off_loop(self.who_answers, exchange)):
            asked = replace(exchange.asked, alter=persona)
            waited = exchange.from_queue or at > 0
            outcome = await self._respond(replace(exchange, asked=asked, from_queue=waited), place)
        return outcome

    def who_answers(self, exchange: Exchange) -> list[str | None]:
        """Who answers, in the order they were called; None is the main persona. It may read a file."""
        text = fold_name(" ".join(message.text[:MOST_READ_CHARS] for message in exchange.messages))
        everyone = {MAIN_PERSONA: self._main_names(), **self._alters}
        found = {persona: at for persona, words in everyone.items() if (at := _first_position(text, words)) is not None}
        return sorted(found, key=lambda persona: found[persona]) or self._who_was_replied_to(exchange)

    def _who_was_replied_to(self, exchange: Exchange) -> list[str | None]:
        """The personas whose messages were replied to; the main one where there are none."""
        targets = [each.message.reply_to for each in exchange.messages if each.message is not None]
        names = [
            each.webhook.name for each in targets if each is not None and each.is_self and each.webhook is not None
        ]
        known = {fold_name(name): name for name in self._alters if name is not None}
        replied = [known[fold_name(name)] for name in names if fold_name(name) in known]
        return [*dict.fromkeys(replied)] or [MAIN_PERSONA]


def _first_position(text: str, words: Sequence[str]) -> int | None:
    """Where the first of *words* stands in *text* as a word of its own; None for nowhere."""
    places = [place for word in words if (place := _word_position(text, fold_name(word))) is not None]
    return min(places, default=None)


def _word_position(text: str, word: str) -> int | None:
    if not word.strip():
        return None
    found = re.search(rf"(?<!\w){re.escape(word.strip())}(?!\w)", text)
    return None if found is None else found.start()
