"""Deepgram for whole stretches of speech, where nobody waits while it is spoken: voice messages, for example."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from familiar_connect.api.speech import ServiceCalls, SpeechServiceError, encode_wav
from familiar_connect.api.support import off_loop
from familiar_connect.extensions.voice_deepgram.messages import MAX_WORDS_CHARS

SAMPLE_BYTES = 2


class DeepgramRecognizer:
    """Sends each stretch as a WAV file in one call."""

    def __init__(self, calls: ServiceCalls, *, model: str, language: str) -> None:
        self._calls = calls
        self._query = urlencode({"model": model, "language": language, "punctuate": "true", "smart_format": "true"})

    async def recognize(self, pcm: bytes) -> str:
        if len(pcm) < SAMPLE_BYTES:
            return ""
        service = self._calls.service
        headers = {"Content-Type": "audio/wav"}
        if service.api_key:
            headers["Authorization"] = f"Token {service.api_key}"
        answer = await self._calls.post(
            f"listen?{self._query}", headers=headers, content=await off_loop(encode_wav, pcm)
        )
        try:
            text = json.loads(answer.body)["results"]["channels"][0]["alternatives"][0]["transcript"]
        except (ValueError, RecursionError, LookupError, TypeError) as error:
            raise SpeechServiceError(
                f"{service.name} answered with something that is not a transcript.", is_final=True
            ) from error
        if not isinstance(text, str):
            raise SpeechServiceError(f"{service.name} answered with something that is not a transcript.", is_final=True)
        return text[:MAX_WORDS_CHARS].strip()

    async def aclose(self) -> None:
        await self._calls.aclose()
