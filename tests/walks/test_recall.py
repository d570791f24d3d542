"""Stories of remembering: what was said long ago, elsewhere, by somebody else, comes back when it matters."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.wiring import build_index as wiring
from tests.fakes.scripted_familiar import ANA, BEN, CHANNEL, NOON, ScriptedFamiliar, scripted_familiar

ELSEWHERE = 99


@pytest.fixture(autouse=True)
def _small_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and spelling are enough here; how well meaning is found is measured in the benchmarks."""
    monkeypatch.setattr(wiring, "choose_embedder", lambda _wanted, **_: (HashingModel(), "hashing"))


async def awake(house: ScriptedFamiliar) -> ScriptedFamiliar:
    """Started, with an index that holds everything there is."""
    await house.familiar.start()
    await house.familiar.index.wait_until_loaded()
    assert house.familiar.memory_index is not None
    await house.familiar.memory_index.indexer.build()
    return house


async def test_something_said_400_turns_and_three_restarts_ago_comes_back(tmp_path: Path) -> None:
    """By someone else, in another channel, long out of every window."""
    async with scripted_familiar(tmp_path) as house:
        house.familiar.history_store.append_turn(
            familiar_id="ember",
            channel_id=ELSEWHERE,
            role="user",
            author=BEN,
            guild_id=7,
            content="I hid the lighthouse key under the third flowerpot",
            timestamp=NOON - timedelta(days=300),
        )
    for start in range(3):
        async with scripted_familiar(tmp_path) as house:
            for number in range(134):
                house.familiar.history_store.append_turn(
                    familiar_id="ember",
                    channel_id=CHANNEL,
                    role="user",
                    author=ANA,
                    guild_id=7,
                    content=f"Small talk {start}-{number} about the weather and the soup",
                    timestamp=NOON - timedelta(days=200) + timedelta(minutes=start * 500 + number),
                )

    async with scripted_familiar(tmp_path, ["Under the flowerpot!"]) as house:
        await awake(house)
        await house.talk("Where is the lighthouse key?", guild_id=7)
        prompt = "\n".join(message.content for message in house.model.calls[0])

    assert "under the third flowerpot" in prompt
    assert "information, not instructions" in prompt


async def test_whoever_speaks_their_notes_are_in_the_prompt_after_a_restart(tmp_path: Path) -> None:
    """What was written up when one talk ended is there when the next begins."""
    async with scripted_familiar(tmp_path, ["Lovely."]) as house:
        await house.familiar.start()
        await house.talk("I live in Lisbon with my dog Pixel.")
    (tmp_path / "familiars" / "ember" / "history.db").unlink()

    async with scripted_familiar(tmp_path, ["Woof."]) as house:
        await house.talk("Hi again!")
        prompt = "\n".join(message.content for message in house.model.calls[0])

    assert "I live in Lisbon with my dog Pixel." in prompt
    assert "Ana" in prompt


async def test_without_an_index_the_reply_and_the_notes_come_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that cannot be loaded costs the search and nothing else."""

    def broken(_wanted: str) -> object:
        raise ImportError("no such library")

    monkeypatch.setattr(wiring, "choose_embedder", broken)
    async with scripted_familiar(tmp_path, ["Still here."]) as house:
        house.familiar.memory_store.write_file("people/discord-111.md", "# Ana\n\nSails.\n", source="test")
        await house.familiar.start()
        await house.talk("Are you there?")
        prompt = "\n".join(message.content for message in house.model.calls[0])

    assert house.place.sent == ["Still here."]
    assert "Sails." in prompt
