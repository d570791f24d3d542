"""Speech from any server that knows OpenAI's `/audio/speech`."""

from __future__ import annotations

from familiar_connect.api.speech import (
    SERVICE_RATE,
    ServiceCalls,
    TTSResult,
    check_speech_length,
    read_speech,
)


class OpenAITTSClient:
    """Asks for plain samples; a WAV file in their place is read, too. The service tells no times of words."""

    sample_rate = SERVICE_RATE

    def __init__(self, calls: ServiceCalls, *, model: str, voice: str) -> None:
        self._calls = calls
        self._model = model
        self._voice = voice

    async def synthesize(self, text: str) -> TTSResult:
        service = self._calls.service
        check_speech_length(text, service.name)
        headers = {"Authorization": f"Bearer {service.api_key}"} if service.api_key else {}
        wanted = {"model": self._model, "voice": self._voice, "input": text, "response_format": "pcm"}
        answer = await self._calls.post("audio/speech", headers=headers, json=wanted, said=text)
        return await read_speech(answer, service.name)

    async def aclose(self) -> None:
        await self._calls.aclose()
