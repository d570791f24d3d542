"""What came of answering one exchange."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.observe.trace import TurnTrace


@dataclass(frozen=True, kw_only=True)
class ReplyOutcome:
    """What went out, whether it was cut short, and the trace of how it came about."""

    sent: str
    trace: TurnTrace
    interrupted: bool = False
    error: str | None = None
    silent: bool = False
    """The model chose to say nothing, and was free to."""
