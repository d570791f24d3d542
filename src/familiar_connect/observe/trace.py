"""TurnTrace: what happened in one turn, as a list of facts.

A `TraceBuilder` is opened with the turn and filled along the path; it does no I/O and never fails
what it measures. Stages are usually named `assemble`, `render`, `model`, `post`, `deliver` and `record`.

A trace may be read back from a damaged file: a fact that is not of the kind expected counts as missing.

Facts of a stage, as small as they can be kept: short ones as JSON, long ones as columns, differences and zlib.

A prompt of hundreds of messages gives a list of hundreds of alike mappings. Told by columns, with numbers as
differences from the one before, they pack into a few hundred bytes. `unpack_facts` reads both forms.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import zlib
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from familiar_connect.support.clock import Clock, SystemClock

if TYPE_CHECKING:
    from familiar_connect.context.types import ProviderOutcome


QUOTED = "a quotation from memory"
"""Who gave a reply for which no model was asked."""
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
                **({"found": [dict(each) for each in outcome.found_by]} if outcome.found_by else {}),
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


def finite_number(value: Any) -> float | None:
    """*value* as a finite number, written as text or not; None when it is none."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def count_or_zero(value: object) -> int:
    """*value* as a whole number; 0 when it is none."""
    return int(finite_number(value) or 0)


def only_mappings(value: object) -> list[Mapping[str, object]]:
    """Those members of the list *value* that are mappings; nothing when it is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


def provider_outcomes(trace: TurnTrace) -> list[dict[str, object]]:
    """How each provider fared."""
    return [dict(outcome) for outcome in only_mappings(trace.fact("provider_outcomes"))]


def provider_notes(outcome: Mapping[str, object]) -> list[str]:
    """What a provider had to do without, though it answered."""
    notes = outcome.get("notes")
    return [str(each) for each in notes] if isinstance(notes, list | tuple) else []


def list_found_pieces(trace: TurnTrace) -> list[Mapping[str, Any]]:
    """What the searches of a turn found, best first: where each piece is, its score and its signals."""
    return [piece for outcome in provider_outcomes(trace) for piece in only_mappings(outcome.get("found"))]


LEAST_PACKED_CHARS = 160
"""Facts shorter than this stay readable JSON."""
MAX_UNPACKED_BYTES = 16_000_000
"""More than any turn of ours comes to: whoever packed that meant harm."""
COLUMNS = "~columns"
STEPS = "~steps"
"""Keys that mark a packed list; facts that use them are kept as they are."""

FORM = b"\x01"
"""Stands before packed facts: the form below, with the dictionary below."""
DICTIONARY = (
    b'"sillytavern","post_history","interruption","tail","prefill","documents","conditioning","server_memories",'
    b'"channel_notes","mode_instructions","assets","emojis","stickers","content_search.rag","content_search.people",'
    b'"error","timeout","truncated","dropped","tokens_dropped","full","said_to","withheld":[],"prefix_ratio":0.,'
    b'"prefix_shared_tokens":,"prefix_total_tokens":,"prefix_ended_by":'
    b'{"provider_outcomes":{"~columns":{"id":["character","history","short_term_memory","documents","conditioning",'
    b'"content_search","channel_notes","server_info","server_memories","assets","participants","sample_dialogues",'
    b'"mode_instructions"],"duration_s":[0.00,0.01,0.02],"status":["ok","ok","ok","ok","ok","ok","ok","ok","ok","ok",'
    b'"ok","ok","ok"],"error":[null,null,null,null,null,null,null,null,null,null,null,null,null]}},"withheld":[]}'
    b'{"failures":[],"tokens_by_block":{"~columns":{"source":["preamble","character:system_prompt",'
    b'"character:description","character:personality","character:scenario","server_info","history:summary",'
    b'"content_search.people","participants","sample_dialogues","sample_dialogues","history:recent","history:recent",'
    b'"history:recent","history:recent","content_search.rag","stepped_thinking"],"tag":["PREAMBLE","RULES","PERSONA",'
    b'"TRAITS","SCENARIO","SERVER_INFO","SUMMARY","PEOPLE","PARTICIPANTS","SAMPLE","SAMPLE","DIALOGUE","DIALOGUE",'
    b'"DIALOGUE","DIALOGUE","FOUND","NOW","THINKING"],"layer":["reserved","character","scene","history_summary",'
    b'"content","examples","recent_history","recent_history","recent_history","recent_history"],"role":["system",'
    b'"system","user","assistant","user","assistant","user","assistant"],"message":{"~steps":[0,0,0,0,0,0,0,1,1,1,1,1,'
    b'1,1,1,1,1,1,1,1,1]},"tokens":{"~steps":[24,-30,12,-9,18,-21]}}},"dropped":[],"model":"scripted-main",'
    b'"provider":null,"first_token_s":0.0,"prompt_tokens":,"cached_tokens":0,"completion_tokens":,'
    b'"finish_reason":"stop","attempts":1,"timings":{}}'
)
"""What facts usually hold. Never changed: what was packed with it is read with it."""


def pack_facts(facts: Mapping[str, Any]) -> str | bytes:
    """*facts* for the database; what JSON cannot hold is kept as its text."""
    text = json.dumps(dict(facts), default=str)
    if len(text) < LEAST_PACKED_CHARS:
        return text
    if COLUMNS in text or STEPS in text:
        return text
    packed = {key: _by_columns(value) for key, value in json.loads(text).items()}
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=DICTIONARY)
    return FORM + packer.compress(json.dumps(packed, separators=(",", ":")).encode()) + packer.flush()


def unpack_facts(stored: str | bytes, names: Collection[str] | None = None) -> Any:
    """What `pack_facts` was given, as JSON holds it; what cannot be read is a ValueError.

    With *names* only the facts of those names, which is much less work where a long list is not among them.
    """
    if isinstance(stored, str):
        found = _read_json(stored, names)
        return found if names is None or not isinstance(found, dict) else _only(found, names)
    if not stored.startswith(FORM):
        raise ValueError("facts packed in a way that is not known here")
    try:
        reader = zlib.decompressobj(-zlib.MAX_WBITS, zdict=DICTIONARY)
        raw = reader.decompress(stored[len(FORM) :], MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise ValueError("packed facts that cannot be read") from error
    if not reader.eof:
        raise ValueError("packed facts that are cut or too large")
    found = _read_json(raw.decode(), names)
    if not isinstance(found, dict):
        raise ValueError("no facts")  # noqa: TRY004 - a value that was read
    return {key: _by_rows(value) for key, value in (found if names is None else _only(found, names)).items()}


_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def _read_json(text: str, names: Collection[str] | None) -> Any:
    """What *text* holds; none of it where it cannot hold a fact of those *names*."""
    is_plain = names is not None and all(name.isascii() and name.isidentifier() for name in names)
    if names is not None and is_plain and not any(f'"{name}"' in text for name in names):
        return {}
    return _DECODER.decode(text)


def _only(facts: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if key in names}


def _by_columns(value: Any) -> Any:
    """A list of mappings with the same keys as one list for each key; anything else as it is."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(row, dict) for row in value):
        return value
    names = list(value[0])
    if not names or any(list(row) != names for row in value):
        return value
    return {COLUMNS: {name: _differences([row[name] for row in value]) for name in names}}


def _differences(column: Sequence[Any]) -> Any:
    if all(type(number) is int for number in column):
        return {STEPS: [column[0], *(after - before for before, after in pairwise(column))]}
    return column


def _by_rows(value: Any) -> Any:
    if not isinstance(value, dict) or set(value) != {COLUMNS} or not isinstance(value[COLUMNS], dict):
        return value
    columns = {name: _sums(column) for name, column in value[COLUMNS].items()}
    if not columns or len({len(column) for column in columns.values()}) != 1:
        raise ValueError("columns of different lengths")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _sums(column: Any) -> list[Any]:
    if isinstance(column, list):
        return column
    steps = column.get(STEPS) if isinstance(column, dict) else None
    if not isinstance(steps, list) or not all(type(step) is int for step in steps):
        raise ValueError("no column")
    numbers: list[int] = []
    for step in steps:
        numbers.append(step + (numbers[-1] if numbers else 0))
    return numbers
