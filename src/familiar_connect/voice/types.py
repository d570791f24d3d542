"""What is passed around in voice: transcripts, activity, speech."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from familiar_connect.llm.types import Message

UNKNOWN_SPEAKER = "Voice"


@dataclass(frozen=True)
class TranscriptionResult:
    """What a recogniser made of a stretch of speech. Times are seconds of the stream."""

    text: str
    is_final: bool
    start: float
    end: float
    confidence: float = 0.0
    speaker: str | None = None

    def to_message(self) -> Message:
        """As a user's message to a model."""
        return Message(role="user", content=f"[Voice] {self.text}", name=self.speaker or UNKNOWN_SPEAKER)


@dataclass(frozen=True)
class WordTimestamp:
    """When a word of a synthesised text is spoken, in milliseconds from its start."""

    word: str
    start_ms: float
    end_ms: float


@dataclass(frozen=True)
class TTSResult:
    """Synthesised speech: PCM of 16-bit samples, and when each word is spoken where the backend tells."""

    audio: bytes
    timestamps: list[WordTimestamp] = field(default_factory=list)


class VoiceActivityEvent(Enum):
    """Somebody began or ended to speak."""

    started = "started"
    ended = "ended"
