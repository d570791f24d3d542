"""What [tts] says of Gemini's voices."""

from __future__ import annotations

from familiar_connect.api.settings import FILLED_TEXT, TEXT_OR_NONE, setting

DEFAULT_GEMINI_TTS_VOICE = "Kore"
DEFAULT_GEMINI_TTS_MODEL = "gemini-3.1-flash-tts-preview"


class SpeakingSettings:
    """Which voice it is, and how it is to speak."""

    gemini_voice: str = setting(DEFAULT_GEMINI_TTS_VOICE, FILLED_TEXT, "Gemini voice.")
    gemini_model: str = setting(DEFAULT_GEMINI_TTS_MODEL, FILLED_TEXT, "Gemini speech model.")
    gemini_scene: str | None = setting(
        None, TEXT_OR_NONE, "Gemini: the scene the voice is in.", example='"a quiet library at night"'
    )
    gemini_context: str | None = setting(
        None, TEXT_OR_NONE, "Gemini: what the speaker is doing.", example='"talking with old friends"'
    )
    gemini_audio_profile: str | None = setting(
        None, TEXT_OR_NONE, "Gemini: who the speaker is.", example='"a young woman with a warm low voice"'
    )
    gemini_style: str | None = setting(None, TEXT_OR_NONE, "Gemini: manner of speaking.", example='"dry and amused"')
    gemini_pace: str | None = setting(None, TEXT_OR_NONE, "Gemini: how fast.", example='"unhurried"')
    gemini_accent: str | None = setting(None, TEXT_OR_NONE, "Gemini: accent.", example='"soft Scottish"')
