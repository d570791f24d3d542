"""A pytest plugin that has the tests collected once and runs, in a fork of that process, those that reach a fault.

First every test runs once as it is, and the lines it runs are noted: a fault is tried with the tests that run its
line, those of the module's own file first, then the quickest. The first that fails ends the trial.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from benchmarks.mutants.faults import Fault
from benchmarks.mutants.planting import CannotPlant, Key, plant_in_functions

GRACE_S = 10.0
"""What a trial may take besides."""
PATIENCE = 5.0
"""How many times longer than without a fault the tests may take, before the fault counts as one that never ends."""
MOST_NOTED = 3_000
"""So many lines of a function are noted in one test; one that loops has been everywhere by then."""
SURVIVED, KILLED, NOT_PLANTED = 0, 1, 3


@dataclass(frozen=True)
class Outcome:
    """What became of one fault: `killed`, `timeout`, `survived` or `unreached`; and the test that noticed it."""

    state: str
    test: str = ""
    tests_run: int = 0
    seconds: float = 0.0


@dataclass
class Reach:
    """The lines one test runs in the modules of the area, how long it takes, and whether it passes."""

    seconds: float = 0.0
    passed: bool = True
    lines: dict[str, list[int]] = field(default_factory=dict)


class TestLoop:
    """Takes the place of pytest's loop over its tests."""

    __test__ = False

    def __init__(self, run: Callable[[pytest.Session, TestLoop], None]) -> None:
        self.failed = ""
        self._run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Properties need no smallest example here, and keep none."""
        from hypothesis import Phase, settings

        quick = settings(settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate), database=None)
        settings.register_profile("planted", quick)
        settings.load_profile("planted")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:
            self._run(session, self)
        return True

    def run_items(self, items: Sequence[pytest.Item]) -> tuple[str, int]:
        """Run *items* until one fails; its name and how many ran."""
        self.failed = ""
        for number, item in enumerate(items):
            following = items[number + 1] if number + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return self.failed, number + 1
        return "", len(items)


def fork(work: Callable[[], int], limit_s: float) -> int | None:
    """What *work* returns in a process of its own; None where it took longer than *limit_s*. Nothing of it is left."""
    child = os.fork()
    if child == 0:
        code = 4
        try:
            os.setpgid(0, 0)
            code = work()
        finally:
            os._exit(code)
    ends = time.monotonic() + limit_s
    status: int | None = None
    while status is None and time.monotonic() < ends:
        done, raw = os.waitpid(child, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(raw)
        else:
            time.sleep(0.005)
    with suppress(ProcessLookupError, PermissionError):  # nothing was left
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status


def note_reach(session: pytest.Session, loop: TestLoop, files: Collection[str], to: Path) -> None:
    """Run every test once and write what each reaches."""

    def work() -> int:
        found = {}
        for number, item in enumerate(session.items):
            following = session.items[number + 1] if number + 1 < len(session.items) else None
            lines: dict[str, set[int]] = defaultdict(set)
            started = time.monotonic()
            loop.failed = ""
            _trace(files, lines)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            finally:
                _trace(None, lines)
            found[item.nodeid] = Reach(
                time.monotonic() - started, not loop.failed, {name: sorted(each) for name, each in lines.items()}
            )
        to.write_text(json.dumps({name: asdict(reach) for name, reach in found.items()}), encoding="utf-8")
        return 0

    if fork(work, 1800) != 0:
        raise RuntimeError("the tests could not be run without a fault; see the log")


def read_reach(file: Path) -> dict[str, Reach]:
    return {name: Reach(**found) for name, found in json.loads(file.read_text(encoding="utf-8")).items()}


def choose_tests(fault: Fault, file: str, reaches: dict[str, Reach]) -> list[str]:
    """The tests that run the line of *fault* (or, where that runs at import, anything of its module), best first."""
    lines = set(range(fault.line, fault.last_line + 1))
    own = f"test_{Path(fault.file).stem}.py"
    chosen = [
        name
        for name, reach in reaches.items()
        if reach.passed and file in reach.lines and (fault.at_import or not lines.isdisjoint(reach.lines[file]))
    ]
    return sorted(chosen, key=lambda name: (own not in name, reaches[name].seconds))


def try_fault(
    fault: Fault,
    *,
    source: str,
    file: str,
    session: pytest.Session,
    loop: TestLoop,
    functions: dict[Key, list[Any]],
    reaches: dict[str, Reach],
    note: Path,
) -> Outcome | None:
    """What the tests say about *fault*; None where it cannot be planted in a program that is loaded."""
    names = choose_tests(fault, file, reaches)
    if not names:
        return Outcome("unreached")
    by_name = {item.nodeid: item for item in session.items}

    def work() -> int:
        try:
            plant_in_functions(source, file, fault, functions)
        except CannotPlant:
            return NOT_PLANTED
        return tell(note, *loop.run_items([by_name[name] for name in names]))

    started = time.monotonic()
    note.unlink(missing_ok=True)
    code = fork(work, GRACE_S + PATIENCE * sum(reaches[name].seconds for name in names))
    return None if code == NOT_PLANTED else outcome_of(code, note, time.monotonic() - started)


def tell(note: Path, test: str, count: int) -> int:
    note.write_text(json.dumps([test, count]), encoding="utf-8")
    return KILLED if test else SURVIVED


def outcome_of(code: int | None, note: Path, seconds: float) -> Outcome:
    test, count = json.loads(note.read_text(encoding="utf-8")) if note.exists() else ("", 0)
    state = "timeout" if code is None else "survived" if code == SURVIVED else "killed"
    return Outcome(state, test, count, round(seconds, 3))


class _Noted:
    """What is noted now; threads that outlive a test go on noting, for the test that runs then."""

    files: Collection[str] = ()
    lines: dict[str, set[int]] = {}
    seen: dict[CodeType, int] = {}


def _on_line(frame: FrameType, event: str, argument: object) -> Any:
    _Noted.lines.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
    _Noted.seen[frame.f_code] = count = _Noted.seen.get(frame.f_code, 0) + 1
    if count < MOST_NOTED:
        return _on_line
    frame.f_trace_lines = False
    return None


def _on_call(frame: FrameType, event: str, argument: object) -> Any:
    if frame.f_code.co_filename not in _Noted.files or _Noted.seen.get(frame.f_code, 0) >= MOST_NOTED:
        return None
    return _on_line(frame, event, argument)


def _trace(files: Collection[str] | None, lines: dict[str, set[int]]) -> None:
    """Note the lines of *files* that run from now on, in every thread; None ends it."""
    _Noted.files, _Noted.lines, _Noted.seen = files or (), lines, {}
    trace = _on_call if files is not None else None
    sys.settrace(trace)
    threading.settrace(trace)
