"""[tts]: which voice speaks."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.config.rules import FILLED_TEXT, TEXT_OR_NONE, TEXTS, choice_rule
from familiar_connect.config.settings import KeyPath, setting

DEFAULT_AZURE_TTS_VOICE = "en-US-AmberNeural"
DEFAULT_GEMINI_TTS_VOICE = "Kore"
DEFAULT_GEMINI_TTS_MODEL = "gemini-3.1-flash-tts-preview"


@dataclass(frozen=True)
class TTSConfig:
    """Which voice speaks."""

    provider: str = setting("azure", choice_rule("azure", "cartesia", "gemini"), "Who turns text into speech.")
    cartesia_voice_id: str | None = setting(
        None, TEXT_OR_NONE, "Cartesia voice.", example='"a0e99841-438c-4a64-b679-ae501e7d6091"'
    )
    cartesia_model: str | None = setting(None, TEXT_OR_NONE, "Cartesia model.", example='"sonic-2"')
    azure_voice: str = setting(DEFAULT_AZURE_TTS_VOICE, FILLED_TEXT, "Azure voice.")
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
    greetings: list[str] = setting([], TEXTS, "Said on joining a voice channel, one of them at random.")


OLDER_TTS_SPELLINGS: dict[KeyPath, str] = {
    ("tts", "voice_id"): "[tts] voice_id is an older spelling without effect; write cartesia_voice_id instead",
    ("tts", "model"): "[tts] model is an older spelling without effect; write cartesia_model instead",
}
