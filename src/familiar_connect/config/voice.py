"""[tts] and [stt]: which voice speaks, and who makes words of what is heard.

Each built-in voice adds settings of its own: the `SpeakingSettings` and `HearingSettings` of its module `settings`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from familiar_connect.config.built_in import BUILT_IN_VOICES, load_built_in_module, provider_of
from familiar_connect.config.llm import API_KEY_ENV, BASE_URL, EXTENSION_MODEL
from familiar_connect.config.rules import TEXT, TEXT_OR_NONE, TEXTS, InvalidValue, Rule
from familiar_connect.config.settings import KeyPath, setting

LOCAL_PROVIDER = "local"
"""Speech on this machine, with what the voice extra brings."""
DEFAULT_VOICE = provider_of(BUILT_IN_VOICES[0])
"""The default, which is used from the moment that its key is kept."""
_EXTENSION_PROVIDER = re.compile(rf"{EXTENSION_MODEL}[a-z][a-z0-9_]{{0,31}}(?:/[^\s/]{{1,64}})?")
_BASE_URL_MEANING = "Address of the service, where it is not its own: any OpenAI-compatible server, for example."
_API_KEY_MEANING = (
    "Name of the variable that holds the key, never the key. None: the service's own variable at its own address, no "
    "key elsewhere."
)

C = TypeVar("C")


def _find_kinds(name: str) -> dict[str, Any]:
    """Provider → its dataclass called *name*, that on this machine first; those without one are left out."""
    kinds = {provider_of(each): getattr(load_built_in_module(each, "settings"), name, None) for each in BUILT_IN_VOICES}
    order = sorted(kinds, key=lambda provider: provider != LOCAL_PROVIDER)
    return {provider: kinds[provider] for provider in order if kinds[provider] is not None}


SPEAKING, HEARING = _find_kinds("SpeakingSettings"), _find_kinds("HearingSettings")
"""Provider → the settings of its own."""


def _list_fields(kind: Any) -> dict[str, tuple[str, Field[Any]]]:
    """Name → type and declaration of each setting in *kind*, which a part makes a dataclass when it is used first."""
    own = {each.name: each for each in fields(kind)} if is_dataclass(kind) else vars(kind)
    return {
        name: (type_, own[name]) for name, type_ in kind.__annotations__.items() if isinstance(own.get(name), Field)
    }


def _add_settings_of(kinds: dict[str, Any]) -> Callable[[type[C]], type[C]]:
    """Declares what the voices have of their own on a class, behind its `provider`, before it is made a dataclass."""

    def add(kind: type[C]) -> type[C]:
        own = kind.__annotations__
        types = {"provider": own["provider"]}
        for voice in kinds.values():
            for name, (type_, each) in _list_fields(voice).items():
                made: Any = field(default=each.default, default_factory=each.default_factory, metadata=each.metadata)
                setattr(kind, name, made)
                types[name] = type_
        kind.__annotations__ = {**types, **own}
        return kind

    return add


def _describe(kinds: dict[str, Any]) -> str:
    """What each provider is, where its name does not tell."""
    return ", ".join(f"`{provider}` {kind.says}" for provider, kind in kinds.items() if hasattr(kind, "says"))


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


@dataclass(frozen=True)
@_add_settings_of(SPEAKING)
class TTSConfig(_ServiceChoice):
    """Which voice speaks."""

    provider: str = setting(
        DEFAULT_VOICE,
        _provider_rule(*SPEAKING),
        f"Who turns text into speech: `{DEFAULT_VOICE}`, once a key of it is kept, and until then the voice on this "
        f"machine; {_describe(SPEAKING)}, `extension:NAME` the voice of an extension.",
    )
    greetings: list[str] = setting([], TEXTS, "Said on joining a voice channel, one of them at random.")
    base_url: str | None = setting(None, BASE_URL, _BASE_URL_MEANING, example='"http://localhost:8880/v1"')
    api_key_env: str | None = setting(None, API_KEY_ENV, _API_KEY_MEANING, example='"MY_SPEECH_KEY"')

    if TYPE_CHECKING:  # the fields of the voices are known when the program runs

        def __init__(
            self,
            provider: str = ...,
            *,
            greetings: list[str] = ...,
            base_url: str | None = ...,
            api_key_env: str | None = ...,
            **of_a_voice: object,
        ) -> None: ...
        def __getattr__(self, name: str) -> Any: ...


@dataclass(frozen=True, kw_only=True)
@_add_settings_of(HEARING)
class STTConfig(_ServiceChoice):
    """Who makes words of what is heard."""

    provider: str = setting(
        LOCAL_PROVIDER,
        _provider_rule(*HEARING),
        f"Who turns speech into text: {_describe(HEARING)}, `extension:NAME` the recogniser of an extension.",
    )
    language: str | None = setting(
        None,
        TEXT_OR_NONE,
        "Language that is spoken, as a code; the recogniser on this machine knows English only. None: the service "
        "finds out.",
        example='"de"',
    )
    unclear_reply: str = setting(
        "Sorry?",
        TEXT,
        "Said aloud when somebody who is alone with the familiar could not be understood; empty: nothing is.",
    )
    base_url: str | None = setting(None, BASE_URL, _BASE_URL_MEANING, example='"http://localhost:8000/v1"')
    api_key_env: str | None = setting(None, API_KEY_ENV, _API_KEY_MEANING, example='"MY_SPEECH_KEY"')

    if TYPE_CHECKING:  # as above

        def __init__(
            self,
            *,
            provider: str = ...,
            language: str | None = ...,
            base_url: str | None = ...,
            api_key_env: str | None = ...,
            **of_a_recognizer: object,
        ) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    @property
    def language_if_known(self) -> str | None:
        """What is spoken as far as the settings tell; None: it may be any language."""
        return "en" if self.provider == LOCAL_PROVIDER else self.language


def _list_older_spellings() -> Iterator[tuple[KeyPath, str]]:
    for section, kinds in (("tts", SPEAKING), ("stt", HEARING)):
        for kind in kinds.values():
            for old, new in getattr(kind, "older_spellings", {}).items():
                yield (
                    (section, old),
                    f"[{section}] {old} is an older name and has no effect; write {new} instead",
                )


OLDER_SPELLINGS: dict[KeyPath, str] = dict(_list_older_spellings())
