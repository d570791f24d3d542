"""/preset, asked in a channel."""

from __future__ import annotations

import json
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.presets.store import PresetStore
from familiar_connect.slash.command import SlashContext
from familiar_connect.slash.preset import MAX_LISTED, USAGE
from familiar_connect.slash.registry import find_command
from tests.fakes.scripted_familiar import ANA, CHANNEL, ScriptedFamiliar, scripted_familiar


def store_of(house: ScriptedFamiliar) -> PresetStore:
    return PresetStore(FamiliarFolder(house.familiar.root).presets)


def bring(house: ScriptedFamiliar, name: str, *nodes: str) -> None:
    prompts = [{"identifier": f"id-{node}", "name": node, "content": f"text of {node}"} for node in nodes]
    store_of(house).import_bytes(name, json.dumps({"prompts": prompts}).encode())


async def ask(house: ScriptedFamiliar, words: str = "") -> str:
    found = find_command("preset")
    assert found is not None
    assert found.is_control
    asked = SlashContext(channel_id=CHANNEL, author=ANA, is_operator=True, words=words)
    reply = await found.run(asked, house.familiar)
    assert not reply.public
    return reply.text


async def test_without_words_the_presets_are_listed(tmp_path: Path) -> None:
    """The one in force with its prompts and their numbers."""
    async with scripted_familiar(tmp_path) as house:
        assert "There are no presets" in await ask(house)
        bring(house, "Alpha", "One")
        bring(house, "Beta", "Two", "Three")
        store_of(house).toggle("Beta", "Three", False)
        text = await ask(house)

    assert text.splitlines() == [
        "Presets (* is in force):",
        "    Alpha",
        "  * Beta",
        "Beta:",
        "  1. [x] Two",
        "  2. [ ] Three",
        "Switch one with /preset toggle NUMBER.",
    ]


async def test_a_preset_is_chosen_and_put_away(tmp_path: Path) -> None:
    """By name, with spaces in it too."""
    async with scripted_familiar(tmp_path) as house:
        bring(house, "My own", "One")
        bring(house, "Beta", "Two")

        assert await ask(house, "use my own") == "My own is in force from the next reply on."
        assert store_of(house).active() == "My own"
        assert await ask(house, "off") == "No preset is in force."
        assert store_of(house).active() is None


async def test_a_prompt_is_switched_over_on_and_off(tmp_path: Path) -> None:
    """A name that ends in "on" or "off" is a name first."""
    async with scripted_familiar(tmp_path) as house:
        bring(house, "Alpha", "One", "Lights off")

        assert await ask(house, "toggle one") == "One is off in Alpha."
        assert await ask(house, "toggle 1 on") == "One is on in Alpha."
        assert await ask(house, "toggle lights off") == "Lights off is off in Alpha."
        assert await ask(house, "toggle lights off on") == "Lights off is on in Alpha."
        assert "no node 'zzz'" in await ask(house, "toggle zzz")


async def test_a_channel_of_its_own_mind_is_told_of(tmp_path: Path) -> None:
    """What is switched there is the channel's preset."""
    async with scripted_familiar(tmp_path) as house:
        bring(house, "Alpha", "One")
        bring(house, "Beta", "Two")
        folder = house.familiar.root / "channels"
        folder.mkdir(exist_ok=True)
        (folder / f"{CHANNEL}.toml").write_text('mode = "text_conversation_rp"\npreset = "Alpha"\n')

        assert "This channel's settings choose Alpha" in await ask(house, "use Beta")
        assert await ask(house, "toggle 1") == "One is off in Alpha."
        assert "Alpha:\n  1. [ ] One" in await ask(house, "list")


async def test_anything_else_is_answered_with_what_can_be_said(tmp_path: Path) -> None:
    """And a mistake with one sentence."""
    async with scripted_familiar(tmp_path) as house:
        assert [await ask(house, words) for words in ("dance", "use", "toggle")] == [USAGE] * 3
        assert "No preset is in force here" in await ask(house, "toggle 1")
        assert "there is no preset 'x'" in await ask(house, "use x")


async def test_long_lists_are_cut_and_say_so(tmp_path: Path) -> None:
    """Nobody reads a hundred lines."""
    async with scripted_familiar(tmp_path) as house:
        bring(house, "Alpha", *(f"node {number}" for number in range(MAX_LISTED + 5)))
        text = await ask(house)

    assert "… and 5 more" in text
