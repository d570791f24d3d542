"""Where the shown part of a history begins."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.window import window_start

sizes = st.integers(1, 200)
counts = st.integers(0, 10_000)


@given(counts, sizes)
def test_without_a_step_the_last_turns_are_shown(stored: int, size: int) -> None:
    """Exactly as many as the window holds, or all there are."""
    assert stored - window_start(stored, size) == min(stored, size)


@given(counts, sizes, sizes)
def test_with_a_step_it_starts_at_whole_steps(stored: int, size: int, step: int) -> None:
    """The start is a multiple of the step, so it holds for many turns."""
    assert window_start(stored, size, step) % step == 0


@given(counts, sizes, sizes)
def test_a_window_never_shows_less_than_its_size(stored: int, size: int, step: int) -> None:
    """It grows from its size to one step more, and is then cut back."""
    shown = stored - window_start(stored, size, step)

    assert min(stored, size) <= shown < size + step


@given(counts, sizes, sizes)
def test_one_more_turn_moves_it_by_nothing_or_one_step(stored: int, size: int, step: int) -> None:
    """It never slides."""
    moved = window_start(stored + 1, size, step) - window_start(stored, size, step)

    assert moved in (0, step)
