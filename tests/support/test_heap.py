"""A heap that the garbage collector passes over."""

from __future__ import annotations

import gc

from familiar_connect.support.thread_pools import freeze_heap


def test_what_is_there_is_passed_over_and_what_comes_later_is_not() -> None:
    """Garbage that is made afterwards is still taken away."""
    before = gc.get_freeze_count()
    try:
        freeze_heap()
        assert gc.get_freeze_count() > before
        circle: list[object] = []
        circle.append(circle)
        del circle
        assert gc.collect() >= 1
    finally:
        gc.unfreeze()
