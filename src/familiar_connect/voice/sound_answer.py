"""What a speech service sends as sound, plain samples or a WAV file, and what it is sent."""

from __future__ import annotations

import io
import wave

from familiar_connect.support.aio import off_loop
from familiar_connect.voice.audio import MAX_RATE, MIN_RATE, SAMPLE_BYTES, mix_to_mono, resample
from familiar_connect.voice.protocols import HEARING_RATE
from familiar_connect.voice.speech_service import ServiceAnswer, SpeechServiceError
from familiar_connect.voice.types import TTSResult

SERVICE_RATE = 24_000
"""Samples a second that services are asked for."""
_TEXT_KINDS = ("application/json", "text/")
_COMPRESSED = (b"ID3", b"OggS", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")


def read_sound(answer: ServiceAnswer, service: str) -> bytes:
    """Mono PCM at `SERVICE_RATE`; a sentence where *answer* is something else."""
    if answer.kind.startswith(_TEXT_KINDS) or answer.body.startswith(_COMPRESSED):
        what = answer.kind.partition(";")[0] or "compressed sound"
        raise SpeechServiceError(f"{service} answered with {what}, not with plain samples.", is_final=True)
    if answer.body.startswith(b"RIFF"):
        return _read_wave(answer.body, service)
    return answer.body[: len(answer.body) - len(answer.body) % SAMPLE_BYTES]


async def read_speech(answer: ServiceAnswer, service: str) -> TTSResult:
    """What *service* spoke, without the times of words; a sentence where *answer* holds no sound."""
    pcm = await off_loop(read_sound, answer, service)
    if not pcm:
        raise SpeechServiceError(f"{service} answered without any sound.")
    return TTSResult(pcm)


def _read_wave(body: bytes, service: str) -> bytes:
    try:
        with wave.open(io.BytesIO(body), "rb") as file:
            width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            sound = file.readframes(len(body))  # a stream does not know its own length when it begins
    except (wave.Error, EOFError) as error:
        raise SpeechServiceError(f"{service} sent a WAV file that cannot be read.", is_final=True) from error
    if width != SAMPLE_BYTES:
        raise SpeechServiceError(f"{service} sent sound of another kind than 16-bit samples.", is_final=True)
    return read_samples(mix_to_mono(sound, channels), rate, service)


def read_samples(pcm: bytes, rate: int, service: str) -> bytes:
    """Mono *pcm* at `SERVICE_RATE`, where it was sent at *rate*; half a sample at its end is left out."""
    if not MIN_RATE <= rate <= MAX_RATE:
        raise SpeechServiceError(f"{service} sent sound of another kind than 16-bit samples.", is_final=True)
    return resample(pcm[: len(pcm) - len(pcm) % SAMPLE_BYTES], rate, SERVICE_RATE)


def encode_wav(pcm: bytes) -> bytes:
    """Mono *pcm* at `HEARING_RATE` as a WAV file."""
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(SAMPLE_BYTES)
        file.setframerate(HEARING_RATE)
        file.writeframes(pcm[: len(pcm) - len(pcm) % SAMPLE_BYTES])
    return made.getvalue()
