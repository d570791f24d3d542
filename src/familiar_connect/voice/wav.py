"""WAV files in and out, as mono PCM of 16-bit samples.

Speech that goes into a recording, or nowhere, instead of a loudspeaker.
"""

from __future__ import annotations

import asyncio
import io
import wave
from pathlib import Path

from familiar_connect.errors import FamiliarError
from familiar_connect.voice.audio import MAX_RATE, MIN_RATE, SAMPLE_BYTES, duration_s, mix_to_mono, resample
from familiar_connect.voice.protocols import HEARING_RATE
from familiar_connect.voice.types import TTSResult

MAX_SECONDS = 3600
MAX_BYTES = 1_000_000_000


class SoundFileError(FamiliarError):
    """A sound file that cannot be read; the sentence says what to do."""


def read_wav(path: Path) -> bytes:
    """The sound of *path*, mono at `HEARING_RATE`."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SoundFileError(f"{path} is larger than {MAX_BYTES // 10**6} MB; cut it into parts")
        with wave.open(io.BytesIO(path.read_bytes()), "rb") as file:
            width, channels, rate, frames = (
                file.getsampwidth(),
                file.getnchannels(),
                file.getframerate(),
                file.getnframes(),
            )
            if not MIN_RATE <= rate <= MAX_RATE:
                raise SoundFileError(
                    f"{path} has {rate} samples a second; between {MIN_RATE} and {MAX_RATE} can be read"
                )
            if frames > rate * MAX_SECONDS:
                raise SoundFileError(f"{path} is longer than an hour; cut it into parts")
            sound = file.readframes(frames)
    except (wave.Error, EOFError) as error:
        raise SoundFileError(
            f"{path} is not a WAV file of plain samples ({error or 'it ends too early'}); "
            f"`ffmpeg -i {path.name} question.wav` makes one"
        ) from error
    except OSError as error:
        raise SoundFileError(f"{path} cannot be read: {error.strerror}") from error
    return resample(mix_to_mono(_to_16_bit(sound, width), channels), rate, HEARING_RATE)


def _to_16_bit(sound: bytes, width: int) -> bytes:
    if width == SAMPLE_BYTES:
        return sound
    import numpy as np  # whoever only writes sound loads none

    sound = sound[: len(sound) - len(sound) % width]
    if width == 1:
        return ((np.frombuffer(sound, dtype=np.uint8).astype(np.int16) - 128) << 8).astype("<i2").tobytes()
    tops = np.frombuffer(sound, dtype=np.uint8).reshape(-1, width)[:, width - SAMPLE_BYTES :]
    return np.ascontiguousarray(tops).tobytes()


def write_wav(path: Path, pcm: bytes, rate: int) -> None:
    """Write mono *pcm*."""
    try:
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(SAMPLE_BYTES)
            file.setframerate(rate)
            file.writeframes(pcm)
    except OSError as error:
        raise SoundFileError(f"{path} cannot be written: {error.strerror}") from error


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
