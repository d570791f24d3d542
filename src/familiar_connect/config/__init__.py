"""Settings: TOML files read into typed values; every default is here.

The names below are loaded on first use, so that importing `config.types` runs no loader.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from familiar_connect.config.channel import ChannelConfig, TypingSimulationConfig, channel_config_for_mode
    from familiar_connect.config.character import CharacterConfig
    from familiar_connect.config.llm import LLM_SLOT_NAMES, LLMSlotConfig
    from familiar_connect.config.load import load_channel_config, load_character_config
    from familiar_connect.config.types import DEFAULT_CHANNEL_MODE, ChannelMode, Interjection, InterruptTolerance
    from familiar_connect.config.voice import TTSConfig
    from familiar_connect.errors import ConfigError

    DEFAULT_AZURE_TTS_VOICE: str
    DEFAULT_GEMINI_TTS_MODEL: str
    DEFAULT_GEMINI_TTS_VOICE: str

__all__ = [
    "DEFAULT_AZURE_TTS_VOICE",
    "DEFAULT_CHANNEL_MODE",
    "DEFAULT_GEMINI_TTS_MODEL",
    "DEFAULT_GEMINI_TTS_VOICE",
    "LLM_SLOT_NAMES",
    "ChannelConfig",
    "ChannelMode",
    "CharacterConfig",
    "ConfigError",
    "Interjection",
    "InterruptTolerance",
    "LLMSlotConfig",
    "TTSConfig",
    "TypingSimulationConfig",
    "channel_config_for_mode",
    "load_channel_config",
    "load_character_config",
]

_HOMES = {
    "errors": ("ConfigError",),
    "config.channel": ("ChannelConfig", "TypingSimulationConfig", "channel_config_for_mode"),
    "config.character": ("CharacterConfig",),
    "config.llm": ("LLM_SLOT_NAMES", "LLMSlotConfig"),
    "config.load": ("load_channel_config", "load_character_config"),
    "config.types": ("DEFAULT_CHANNEL_MODE", "ChannelMode", "Interjection", "InterruptTolerance"),
    "config.voice": ("TTSConfig",),
    # Promised here before voices were extensions.
    "extensions.voice_azure.settings": ("DEFAULT_AZURE_TTS_VOICE",),
    "extensions.voice_gemini.settings": ("DEFAULT_GEMINI_TTS_MODEL", "DEFAULT_GEMINI_TTS_VOICE"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"familiar_connect.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
