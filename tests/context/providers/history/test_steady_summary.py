"""A summary holds still while the window does, and never outlives what it was made from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.providers.history.summaries import SteadySummaries, WindowPosition


def test_a_longer_summary_waits_for_the_window() -> None:
    """What was made from the shown text is shown when the window begins elsewhere."""
    steady = SteadySummaries()
    steady.note_successor("One.", "One.\n\nTwo.")
    steady.note_successor("One.\n\nTwo.", "Both, in short.")

    assert steady.choose(7, "owner", "One.", 0) == "One."
    assert steady.choose(7, "owner", "One.\n\nTwo.", 0) == "One."
    assert steady.choose(7, "owner", "Both, in short.", 0) == "One."
    assert steady.choose(8, "owner", "Both, in short.", 0) == "Both, in short."
    assert steady.choose(7, "owner", "Both, in short.", 20) == "Both, in short."


def test_a_summary_that_was_rebuilt_takes_the_place_of_the_old_one_at_once() -> None:
    """Somebody may have become private meanwhile: nothing of the old text is shown again."""
    steady = SteadySummaries()
    steady.choose(7, "owner", "Bo is ill.", 0)
    steady.note_successor("", "Ada sang.")

    assert steady.choose(7, "owner", "Ada sang.", 0) == "Ada sang."


def test_a_first_summary_waits_while_everything_is_shown() -> None:
    """No text is a text too: where nothing was told, nothing is until the window moves."""
    steady = SteadySummaries()
    steady.note_successor("", "One.")

    assert [steady.choose(7, "owner", text, first) for text, first in (("", 0), ("One.", 0), ("One.", 20))] == [
        "",
        "",
        "One.",
    ]


@given(st.integers(1, 500), st.integers(1, 500))
def test_what_leaves_the_window_is_summarised_shortly_before(until_move: int, step: int) -> None:
    """Never earlier than half a step before, so that the same turns are not told twice for long."""
    near = WindowPosition(0, 0, until_move).is_near_move(step)

    assert near == (until_move <= min(8, max(1, step // 2)))
