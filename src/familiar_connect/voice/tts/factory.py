"""The voice that a familiar's settings name."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config.command import command_name
from familiar_connect.config.voice import LOCAL_PROVIDER, TTSConfig
from familiar_connect.voice.protocols import SpeechSynthesizer
from familiar_connect.voice.service_access import ServiceAccess
from familiar_connect.voice.speech_service import ServiceCalls


def create_tts_client(
    config: TTSConfig, *, access: ServiceAccess | None = None, home: Path | None = None
) -> SpeechSynthesizer:
    """Speaks as *config* says; a setting or key that is missing is a ValueError that names it.

    Keys are those of *access*, else of *home*, else of the home that the environment names.
    """
    if config.provider == LOCAL_PROVIDER:
        from familiar_connect.voice.tts.local import LocalSynthesizer

        return LocalSynthesizer()
    access = access or ServiceAccess.of_home(home)
    if config.is_extension:
        return access.added.create_synthesizer(config)
    return _OPENERS[config.provider](config, access)


def _open_azure(config: TTSConfig, access: ServiceAccess) -> SpeechSynthesizer:
    from familiar_connect.voice.tts.azure import AzureTTSClient, azure_address

    address = None
    if config.base_url is None:
        region = access.get("AZURE_SPEECH_REGION")
        if region is None:
            raise ValueError(
                f"{access.describe(config)} needs a region: `{command_name()} keys set AZURE_SPEECH_REGION` keeps it"
            )
        address = azure_address(region)
    return AzureTTSClient(ServiceCalls(access.find_service(config, address=address)), voice=config.azure_voice)


def _open_gemini(config: TTSConfig, access: ServiceAccess) -> SpeechSynthesizer:
    from familiar_connect.voice.tts.gemini import GeminiTTSClient, VoiceDirections

    directions = VoiceDirections(
        scene=config.gemini_scene,
        context=config.gemini_context,
        audio_profile=config.gemini_audio_profile,
        style=config.gemini_style,
        pace=config.gemini_pace,
        accent=config.gemini_accent,
    )
    calls = ServiceCalls(access.find_service(config))
    return GeminiTTSClient(calls, model=config.gemini_model, voice=config.gemini_voice, directions=directions)


def _open_cartesia(config: TTSConfig, access: ServiceAccess) -> SpeechSynthesizer:
    from familiar_connect.voice.tts.cartesia import CartesiaTTSClient

    for name, value in (("cartesia_voice_id", config.cartesia_voice_id), ("cartesia_model", config.cartesia_model)):
        if value is None:
            raise ValueError(f"{access.describe(config)} needs `{name}`: set it beside the provider")
    assert config.cartesia_voice_id is not None
    assert config.cartesia_model is not None
    return CartesiaTTSClient(
        access.find_service(config), voice_id=config.cartesia_voice_id, model=config.cartesia_model
    )


def _open_openai(config: TTSConfig, access: ServiceAccess) -> SpeechSynthesizer:
    from familiar_connect.voice.tts.openai import OpenAITTSClient

    calls = ServiceCalls(access.find_service(config))
    return OpenAITTSClient(calls, model=config.openai_model, voice=config.openai_voice)


_OPENERS = {
    "azure": _open_azure,
    "cartesia": _open_cartesia,
    "gemini": _open_gemini,
    "openai": _open_openai,
}
