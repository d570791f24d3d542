"""A home made by version 0.1.0 opens, is searched and replays with the program of today."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.program import run_program

FIXTURES = Path(__file__).parent.parent / "fixtures"
AS_SENT = FIXTURES / "home_0_1_0.as_sent.json"
"""What that version's own `replay --as-sent --json` printed."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ember after a chat of three turns with Sam, whose sister has a boat; the index is not along."""
    folder = tmp_path_factory.mktemp("home")
    with tarfile.open(FIXTURES / "home_0_1_0.tar.gz") as archive:
        safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since Python 3.11.4
        archive.extractall(folder, **safely)
    return folder


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["list"], ["ember", "6 turns"]),
        (["memory", "list"], ["people/terminal-sam.md", "sessions/2026-11-15-afternoon.md"]),
        (["memory", "search", "sister's boat"], ["My sister Anna has a red sailing boat called Puffin."]),
        (["memory", "log"], ["people/terminal-sam.md"]),
        (["memory", "why", "people/terminal-sam.md"], ["Puffin"]),
        (["inspect"], ["20261115T125151101784", "character:description"]),
        (["replay"], []),
        (["metrics"], []),
    ],
    ids=lambda value: " ".join(value) or "anything",
)
def test_a_home_of_the_first_version_opens(home: Path, words: list[str], shown: list[str]) -> None:
    """Every verb that reads a familiar's folder finds in it what was written then."""
    done = run_program(home, *words)

    assert (done.returncode, [text for text in shown if text not in done.stdout]) == (0, []), done.stderr


def test_a_prompt_of_the_first_version_comes_back_byte_for_byte(home: Path) -> None:
    """`replay --as-sent` prints what it printed when the turn was a minute old."""
    done = run_program(home, "replay", "--as-sent", "--json")

    assert done.stdout == AS_SENT.read_text(encoding="utf-8"), done.stderr
