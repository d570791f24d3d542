"""The fuzzer itself: it reaches the readers, and tells what they do not catch."""

from __future__ import annotations

import pytest

from benchmarks.fuzz_readers import READERS, Reader, fuzz


@pytest.mark.parametrize("name", list(READERS))
def test_readers_bear_a_moment_of_it(name: str) -> None:
    """Some inputs read, some refused, none failing."""
    found = fuzz(READERS[name], seconds=0.5, least_runs=60)

    assert found.failures == []
    assert min(found.read, found.refused, found.lines) > 0


def test_what_a_reader_does_not_catch_is_told() -> None:
    """With the input that did it."""
    broken = Reader("bootstrap.card_files.decode_json:parse_json", lambda: [b"{}"], (), "bootstrap/card")

    assert "on e30=" in fuzz(broken, seconds=0.0).failures[0]
