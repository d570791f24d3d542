"""WAV files in and out, as mono PCM of 16-bit samples."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np

from familiar_connect.errors import FamiliarError
from familiar_connect.voice.audio import MAX_RATE, MIN_RATE, SAMPLE_BYTES, mix_to_mono, resample
from familiar_connect.voice.protocols import HEARING_RATE

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
            f"{path} is no WAV file of plain samples ({error or 'it ends too early'}); "
            f"`ffmpeg -i {path.name} question.wav` makes one"
        ) from error
    except OSError as error:
        raise SoundFileError(f"{path} cannot be read: {error.strerror}") from error
    return resample(mix_to_mono(_to_16_bit(sound, width), channels), rate, HEARING_RATE)


def _to_16_bit(sound: bytes, width: int) -> bytes:
    if width == SAMPLE_BYTES:
        return sound
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
