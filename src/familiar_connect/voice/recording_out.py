"""Speech that goes into a recording instead of a loudspeaker."""

from __future__ import annotations

from familiar_connect.voice.audio import duration_s


class RecordingOut:
    """Keeps what is played, at once; one after another."""

    def __init__(self) -> None:
        self.pcm = bytearray()
        self.sample_rate = 0
        self._last_ms = 0.0

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        self.sample_rate = sample_rate
        self.pcm += pcm
        self._last_ms = duration_s(pcm, sample_rate) * 1000

    def position_ms(self) -> float:
        return self._last_ms
