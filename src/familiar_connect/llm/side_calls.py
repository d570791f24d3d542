"""SideCalls: the latest calls of models beside the replies, such as summaries and what is written into memory.

Kept in memory alone, few and bounded: they hold people's words, and a restart forgets them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.llm.types import Message, Usage
from familiar_connect.support.clock import Clock, SystemClock

MOST_KEPT = 100
MAX_CHARS = 60_000
"""Of one prompt; of what is longer the middle is left out."""


@dataclass(frozen=True, kw_only=True)
class SideCall:
    """One call of a side slot's model."""

    number: int
    slot: str
    model: str
    at: datetime
    """When it was over."""
    took_s: float
    prompt: tuple[tuple[str, str], ...]
    """Role and words of each message."""
    answer: str
    usage: Usage
    has_failed: bool


class SideCalls:
    """The latest ones, the newest last."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._calls: deque[SideCall] = deque(maxlen=MOST_KEPT)
        self._counted = 0

    def note(
        self,
        slot: str,
        model: str,
        messages: Sequence[Message],
        answer: str,
        usage: Usage,
        *,
        took_s: float,
        has_failed: bool,
    ) -> None:
        """Keep one call; a reply's own is kept as a turn, and not here."""
        if slot == MAIN_SLOT:
            return
        self._counted += 1
        each = MAX_CHARS // max(1, len(messages))
        self._calls.append(
            SideCall(
                number=self._counted,
                slot=slot,
                model=model,
                at=self._clock.now(),
                took_s=took_s,
                prompt=tuple((message.role, _within(message.content, each)) for message in messages),
                answer=_within(answer, MAX_CHARS),
                usage=usage,
                has_failed=has_failed,
            )
        )

    def latest(self) -> list[SideCall]:
        """The newest first."""
        return list(reversed(self._calls))

    def find(self, number: int) -> SideCall | None:
        return next((call for call in self._calls if call.number == number), None)

    def forget(self) -> None:
        """Keep none of them: somebody is forgotten, and their words may stand in any."""
        self._calls.clear()


def _within(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = max(1, most // 2)
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters …]\n{text[-half:]}"
