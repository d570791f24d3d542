"""Plots of past turns: hours or days, each bar in its place, leading to a turn of its time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from familiar_connect.context.providers.content_search.unfiltered import NO_SIDE_WORK
from familiar_connect.observe.trace import StageSpan, TurnTrace
from familiar_connect.platforms.web.health_plots import HEIGHT, MOST_BARS, WIDTH, Happening, draw_plots
from familiar_connect.reply.inspection.plain_troubles import describe_trouble
from familiar_connect.reply.inspection.turn_view import troubles_of, view_turn
from tests.fakes.traces import a_trace

NOON = datetime(2026, 3, 14, 12, 30, tzinfo=UTC)
HERE = ZoneInfo("UTC")


def turn(number: int, after: timedelta, seconds: float = 1.0, **model: object) -> TurnTrace:
    return TurnTrace(
        trace_id=f"t{number}",
        timestamp=(NOON + after).isoformat(),
        familiar_id="ember",
        channel_id=1,
        guild_id=None,
        modality="text",
        total_duration_s=seconds,
        stages=(StageSpan("model", 0.0, seconds, model),),
    )


def test_turns_of_a_day_are_shown_by_the_hour() -> None:
    """The highest bar fills the drawing, and leads to the slowest turn of its hour."""
    turns = [turn(1, timedelta(), 1.0), turn(2, timedelta(hours=3), 2.0), turn(3, timedelta(hours=3, minutes=5), 4.0)]
    plot = next(each for each in draw_plots(turns, HERE) if each.name == "time")

    assert [(bar.x, bar.href) for bar in plot.bars] == [(0.0, "/turns/t1"), (WIDTH * 3 / 4, "/turns/t3")]
    assert [bar.height for bar in plot.bars] == [HEIGHT / 4, HEIGHT]
    assert plot.bars[1].label == "Sat 15:00: 4.0 s, 2 turns"
    assert (plot.top, plot.begin, plot.end) == ("4.0 s", "Sat 12:00", "Sat 15:00")


def test_turns_of_many_weeks_are_shown_by_the_day() -> None:
    """Those before the plot begins are left out, and no bar lies outside of it."""
    turns = [turn(day, timedelta(days=day), prompt_tokens=100, completion_tokens=10) for day in range(100)]
    plots = {each.name: each for each in draw_plots(turns, HERE)}

    assert len(plots["tokens"].bars) == MOST_BARS
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in plots["tokens"].bars)
    assert plots["tokens"].top == "110"
    assert "errors" not in plots


def test_money_recall_stages_and_memory_are_drawn_beside_it() -> None:
    """Where turns tell of them; a change of memory leads to its file, and one outside of the time is left out."""
    search = {"id": "content_search", "found": [{"id": 1}, {"id": 2}]}
    gathered = StageSpan("assemble", 0.0, 0.25, {"provider_outcomes": [search]})
    turns = [turn(1, timedelta(), cost=0.5), turn(2, timedelta(hours=1), cost=0.25)]
    turns = [replace(each, stages=(gathered, *each.stages)) for each in turns]
    moments = (NOON - timedelta(days=1), NOON, NOON + timedelta(hours=1), NOON + timedelta(hours=1, minutes=5))
    changes = [Happening(at, f"/memory/versions?path={number}") for number, at in enumerate(moments)]
    plots = {each.name: each for each in draw_plots(turns, HERE, changes)}

    assert [bar.label for bar in plots["money"].bars] == ["Sat 12:00: 0.5000, 1 turn", "Sat 13:00: 0.2500, 1 turn"]
    assert (plots["recall"].top, plots["gather"].top) == ("2", "0.25 s")
    assert [(bar.href, bar.height) for bar in plots["memory"].bars] == [
        ("/memory/versions?path=1", HEIGHT / 2),
        ("/memory/versions?path=2", HEIGHT),
    ]
    assert plots["memory"].bars[1].label == "Sat 13:00: 2, 2 changes"
    assert "send" not in plots


def test_what_lies_in_one_hour_is_no_plot() -> None:
    """Nor is what has no time."""
    assert draw_plots([turn(1, timedelta()), turn(2, timedelta(minutes=5))], HERE) == []
    assert draw_plots([replace(turn(1, timedelta()), timestamp="?")], HERE) == []


def test_a_stop_is_no_error_and_what_failed_has_a_name_people_use() -> None:
    """A trace keeps the name of what was raised."""
    stopped, late, odd = (
        replace(turn(number, timedelta()), stages=(StageSpan("model", 0.0, 1.0, {"error": error}),))
        for number, error in enumerate(("CancelledError", "ModelTimeoutError", "StrangeThingError: it broke"))
    )

    assert troubles_of(stopped) == []
    assert troubles_of(late) == [("model", "the model did not answer in time")]
    assert troubles_of(odd) == [("model", "strange thing: it broke")]
    assert describe_trouble("no answer within 3 s") == "no answer within 3 s"


def test_a_skip_that_is_always_so_is_a_note_and_no_error() -> None:
    """The embedded model never picks from what memory finds; a filter that failed is an error as before."""
    usual, failed = (f"the filter was skipped: {why}" for why in (NO_SIDE_WORK, "it failed or was late"))
    search = {"id": "content_search", "status": "ok", "duration_s": 0.01}
    healthy, odd = (
        a_trace(stages=(StageSpan("assemble", 0.0, 1.0, {"provider_outcomes": [{**search, "notes": notes}]}),))
        for notes in ([usual], [usual, failed])
    )

    assert troubles_of(healthy) == []
    assert [span.note for span in view_turn(healthy).spans if span.note] == [usual]
    assert troubles_of(odd) == [("content_search", failed)]
