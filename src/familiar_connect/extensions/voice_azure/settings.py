"""What [tts] says of Azure's voices."""

from __future__ import annotations

from familiar_connect.api.settings import FILLED_TEXT, setting

DEFAULT_AZURE_TTS_VOICE = "en-US-AmberNeural"


class SpeakingSettings:
    """Which voice it is."""

    azure_voice: str = setting(DEFAULT_AZURE_TTS_VOICE, FILLED_TEXT, "Azure voice.")
