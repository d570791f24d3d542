"""A turn's prompt as a page, from wherever it can be had."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.observe.last_context import is_of_turn
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.reply.prompt_replay import prompt_page
from tests.fakes.scripted_familiar import CHANNEL, scripted_familiar
from tests.fakes.traces import a_record


async def test_the_page_on_disk_is_shown_for_its_own_turn_only(tmp_path: Path) -> None:
    """An earlier turn's prompt is made anew from its record, and the page says so."""
    async with scripted_familiar(tmp_path, ["One.", "Two."]) as house:
        await house.talk("the first question")
        await house.talk("the second question")
        path = house.familiar.reply_path
        newest, earlier = path.collector.recent_traces(familiar_id="ember")
        page = path.last_context.get(channel_id=CHANNEL)
        anew = prompt_page(earlier.trace_id, page, path.replays.find(earlier.trace_id))

        assert page is not None
        assert is_of_turn(page, newest.trace_id)
        assert prompt_page(newest.trace_id, page, None) == page
        assert prompt_page(earlier.trace_id, page, None) is None
        assert anew is not None
        assert anew.startswith(b"# rebuilt from the replay record, the same as was sent, byte for byte")
        assert b"first question" in anew
        assert b"second question" not in anew


def test_a_record_that_cannot_be_replayed_makes_no_page() -> None:
    """Nothing is better than another turn's words."""
    assert prompt_page("t1", b"# header turn=t2\n\nwords", a_record()) is None


async def test_a_turn_is_in_the_ledger_once_it_is_over(tmp_path: Path) -> None:
    """Another program that looks meanwhile finds the trace, its prompt and its record together."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("hi")
        trace = SQLiteCollector(house.familiar.root / "metrics.db").last_trace("ember")

        assert trace is not None
        assert house.familiar.reply_path.replays.find(trace.trace_id) is not None
