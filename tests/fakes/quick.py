"""A pytest plugin: what kind of test each is, and `--quick`, which leaves out all that starts something or takes long.

The kind follows from where a test lies and from the helpers its module uses, so that nobody has to remember it; a test
that is slow by itself says so with `@pytest.mark.slow`. Neither can be forgotten: a test that starts a process and is
not of a kind that may, fails, and with `--quick` so does one that takes longer than its share.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
KINDS = ("browser", "process", "crash", "walk", "benchmark", "slow")
"""The markers of what `--quick` leaves out; pyproject.toml says what each means."""
STARTING_KINDS = ("browser", "process", "crash", "walk", "benchmark")
"""Of those, the ones that may start a process."""
FOLDERS = {"walks": "walk", "benchmarks": "benchmark", "setup": "process", "commands": "process"}
"""Folder of tests: what all of them are."""
LONGEST_S = 1.0
"""How long a quick test keeps the processor, at most. The clock on the wall would tell what else the machine does."""
_STARTS = re.compile(
    r"^\s*(?:import|from) (?:subprocess|multiprocessing"
    r"|tests\.fakes\.(?:program|program_process|page|terminal|installed|rehearsal_process|warm_program)\b"
    r"|familiar_connect\.extensions\.discord\.demo|tests\.fakes\.(?:discord|twitch)\w*server)",
    re.MULTILINE,
)
_CRASHES = re.compile(r"crash|kill|trouble|outlive")
_START_EVENTS = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.spawn", "os.system"}
)
_started: list[str] = []
"""What the test that runs has started."""
_began = pytest.StashKey[float]()


def add_option(parser: pytest.Parser) -> None:
    """The option; pytest asks only the first conftest for it."""
    parser.addoption("--quick", action="store_true", help="only tests that start nothing and take less than a second")


def pytest_configure() -> None:
    """The interpreter tells of every start from now on; it never stops telling, so it is asked once."""
    if not getattr(sys, "_starts_are_noted", False):
        sys.addaudithook(_note_start)
        sys._starts_are_noted = True  # type: ignore[attr-defined]


def _note_start(event: str, arguments: tuple[object, ...]) -> None:
    if event in _START_EVENTS:
        _started.append(f"{event} {arguments[0] if arguments else ''}".strip())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--quick`, a file of which nothing would run is not even imported."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and config.getoption("--quick") and kinds_of_file(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with its kinds; with `--quick`, keep those that have none."""
    for item in items:
        for kind in kinds_of(item):
            item.add_marker(kind)
    if config.getoption("--quick"):
        quick = [item for item in items if not has_kind(item, KINDS)]
        kept = set(map(id, quick))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = quick


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Begin to watch."""
    _started.clear()
    item.stash[_began] = time.process_time()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """When the test and what it made have ended: fail it where it is of another kind than it seems."""
    report = yield
    if call.when == "teardown" and report.passed and (fault := fault_of(item)):
        report.outcome, report.longrepr = "failed", f"{item.nodeid} {fault}"
    return report


def fault_of(item: pytest.Item) -> str | None:
    """What the kinds of *item* do not say of it, now that it ran."""
    if _started and not has_kind(item, STARTING_KINDS):
        return f"starts a process ({_started[0]}) and is not marked: `pytestmark = pytest.mark.process` in its file"
    took = time.process_time() - item.stash[_began]
    if item.config.getoption("--quick") and took > LONGEST_S:
        return f"kept the processor for {took:.1f} s, longer than {LONGEST_S:g} s: mark it with `@pytest.mark.slow`"
    return None


def has_kind(item: pytest.Item, kinds: tuple[str, ...]) -> bool:
    """Whether *item* is of one of *kinds*."""
    return any(item.get_closest_marker(kind) for kind in kinds)


def kinds_of(item: pytest.Item) -> set[str]:
    """What the place and the name of *item* say."""
    found = set(kinds_of_file(item.path))
    if _CRASHES.search(item.name):
        found.add("crash")
    return found


@cache
def kinds_of_file(path: Path) -> frozenset[str]:
    """What every test of the file at *path* is, by its folder, its name and what it imports."""
    inside = path.relative_to(TESTS).parts if path.is_relative_to(TESTS) else ()
    found = {kind for folder, kind in FOLDERS.items() if folder in inside}
    if path.name.startswith("test_browser"):
        found.add("browser")
    if _STARTS.search(path.read_text(encoding="utf-8")):
        found.add("process")
    return frozenset(found)
