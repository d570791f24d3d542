"""Speech recognised by any server that knows OpenAI's `/audio/transcriptions`."""

from __future__ import annotations

import json

from familiar_connect.api.speech import ServiceCalls, SpeechServiceError, encode_wav
from familiar_connect.api.support import off_loop

SAMPLE_BYTES = 2
MAX_WORDS_CHARS = 20_000


class OpenAIRecognizer:
    """Sends each stretch of speech as a WAV file and takes the words of the answer."""

    def __init__(self, calls: ServiceCalls, *, model: str, language: str | None = None) -> None:
        self._calls = calls
        self._model = model
        self._language = language

    async def recognize(self, pcm: bytes) -> str:
        if len(pcm) < SAMPLE_BYTES:
            return ""
        service = self._calls.service
        headers = {"Authorization": f"Bearer {service.api_key}"} if service.api_key else {}
        form = {"model": self._model, "response_format": "json"}
        if self._language is not None:
            form["language"] = self._language
        sound = await off_loop(encode_wav, pcm)
        answer = await self._calls.post(
            "audio/transcriptions", headers=headers, form=form, file=("speech.wav", sound, "audio/wav")
        )
        try:
            text = json.loads(answer.body)["text"]
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise SpeechServiceError(
                f"{service.name} answered with something that is not a transcript.", is_final=True
            ) from error
        if not isinstance(text, str) or len(text) > MAX_WORDS_CHARS:
            raise SpeechServiceError(f"{service.name} answered with something that is not a transcript.", is_final=True)
        return text.strip()

    async def aclose(self) -> None:
        await self._calls.aclose()
