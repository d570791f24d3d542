"""What [tts] and [stt] say of servers that know OpenAI's addresses."""

from __future__ import annotations

from typing import ClassVar

from familiar_connect.api.settings import FILLED_TEXT, setting


class SpeakingSettings:
    """Which voice it is, and of which model."""

    openai_voice: str = setting("alloy", FILLED_TEXT, "Voice at an OpenAI-compatible server.")
    openai_model: str = setting("tts-1", FILLED_TEXT, "Speech model at an OpenAI-compatible server.")
    says: ClassVar[str] = "is any OpenAI-compatible server"


class HearingSettings:
    """Which model hears."""

    openai_model: str = setting("whisper-1", FILLED_TEXT, "Recogniser at an OpenAI-compatible server.")
    says: ClassVar[str] = "is any OpenAI-compatible server"
