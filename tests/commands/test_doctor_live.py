"""`familiar doctor --live`: what a health check learns about the program that runs beside it."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from familiar_connect.config.folders import FamiliarFolder
from tests.commands.test_run import Started
from tests.fakes.program import make_home, one_sentence, run_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def test_a_program_that_runs_is_live_until_it_hangs_or_ends(tmp_path: Path) -> None:
    """By its exit code and in one sentence; a kill is an end as good as any."""
    with Started(tmp_path) as running:
        running.read_until("up")
        up = run_program(tmp_path, "doctor", "--live")
        facts = run_program(tmp_path, "doctor", "--live", "--json")
        running.send_signal(signal.SIGSTOP)
        [root] = [path for path in (tmp_path / "familiars").iterdir() if path.name != "_default"]
        file = FamiliarFolder(root).running_file
        os.utime(file, (0, file.stat().st_mtime - 60))
        hanging = run_program(tmp_path, "doctor", "--live")
        running.send_signal(signal.SIGKILL)
        assert running.end()[0] == -signal.SIGKILL
    ended = run_program(tmp_path, "doctor", "--live")

    assert (up.returncode, up.stderr) == (0, "")
    assert f"{root.name} is running" in up.stdout
    assert (facts.returncode, json.loads(facts.stdout)["live"]) == (0, True)
    assert (hanging.returncode, hanging.stdout) == (1, "")
    assert f"{root.name} hangs: its program has given no sign of life for 6" in hanging.stderr
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"{root.name} is not running: start it with `familiar run`, or `familiar web`.\n"


def test_a_program_that_was_stopped_well_is_not_live(tmp_path: Path) -> None:
    """Nothing is left that could be taken for it."""
    with Started(tmp_path) as running:
        running.read_until("up")
        running.send_signal(signal.SIGTERM)
        assert running.end()[0] == 0
    assert run_program(tmp_path, "doctor", "--live").returncode == 1


def test_a_home_without_a_familiar_is_a_sentence(tmp_path: Path) -> None:
    """As for every verb; one that was never started is not live."""
    assert run_program(tmp_path, "doctor", "--live").returncode == 1
    assert one_sentence(run_program(tmp_path, "doctor", "--live"))
    make_home(tmp_path)
    assert "is not running" in run_program(tmp_path, "doctor", "--live").stderr
