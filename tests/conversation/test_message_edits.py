"""What becomes of a message that its writer changes or takes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.message_edits import MessageEditHandler
from familiar_connect.history.types import DELETED
from familiar_connect.identity import PrivacyLevel
from tests.fakes.scripted_familiar import ANA, CHANNEL, NOON, ScriptedFamiliar, scripted_familiar

EDITED = InboundMessage(
    platform="discord", channel_id=CHANNEL, author=ANA, text="I love jazz", timestamp=NOON, message_id="m1"
)


def afterthoughts(house: ScriptedFamiliar) -> MessageEditHandler:
    return house.familiar.reply_path.message_edits


async def test_an_edit_changes_the_turn_and_asks_no_model(tmp_path: Path) -> None:
    """Twice the same is one change."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("I love ska", message_id="m1")
        changed = [await afterthoughts(house).on_edit(EDITED) for _ in range(2)]

        assert changed == [True, False]
        assert house.roles_and_texts()[0] == ("user", "I love jazz")
        assert len(house.model.calls) == 1


async def test_what_was_never_heard_stays_unheard(tmp_path: Path) -> None:
    """Neither an edit nor a deletion brings it in."""
    async with scripted_familiar(tmp_path) as house:
        assert not await afterthoughts(house).on_edit(EDITED)
        assert not await afterthoughts(house).on_edit(replace(EDITED, message_id=None))
        assert not await afterthoughts(house).on_delete(CHANNEL, ["m1"])
        assert house.roles_and_texts() == []


async def test_an_edit_by_a_private_person_takes_the_old_words_away(tmp_path: Path) -> None:
    """And keeps none of the new."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("I love ska", message_id="m1")
        house.familiar.stores.privacy.set(ANA, PrivacyLevel.FULL)
        await afterthoughts(house).on_edit(EDITED)

        assert house.roles_and_texts()[0] == ("user", DELETED)


async def test_a_history_that_cannot_be_written_is_no_crash(tmp_path: Path) -> None:
    """The log says so."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("I love ska", message_id="m1")
        late = afterthoughts(house)

    assert not await late.on_edit(EDITED)
    assert not await late.on_delete(CHANNEL, ["m1"])


async def test_what_waits_for_its_answer_is_answered_as_it_reads_now(tmp_path: Path) -> None:
    """In a channel with others, where the familiar listens until it is named; what was taken back stays unanswered."""
    async with scripted_familiar(tmp_path) as house:
        for id_, text in (("m1", "I love ska"), ("m2", "I hate polka")):
            await house.receive(text, message_id=id_, is_mention=False)
        await house.familiar.intake.wait_until_idle()
        await afterthoughts(house).on_edit(EDITED)
        await afterthoughts(house).on_delete(CHANNEL, ["m2"])
        await house.talk("Ember, what do I love?", message_id="m3")
        asked = "\n".join(message.content for message in house.model.calls[-1])

        assert "I love jazz" in asked
        assert "ska" not in asked
        assert "polka" not in asked
