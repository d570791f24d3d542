"""in_simulated_time: tests about deadlines whose time passes only while nothing is left to do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

from familiar_connect.support.simulated_time import run_simulated

P = ParamSpec("P")


def in_simulated_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run *test* on a loop of simulated time: a machine that is held up makes nothing late."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        run_simulated(lambda _loop: test(*args, **kwargs))

    return run
