"""Stories of a channel that can be looked back at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.chat.message_parts import Reaction, ReferencedMessage
from familiar_connect.chat.types import InboundMessage
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author, PrivacyLevel
from familiar_connect.reply.prompt_replay import replay_messages
from tests.fakes.place import RecordingPlace
from tests.fakes.scripted_familiar import ANA, BEN, CHANNEL, ScriptedFamiliar, scripted_familiar

DEE = Author("discord", "666", "dee", "Dee")


@dataclass
class Archive(RecordingPlace):
    """A channel whose past is what was stored of it."""

    house: ScriptedFamiliar | None = None

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        assert self.house is not None
        familiar = self.house.familiar
        return await StoredMessages(familiar.history_store, familiar.id, CHANNEL, platform="discord").recent(limit)


def looking_back(house: ScriptedFamiliar) -> None:
    house.place = Archive(house=house)


async def test_the_model_reads_who_answered_whom(tmp_path: Path) -> None:
    """What came with a message is stored with it and shown again, later too; runs of one author are one turn."""
    async with scripted_familiar(tmp_path, ["Nine it is.", "Bye."]) as house:
        looking_back(house)
        await house.talk("see you at nine", author=BEN, message_id="1")
        await house.talk(
            "works for me",
            message_id="2",
            reply_to=ReferencedMessage(message_id="1", author=BEN, text="see you at nine"),
            reactions=(Reaction(label="👍", count=1, users=(BEN,)),),
        )
        trace = house.familiar.reply_path.collector.recent_traces(familiar_id=house.familiar.id, limit=1)[0]
        replayed = replay_messages(house.familiar.reply_path.replays.load(trace.trace_id))
        texts = [message.content for message in house.model.calls[-1]]

    assert replayed == house.model.calls[-1]
    said = ("[12:00] Ben: see you at nine", "Nine it is.")
    assert [text for text in texts if text in said] == list(said)
    assert texts[-1] == (
        '[System: ref_1 (Ana) answers ref_2 (Ben): "see you at nine"]\n[12:00] Ana: works for me\n'
        "[System: reactions: 👍 x1 by Ben]"
    )


async def test_someone_at_full_privacy_is_in_no_quote_that_is_stored(tmp_path: Path) -> None:
    """Neither what they said nor that they reacted reaches the history or the model."""
    async with scripted_familiar(tmp_path, ["Hm."]) as house:
        looking_back(house)
        house.familiar.stores.privacy.set(DEE, PrivacyLevel.FULL)
        await house.talk(
            "what did you say?",
            message_id="2",
            reply_to=ReferencedMessage(message_id="1", author=DEE, text="xyzzy"),
            reactions=(Reaction(label="👍", count=1, users=(DEE,)),),
        )
        stored, shown = house.history(), str(house.model.calls)

    assert "xyzzy" not in f"{stored}{shown}"
    assert "Dee" not in f"{stored}{shown}"


async def test_what_was_said_to_someone_earlier_is_known_when_the_next_is_answered(tmp_path: Path) -> None:
    """Our own words stand before the message that waited meanwhile."""
    async with scripted_familiar(tmp_path, ["To Ben.", "To Ana."]) as house:
        looking_back(house)
        await house.receive("first", author=BEN, message_id="1")
        await house.receive("second", author=ANA, message_id="2")
        await house.wait_until_idle()
        last = [message.content for message in house.model.calls[-1]]

    assert [text for text in last if text.endswith(("first", "To Ben.", "second"))][-1].endswith("second")
