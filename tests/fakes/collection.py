"""A pytest plugin: what every worker needs to know the tests is worked out once, and kept out of its later work.

Each worker collects every test. Without this each of them would compile every test file, with assertions that tell
what they compared, and the collector of garbage would look through what they keep for the whole run again and again.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir
from hypothesis import strategies

from tests.fakes.quick import kinds_of_file

PATTERNS = ("test_*.py", "conftest.py")
"""The files whose assertions pytest rewrites."""

THRESHOLDS = (20_000, 10, 10)
"""How much is made before garbage is looked for: more than by default, since tests make much and end soon."""


def pytest_configure(config: pytest.Config) -> None:
    """Before the workers are started: compile for all of them. A process that collects keeps what it makes."""
    if not config.getoption("numprocesses", None):
        gc.disable()
    elif hasattr(os, "fork") and config.getoption("assertmode") == "rewrite" and not sys.dont_write_bytecode:
        compile_tests(config, Path(__file__).parent.parent)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Have Hypothesis work out what it needs to know of every character, which it keeps in a file.

    That takes two seconds of work, once in a clone: more than a quick test may take, and it would be the first property
    of text in each worker that takes them.
    """
    if not hasattr(session.config, "workerinput"):
        strategies.text().validate()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests: in an order that has all of them busy to the end."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = deal(items, workers)


def deal(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """*items* so that each worker's part begins with its share of those that start something, file by file.

    Each begins with a part of the list, and one that has finished takes from the end of another's. So what takes long
    is begun first, and what is left at the end is short.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    long = [path for path in files if kinds_of_file(path)]
    short = [path for path in files if not kinds_of_file(path)]
    dealt = [path for worker in range(workers) for path in (*long[worker::workers], *short[worker::workers])]
    return [item for path in dealt for item in files[path]]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was collected lives as long as we do: no look for garbage needs to go through it."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


def compile_tests(config: pytest.Config, folder: Path) -> list[Path]:
    """Compile the test files under *folder* that changed, on every core; those that were compiled."""
    changed = [file for pattern in PATTERNS for file in sorted(folder.rglob(pattern)) if not is_compiled(file)]
    cores = min(os.cpu_count() or 1, len(changed))
    children = []
    for core in range(cores):
        child = os.fork()
        if child == 0:
            try:
                for file in changed[core::cores]:
                    compile_test(config, file)
            finally:
                os._exit(0)  # a file that cannot be compiled is the worker's to tell of
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return changed


def compiled_file(file: Path) -> Path:
    """Where pytest looks for *file* compiled."""
    return get_cache_dir(file) / f"{file.stem}{PYC_TAIL}"


def is_compiled(file: Path) -> bool:
    """Whether that is there and no older; pytest looks at its content again."""
    try:
        return compiled_file(file).stat().st_mtime >= file.stat().st_mtime
    except OSError:
        return False


def compile_test(config: pytest.Config, file: Path) -> None:
    """Write *file* compiled, as a worker would."""
    digest, code = _rewrite_test(file, config)
    target = compiled_file(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    _write_pyc(config.stash[assertstate_key], code, digest, target)
