"""Speech that goes into a recording, or nowhere, instead of a loudspeaker."""

from __future__ import annotations

import asyncio

from familiar_connect.voice.audio import SAMPLE_BYTES, duration_s
from familiar_connect.voice.types import TTSResult


class RecordingOut:
    """Keeps what is played, as long as it is played; with the pauses between, or one after another."""

    def __init__(self, *, keeps_pauses: bool = False) -> None:
        self.pcm = bytearray()
        self.sample_rate = 0
        self._keeps_pauses = keeps_pauses
        self._opened_at: float | None = None
        self._began_at: float | None = None
        self._last_ms = 0.0

    def open(self) -> None:
        """The recording begins now; else it does with the first sound."""
        self._opened_at = asyncio.get_running_loop().time()

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        self.sample_rate = sample_rate
        self._began_at = asyncio.get_running_loop().time()
        self._fill_pause()
        start = len(self.pcm)
        self.pcm += pcm
        try:
            await asyncio.sleep(duration_s(pcm, sample_rate))
            self._last_ms = duration_s(pcm, sample_rate) * 1000
        except asyncio.CancelledError:
            self._last_ms = self.position_ms()
            del self.pcm[start + round(self._last_ms / 1000 * sample_rate) * SAMPLE_BYTES :]
            raise
        finally:
            self._began_at = None

    def position_ms(self) -> float:
        if self._began_at is None:
            return self._last_ms
        return (asyncio.get_running_loop().time() - self._began_at) * 1000

    def _fill_pause(self) -> None:
        now = self._began_at
        if not self._keeps_pauses or now is None:
            return
        if self._opened_at is None:
            self._opened_at = now
        missing = round((now - self._opened_at) * self.sample_rate) * SAMPLE_BYTES - len(self.pcm)
        if missing > 0:
            self.pcm += bytes(missing)


class UnplayedOut:
    """Keeps what would be played, and nobody waits for it."""

    def __init__(self) -> None:
        self.pcm = bytearray()
        self.sample_rate = 0
        self._last_ms = 0.0

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        self.pcm += pcm
        self.sample_rate, self._last_ms = sample_rate, duration_s(pcm, sample_rate) * 1000

    def position_ms(self) -> float:
        return self._last_ms


class SilentVoice:
    """Says nothing, at once: for replies that are only shown."""

    sample_rate = 16_000

    async def synthesize(self, text: str) -> TTSResult:
        return TTSResult(bytes(SAMPLE_BYTES))
