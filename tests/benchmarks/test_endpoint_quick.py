"""Short forms of the endpoint's trials, each with a started `familiar serve`."""

from __future__ import annotations

import pytest

from benchmarks.endpoint import histories, rooms
from tests.fakes.page import LACKING

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(bool(LACKING), reason="the extra `web` is not installed; `python3 run.py test` has it"),
]


def test_what_programs_do_to_their_chats_doubles_and_loses_nothing() -> None:
    """By hand it is a thousand of them."""
    found = histories.measure(histories=3)

    assert (found["doubled"], found["lost"], found["other"]) == ([], [], [])
    assert found["requests"] > 5


def test_no_word_is_told_by_a_key_that_may_not_hear_it() -> None:
    """In one home with keys of every kind, while people are linked and unlinked; by hand in a thousand chats."""
    found = rooms.measure(rooms=1, words=10, asked=20)

    assert found["leaks"] == []
    assert found["told"] == found["may"] > 5
