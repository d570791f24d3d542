"""What a speech service sends as sound: plain samples, or a WAV file."""

from __future__ import annotations

import io
import wave

from familiar_connect.voice.audio import MAX_RATE, MIN_RATE, SAMPLE_BYTES, mix_to_mono, resample
from familiar_connect.voice.speech_service import ServiceAnswer, SpeechServiceError

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


def _read_wave(body: bytes, service: str) -> bytes:
    try:
        with wave.open(io.BytesIO(body), "rb") as file:
            width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            sound = file.readframes(len(body))  # a stream does not know its own length when it begins
    except (wave.Error, EOFError) as error:
        raise SpeechServiceError(f"{service} sent a WAV file that cannot be read.", is_final=True) from error
    if width != SAMPLE_BYTES or not MIN_RATE <= rate <= MAX_RATE:
        raise SpeechServiceError(f"{service} sent sound of another kind than 16-bit samples.", is_final=True)
    return resample(mix_to_mono(sound, channels), rate, SERVICE_RATE)
