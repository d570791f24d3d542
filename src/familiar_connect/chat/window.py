"""The dialogue window: where the shown part of a channel's history begins.

It moves in steps, not by one turn each time, and its start follows from the absolute number of
turns ever stored, so that many prompts in a row begin at the same turn.
"""

from __future__ import annotations


def window_start(stored: int, size: int, step: int = 0) -> int:
    """Ordinal (from 0) of the first turn shown, of *stored* turns before the exchange.

    With a step the window grows from *size* towards *size* + *step* turns and is then cut back at
    once; without one it is always the last *size*.
    """
    beyond = max(0, stored - size)
    return beyond if step <= 0 else step * (beyond // step)
