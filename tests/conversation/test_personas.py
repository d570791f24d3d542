"""Which personas answer, and in which turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from familiar_connect.chat.types import TurnOptions
from familiar_connect.conversation.personas import Personas
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from tests.fakes.scripted_familiar import ANA, BEN, NOON


def an_exchange(*texts: str, asked: TurnOptions | None = None) -> Exchange:
    messages = tuple(BufferedMessage(ANA, text, NOON) for text in texts)
    return Exchange(
        familiar_id="wren",
        channel_id=7,
        guild_id=None,
        messages=messages,
        trigger=ResponseTrigger.direct_address,
        asked=asked or TurnOptions(),
    )


class Household:
    """Wren with two alters, and everything they were asked to answer."""

    def __init__(self, alters: dict[str, Sequence[str]] | None = None) -> None:
        self.answered: list[Exchange] = []
        known = {"Moss": ("mossy",), "Fern": ()} if alters is None else alters
        self.personas = Personas(self._respond, lambda: ("Wren", "bird"), known)

    async def _respond(self, exchange: Exchange, place: Any) -> str:
        self.answered.append(exchange)
        return exchange.asked.alter or "main"


@pytest.mark.parametrize(
    ("text", "personas"),
    [
        ("hello", [None]),
        ("hello Wren", [None]),
        ("Moss, are you there?", ["Moss"]),
        ("MOSSY?", ["Moss"]),
        ("a mossy stone, bird", ["Moss", None]),
        ("Wren and Fern and Moss", [None, "Fern", "Moss"]),
        ("mossland, ferny", [None]),
        ("\uff2d\uff4f\uff53\uff53!", ["Moss"]),
    ],
)
def test_whoever_is_called_answers(text: str, personas: list[str | None]) -> None:
    """By name or alias as a word of its own, in the order they were called; nobody called: the main persona."""
    assert Household().personas.who_answers(an_exchange(text)) == personas


async def test_each_has_a_turn_of_its_own() -> None:
    """E34: the first answers at once, further ones from the queue, so that whom they answer is told."""
    household = Household()
    outcome = await household.personas.respond(an_exchange("Wren? Moss?"), None)

    assert [(each.asked.alter, each.from_queue) for each in household.answered] == [(None, False), ("Moss", True)]
    assert outcome == "Moss"


@pytest.mark.parametrize("asked", [TurnOptions(alter="Fern"), TurnOptions(imitate=BEN)])
async def test_what_was_asked_for_stands(asked: TurnOptions) -> None:
    """E71: a chosen persona, or somebody to speak for, is not chosen again."""
    household = Household()
    await household.personas.respond(an_exchange("Moss?", asked=asked), None)

    assert [each.asked for each in household.answered] == [asked]


async def test_without_alters_nobody_is_looked_for() -> None:
    """The exchange is handed on as it is."""
    household = Household({})
    exchange = an_exchange("Moss?")
    await household.personas.respond(exchange, None)

    assert household.answered == [exchange]
    assert household.answered[0] is exchange
