"""Stories of what is kept beside memory: talk in another channel, an imported handbook, praise on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.bootstrap.import_document import import_document
from familiar_connect.identity import PrivacyLevel
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.short_term import ShortTermNotes
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.wiring import build_index as wiring
from tests.fakes.scripted_familiar import (
    ANA,
    BEN,
    CHANNEL,
    NO_TYPING_DELAY,
    ScriptedFamiliar,
    scripted_familiar,
    with_dms,
)

GARDEN, SERVER = 8, 5


@pytest.fixture(autouse=True)
def _small_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "choose_embedder", lambda _wanted, **_: (HashingModel(), "hashing"))


def with_a_garden(house: ScriptedFamiliar) -> ScriptedFamiliar:
    """A second channel of the same server, in which nobody pretends to type either."""
    channels = house.familiar.root / "channels"
    (channels / f"{GARDEN}.toml").write_text(NO_TYPING_DELAY, encoding="utf-8")
    house.familiar.subscriptions.add(channel_id=GARDEN, kind=SubscriptionKind.text, guild_id=SERVER)
    return house


def prompt(house: ScriptedFamiliar) -> str:
    return "\n".join(message.content for message in house.model.calls[-1])


async def test_what_was_said_in_one_channel_is_known_in_another(tmp_path: Path) -> None:
    """And after a restart, too; what came from somebody who then went quiet is not."""
    async with scripted_familiar(tmp_path, ["Lovely.", "Hello.", "Hello again."]) as house:
        with_a_garden(house)
        await house.receive("The roses are out!", author=BEN, channel_id=GARDEN, guild_id=SERVER)
        await house.familiar.reply_path.intake.wait_until_idle()
        await house.familiar.reply_path.queue.wait_until_channel_idle(GARDEN)
        await house.talk("Any news?", guild_id=SERVER)
        told = prompt(house)
    async with scripted_familiar(tmp_path, ["Hm."]) as house:
        house.familiar.stores.privacy.set(BEN, PrivacyLevel.FULL)
        await house.talk("And now?", guild_id=SERVER)
        later = prompt(house)

    assert 'Ben: "The roses are out!"' in told
    assert "[Heard elsewhere" in told
    assert "roses" not in later


async def test_a_note_that_fails_costs_no_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G6: neither writing nor reading one can break a turn."""

    def broken(*_args: object, **_more: object) -> None:
        raise RuntimeError("no notes today")

    for name in ("capture", "channel_note", "server_notes", "person_notes"):
        monkeypatch.setattr(ShortTermNotes, name, broken)
    async with scripted_familiar(tmp_path, ["Hello, Ana."]) as house:
        await house.talk("Hi!", guild_id=SERVER)

        assert house.roles_and_texts() == [("user", "Hi!"), ("assistant", "Hello, Ana.")]


async def test_an_imported_document_answers(tmp_path: Path) -> None:
    """Once, under its own heading, and not again as something found."""
    handbook = tmp_path / "handbook.md"
    handbook.write_text("# Handbook\n\nThe copper kettle boils in four minutes.\n", encoding="utf-8")
    async with scripted_familiar(tmp_path, ["Four minutes."]) as house:
        import_document(house.familiar.memory_store, handbook, home=tmp_path)
        await house.familiar.start()
        await house.familiar.index.wait_until_loaded()
        assert house.familiar.memory_index is not None
        await house.familiar.memory_index.indexer.build()
        await house.talk("How many minutes until the copper kettle boils?")
        told = prompt(house)

    assert "Document: Handbook" in told
    assert told.count("boils in four minutes") == 1


async def test_praise_is_told_on_its_server_only(tmp_path: Path) -> None:
    """B83: and not in a direct message."""
    async with scripted_familiar(tmp_path, ["Thank you.", "Hm."], settings=with_dms("everyone")) as house:
        kept = house.familiar.stores.conditioning
        kept.note("reward", "praise", "short answers", author=ANA, server_id=SERVER, persona=house.familiar.name)
        await house.talk("Hi!", guild_id=SERVER)
        told = prompt(house)
        await house.talk("Hi!", is_dm=True)
        alone = prompt(house)

    assert "Ember was praised by Ana for: short answers" in told
    assert "short answers" not in alone


async def test_switched_off_nothing_is_noted(tmp_path: Path) -> None:
    """`short_term_memory_enabled = false` in the channel's file."""
    async with scripted_familiar(tmp_path, ["Hm."]) as house:
        file = house.familiar.root / "channels" / f"{CHANNEL}.toml"
        file.write_text("short_term_memory_enabled = false\n" + NO_TYPING_DELAY, encoding="utf-8")
        await house.talk("Hi!", guild_id=SERVER)

        assert house.familiar.history_store.database.read("SELECT COUNT(*) FROM short_term_notes") == [(0,)]
