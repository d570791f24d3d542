"""Which speech service a familiar's settings name, with the owner's key for it and the owner's word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from familiar_connect.config.command import command_name
from familiar_connect.config.llm import split_extension_model
from familiar_connect.config.secrets import Secrets, home_from_environment
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.config.voice import AZURE_PROVIDER, LOCAL_PROVIDER, SERVICE_KEYS, STTConfig, TTSConfig
from familiar_connect.support.web_origin import origin_of
from familiar_connect.voice.added_speech import NO_ADDED_SPEECH, AddedSpeech
from familiar_connect.voice.speech_service import SpeechService

SERVICE_NAMES = {
    "azure": "Azure's speech",
    "cartesia": "Cartesia",
    "deepgram": "Deepgram",
    "gemini": "Gemini's speech",
    "openai": "OpenAI's speech",
}
STAND_INS = {"GOOGLE_API_KEY": "GEMINI_API_KEY"}


@dataclass(frozen=True, kw_only=True)
class _NamedEndpoint:
    """An address, and the key that is to go there."""

    address: str
    key_variable: str | None


@dataclass(frozen=True, kw_only=True)
class ServiceAccess:
    """The keys of a home, where they may go, and the settings file that an error names."""

    home: Path
    secrets: Secrets
    trust: TrustedOrigins
    file: Path | None = None
    added: AddedSpeech = NO_ADDED_SPEECH
    """What extensions bring."""

    @classmethod
    def of_home(cls, home: Path | None = None, *, file: Path | None = None) -> ServiceAccess:
        """That of *home*, or of the one the environment names."""
        home = home or home_from_environment()
        return cls(home=home, secrets=Secrets(home), trust=TrustedOrigins(home), file=file)

    def find_service(self, config: TTSConfig | STTConfig, *, address: str | None = None) -> SpeechService:
        """Where the provider of *config* is, and its key; what is missing is a ValueError that names it.

        *address* is where the service is when its settings alone do not tell.
        """
        base_url = config.address or address
        assert base_url is not None, "the provider on this machine is no service"
        self._check_origin(config, base_url)
        variable = config.key_variable
        key = self.get(variable) if variable is not None else None
        if variable is not None and key is None:
            raise ValueError(
                f"{self.describe(config)} needs a key: `{command_name()} keys set {variable}` keeps {variable}"
            )
        name = SERVICE_NAMES[config.provider] if config.base_url is None else f"The {section_of(config)} server"
        return SpeechService(name=name, base_url=base_url, api_key=key, key_name=variable)

    def choose_voice(self, config: TTSConfig) -> TTSConfig:
        """*config*, with the voice on this machine where Azure is the provider and no key of it is kept."""
        if config.provider != AZURE_PROVIDER or config.base_url is not None or config.api_key_env is not None:
            return config
        has_key = self.get(SERVICE_KEYS[AZURE_PROVIDER]) is not None
        return config if has_key else replace(config, provider=LOCAL_PROVIDER)

    def get(self, variable: str) -> str | None:
        """The value of *variable*, or of the one that stands in for it."""
        return self.secrets.get(variable) or self.secrets.get(STAND_INS.get(variable, variable))

    def describe(self, config: TTSConfig | STTConfig) -> str:
        """The setting that asks for a service, for a sentence."""
        where = f"{self.file}: " if self.file is not None else ""
        return f'{where}[{section_of(config)}] provider = "{config.provider}"'

    def _check_origin(self, config: TTSConfig | STTConfig, base_url: str) -> None:
        """A key goes to its own service, or where the owner said; an address of the settings needs their word."""
        own = SERVICE_KEYS.get(config.provider)
        if config.base_url is None and own is not None and config.key_variable == own:
            bound = self.trust.origin_for(own)
            if bound is None or bound == origin_of(base_url):
                return
        wanted = _NamedEndpoint(address=base_url, key_variable=config.key_variable)
        self.trust.check({section_of(config): wanted}, file=self.file)


def name_service(config: TTSConfig | STTConfig) -> str:
    """Who hears or speaks, in words."""
    named = split_extension_model(config.provider)
    return SERVICE_NAMES[config.provider] if named is None else f"the extension {named[0]}"


def section_of(config: TTSConfig | STTConfig) -> str:
    """The section of the settings that *config* is."""
    return "tts" if isinstance(config, TTSConfig) else "stt"
