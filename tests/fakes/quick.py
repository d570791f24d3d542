"""A pytest plugin: what kind of test each is, and `--quick`, which leaves out all that starts something or takes long.

The kind follows from where a test lies and from the helpers its module uses, so that nobody has to remember it; a test
that is slow by itself says so with `@pytest.mark.slow`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

KINDS = {
    "browser": "drives a page in Chromium",
    "process": "starts the program, or another one",
    "crash": "kills the program, or has its disk fail",
    "walk": "goes the way of a person through the program",
    "benchmark": "is the short form of a measurement",
    "slow": "takes more than a second",
}
FOLDERS = {"walks": "walk", "benchmarks": "benchmark", "setup": "process", "commands": "process"}
"""Folder of tests: what all of them are."""
_STARTS = re.compile(
    r"^\s*(?:import|from) (?:subprocess|multiprocessing"
    r"|tests\.fakes\.(?:program|program_process|page|terminal|installed|rehearsal_process|warm_program)\b"
    r"|familiar_connect\.testing\.discord_server|tests\.fakes\.(?:discord|twitch)\w*server)",
    re.MULTILINE,
)
_CRASHES = re.compile(r"crash|kill|trouble|outlive")


def add_option(parser: pytest.Parser) -> None:
    """The option; pytest asks only the first conftest for it."""
    parser.addoption("--quick", action="store_true", help="only tests that start nothing and take less than a second")


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in KINDS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with its kinds; with `--quick`, keep those that have none."""
    for item in items:
        for kind in kinds_of(item):
            item.add_marker(kind)
    if config.getoption("--quick"):
        quick = [item for item in items if not any(item.get_closest_marker(kind) for kind in KINDS)]
        kept = set(map(id, quick))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = quick


def kinds_of(item: pytest.Item) -> set[str]:
    found = set(kinds_of_file(item.path))
    if _CRASHES.search(item.name):
        found.add("crash")
    return found


@cache
def kinds_of_file(path: Path) -> frozenset[str]:
    """What every test of the file at *path* is, by its folder, its name and what it imports."""
    found = {kind for folder, kind in FOLDERS.items() if folder in path.parts}
    if path.name.startswith("test_browser"):
        found.add("browser")
    if _STARTS.search(path.read_text(encoding="utf-8")):
        found.add("process")
    return frozenset(found)
