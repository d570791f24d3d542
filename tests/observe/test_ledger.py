"""The ledger: traces in, traces out, and never a turn lost to it."""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.observe.ledger import MetricsCollector, NullCollector, SQLiteCollector
from familiar_connect.observe.trace import StageSpan, TurnTrace
from tests.fakes.traces import NOON, a_trace


def ids(traces: list[TurnTrace]) -> list[str]:
    return [trace.trace_id for trace in traces]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.db"


def test_both_collectors_are_collectors(path: Path) -> None:
    """The protocol can be checked at run time."""
    assert isinstance(NullCollector(), MetricsCollector)
    assert isinstance(SQLiteCollector(path), MetricsCollector)


def test_a_trace_comes_back_as_it_went_in(path: Path) -> None:
    """Stages, metadata and tags survive a restart."""
    trace = a_trace(
        guild_id=9,
        stages=(StageSpan("assemble", 0.0, 0.1, {"dropped": [{"source": "x"}]}), StageSpan("model", 0.1, 0.9)),
        tags={"order": "classic"},
    )
    collector = SQLiteCollector(path)
    collector.record(trace)
    collector.close()

    assert SQLiteCollector(path).recent_traces(familiar_id="wren") == [trace]


def test_traces_are_read_once_they_are_flushed(path: Path) -> None:
    """Below the threshold nothing is on disk; at the threshold all of it is."""
    collector = SQLiteCollector(path, flush_interval=3)
    seen = []
    for number in range(3):
        collector.record(a_trace(f"t{number}"))
        seen.append(len(collector.recent_traces(familiar_id="wren")))

    assert seen == [0, 0, 3]


def test_the_last_trace_is_found_even_when_it_is_still_buffered(path: Path) -> None:
    """Inspection does not wait for the threshold."""
    collector = SQLiteCollector(path)
    collector.record(a_trace("first"))
    collector.record(a_trace("second"))

    assert collector.last_trace("wren") == a_trace("second")
    assert collector.trace("first") == a_trace("first")
    assert collector.trace("third") is None


def test_recent_traces_are_newest_first_and_of_one_familiar(path: Path) -> None:
    """Another familiar's turns are not seen; the limit counts from the newest."""
    collector = SQLiteCollector(path, flush_interval=1)
    for hour in (2, 0, 1):
        collector.record(a_trace(f"t{hour}", timestamp=(NOON + timedelta(hours=hour)).isoformat()))
    collector.record(a_trace("other", familiar_id="owl"))

    assert ids(collector.recent_traces(familiar_id="wren", limit=2)) == ["t2", "t1"]


def test_a_list_of_turns_reads_the_facts_it_shows_and_no_others(path: Path) -> None:
    """The blocks of each prompt, which are most of a turn, stay packed."""
    blocks = [{"source": "history:recent", "message": number, "tokens": number} for number in range(300)]
    collector = SQLiteCollector(path, flush_interval=1)
    collector.record(a_trace("t", stages=(StageSpan("model", 0.0, 1.0, {"model": "smol", "tokens_by_block": blocks}),)))

    [whole] = collector.recent_traces(familiar_id="wren")
    [short] = collector.recent_traces(familiar_id="wren", facts={"model", "dropped"})

    assert whole.stages[0].metadata == {"model": "smol", "tokens_by_block": blocks}
    assert short.stages[0].metadata == {"model": "smol"}


def test_a_page_of_turns_is_found_by_its_key(path: Path) -> None:
    """The ten-thousandth is found as fast as the first: by the index, and nothing is sorted."""
    collector = SQLiteCollector(path, flush_interval=100)
    for number in range(300):
        collector.record(a_trace(f"t{number:03d}", timestamp=(NOON + timedelta(minutes=number)).isoformat()))
    asked: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        connect = sqlite3.connect

        def watched(*words: Any, **more: Any) -> sqlite3.Connection:
            made: sqlite3.Connection = connect(*words, **more)
            made.set_trace_callback(asked.append)
            return made

        patched.setattr(sqlite3, "connect", watched)
        found = ids(collector.recent_traces(familiar_id="wren", limit=3, before="t100"))
    query = next(text for text in asked if "FROM traces WHERE familiar_id" in text)
    with closing(sqlite3.connect(path)) as db:
        plan = " ".join(str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))

    assert found == ["t099", "t098", "t097"]
    assert "USING INDEX traces_by_time (familiar_id=? AND" in plan
    assert "TEMP B-TREE" not in plan
    assert "OFFSET" not in query


def test_a_range_includes_both_ends_whatever_their_offset(path: Path) -> None:
    """Times are compared as moments, not as texts."""
    collector = SQLiteCollector(path, flush_interval=1)
    for hour in range(4):
        collector.record(a_trace(f"t{hour}", timestamp=(NOON + timedelta(hours=hour)).isoformat()))

    found = collector.traces_in_range(
        familiar_id="wren", start="2025-06-01T15:00:00+02:00", end=NOON + timedelta(hours=2)
    )

    assert ids(found) == ["t1", "t2"]


def test_the_durations_of_one_stage_are_newest_first(path: Path) -> None:
    """Only the stage asked for, only as many as asked for."""
    collector = SQLiteCollector(path, flush_interval=1)
    for number in range(3):
        stages = (StageSpan("model", 0.0, float(number)), StageSpan("post", 0.0, 9.0))
        collector.record(a_trace(f"t{number}", stages=stages))

    assert collector.stage_durations(familiar_id="wren", stage_name="model", limit=2) == [2.0, 1.0]


def test_only_the_newest_traces_are_kept(path: Path) -> None:
    """The ledger does not grow for ever, stages included."""
    collector = SQLiteCollector(path, flush_interval=2, keep=3)
    for number in range(10):
        collector.record(a_trace(f"t{number}"))

    assert ids(collector.recent_traces(familiar_id="wren")) == ["t9", "t8", "t7"]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM stages").fetchone() == (3,)


def test_facts_json_cannot_hold_are_kept_as_text(path: Path) -> None:
    """An odd value in the metadata costs its type, not the trace."""
    collector = SQLiteCollector(path, flush_interval=1)
    collector.record(a_trace(stages=(StageSpan("model", 0, 1, {"at": Path("x")}),)))

    assert collector.recent_traces(familiar_id="wren")[0].stages[0].metadata == {"at": "x"}


def test_reading_a_missing_database_makes_none(path: Path) -> None:
    """Looking does not leave a file behind."""
    assert SQLiteCollector(path).recent_traces(familiar_id="wren") == []
    assert not path.exists()


def test_a_corrupt_database_costs_one_warning_and_no_turn(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Recording and reading go on as if nobody were looking; the file is not touched."""
    path.write_bytes(b"this is not a database, whatever its name says" * 50)
    collector = SQLiteCollector(path, flush_interval=1)

    with caplog.at_level(logging.WARNING, logger="familiar_connect"):
        for number in range(5):
            collector.record(a_trace(f"t{number}"))
        found = collector.recent_traces(familiar_id="wren")
        collector.close()

    assert (found, len(caplog.records)) == ([], 1)
    assert path.read_bytes().startswith(b"this is not")


def test_traces_are_held_until_the_database_can_be_written(path: Path) -> None:
    """A mended disk gets what was recorded meanwhile."""
    path.mkdir()
    collector = SQLiteCollector(path, flush_interval=1)
    collector.record(a_trace("t1"))
    path.rmdir()
    collector.record(a_trace("t2"))

    assert ids(collector.recent_traces(familiar_id="wren")) == ["t2", "t1"]


def test_many_threads_may_record(path: Path) -> None:
    """Nothing is tied to the thread that built the collector."""
    collector = SQLiteCollector(path, flush_interval=5)

    def record_some(start: int) -> None:
        for number in range(start, start + 20):
            collector.record(a_trace(f"t{number}"))

    threads = [threading.Thread(target=record_some, args=(start,)) for start in (0, 20, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    collector.close()

    assert len(collector.recent_traces(familiar_id="wren", limit=1000)) == 60


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE stages SET metadata = '[]'",
        "UPDATE stages SET metadata = 'null'",
        "UPDATE stages SET metadata = '{torn'",
        "UPDATE stages SET metadata = '{\"a\": ' || replace(hex(zeroblob(100000)), '0', '[') || '}'",
        "UPDATE stages SET metadata = '{\"a\": ' || replace(hex(zeroblob(100)), '00', '[')"
        " || replace(hex(zeroblob(100)), '00', ']') || '}'",
        "UPDATE stages SET duration_s = 'long'",
        "UPDATE stages SET name = x'00ff'",
        "UPDATE traces SET tags = '[1]'",
        "UPDATE traces SET tags = ''",
        "UPDATE traces SET total_duration_s = 9e999",
        "UPDATE traces SET timestamp = 7.5, modality = x'ff'",
    ],
)
def test_a_row_that_makes_no_sense_hides_no_other(path: Path, caplog: pytest.LogCaptureFixture, change: str) -> None:
    """It is passed over with one warning, and the newest that can be read is the last."""
    collector = SQLiteCollector(path, flush_interval=1)
    collector.record(a_trace("bad"))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE traces SET at = at + 9")
    collector.record(a_trace("good"))

    with caplog.at_level(logging.WARNING, logger="familiar_connect"):
        assert ids(collector.recent_traces(familiar_id="wren")) == ["good"]
    assert [record.getMessage() for record in caplog.records] == ["past turns passed over"]
    last = collector.last_trace("wren")
    assert last is not None
    assert last.trace_id == "good"


def test_bytes_that_are_no_text_cost_only_themselves(path: Path) -> None:
    """One bad byte does not hide a turn."""
    collector = SQLiteCollector(path, flush_interval=1)
    collector.record(a_trace("t1"))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE traces SET modality = CAST(x'74ff' AS TEXT)")

    assert [trace.modality for trace in collector.recent_traces(familiar_id="wren")] == ["t\ufffd"]


def test_a_number_no_database_can_hold_is_a_limit_like_any_other(path: Path) -> None:
    """More than there are is all there are."""
    collector = SQLiteCollector(path, flush_interval=1)
    collector.record(a_trace("t1"))

    assert ids(collector.recent_traces(familiar_id="wren", limit=10**20)) == ["t1"]


@pytest.mark.parametrize("allowed", ["mode=ro", "immutable=1"])
def test_where_nothing_can_be_written_the_past_can_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, allowed: str
) -> None:
    """A home on a read-only disk, or someone else's."""
    SQLiteCollector(path, flush_interval=1).record(a_trace("t1"))
    connect = sqlite3.connect

    def guarded(database: str, **more: Any) -> sqlite3.Connection:
        if allowed not in database:
            raise sqlite3.OperationalError("unable to open database file")
        opened: sqlite3.Connection = connect(database, **more)
        return opened

    monkeypatch.setattr(sqlite3, "connect", guarded)

    assert ids(SQLiteCollector(path).recent_traces(familiar_id="wren")) == ["t1"]


def test_a_sound_ledger_has_no_problem_and_junk_has_one(path: Path) -> None:
    """In SQLite's own words."""
    collector = SQLiteCollector(path, flush_interval=1)
    collector.record(a_trace("t1"))
    assert collector.problem() is None
    path.write_bytes(b"junk " * 1000)
    assert "not a database" in (collector.problem() or "")


def test_a_ledger_that_is_held_open_is_read_by_others_and_let_go_at_the_end(tmp_path: Path) -> None:
    """Each turn can be looked up at once; after closing no log is left beside the database."""
    path = tmp_path / "metrics.db"
    held = SQLiteCollector(path, flush_interval=1, holds_open=True)
    held.record(a_trace(trace_id="one"))
    log = tmp_path / "metrics.db-wal"

    assert SQLiteCollector(path).trace("one") is not None
    assert log.exists()
    held.close()
    held.close()
    assert not log.exists()
