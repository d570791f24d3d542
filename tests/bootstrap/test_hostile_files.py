"""Files made to cost their reader much are refused or read by a child process within its limits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.hostile_inputs import FILES, MAX_MEGABYTES, MAX_SECONDS, HostileFile, measure_file
from familiar_connect.bootstrap.child_reader import LIMITS, read_in_child
from familiar_connect.bootstrap.from_card import read_card_file
from familiar_connect.errors import CharacterCardError
from familiar_connect.support.bounded_process import ProcessFailedError, ProcessLimitError, ProcessLimits, run_bounded

WAITS_AT_MOST_S = 60.0
"""Wall time on a machine that is busy with other tests; the child's processor time is the bound that counts."""

needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds memory and processor time of both")


@needs_limits
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_hostile_file_costs_no_more_than_the_bars(file: HostileFile, tmp_path: Path) -> None:
    """Read or refused, in processor time and memory a small machine has; a refusal is one sentence with its name."""
    cost = measure_file(file, tmp_path)

    assert cost.seconds < MAX_SECONDS
    assert cost.megabytes < MAX_MEGABYTES
    assert cost.wall_s < WAITS_AT_MOST_S
    assert cost.outcome == "read" or Path(file.name).stem in cost.outcome
    assert "\n" not in cost.outcome


def a_child(folder: Path, body: str) -> str:
    """A module for `run_bounded`, run from *folder*."""
    lines = ["import sys", "from familiar_connect.support.bounded_process import *", "limit_this_process(sys.argv[1])"]
    (folder / "a_child.py").write_text("\n".join([*lines, "given = read_given(sys.argv[2])", body]))
    return "a_child"


@needs_limits
@pytest.mark.parametrize(
    ("body", "limits", "words"),
    [
        ("while True: pass", ProcessLimits(cpu_s=0.3), "takes more than 0.3 s of work to read"),
        ("import time; time.sleep(60)", ProcessLimits(wall_s=0.5), "takes longer than 0.5 s to read"),
        ("print_answer({'a': 'x' * 3_000_000})", ProcessLimits(output_bytes=1 << 20), "unpacks to more than 1 MB"),
        (
            "try: held = bytearray(1 << 29)\nexcept MemoryError: print_answer({'excess': 'memory'})",
            ProcessLimits(),
            "takes more than 160 MB of memory to read",
        ),
    ],
)
def test_each_limit_has_its_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, limits: ProcessLimits, words: str
) -> None:
    """The child is ended, not waited for."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(ProcessLimitError) as refused:
        run_bounded(a_child(tmp_path, body), (), b"", limits)
    assert str(refused.value) == words


@pytest.mark.parametrize("body", ["sys.exit(3)", "print('no JSON')", "print('[1]')"])
def test_a_child_without_an_answer_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Whatever it printed instead."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(ProcessFailedError):
        run_bounded(a_child(tmp_path, body), (), b"", ProcessLimits())


def test_a_child_gets_all_its_bytes_and_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, also when it does not read them."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    data = b"\0\xff" * 500_000

    module = a_child(tmp_path, "print_answer({'length': len(given), 'more': sys.argv[3:]})")
    assert run_bounded(module, ("-x", "ö"), data, ProcessLimits()) == {"length": 1_000_000, "more": ["-x", "ö"]}
    (tmp_path / "a_child.py").write_text("print('{}')")
    assert run_bounded(module, (), data, ProcessLimits()) == {}


def test_a_refusal_names_file_cause_and_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence for the person who has the file."""
    path = tmp_path / "mira.json"
    path.write_text(json.dumps({"name": "Mira", "description": "x" * 100_000}))
    monkeypatch.setattr("familiar_connect.bootstrap.child_reader.LIMITS", ProcessLimits(output_bytes=1 << 16))

    with pytest.raises(CharacterCardError, match=r"mira\.json unpacks to more than 0 MB: no card needs that; export"):
        read_card_file(path)


def test_when_no_process_can_be_started_the_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without memory."""

    def refuse(*_: object, **__: object) -> subprocess.Popen[bytes]:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(subprocess, "Popen", refuse)

    with pytest.raises(CharacterCardError, match=r"^a\.png cannot be read, no process .*Cannot allocate memory"):
        read_in_child("card", b"x", shown="a.png", error=CharacterCardError, limits=LIMITS)
