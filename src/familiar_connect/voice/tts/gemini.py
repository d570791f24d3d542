"""Where `GeminiTTSClient` was promised to be; it lives in its extension, which is loaded when it is asked for."""

from __future__ import annotations

from familiar_connect.voice.promised_clients import find_client


def __getattr__(name: str) -> object:
    return find_client("gemini", "client", name, ("GeminiTTSClient",))
