"""completion_reports: what the calls made within a block told of themselves, for answers that are only a text.

`chat` gives back words; what they cost is in the completions behind them, of every try and every fallback.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from familiar_connect.llm.types import Completion

_reports: ContextVar[list[Completion] | None] = ContextVar("completion_reports", default=None)


@contextmanager
def collect_completions() -> Iterator[list[Completion]]:
    """A list that is filled with the completion of every call that ends while this is open."""
    collected: list[Completion] = []
    token = _reports.set(collected)
    try:
        yield collected
    finally:
        _reports.reset(token)


def report_completion(completion: Completion) -> None:
    """A call ended, well or not."""
    collected = _reports.get()
    if collected is not None:
        collected.append(completion)
