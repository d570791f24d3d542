"""[tts] and [voice.interruption]: how the familiar sounds and how it takes being talked over."""

from __future__ import annotations

from dataclasses import dataclass, field

from familiar_connect.config.toml import (
    FILLED_TEXT,
    TEXT_OR_NONE,
    TEXTS,
    Key,
    KeyPath,
    choice_rule,
    enum_rule,
    number_rule,
)
from familiar_connect.config.types import InterruptTolerance

DEFAULT_AZURE_TTS_VOICE = "en-US-AmberNeural"
DEFAULT_GEMINI_TTS_VOICE = "Kore"
DEFAULT_GEMINI_TTS_MODEL = "gemini-3.1-flash-tts-preview"


@dataclass(frozen=True)
class TTSConfig:
    """Which voice speaks."""

    provider: str = "azure"
    cartesia_voice_id: str | None = None
    cartesia_model: str | None = None
    azure_voice: str = DEFAULT_AZURE_TTS_VOICE
    gemini_voice: str = DEFAULT_GEMINI_TTS_VOICE
    gemini_model: str = DEFAULT_GEMINI_TTS_MODEL
    gemini_scene: str | None = None
    gemini_context: str | None = None
    gemini_audio_profile: str | None = None
    gemini_style: str | None = None
    gemini_pace: str | None = None
    gemini_accent: str | None = None
    greetings: list[str] = field(default_factory=list)


def _tts(name: str, meaning: str, example: str) -> Key:
    return Key(name=f"tts.{name}", field=f"tts.{name}", rule=TEXT_OR_NONE, meaning=meaning, example=example)


TTS_KEYS = (
    Key(
        name="tts.provider",
        field="tts.provider",
        rule=choice_rule("azure", "cartesia", "gemini"),
        meaning="Who turns text into speech.",
    ),
    _tts("cartesia_voice_id", "Cartesia voice.", '"a0e99841-438c-4a64-b679-ae501e7d6091"'),
    _tts("cartesia_model", "Cartesia model.", '"sonic-2"'),
    Key(name="tts.azure_voice", field="tts.azure_voice", rule=FILLED_TEXT, meaning="Azure voice."),
    Key(name="tts.gemini_voice", field="tts.gemini_voice", rule=FILLED_TEXT, meaning="Gemini voice."),
    Key(name="tts.gemini_model", field="tts.gemini_model", rule=FILLED_TEXT, meaning="Gemini speech model."),
    _tts("gemini_scene", "Gemini: the scene the voice is in.", '"a quiet library at night"'),
    _tts("gemini_context", "Gemini: what the speaker is doing.", '"talking with old friends"'),
    _tts("gemini_audio_profile", "Gemini: who the speaker is.", '"a young woman with a warm low voice"'),
    _tts("gemini_style", "Gemini: manner of speaking.", '"dry and amused"'),
    _tts("gemini_pace", "Gemini: how fast.", '"unhurried"'),
    _tts("gemini_accent", "Gemini: accent.", '"soft Scottish"'),
    Key(
        name="tts.greetings",
        field="tts.greetings",
        rule=TEXTS,
        meaning="Said on joining a voice channel, one of them at random.",
    ),
)

OLDER_TTS_SPELLINGS: dict[KeyPath, str] = {
    ("tts", "voice_id"): "[tts] voice_id is an older spelling without effect; write cartesia_voice_id instead",
    ("tts", "model"): "[tts] model is an older spelling without effect; write cartesia_model instead",
}

INTERRUPTION_KEYS = (
    Key(
        name="voice.interruption.interrupt_tolerance",
        rule=enum_rule(InterruptTolerance),
        meaning="How readily the familiar keeps talking when talked over.",
    ),
    Key(
        name="voice.interruption.min_interruption_s",
        rule=number_rule(least=0),
        meaning="Shorter noises do not count as an interruption, seconds.",
    ),
    Key(
        name="voice.interruption.short_long_boundary_s",
        rule=number_rule(above=0),
        meaning="From here on an interruption is a long one, seconds; above `min_interruption_s`.",
    ),
)
