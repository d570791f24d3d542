"""Whatever a side model answers: nothing outside the allow-list is written, nothing is lost without a version."""

from __future__ import annotations

from benchmarks.writer_adversary import measure


def test_no_answer_reaches_beyond_its_files() -> None:
    """Character, lore, notes, strangers and earlier days stay; every text there was can be restored."""
    tally = measure(60)

    assert tally["answers"] >= 60
    assert (tally["outside"], tally["lost"]) == (0, 0)
