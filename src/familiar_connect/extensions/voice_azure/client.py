"""Azure's voices, over the REST address of the speech service; it tells no times of words."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from familiar_connect.api.speech import (
    SERVICE_RATE,
    ServiceCalls,
    TTSResult,
    check_speech_length,
    read_speech,
)

SYNTHESIS_PATH = "cognitiveservices/v1"
OUTPUT_FORMAT = "raw-24khz-16bit-mono-pcm"
_LOCALE = re.compile(r"[a-z]{2,3}-(?:[A-Za-z]{4}-)?[A-Z]{2}")
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class AzureTTSClient:
    """Speaks through one of Azure's voices."""

    sample_rate = SERVICE_RATE

    def __init__(self, calls: ServiceCalls, *, voice: str) -> None:
        self._calls = calls
        self._voice = voice

    async def synthesize(self, text: str) -> TTSResult:
        service = self._calls.service
        check_speech_length(text, service.name)
        headers = {
            "Content-Type": "application/ssml+xml; charset=utf-8",
            "X-Microsoft-OutputFormat": OUTPUT_FORMAT,
        }
        if service.api_key:
            headers["Ocp-Apim-Subscription-Key"] = service.api_key
        answer = await self._calls.post(
            SYNTHESIS_PATH, headers=headers, content=build_ssml(text, self._voice).encode("utf-8"), said=text
        )
        return await read_speech(answer, service.name)

    async def aclose(self) -> None:
        await self._calls.aclose()


def build_ssml(text: str, voice: str) -> str:
    """*text* as the document that Azure reads; whatever stands in it is spoken, never obeyed."""
    found = _LOCALE.match(voice)
    locale = found[0] if found else "en-US"
    spoken = escape(_NOT_XML.sub(" ", text))
    return (
        f'<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" xml:lang={quoteattr(locale)}>'
        f"<voice name={quoteattr(_NOT_XML.sub(' ', voice))}>{spoken}</voice></speak>"
    )
