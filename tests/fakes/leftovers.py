"""A pytest plugin: a run of the tests fails where a process it started outlives it.

Every process of a run inherits a variable that names the run, so one that lost its parent is found too.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from pathlib import Path

import pytest

RUN = "TEST_RUN"
"""The variable."""
GRACE_S = 20.0
"""How long a process that is ending may take, on a machine with other work."""
PROC = Path("/proc")
FOUND = pytest.StashKey[list[str]]()


def processes_of(run: str) -> dict[int, str]:
    """The command lines of all processes that *run* started and that still run, without our own, by their id."""
    found = {}
    for folder in PROC.glob("[0-9]*") if sys.platform.startswith("linux") else ():
        try:
            if (
                int(folder.name) != os.getpid()
                and f"\0{RUN}={run}\0".encode() in b"\0" + (folder / "environ").read_bytes()
            ):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                found[int(folder.name)] = command
        except OSError:
            continue  # another person's, or it has just ended
    return found


def left_over(run: str, grace_s: float = GRACE_S) -> list[str]:
    """What is still there after *grace_s*, one line a process."""
    ends = time.monotonic() + grace_s
    while (found := processes_of(run)) and time.monotonic() < ends:
        time.sleep(0.05)
    return [f"{number}: {command}" for number, command in sorted(found.items())]


def pytest_configure(config: pytest.Config) -> None:
    """The first process of a run names it; its workers inherit the name."""
    if not hasattr(config, "workerinput"):
        os.environ[RUN] = uuid.uuid4().hex


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """When the workers have ended, nothing else may be there."""
    from tests.fakes.program_process import close_warm_starter

    close_warm_starter()
    if hasattr(session.config, "workerinput"):
        return
    session.config.stash[FOUND] = left_over(os.environ[RUN])
    if session.config.stash[FOUND] and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if found := config.stash.get(FOUND, []):
        terminalreporter.section("processes that outlived the tests", red=True)
        for line in found:
            terminalreporter.line(line)
