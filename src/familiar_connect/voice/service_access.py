"""Which speech service a familiar's settings name, with the owner's key for it and the owner's word.

AddedSpeech: who hears and who speaks where the settings name an extension, which this floor does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from familiar_connect.config.built_in import name_voice
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.llm import split_extension_model
from familiar_connect.config.secrets import Secrets, home_from_environment
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.config.voice import DEFAULT_VOICE, LOCAL_PROVIDER, STTConfig, TTSConfig
from familiar_connect.support.clock import SystemClock
from familiar_connect.support.web_origin import origin_of
from familiar_connect.voice.protocols import SpeechRecognizer, SpeechSynthesizer, StreamingTranscriber
from familiar_connect.voice.speech_context import BuiltInPart, RemoteService, SpeechContext, find_hearing, find_speaking
from familiar_connect.voice.speech_service import SpeechService


def _refuse(provider: str) -> ValueError:
    return ValueError(f'provider = "{provider}" names an extension, and none is loaded here')


def _no_recognizer(config: STTConfig) -> SpeechRecognizer:
    raise _refuse(config.provider)


def _no_streams(config: STTConfig) -> Callable[[], StreamingTranscriber] | None:
    raise _refuse(config.provider)


def _no_synthesizer(config: TTSConfig) -> SpeechSynthesizer:
    raise _refuse(config.provider)


@dataclass(frozen=True, kw_only=True)
class AddedSpeech:
    """Makes what `provider = "extension:NAME"` names; what stands in the way is a `ConfigError`."""

    create_recognizer: Callable[[STTConfig], SpeechRecognizer] = _no_recognizer
    find_streams: Callable[[STTConfig], Callable[[], StreamingTranscriber] | None] = _no_streams
    """What makes one speaker's stream; None: it hears whole stretches of speech only."""
    create_synthesizer: Callable[[TTSConfig], SpeechSynthesizer] = _no_synthesizer


NO_ADDED_SPEECH = AddedSpeech()


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

    def open_context(self, config: TTSConfig | STTConfig) -> SpeechContext:
        """What the built-in part that *config* names is given; what is missing is a ValueError that names it."""
        part = find_part(config)
        settings = take_settings(part, config)
        unset = [name for name in part.required if name not in part.secrets and not getattr(settings, name)]
        if unset:
            raise ValueError(f"{self.describe(config)} needs `{unset[0]}`: set it beside the provider")
        named = {name: self.secrets.get(name) for name in part.secrets}
        root = self.file.parent if self.file is not None else self.home
        return SpeechContext(
            settings=settings,
            secrets={name: value for name, value in named.items() if value is not None},
            secrets_of_home=frozenset(
                name for name, value in named.items() if value and value == self.secrets.get_from_home(name)
            ),
            secrets_file=HomeFolder(self.home).secrets_file,
            clock=SystemClock(),
            folder=FamiliarFolder(root).extension_data(name_voice(config.provider)),
            familiar_id=root.name,
            language=config.language if isinstance(config, STTConfig) else None,
            found_service=self.find_service(config) if part.service is not None else None,
        )

    def find_service(self, config: TTSConfig | STTConfig, remote: RemoteService | None = None) -> SpeechService:
        """Where the provider of *config* is, and its key; what is missing is a ValueError that names it.

        *remote* is what an extension of the owner's says of its service.
        """
        remote = remote or find_part(config).service
        assert remote is not None, "the provider on this machine is no service"
        base_url = config.base_url or self._own_address(config, remote)
        self._check_origin(config, remote, base_url)
        variable = _key_name(config, remote)
        key = self._find_key(variable, remote) if variable is not None else None
        if variable is not None and key is None:
            raise ValueError(
                f"{self.describe(config)} needs a key: `{command_name()} keys set {variable}` keeps {variable}"
            )
        name = remote.title if config.base_url is None else f"The {section_of(config)} server"
        return SpeechService(name=name, base_url=base_url, api_key=key, key_name=variable)

    def choose_voice(self, config: TTSConfig) -> TTSConfig:
        """*config*, with the voice on this machine where it is the default service and no key of it is kept."""
        if config.provider != DEFAULT_VOICE or config.base_url is not None or config.api_key_env is not None:
            return config
        remote = find_speaking(config.provider).service
        has_key = remote is None or self._find_key(remote.key, remote) is not None
        return config if has_key else replace(config, provider=LOCAL_PROVIDER)

    def address_of(self, config: TTSConfig | STTConfig) -> str | None:
        """Where words or sound are sent; None: nowhere, or where an extension likes."""
        remote = None if config.is_extension else find_part(config).service
        if remote is None:
            return None
        return config.base_url or remote.find_address(self.secrets.get(remote.region) if remote.region else None)

    def describe(self, config: TTSConfig | STTConfig) -> str:
        """The setting that asks for a service, for a sentence."""
        where = f"{self.file}: " if self.file is not None else ""
        return f'{where}[{section_of(config)}] provider = "{config.provider}"'

    def _own_address(self, config: TTSConfig | STTConfig, remote: RemoteService) -> str:
        region = self.secrets.get(remote.region) if remote.region else None
        if remote.region and region is None:
            raise ValueError(
                f"{self.describe(config)} needs a region: `{command_name()} keys set {remote.region}` keeps it"
            )
        return remote.find_address(region)

    def _find_key(self, variable: str, remote: RemoteService) -> str | None:
        """The value of *variable*, or of one that stands in for it."""
        names = (variable, *(remote.other_keys if variable == remote.key else ()))
        return next((value for name in names if (value := self.secrets.get(name)) is not None), None)

    def _check_origin(self, config: TTSConfig | STTConfig, remote: RemoteService, base_url: str) -> None:
        """A key goes to its own service, or where the owner said; an address of the settings needs their word."""
        variable = _key_name(config, remote)
        if config.base_url is None and variable == remote.key:
            bound = self.trust.origin_for(remote.key)
            if bound is None or bound == origin_of(base_url):
                return
        wanted = _NamedEndpoint(address=base_url, key_variable=variable)
        self.trust.check({section_of(config): wanted}, file=self.file)


def find_part(config: TTSConfig | STTConfig) -> BuiltInPart:
    """What the built-in extension brings that *config* names."""
    return find_speaking(config.provider) if isinstance(config, TTSConfig) else find_hearing(config.provider)


def take_settings(part: BuiltInPart, config: TTSConfig | STTConfig) -> Any:
    """What *config* says of the part's own settings; None: it has none."""
    if part.settings is None:
        return None
    kind: Any = part.settings
    return kind(**{each.name: getattr(config, each.name) for each in fields(kind)})


def _key_name(config: TTSConfig | STTConfig, remote: RemoteService) -> str | None:
    """Name of the variable that holds the key, None when no key is sent."""
    return config.api_key_env or (remote.key if config.base_url is None else None)


def key_name_of(config: TTSConfig | STTConfig) -> str | None:
    """As far as the settings tell; None where no key is sent, or an extension knows."""
    remote = None if config.is_extension else find_part(config).service
    return _key_name(config, remote) if remote is not None else None


def name_service(config: TTSConfig | STTConfig) -> str:
    """Who hears or speaks, in words."""
    named = split_extension_model(config.provider)
    if named is not None:
        return f"the extension {named[0]}"
    remote = find_part(config).service
    return remote.title if remote is not None else "this computer"


def section_of(config: TTSConfig | STTConfig) -> str:
    """The section of the settings that *config* is."""
    return "tts" if isinstance(config, TTSConfig) else "stt"
