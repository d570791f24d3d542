"""What is kept of a turn, and a past turn made anew from it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.messages import to_messages
from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.errors import FamiliarError, ModelError
from familiar_connect.llm.types import Capabilities, Role
from familiar_connect.observe.replay_store import ReplayStore, hash_messages
from familiar_connect.reply.prompt_replay import Fitting, Shortened, infer_fitting, replay_messages
from familiar_connect.reply.turn_recorder import cuts_and_timings
from tests.fakes.scripted_familiar import scripted_familiar
from tests.fakes.traces import a_record, a_trace

ROLES: tuple[Role, ...] = ("user", "assistant")


@pytest.mark.parametrize(
    "capabilities",
    [
        None,
        Capabilities(strict_roles=True),
        Capabilities(window=700, max_output=100),
        Capabilities(bare_single_speaker=True),
        Capabilities(single_system=True),
    ],
    ids=["plain", "strict roles", "small window", "bare speech", "one system message"],
)
async def test_every_turn_can_be_replayed_byte_for_byte(tmp_path: Path, capabilities: Capabilities | None) -> None:
    """Whatever the model's template and window made of the prompt."""
    async with scripted_familiar(
        tmp_path, ["Tea?", "Rain.", "Well. " * 40, "Yes."], capabilities=capabilities
    ) as house:
        for text in ("hello", "what do you love? 🫖", "long " * 200, "and now?"):
            await house.talk(text)
        replays = house.familiar.reply_path.replays
        records = [replays.load(trace_id) for trace_id in reversed(replays.ids())]

    assert [record.messages_hash for record in records] == [hash_messages(call) for call in house.model.calls]
    assert [hash_messages(replay_messages(record)) for record in records] == [r.messages_hash for r in records]


async def test_a_newest_message_too_long_for_the_window_is_replayed_as_it_was_shortened(tmp_path: Path) -> None:
    """The model saw its beginning and end; so does the replay."""
    async with scripted_familiar(tmp_path, ["Long!"], capabilities=Capabilities(window=600, max_output=100)) as house:
        await house.talk("word " * 4000)
        replays = house.familiar.reply_path.replays
        record = replays.load(replays.ids()[0])

    assert "left out" in house.model.calls[0][-1].content
    assert hash_messages(replay_messages(record)) == record.messages_hash


def test_a_record_of_another_version_says_so() -> None:
    """One sentence, no traceback."""
    with pytest.raises(FamiliarError, match="a different version"):
        replay_messages(a_record(settings={"temperature": 0.7}))


def test_a_fitting_names_what_went_and_what_was_shortened() -> None:
    """Old items go; the newest may be cut."""
    whole = [ContextItem.of("user", text, tag=ItemTag.DIALOGUE) for text in ("one", "two", "three three")]
    shown = [whole[1], ContextItem.of("user", "three", tag=ItemTag.DIALOGUE)]

    fitting = infer_fitting(whole, shown, Fitting().apply(shown))

    assert fitting == Fitting(gone=(0,), shortened=(Shortened(place=2, text="three"),))
    assert [message.content for message in fitting.apply(whole)] == ["two", "three"]


@given(st.data())
def test_a_fitting_brings_back_whatever_was_shown(data: st.DataObject) -> None:
    """Any old items gone, the newest shortened or not, in strict roles or not."""
    texts = data.draw(st.lists(st.sampled_from(["a", "b", "c", "long text"]), min_size=1, max_size=8))
    roles: list[Role] = [data.draw(st.sampled_from(ROLES)) for _ in texts]
    whole = [ContextItem.of(role, text, tag=ItemTag.DIALOGUE) for role, text in zip(roles, texts, strict=True)]
    kept = [item for item in whole[:-1] if data.draw(st.booleans())]
    newest = whole[-1] if data.draw(st.booleans()) else ContextItem.of(roles[-1], "short", tag=ItemTag.DIALOGUE)
    shown = [*kept, newest]
    sent = to_messages(shown, Capabilities(strict_roles=data.draw(st.booleans())))

    assert infer_fitting(whole, shown, sent).apply(whole) == sent


async def test_a_turn_says_at_info_why_it_spoke_and_what_it_took(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It carries the numbers of the turn and no words."""
    caplog.set_level(logging.INFO, logger="familiar_connect")
    async with scripted_familiar(tmp_path, ["Purple elephants."]) as house:
        await house.talk("tell me about zebras")

    lines = [record for record in caplog.records if record.levelno >= logging.INFO]
    assert [record.message for record in lines] == ["speaks", "turn"]
    assert vars(lines[1])["familiar_id"] == "ember"
    assert "zebras" not in str([vars(line) for line in lines])
    assert "elephants" not in str([vars(line) for line in lines])


async def test_a_turn_whose_model_failed_leaves_a_trace_too(tmp_path: Path) -> None:
    """With the failure in it."""
    async with scripted_familiar(tmp_path, [ModelError("no")], streams=True) as house:
        await house.talk("hi")
        trace = house.familiar.reply_path.collector.last_trace("ember")

    assert trace is not None
    assert trace.fact("failures") == [["scripted", "no"]]


async def test_observers_that_cannot_write_do_not_disturb_a_turn(tmp_path: Path) -> None:
    """Ledger, last context and replay all stand in the way of nothing."""
    async with scripted_familiar(tmp_path) as house:
        root = house.familiar.root
        (root / "metrics.db").write_bytes(b"no database, " * 500)
        (root / "traces").write_text("a file where a folder should be", encoding="utf-8")
        (root / "channels" / "7.last-context.md").mkdir()
        await house.talk("hi")

    assert house.place.sent == ["Hello, Ana."]
    assert house.place.notices == []


async def test_the_replay_store_finds_what_the_witness_kept(tmp_path: Path) -> None:
    """From the folder alone, as another process would."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("hi")
        root = house.familiar.root

    store = ReplayStore(root / "traces")
    record = store.load(store.ids()[0])
    assert record.request.utterance == "hi"
    assert set(record.settings) == {"channel", "render", "fitting"}


def test_cuts_and_timings_read_as_a_short_list() -> None:
    """Nothing cut is said too."""
    page = cuts_and_timings(a_trace())

    assert page == "## Cuts and timings\n\n- nothing was cut\n- model: 800 ms"
