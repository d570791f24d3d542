"""Whatever a side model answers: nothing outside the allow-list is written, and nothing of the owner's is lost."""

from __future__ import annotations

import pytest

from benchmarks.writer_adversary import measure


@pytest.mark.slow
def test_no_answer_reaches_beyond_its_files() -> None:
    """Character, lore, notes, strangers and earlier days stay; every line the owner wrote is in its place."""
    tally = measure(60)

    assert tally["answers"] >= 60
    assert (tally["outside"], tally["lost"], tally["lines"]) == (0, 0, 0)
