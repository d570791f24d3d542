"""A process that may open next to nothing says so at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.program import make_home
from tests.fakes.program_process import environment

pytest.importorskip("resource", reason="Windows has no such limit")


@pytest.mark.parametrize("words", [["chat"], ["ask", "Hello?"], ["run"], ["web", "--no-open", "--port", "0"]])
def test_twenty_four_descriptors_end_in_one_sentence(tmp_path: Path, words: list[str]) -> None:
    """It names the limit and what to do; no traceback, and a code that is not 0."""
    make_home(tmp_path)
    limited = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)); os.execv(sys.executable,"
    program = f"{limited} [sys.executable, '-m', 'familiar_connect', *sys.argv[1:]])"

    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**environment(tmp_path, None), "DISCORD_BOT": "x"},
        cwd=tmp_path,
        input="Hello?\n",
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "files open at once" in line]
    assert "only 24 files" in line
    assert "ulimit -n 1024" in line
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
