"""What voice needs of its backends: a recogniser, a synthesiser, a detector of speech, something that plays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from familiar_connect.voice.types import TranscriptionResult, TTSResult, VoiceActivityEvent

HEARING_RATE = 16_000
"""Sample rate at which speech is detected and recognised."""


class SpeechRecognizer(Protocol):
    """Turns a stretch of speech into words."""

    async def recognize(self, pcm: bytes) -> str:
        """The words of mono *pcm* at `HEARING_RATE`; empty where there are none.

        Where there are some that cannot be made out, a `SpeechUnclearError`.
        """


class SpeechSynthesizer(Protocol):
    """Turns words into speech."""

    sample_rate: int

    async def synthesize(self, text: str) -> TTSResult:
        """Mono PCM at `sample_rate`. What stands in the way is a RuntimeError."""


class StreamingTranscriber(Protocol):
    """One speaker's stream to a recogniser that listens while they speak, mono at `HEARING_RATE`."""

    def begin(
        self, on_result: Callable[[TranscriptionResult], None], *, on_trouble: Callable[[str], None] | None = None
    ) -> None:
        """Connect in the background."""

    def feed(self, pcm: bytes) -> None:
        """Take sound at once; a RuntimeError once it has given up."""

    def finalize(self) -> None:
        """Ask for the words so far."""

    def unheard(self) -> bytes:
        """The sound that is kept and was not understood yet."""

    async def finish(self) -> None:
        """Wait for the last words, then stop."""

    async def stop(self) -> None:
        """Hang up."""


class SpeechProbability(Protocol):
    """Tells how surely a chunk is speech."""

    chunk_bytes: int

    def __call__(self, chunk: bytes) -> float:
        """0 to 1, for mono PCM of `chunk_bytes` at `HEARING_RATE`; it remembers what came before."""


@dataclass(frozen=True, kw_only=True)
class HearingCallbacks:
    """Who is told what is heard: of whom, by their id."""

    on_transcript: Callable[[int, TranscriptionResult], None]
    on_activity: Callable[[int, VoiceActivityEvent], None]
    on_trouble: Callable[[str], None]
    on_unclear: Callable[[int], None] = lambda _uid: None
    """Somebody said something that could not be made out."""


class Ears(Protocol):
    """Hears several people: each has a stream of sound, which becomes activity and transcripts."""

    def feed(self, uid: int, pcm: bytes, *, speaker: str | None = None) -> None:
        """Sound of one person, mono at `HEARING_RATE`; returns at once. *speaker* is what they are called."""

    async def finish(self) -> None:
        """All streams have ended: wait until what was said is recognised."""

    async def aclose(self) -> None:
        """End everything; nobody is told anything more."""


EarsFactory = Callable[[HearingCallbacks], Ears]
"""Makes the ears of one voice channel, which tell what they hear to those callbacks."""


class AudioOut(Protocol):
    """Somewhere to play speech."""

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        """Play it to its end; cancelled, it is silent at once."""

    def position_ms(self) -> float:
        """How much of what was played last has been heard."""
