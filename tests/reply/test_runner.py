"""The walk of one reply, on its own."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from familiar_connect.chat.types import SaidMessage, Turn
from familiar_connect.config import ChannelMode, channel_config_for_mode
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from familiar_connect.errors import ModelError
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.observe.trace import TraceBuilder
from familiar_connect.reply.record import TurnArchive
from familiar_connect.reply.runner import may_rewrite
from tests.fakes.place import ClosedPlace, EditablePlace, RecordingPlace
from tests.fakes.scripted_familiar import ANA, CHANNEL, NOON, ScriptedFamiliar, scripted_familiar, with_growing_replies


def an_exchange(text: str = "hi", channel_id: int = CHANNEL) -> Exchange:
    return Exchange(
        familiar_id="ember",
        channel_id=channel_id,
        guild_id=None,
        messages=(BufferedMessage(ANA, text, NOON, None),),
        trigger=ResponseTrigger.direct_address,
    )


async def test_the_outcome_tells_what_went_out(tmp_path: Path) -> None:
    """Sent text and trace of the turn, with every stage in order."""
    async with scripted_familiar(tmp_path, ["One.\n\nTwo."]) as house:
        house.place.limit = 5
        outcome = await house.familiar.reply_path.runner.respond(an_exchange(), house.place)

    assert outcome is not None
    assert (outcome.sent, outcome.interrupted, outcome.error) == ("One.\n\nTwo.", False, None)
    assert house.place.sent == ["One.", "Two."]
    assert [span.name for span in outcome.trace.stages][:5] == ["assemble", "render", "model", "deliver", "record"]
    assert outcome.trace.tags["mode"] == "text_conversation_rp"


async def test_a_failing_model_is_told_to_the_place_and_nothing_is_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning names the main reply."""
    async with scripted_familiar(tmp_path, [ModelError("nobody listens at that address")]) as house:
        outcome = await house.familiar.reply_path.runner.respond(an_exchange(), house.place)
        told = house.roles_and_texts()

    assert outcome is not None
    assert outcome.error == "nobody listens at that address"
    assert house.place.notices == ["No reply: nobody listens at that address"]
    assert told == []
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.message for record in warnings] == ["main reply failed"]


async def test_what_was_said_before_a_failure_is_recorded(tmp_path: Path) -> None:
    """A stream that breaks off leaves the words that came."""

    def breaks_off(text: str) -> list[str]:
        def words() -> object:
            yield "Once upon "
            yield "a time"
            raise ModelError("the connection was cut")

        return words()  # type: ignore[return-value]

    async with scripted_familiar(tmp_path, ["whatever"], streams=True) as house:
        house.model._pieces = breaks_off
        outcome = await house.familiar.reply_path.runner.respond(an_exchange(), house.place)
        told = house.roles_and_texts()

    assert outcome is not None
    assert outcome.sent == "".join(house.place.sent).strip()
    assert outcome.sent.startswith("Once upon")
    assert told == [("assistant", outcome.sent)]
    assert house.place.notices == ["No reply: the connection was cut"]


async def test_a_broken_channel_file_is_told_and_no_model_is_asked(tmp_path: Path) -> None:
    """In a few words: strangers may read them, so they name no file."""
    async with scripted_familiar(tmp_path) as house:
        (house.familiar.root / "channels" / "8.toml").write_text("mode = [", encoding="utf-8")
        outcome = await house.familiar.reply_path.runner.respond(an_exchange(channel_id=8), house.place)

    assert outcome is None
    assert house.place.notices == ["No reply: one of my settings files is wrong. `familiar doctor` says more."]
    assert house.model.calls == []


async def test_the_familiars_neighbours_are_told_of_each_turn(tmp_path: Path) -> None:
    """Whoever wants to know that something was said is called after it is stored."""
    told: list[str] = []
    turn = Turn(familiar_id="ember", channel_id=CHANNEL, said=(SaidMessage(author=ANA, text="hi", timestamp=NOON),))
    trace = TraceBuilder(familiar_id="ember", channel_id=CHANNEL, guild_id=None, modality="text")

    async def notify() -> None:
        told.extend(stored.content for stored in history.recent(familiar_id="ember", channel_id=CHANNEL, limit=9))

    history = HistoryStore(":memory:")
    channel = channel_config_for_mode(ChannelMode.full_rp)
    await TurnArchive(history, notify_turn=notify).keep(turn, "Hello.", channel, trace)
    history.close()

    assert told == ["Hello."]


@pytest.mark.parametrize("streams", [False, True])
async def test_a_place_that_cannot_be_written_to_costs_one_error_and_records_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, streams: bool
) -> None:
    """What is recorded as said was sent."""
    async with scripted_familiar(tmp_path, streams=streams) as house:
        house.place.fails_with = OSError("locked")
        outcome = await house.familiar.reply_path.runner.respond(an_exchange(), house.place)
        told = house.roles_and_texts()

    assert outcome is not None
    assert outcome.error == "the place cannot be written to (OSError)"
    assert [r.message for r in caplog.records if r.levelno == logging.ERROR] == ["reply could not be delivered"]
    assert (told, house.place.notices) == ([], [])


@pytest.mark.parametrize("streams", [False, True])
async def test_a_model_that_breaks_in_an_unforeseen_way_is_told_by_name_only(tmp_path: Path, streams: bool) -> None:
    """Nobody knows what words an unknown error carries."""
    async with scripted_familiar(tmp_path, [RuntimeError("it said: hi, my secret")], streams=streams) as house:
        outcome = await house.familiar.reply_path.runner.respond(an_exchange(), house.place)
        told = house.roles_and_texts()

    assert outcome is not None
    assert told == []
    assert "RuntimeError" in house.place.notices[0]
    assert "secret" not in house.place.notices[0]


async def test_a_client_replaced_at_run_time_answers_the_next_turn(tmp_path: Path) -> None:
    """Collaborators are looked up when they are used."""
    async with scripted_familiar(tmp_path, ["from the first"]) as house:
        house.familiar.llm_clients["main_prose"] = ScriptedModel(["from the second"])
        await house.familiar.reply_path.runner.respond(an_exchange(), house.place)

    assert house.place.sent == ["from the second"]


async def test_a_cancelled_turn_still_records_what_was_sent(tmp_path: Path) -> None:
    """The cancellation follows after the record."""
    async with scripted_familiar(tmp_path, ["one two three"], streams=True) as house:
        pause = house.model.pause_after(2)
        task = asyncio.create_task(house.familiar.reply_path.runner.respond(an_exchange(), house.place))
        await pause.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        told = house.roles_and_texts()

    assert told == [("assistant", "".join(house.place.sent).strip())]


async def test_a_polisher_without_a_strong_model_does_not_hold_up_the_stream(tmp_path: Path) -> None:
    """In a mode with recast, an embedded familiar streams all the same."""
    async with scripted_familiar(tmp_path, ["one two three"], streams=True) as house:
        sidecar = house.familiar.root / "channels" / "8.toml"
        sidecar.write_text('mode = "full_rp"\npost_processors = ["+recast"]\n', encoding="utf-8")
        await house.familiar.reply_path.runner.respond(an_exchange(channel_id=8), house.place)

    assert len(house.place.sent) > 1


def test_a_polisher_counts_as_one_unless_its_model_is_too_weak() -> None:
    """One that has no model at all works by itself."""
    weak = ScriptedModel(capabilities=Capabilities(side_tasks=False))

    assert not may_rewrite(SimpleNamespace(llm_client=weak))
    assert may_rewrite(SimpleNamespace(llm_client=ScriptedModel()))
    assert may_rewrite(SimpleNamespace())


async def test_a_polished_reply_reaches_a_streaming_place_whole(tmp_path: Path) -> None:
    """Post-processors see the finished text; only what they made of it is sent."""
    async with scripted_familiar(tmp_path, ["raw words"], streams=True) as house:
        await respond_with_recast(house)
        told = house.familiar.history_store.recent(familiar_id="ember", channel_id=8, limit=5)

    assert house.place.sent == ["polished words"]
    assert [turn.content for turn in told] == ["polished words"]


async def respond_with_recast(house: ScriptedFamiliar) -> None:
    sidecar = house.familiar.root / "channels" / "8.toml"
    sidecar.write_text('mode = "full_rp"\npost_processors = ["+recast"]\n', encoding="utf-8")
    house.familiar.llm_clients["post_process_style"] = ScriptedModel(["polished words"])
    await house.familiar.reply_path.runner.respond(an_exchange(channel_id=8), house.place)


def test_a_listening_place_is_a_place() -> None:
    """The fake keeps the protocol."""
    from familiar_connect.chat.place import Place

    assert isinstance(RecordingPlace(), Place)


async def test_a_place_closed_to_us_costs_one_error_and_no_model_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The owner is told in a sentence."""
    told: list[str] = []

    async def report(sentence: str) -> None:
        told.append(sentence)

    async with scripted_familiar(tmp_path) as house:
        with house.familiar.owner.connect(tell=report):
            outcome = await house.familiar.reply_path.runner.respond(an_exchange(), ClosedPlace())

    assert (outcome, house.model.calls) == (None, [])
    assert [r.message for r in caplog.records if r.levelno == logging.ERROR] == ["reply could not be delivered"]
    assert told == [f"A reply in channel {CHANNEL} could not be sent: the thread is locked."]


async def test_an_owner_out_of_reach_costs_nothing_more(tmp_path: Path) -> None:
    """The turn ends as it would have."""

    async def report(sentence: str) -> None:
        raise OSError("no line")

    async with scripted_familiar(tmp_path) as house:
        house.place.fails_with = OSError("locked")
        with house.familiar.owner.connect(tell=report):
            outcome = await house.familiar.reply_path.runner.respond(an_exchange(), house.place)

    assert outcome is not None
    assert outcome.error == "the place cannot be written to (OSError)"


async def test_where_messages_can_be_changed_a_reply_may_grow_in_one(tmp_path: Path) -> None:
    """If the settings say so; what it reads in the end is recorded."""
    async with scripted_familiar(tmp_path, ["Once upon a time."], settings=with_growing_replies) as house:
        place = EditablePlace(edit_interval_s=0.0)
        outcome = await house.familiar.reply_path.runner.respond(an_exchange(), place)
        told = house.roles_and_texts()

    assert outcome is not None
    assert len(place.seen) > 1
    assert place.sent == ["Once upon a time."]
    assert told == [("assistant", "Once upon a time.")]
