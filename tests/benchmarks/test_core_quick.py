"""The benchmark in its quick form: it measures, tells what it measured, and meets the bars no busy machine can move."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import core, embedded, pipeline, prefix, startup
from benchmarks.table import Row, percentile, table
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.embedded.weights import find_weights


@pytest.fixture
def _weights() -> None:
    try:
        find_weights()
    except ModelSetupError as missing:
        pytest.skip(str(missing))


def test_a_percentile_is_a_value_that_was_measured() -> None:
    """Percentiles take the smallest value that enough of the others do not exceed."""
    values = [float(number) for number in range(100, 0, -1)]

    assert [percentile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1.0, 50.0, 99.0, 100.0]


def test_the_table_marks_every_bar() -> None:
    """A met bar, a missed one and a row without any are told apart; a pipe in a text breaks nothing."""
    rows = [Row(name="a|b", value="1", bar="< 2", ok=True), Row(name="c", value="3", bar="< 2", ok=False)]

    assert table({"part": [*rows, Row(name="d", value="4")]}).splitlines()[2:] == [
        "| part | a\\|b | 1 | < 2 | ✓ |",
        "| part | c | 3 | < 2 | ✗ |",
        "| part | d | 4 |  |  |",
    ]


def test_the_pipeline_is_measured_and_no_provider_holds_a_turn() -> None:
    """20 kB come from eight providers; one that hangs costs no sibling its place and no turn its deadline."""
    found = pipeline.measure(quick=True)

    assert len(pipeline.eight_providers()) == 8
    assert abs(found["overhead"]["contributed_chars"] - pipeline.CONTRIBUTED_CHARS) < 500
    assert len(found["hanging"]["with"]) == 3
    for told in found["hanging"]["with"].values():
        assert told["siblings_failed"] <= told["siblings_failed_alone"] + told["siblings_asked"] // 10
        assert told["overshoot_ms"]["p50"] < 10 * pipeline.OVERSHOOT_P99_MS
    assert found["stalls"]["worst_work_of_each_turn_ms"]["p50"] < pipeline.STALL_P99_MS
    assert found["overhead"]["processor_ms"]["p50"] < 3 * pipeline.OVERHEAD_P50_MS
    assert found["stubs"]["ratio"] < 1.5 * pipeline.MOST_AGAINST_TASK_GROUP
    assert found["stubs_of_five"]["ratio"] < 1.5 * pipeline.MOST_AGAINST_TASK_GROUP
    assert len(pipeline.rows(found)) == 9


def test_start_up_imports_nothing_heavy() -> None:
    """Neither the import nor the help loads a heavy library; what the import costs is a multiple of a bare start."""
    found = startup.measure(quick=True)

    assert found["forbidden"] == []
    assert found["import"]["p50"] < 20 * found["interpreter"]["p50"]
    assert [row.name for row in startup.rows(found)][1] == "familiar --help"


def test_consecutive_prompts_share_nine_tenths() -> None:
    """With the stable order the median prompt repeats nine tenths of the one before, most where the window moves."""
    found = prefix.measure(quick=True)["settings"]

    assert found["stable_first"]["median"] >= prefix.LEAST_MEDIAN
    assert found["stable_first"]["window_moved"] < found["classic"]["window_moved"]
    assert found["stable_first"]["agrees_with_traces"]
    assert found["stable_first"]["turns_with_recall"] > 0.8
    assert found["stable_first"]["top_changed"] <= found["stable_first"]["window_moved"] + 1
    assert found["stable_first"]["found_tokens_most"] <= 1200


def test_the_history_rows_hold_a_ratio_for_every_call() -> None:
    """Reads are told against a shorter history, appends against a bare insert."""
    found, rows = core.run(["history"], quick=True)

    assert {"recent", "recent_distinct_authors", "latest_id", "count"} <= set(found["history"]["reads"])
    assert all(" × (" in row.value and row.ok is not None for row in rows["history"])


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_weights")
def test_a_second_turn_on_the_embedded_model_works_little_anew() -> None:
    """A real chat in a process of its own: what the first turn worked is not worked again, nor after a restart."""
    found = embedded.measure(quick=True)

    for name in ("first start", "restart"):
        assert embedded.is_little(found[name]["median"]["second"]), found[name]["median"]
    assert found["first start"]["median"]["first"]["cached_tokens"] == 0
    assert found["restart"]["median"]["first"]["cached_tokens"] > 0


def test_the_command_prints_json_for_one_part(capsys: pytest.CaptureFixture[str]) -> None:
    """`--json --part history --quick` gives rows, everything measured, and the machine; the exit code is 0."""
    code = core.main(["--quick", "--json", "--part", "history"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)

    assert code == 0
    assert set(told["rows"]) == set(told["found"]) == {"history"}
    assert told["machine"]["cores"]


BENCHMARKS = Path(core.__file__).parent
COMMANDS = sorted(
    ".".join(path.relative_to(BENCHMARKS.parent).with_suffix("").parts)
    for path in BENCHMARKS.rglob("*.py")
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    and path.stem not in ("cells", "child", "peer", "runner", "voice_pipecat", "web_pages")
)
"""Every module a person may start; those six are started by `reliability`, `voice` and `web` alone."""


@pytest.mark.parametrize("command", COMMANDS)
def test_asking_a_benchmark_for_help_measures_nothing(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-h` prints how it is used and ends at once."""
    monkeypatch.setattr(sys, "argv", [command, "-h"])
    monkeypatch.delitem(sys.modules, command, raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(command, run_name="__main__")

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ")
