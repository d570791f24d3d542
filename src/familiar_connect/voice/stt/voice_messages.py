"""Listening to voice messages with the recogniser that the settings name: on this machine, or a service."""

from __future__ import annotations

import base64
import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from familiar_connect.chat.protocols import Transcriber
from familiar_connect.config.voice import STTConfig
from familiar_connect.errors import FamiliarError
from familiar_connect.support.aio import off_loop
from familiar_connect.support.bounded_process import ProcessFailedError, ProcessLimitError, ProcessLimits, run_bounded
from familiar_connect.support.free_memory import MEGABYTE
from familiar_connect.voice.protocols import SpeechRecognizer
from familiar_connect.voice.speech_context import find_hearing, libraries_of

if TYPE_CHECKING:
    from familiar_connect.voice.service_access import ServiceAccess

DECODING_LIBRARY = "av"
DECODE_LIMITS = ProcessLimits(cpu_s=10.0, memory_bytes=512 * MEGABYTE, wall_s=15.0, output_bytes=32 * MEGABYTE)

logger = logging.getLogger(__name__)


@runtime_checkable
class _Closable(Protocol):
    async def aclose(self) -> None: ...


class VoiceMessageTranscriber:
    """Decodes a recording in a child process and has its words recognised."""

    def __init__(self, recognizer: SpeechRecognizer) -> None:
        self._recognizer = recognizer

    async def transcribe(self, audio: bytes, media_type: str) -> str:
        """The words in *audio*, of whatever kind; a ValueError where it cannot be decoded."""
        try:
            return await self._recognizer.recognize(await off_loop(decode_recording, audio))
        finally:
            if isinstance(self._recognizer, _Closable):  # the next message may be hours away
                await self._recognizer.aclose()


def decode_recording(audio: bytes) -> bytes:
    """Mono PCM at `HEARING_RATE`."""
    try:
        answer = run_bounded("familiar_connect.voice.stt.decode_process", (), audio, DECODE_LIMITS)
    except (ProcessLimitError, ProcessFailedError) as error:
        raise ValueError(f"a recording {error}") from error
    if "problem" in answer:
        raise ValueError(f"a recording cannot be decoded ({answer['problem']})")
    return base64.b64decode(answer["pcm"])


def find_transcriber(config: STTConfig | None = None, access: ServiceAccess | None = None) -> Transcriber | None:
    """The one that *config* names; None where its packages are not installed, or what a service needs is missing."""
    config = config or STTConfig()
    own = () if config.is_extension else libraries_of(find_hearing(config.provider))
    if any(find_spec(name) is None for name in (DECODING_LIBRARY, *own)):
        return None
    from familiar_connect.voice.backends import create_recognizer

    try:
        return VoiceMessageTranscriber(create_recognizer(config, access=access))
    except (ValueError, FamiliarError) as error:
        logger.warning("voice messages are not listened to", extra={"error": str(error)})
        return None
