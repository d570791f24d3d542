"""What Deepgram is told besides sound, and what it answers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from familiar_connect.api.speech import TranscriptionResult

KEEP_ALIVE = json.dumps({"type": "KeepAlive"})
FINALIZE = json.dumps({"type": "Finalize"})
CLOSE = json.dumps({"type": "CloseStream"})
MAX_WORDS_CHARS = 20_000
MAX_SECONDS = 1e7


@dataclass(frozen=True)
class StreamResult:
    """A transcript, and up to which second of the stream the service has understood."""

    transcript: TranscriptionResult
    understood_s: float
    is_asked_for: bool = False
    """It answers the request for the words so far, and may be empty."""


def read_result(message: str, offset_s: float = 0.0) -> StreamResult | None:
    """The transcript in *message*, its times moved by *offset_s*; None where it is none, or makes no sense.

    Its times are those of its words, so that a pause before or after them does not count as speech.
    """
    try:
        told = json.loads(message)
        if told.get("type") != "Results":
            return None
        best = told["channel"]["alternatives"][0]
        text, start, length = best["transcript"], float(told["start"]), float(told["duration"])
        confidence = float(best.get("confidence") or 0.0)
        is_final, is_asked_for = told.get("is_final") is True, told.get("from_finalize") is True
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError, OverflowError):
        return None
    if not isinstance(text, str) or not all(map(math.isfinite, (start, length, confidence))):
        return None
    if not (0 <= start < MAX_SECONDS and 0 <= length < MAX_SECONDS):
        return None
    end = start + length
    words = best.get("words")
    first, last = (words[0], words[-1]) if isinstance(words, list) and words else (None, None)
    begins, ends = _time_of(first, "start", start), _time_of(last, "end", end)
    if not start <= begins <= ends <= end:
        begins, ends = start, end
    transcript = TranscriptionResult(
        text[:MAX_WORDS_CHARS].strip(), is_final, offset_s + begins, offset_s + ends, confidence, _speaker_of(first)
    )
    return StreamResult(transcript, offset_s + end, is_final and is_asked_for)


def is_metadata(message: str) -> bool:
    """Whether *message* is what the service says last of all."""
    try:
        told = json.loads(message)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and told.get("type") == "Metadata"


def _time_of(word: object, name: str, default: float) -> float:
    value = word.get(name) if isinstance(word, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _speaker_of(word: object) -> str | None:
    """Who spoke, where the service was asked to tell people apart."""
    number = word.get("speaker") if isinstance(word, Mapping) else None
    return f"Speaker {number + 1}" if isinstance(number, int) and not isinstance(number, bool) else None
