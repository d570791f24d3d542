"""TurnTrace: what happened in one turn, as a list of facts.

A `TraceBuilder` is opened with the turn and filled along the path; it does no I/O and never fails
what it measures. Stages are usually named `assemble`, `render`, `model`, `post`, `deliver` and `record`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from familiar_connect.support.clock import Clock, SystemClock

if TYPE_CHECKING:  # a report loads no more than it needs
    from familiar_connect.context.types import ProviderOutcome

_COUNTER = itertools.count()


@dataclass(frozen=True)
class StageSpan:
    """One stage of a turn: when it began, counted from the turn's start, and how long it took."""

    name: str
    start_s: float
    duration_s: float
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TurnTrace:
    """One turn, start to end."""

    trace_id: str
    familiar_id: str
    channel_id: int
    guild_id: int | None
    modality: str
    timestamp: str
    total_duration_s: float
    stages: tuple[StageSpan, ...]
    tags: Mapping[str, str] = field(default_factory=dict)

    def stage(self, name: str) -> StageSpan | None:
        """The last span called *name*: of several attempts the one that counted."""
        return next((span for span in reversed(self.stages) if span.name == name), None)

    def fact(self, key: str) -> Any:
        """*key* from the metadata of the latest stage that has it, else from the tags."""
        for span in reversed(self.stages):
            if key in span.metadata:
                return span.metadata[key]
        return self.tags.get(key)


class TraceBuilder:
    """The trace of a turn under way."""

    def __init__(
        self,
        *,
        familiar_id: str,
        channel_id: int,
        guild_id: int | None,
        modality: str | Enum,
        clock: Clock | None = None,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._familiar_id = familiar_id
        self._channel_id = channel_id
        self._guild_id = guild_id
        self._modality = str(modality.value) if isinstance(modality, Enum) else modality
        self._started = self._clock.monotonic()
        self._timestamp = self._clock.now()
        self._spans: list[StageSpan] = []
        self._tags: dict[str, str] = {}
        self.trace_id = new_id() if new_id else self._new_id()

    def seconds_since_start(self) -> float:
        """Seconds since the turn began."""
        return self._clock.monotonic() - self._started

    @asynccontextmanager
    async def span(self, name: str, **metadata: object) -> AsyncIterator[dict[str, object]]:
        """Time a stage; what the body puts into the yielded dict is kept with it, whatever happens."""
        start_s = self.seconds_since_start()
        try:
            yield metadata
        except BaseException as failure:
            metadata.setdefault("error", type(failure).__name__)
            raise
        finally:
            self.add_span(name, start_s, self.seconds_since_start() - start_s, metadata)

    def add_span(self, name: str, start_s: float, duration_s: float, metadata: Mapping[str, Any] | None = None) -> None:
        """A stage that was timed elsewhere, such as a stream that outlives a block of code."""
        self._spans.append(StageSpan(name, start_s, duration_s, dict(metadata or {})))

    def tag(self, key: str, value: object) -> None:
        """Mark the whole turn; reports can compare turns by a tag."""
        self._tags[key] = str(value)

    @staticmethod
    def add_provider_outcomes(metadata: dict[str, object], outcomes: Iterable[ProviderOutcome]) -> None:
        """Note in *metadata* how each provider fared."""
        metadata["provider_outcomes"] = [
            {
                "id": outcome.provider_id,
                "duration_s": round(outcome.duration_s, 6),
                "status": outcome.status,
                "error": outcome.error_message,
                **({"blocked_s": round(outcome.blocked_s, 6)} if outcome.blocked_s else {}),
                **({"limit_s": round(outcome.limit_s, 3)} if outcome.limit_s else {}),
                **({"notes": list(outcome.notes)} if outcome.notes else {}),
            }
            for outcome in outcomes
        ]

    def finalize(self) -> TurnTrace:
        return TurnTrace(
            trace_id=self.trace_id,
            familiar_id=self._familiar_id,
            channel_id=self._channel_id,
            guild_id=self._guild_id,
            modality=self._modality,
            timestamp=self._timestamp.isoformat(),
            total_duration_s=self.seconds_since_start(),
            stages=tuple(self._spans),
            tags=dict(self._tags),
        )

    def _new_id(self) -> str:
        """Sorts by time, within one process also inside one microsecond; unique across processes."""
        return f"{self._timestamp:%Y%m%dT%H%M%S%f}-{next(_COUNTER) & 0xFFFFFF:06x}{os.urandom(3).hex()}"
