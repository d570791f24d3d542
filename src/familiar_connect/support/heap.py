"""The heap of a program that runs for long."""

from __future__ import annotations

import gc


def freeze_heap() -> None:
    """Have the garbage collector pass over all there is now: what a program loaded at its start stays until it ends.

    To look through that takes up to a tenth of a second, in which nothing else runs, again and again.
    """
    gc.collect(1)  # what came and went during the start; all of it would take as long as what this is to spare
    gc.freeze()
