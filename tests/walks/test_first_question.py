"""The first question of a new process behind every other door than `ask`: it finds what was told to an earlier one.

Each question starts the program cold; `python -m benchmarks.first_question` puts many to each door.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.first_question.trial import Endpoint, Fact, load_facts, make_told_home
from tests.fakes.page import needs_page

BY_MEANING, ALSO_BY_MEANING, BY_WORDS = "Lisbon", "tonsils", "owe Marta"
"""What is asked for; the last shares words with its question, the others none."""
TOLD_LINES = 24


def told_and_asked() -> tuple[list[str], dict[str, Fact]]:
    """What is told, and the facts of it that may be asked for."""
    facts, lines = load_facts()
    chosen = {each: fact for each in (BY_MEANING, ALSO_BY_MEANING, BY_WORDS) for fact in facts if each in fact.told}
    assert [fact.shares_words for fact in chosen.values()] == [False, False, True]
    return list(dict.fromkeys([*lines[:TOLD_LINES], *(fact.told for fact in chosen.values())])), chosen


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint()
    with served.serve():
        yield served


@pytest.fixture(scope="module")
def told(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which everything was told in one chat, which was closed."""
    home = tmp_path_factory.mktemp("first") / "told"
    make_told_home(home, endpoint, told_and_asked()[0])
    return home


@needs_page
@pytest.mark.parametrize(
    ("door", "asked"),
    [
        ("chat --plain", (BY_MEANING, BY_WORDS)),
        ("page", (ALSO_BY_MEANING,)),
        ("voice", (BY_MEANING, ALSO_BY_MEANING)),
    ],
    ids=["chat --plain", "page", "voice"],
)
async def test_a_new_process_finds_by_meaning_what_was_told_before(
    door: str, asked: tuple[str, ...], told: Path, endpoint: Endpoint, tmp_path: Path
) -> None:
    """Each question in a process that was just started, and in a chat where nothing of it was said."""
    pytest.importorskip("discord", reason="the Discord library is an extra")
    if door == "voice":
        pytest.importorskip("hibari", reason="voice is an extra")
    from benchmarks.first_question.doors import ask_at_home

    facts = [told_and_asked()[1][each] for each in asked]
    missed = [fact.asked for fact in await ask_at_home(door, told, facts, endpoint, tmp_path)]
    # A voice waits for nobody as long as a chat does: on a crowded machine one search of two may come too late.
    assert missed == [] or (door == "voice" and len(missed) == 1)


async def test_after_a_restart_discord_finds_by_meaning_what_was_told_in_another_room(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    """`familiar run` through the real library, started anew for each question."""
    pytest.importorskip("discord", reason="the Discord library is an extra")
    from benchmarks.first_question.doors import ask_on_discord

    lines, facts = told_and_asked()
    asked = [facts[BY_MEANING]]
    assert [fact.asked for fact in await ask_on_discord(asked, lines, endpoint, tmp_path)] == []
