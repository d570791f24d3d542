"""Random withdrawals in a bounded form: nothing that was taken back is left, nothing else is lost."""

from __future__ import annotations

import pytest

from benchmarks.withdrawals import LEAST_TOLD, measure


@pytest.mark.timeout(600)
def test_no_word_survives_being_taken_back_and_no_other_is_lost() -> None:
    """Prompts, files, versions, index, traces and databases; deleted, edited, private and erased words."""
    found = measure(25, seed=2)

    assert found.survivors == []
    assert found.lost == []
    assert found.kept > 0
    assert found.looked_back > 0  # on pages that look back at a month, too
    assert found.share_told >= LEAST_TOLD, found.missing


@pytest.mark.timeout(600)
def test_words_are_found_where_nothing_is_carried_out() -> None:
    """So that the test above can fail."""
    assert measure(5, seed=2, is_carried_out=False).survivors != []
