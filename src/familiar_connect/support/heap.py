"""The heap of a program that runs for long."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from functools import cache

MOST_ARENAS = 2
_ARENA_MAX = -8


def freeze_heap() -> None:
    """Have the garbage collector pass over all there is now: what a program loaded at its start stays until it ends.

    To look through that takes up to a tenth of a second, in which nothing else runs, again and again.
    """
    gc.collect(1)  # what came and went during the start; all of it would take as long as what this is to spare
    gc.freeze()


@cache
def share_arenas() -> None:
    """Have all threads share a few heaps of the C library, where it is glibc's; called before there are threads.

    It would give each thread one of its own, and what is freed in one is of no use to another: a program with many
    threads holds more and more that nobody uses.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):  # another library has no such thing
            ctypes.CDLL(None).mallopt(_ARENA_MAX, MOST_ARENAS)
