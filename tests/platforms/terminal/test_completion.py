"""What Tab offers behind a command, without a terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from familiar_connect.platforms.terminal.completion import LineCompletion
from familiar_connect.platforms.terminal.help import OWN_COMMANDS, list_slash_commands
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.slash.people import MAX_SUGGESTED
from tests.fakes.scripted_familiar import ScriptedFamiliar, scripted_familiar


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[ScriptedFamiliar]:
    async with scripted_familiar(tmp_path) as house:
        yield house


async def offered(house: ScriptedFamiliar, before: str) -> list[str]:
    """The lines that *before* may become."""
    completion = LineCompletion(house.familiar, list_slash_commands(), OWN_COMMANDS)
    found = await completion.suggest(before)
    return [before[: len(before) - each.replaces] + each.text for each in found]


@pytest.mark.parametrize(
    ("before", "lines"),
    [
        ("/swipe ", ["/swipe next", "/swipe right", "/swipe back", "/swipe left"]),
        ("/Swipe B", ["/Swipe back"]),
        ("/remind l", ["/remind list"]),
        ("/remind tom", ["/remind tomorrow at nine", "/remind tomorrow at 18:00"]),
        ("/remind cancel ", []),
        ("/preset ", [f"/preset {each}" for each in ("list", "off", "toggle", "use", "here none", "here default")]),
        ("/reset ", ["/reset undo"]),
        ("/persona ", ["/persona clear"]),
        ("/help sw", ["/help swipe"]),
        ("/help no-such", []),
    ],
)
async def test_the_words_of_a_command_are_offered(house: ScriptedFamiliar, before: str, lines: list[str]) -> None:
    """Each once, also where the words stand before an option that takes anything."""
    assert await offered(house, before) == lines


async def test_help_is_offered_every_command(house: ScriptedFamiliar) -> None:
    """Those of the terminal's own, too, and each with its meaning."""
    found = await offered(house, "/help ")

    assert {f"/help {name}" for name in OWN_COMMANDS} < set(found)
    assert [line.removeprefix("/help ") for line in found] == [
        line.removeprefix("/").rstrip() for line in await offered(house, "/")
    ]


async def test_chats_are_offered_by_name(house: ScriptedFamiliar) -> None:
    """And the word that begins another; of many chats the first."""
    chats = house.familiar.stores.chats
    chats.start(CHANNEL_ID, "Rainy day")
    chats.start(CHANNEL_ID + 1, "of another place")

    assert await offered(house, "/chat ") == ["/chat new", "/chat main", "/chat Rainy day"]
    assert await offered(house, "/chat rainy d") == ["/chat Rainy day"]
    for _ in range(MAX_SUGGESTED):
        chats.start(CHANNEL_ID)
    assert len(await offered(house, "/chat ")) == 1 + MAX_SUGGESTED
