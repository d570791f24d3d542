"""What a turn's page needs of its record, read without the types the record is made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.observe.inspector import explain_turn
from familiar_connect.observe.replay_files import RecordSummary, ReplayFiles, read_summary
from familiar_connect.observe.replay_store import ReplayRecord, ReplayStore
from familiar_connect.observe.trace import StageSpan
from familiar_connect.presets.types import ActivePreset, Preset, PresetNode
from tests.fakes.traces import a_record, a_trace


def with_preset(record: ReplayRecord) -> ReplayRecord:
    nodes = (PresetNode(identifier="3f2a-77", name="Weather"), PresetNode(identifier="bare"))
    return replace(
        record, request=replace(record.request, preset=ActivePreset(preset=Preset(name="Plain", prompts=nodes)))
    )


@pytest.mark.parametrize("has_preset", [False, True])
def test_the_page_of_a_turn_is_the_same_with_the_summary_as_with_the_whole_record(
    tmp_path: Path, has_preset: bool
) -> None:
    """Seed, hash and the names of a preset's prompts are all it takes from it."""
    record = with_preset(a_record()) if has_preset else a_record()
    ReplayStore(tmp_path).save("t1", record)
    blocks = [{"source": "preset:Plain:3f2a-77", "layer": "reserved", "tokens": 1, "kept": True}]
    dropped = [{"layer": "scene", "source": "now", "reason": "dropped", "tokens_dropped": 3, "full": "layer"}]
    trace = a_trace(stages=(StageSpan("assemble", 0.0, 0.02, {"tokens_by_block": blocks, "dropped": dropped}),))

    summary = read_summary(tmp_path, "t1")
    assert isinstance(summary, RecordSummary)
    page = explain_turn(trace, summary, b"# header\n\nYou are a bird.")
    assert page == explain_turn(trace, record, b"# header\n\nYou are a bird.")
    assert ("preset:Plain:Weather" in page) == has_preset


def test_a_record_that_cannot_be_read_has_no_summary(tmp_path: Path) -> None:
    """Not there, torn, or no id at all."""
    files = ReplayFiles(tmp_path)
    files.turns.mkdir()
    files.record_path("torn").write_bytes(b"x\x9c")

    assert [read_summary(tmp_path, each) for each in ("t1", "torn", "../t1")] == [None, None, None]
