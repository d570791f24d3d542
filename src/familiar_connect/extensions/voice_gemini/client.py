"""Gemini's voices, which follow directions in words; the service tells no times of words."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from urllib.parse import quote

from familiar_connect.api.speech import (
    SERVICE_RATE,
    ServiceAnswer,
    ServiceCalls,
    SpeechServiceError,
    TTSResult,
    check_speech_length,
    read_samples,
)
from familiar_connect.api.support import off_loop

_RATE = re.compile(r"rate=(\d{1,7})")


@dataclass(frozen=True, kw_only=True)
class VoiceDirections:
    """How the voice is to speak, each in a few words; None: as it likes."""

    scene: str | None = None
    context: str | None = None
    audio_profile: str | None = None
    style: str | None = None
    pace: str | None = None
    accent: str | None = None

    def around(self, text: str) -> str:
        """*text* with these directions before it, kept apart so that they are not spoken."""
        notes = [("Style", self.style), ("Pace", self.pace), ("Accent", self.accent)]
        parts = [
            ("AUDIO PROFILE", self.audio_profile),
            ("THE SCENE", self.scene),
            ("DIRECTOR'S NOTES", "\n".join(f"{name}: {each}" for name, each in notes if each) or None),
            ("CONTEXT", self.context),
        ]
        told = [f"# {name}\n{each}" for name, each in parts if each]
        return "\n\n".join([*told, f"# TRANSCRIPT\n{text}"]) if told else text


class GeminiTTSClient:
    """Speaks through one of Gemini's voices, directed by words."""

    sample_rate = SERVICE_RATE

    def __init__(
        self, calls: ServiceCalls, *, model: str, voice: str, directions: VoiceDirections | None = None
    ) -> None:
        self._calls = calls
        self._model = model
        self._voice = voice
        self._directions = directions or VoiceDirections()

    async def synthesize(self, text: str) -> TTSResult:
        service = self._calls.service
        check_speech_length(text, service.name)
        speech = {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": self._voice}}}
        wanted = {
            "contents": [{"parts": [{"text": self._directions.around(text)}]}],
            "generationConfig": {"responseModalities": ["AUDIO"], "speechConfig": speech},
        }
        answer = await self._calls.post(
            f"models/{quote(self._model, safe='')}:generateContent",
            headers={"x-goog-api-key": service.api_key} if service.api_key else {},
            json=wanted,
            said=text,
        )
        return TTSResult(await off_loop(_read_answer, answer, service.name))

    async def aclose(self) -> None:
        await self._calls.aclose()


def _read_answer(answer: ServiceAnswer, service: str) -> bytes:
    """Mono PCM at `SERVICE_RATE` of the parts that are sound."""
    try:
        parts = json.loads(answer.body)["candidates"][0]["content"]["parts"]
        sounds = [part["inlineData"] for part in parts if "inlineData" in part]
        pcm = b"".join(_decode_part(each, service) for each in sounds)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise SpeechServiceError(f"{service} answered without any sound, as it does to words it refuses.") from error
    if not pcm:
        raise SpeechServiceError(f"{service} answered without any sound, as it does to words it refuses.")
    return pcm


def _decode_part(part: dict[str, str], service: str) -> bytes:
    kind = part["mimeType"].lower()
    found = _RATE.search(kind)
    rate = int(found[1]) if found else SERVICE_RATE
    if not kind.startswith(("audio/l16", "audio/pcm")):
        raise SpeechServiceError(f"{service} answered with {kind.partition(';')[0]}, not with plain samples.")
    try:
        pcm = base64.b64decode(part["data"], validate=True)
    except binascii.Error as error:
        raise SpeechServiceError(f"{service} sent sound that cannot be decoded.") from error
    return read_samples(pcm, rate, service)
