"""SearchReport: what is told of one search of memory beside what it found, for the trace and whoever asks why."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.context.types import Contribution, ProviderStatus, ReportedContributions
from familiar_connect.memory.index.protocols import SearchReadiness

NO_SIDE_WORK = "the model for it does no side work"
"""Why the filter is skipped where the model is small: so it always is there, and no trouble of one search."""


class SearchReport:
    """What is to be told of one search beside what it found."""

    def __init__(self) -> None:
        self._status: ProviderStatus = "ok"
        self._trouble: str | None = None
        self._notes: list[str] = []

    def note(self, ready: SearchReadiness) -> None:
        """How far memory could be searched, where that was not all of it."""
        if ready.state == "asleep":
            self.fail("asleep", f"memory was not searched: {ready.why}")
        elif ready.why:
            self._notes.append(ready.why)

    def fail(self, status: ProviderStatus, trouble: str) -> None:
        """Nothing came of it; what failed first is the cause."""
        if self._status == "ok":
            self._status, self._trouble = status, trouble

    def skip_filter(self, why: str) -> None:
        self._notes.append(_skip_note(why))

    def about(self, found: list[Contribution]) -> ReportedContributions:
        return ReportedContributions(found, status=self._status, trouble=self._trouble, notes=self._notes)


def list_troubles(notes: Sequence[str]) -> list[str]:
    """Of the *notes* of a search those that tell of a trouble, and not of what is always so."""
    return [each for each in notes if each != _skip_note(NO_SIDE_WORK)]


def _skip_note(why: str) -> str:
    return f"the filter was skipped: {why}"
