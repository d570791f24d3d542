"""Random rooms in a bounded form: nothing is told where it may not be, what may be told is there when asked for."""

from __future__ import annotations

import pytest

from benchmarks.confidence_rooms import measure


@pytest.mark.timeout(900)
def test_no_word_stands_where_somebody_could_not_read_it() -> None:
    """Roles, overwrites, threads, forums, people who come and go; at least 99 % of what may be told is told."""
    for door in ("rehearse", "group"):  # the second with a group of Telegram
        found = measure(10, seed=7, door=door)

        assert found.leaks == []
        assert found.is_good, found.missing


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("fault", "seed", "world"),
    [("everyone-alone", 1, 1), ("no-member-overwrites", 1, 1), ("no-fingerprint", 2, 1), ("no-age", 2, 3)],
)
def test_a_fault_planted_in_the_permission_code_is_found(fault: str, seed: int, world: int) -> None:
    """So that the test above can fail; `--plant` knows more of them."""
    assert measure(13, seed=seed, part=(world, 40), door="rehearse", fault=fault, until_leak=True).leaks != []
