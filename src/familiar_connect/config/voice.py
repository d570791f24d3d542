"""[tts] and [stt]: which voice speaks, and who makes words of what is heard."""

from __future__ import annotations

import re
from dataclasses import dataclass

from familiar_connect.config.llm import API_KEY_ENV, BASE_URL, EXTENSION_MODEL
from familiar_connect.config.rules import FILLED_TEXT, TEXT_OR_NONE, TEXTS, InvalidValue, Rule
from familiar_connect.config.settings import KeyPath, setting

DEFAULT_AZURE_TTS_VOICE = "en-US-AmberNeural"
DEFAULT_GEMINI_TTS_VOICE = "Kore"
DEFAULT_GEMINI_TTS_MODEL = "gemini-3.1-flash-tts-preview"
LOCAL_PROVIDER = "local"
"""Speech on this machine, with what the voice extra brings."""
AZURE_PROVIDER = "azure"
"""The default, which is used from the moment that its key is kept."""
OPENAI_ADDRESS = "https://api.openai.com/v1"

SERVICE_ADDRESSES = {
    "cartesia": "https://api.cartesia.ai",
    "deepgram": "https://api.deepgram.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
    "openai": OPENAI_ADDRESS,
}
"""Where each service is, unless `base_url` names another place; Azure is where its region is."""
SERVICE_KEYS = {
    AZURE_PROVIDER: "AZURE_SPEECH_KEY",
    "cartesia": "CARTESIA_API_KEY",
    "deepgram": "DEEPGRAM_API_KEY",
    "gemini": "GOOGLE_API_KEY",
    "openai": "OPENAI_API_KEY",
}
"""The variable that holds the key of each service; it goes to that service alone."""
_EXTENSION_PROVIDER = re.compile(rf"{EXTENSION_MODEL}[a-z][a-z0-9_]{{0,31}}(?:/[^\s/]{{1,64}})?")
_BASE_URL_MEANING = "Address of the service, where it is not its own: any OpenAI-compatible server, for example."
_API_KEY_MEANING = (
    "Name of the variable that holds the key, never the key. None: the service's own variable at its own address, no "
    "key elsewhere."
)


def _provider_rule(*names: str) -> Rule[str]:
    """One of ours, or an extension by its name."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not (value in names or _EXTENSION_PROVIDER.fullmatch(value)):
            raise InvalidValue
        return value

    return Rule(f"one of {', '.join(names)}, or {EXTENSION_MODEL}NAME", read, choices=names)


class _ServiceChoice:
    """Who hears or speaks, and where they are."""

    provider: str
    base_url: str | None
    api_key_env: str | None

    @property
    def is_extension(self) -> bool:
        """Whether an extension does it, which the owner allowed."""
        return self.provider.startswith(EXTENSION_MODEL)

    @property
    def address(self) -> str | None:
        """Where words or sound are sent; None: nowhere, where a service's region is, or where an extension likes."""
        return (
            None
            if self.provider == LOCAL_PROVIDER or self.is_extension
            else self.base_url or SERVICE_ADDRESSES.get(self.provider)
        )

    @property
    def key_variable(self) -> str | None:
        """Name of the variable that holds the key, None when no key is sent."""
        if self.provider == LOCAL_PROVIDER or self.is_extension:
            return None
        return self.api_key_env or (SERVICE_KEYS.get(self.provider) if self.base_url is None else None)


@dataclass(frozen=True)
class TTSConfig(_ServiceChoice):
    """Which voice speaks."""

    provider: str = setting(
        AZURE_PROVIDER,
        _provider_rule(LOCAL_PROVIDER, AZURE_PROVIDER, "cartesia", "gemini", "openai"),
        "Who turns text into speech: `azure`, once a key of it is kept, and until then the voice on this machine; "
        "`local` is that voice always, `openai` any OpenAI-compatible server, `extension:NAME` the voice of an "
        "extension.",
    )
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
    openai_voice: str = setting("alloy", FILLED_TEXT, "Voice at an OpenAI-compatible server.")
    openai_model: str = setting("tts-1", FILLED_TEXT, "Speech model at an OpenAI-compatible server.")
    base_url: str | None = setting(None, BASE_URL, _BASE_URL_MEANING, example='"http://localhost:8880/v1"')
    api_key_env: str | None = setting(None, API_KEY_ENV, _API_KEY_MEANING, example='"MY_SPEECH_KEY"')


@dataclass(frozen=True, kw_only=True)
class STTConfig(_ServiceChoice):
    """Who makes words of what is heard."""

    provider: str = setting(
        LOCAL_PROVIDER,
        _provider_rule(LOCAL_PROVIDER, "deepgram", "openai"),
        "Who turns speech into text: `local` is the recogniser on this machine, `deepgram` listens while people speak, "
        "`openai` is any OpenAI-compatible server, `extension:NAME` the recogniser of an extension.",
    )
    language: str | None = setting(
        None,
        TEXT_OR_NONE,
        "Language that is spoken, as a code; the recogniser on this machine knows English only. None: the service "
        "finds out.",
        example='"de"',
    )
    openai_model: str = setting("whisper-1", FILLED_TEXT, "Recogniser at an OpenAI-compatible server.")
    base_url: str | None = setting(None, BASE_URL, _BASE_URL_MEANING, example='"http://localhost:8000/v1"')
    api_key_env: str | None = setting(None, API_KEY_ENV, _API_KEY_MEANING, example='"MY_SPEECH_KEY"')

    @property
    def language_if_known(self) -> str | None:
        """What is spoken as far as the settings tell; None: it may be any language."""
        return "en" if self.provider == LOCAL_PROVIDER else self.language


OLDER_TTS_SPELLINGS: dict[KeyPath, str] = {
    ("tts", "voice_id"): "[tts] voice_id is an older spelling without effect; write cartesia_voice_id instead",
    ("tts", "model"): "[tts] model is an older spelling without effect; write cartesia_model instead",
}
