"""Settings for every test: property tests take as long as the machine needs and repeat the same way in CI, and
whatever a test does to the program's log is undone after it. A process that outlives the tests fails the run."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from familiar_connect.config.command import set_home_option
from tests.fakes import collection, leftovers, quick
from tests.fakes.properties import EXAMPLES

settings.register_profile("here", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
QUICK_EXAMPLES = min(EXAMPLES, 10)
"""How many with `--quick`: enough to see a property broken by what was just changed; the whole suite searches on."""


def pytest_addoption(parser: pytest.Parser) -> None:
    quick.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Bring our own plugins; properties are read after this."""
    if config.getoption("--quick"):
        settings.register_profile("quick", settings(), max_examples=QUICK_EXAMPLES)
        settings.load_profile("quick")
    for plugin in (leftovers, collection, quick):
        config.pluginmanager.register(plugin)


@pytest.fixture(autouse=True)
def _program_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints name the program as it is installed, not as the tests were started, and no home of another test."""
    monkeypatch.setenv("FAMILIAR_COMMAND", "familiar")
    monkeypatch.setenv("LANGUAGE", "en")
    set_home_option(None)


@pytest.fixture(autouse=True)
def _fresh_log() -> Iterator[None]:
    """The program's logger as it is before anybody set it up."""
    program = logging.getLogger("familiar_connect")
    before = program.level, list(program.handlers), program.propagate
    program.setLevel(logging.NOTSET)
    yield
    for handler in program.handlers:
        if handler not in before[1]:
            handler.close()
    program.level, program.handlers, program.propagate = before
