"""BUILT_IN: the extensions that come with the program, in the order they are loaded, and the secrets of each.

Of a built-in extension's package only `secrets` and `verbs` are loaded here: whoever asks for a key or for help loads
nothing else of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

BUILT_IN_PLATFORMS = ("discord", "twitch", "telegram")
"""Those that bring a network to talk on, which has its name."""
EXAMPLE_PLATFORM = BUILT_IN_PLATFORMS[0]
"""The one that examples in help and hints are of, and that is meant where nobody says which."""
BUILT_IN_VOICES = ("voice_azure", "voice_cartesia", "voice_deepgram", "voice_gemini", "voice_local", "voice_openai")
"""Those that hear or speak; `provider` under [stt] and [tts] names one without its `voice_`. The first is what speaks
where the settings name none."""
BUILT_IN_IMPORTERS = ("import_chats", "import_documents")
"""Those that read files for `familiar import`; they have neither settings nor secrets."""
BUILT_IN_DOORS = ("serve",)
"""Those that let other programs in by a verb of their own; they have neither settings nor secrets."""
BUILT_IN_TOOLS = ("mcp",)
"""Those that bring tools for a model, where `tools` names one of theirs; they have neither settings nor secrets."""
BUILT_IN = (*BUILT_IN_PLATFORMS, *BUILT_IN_VOICES, *BUILT_IN_IMPORTERS, *BUILT_IN_DOORS, *BUILT_IN_TOOLS)
"""The owner need not allow them: who installs the program has them, and their settings switch them on."""
_WITH_SECRETS = (*BUILT_IN_PLATFORMS, *BUILT_IN_VOICES)
PLATFORM_TITLES = tuple(name.title() for name in BUILT_IN_PLATFORMS)
"""The networks that the program comes with, as people call them."""
_VOICE = "voice_"
_PACKAGE = "familiar_connect.extensions"


def has_demo(name: str) -> bool:
    """Whether a built-in platform can be tried on a network of its own: its package has one called `demo`."""
    return find_spec(f"{_PACKAGE}.{name}.demo") is not None


def name_first_need(name: str) -> str:
    """What the owner gives first to set a built-in platform up, in a word or two."""
    first: str = load_built_in_module(name, "secrets").FIRST_NEED
    return first


def find_target(name: str) -> str:
    """Where the value of a built-in extension lies, as an entry point says it."""
    return f"{_PACKAGE}.{name}.extension:extension"


def load_built_in_module(built_in: str, name: str) -> Any:
    """The module called *name* in the package of *built_in*."""
    return import_module(f"{_PACKAGE}.{built_in}.{name}")


def name_voice(provider: str) -> str:
    """The built-in extension that *provider* under [stt] or [tts] stands for."""
    return f"{_VOICE}{provider}"


def provider_of(voice: str) -> str:
    """What `provider` says for the built-in extension *voice*."""
    return voice.removeprefix(_VOICE)


@cache
def read_built_in_verbs() -> Mapping[str, tuple[str, str]]:
    """Verb → which of them brings it, and its line in the help; those with a module `verbs` bring some."""
    may_have = (*BUILT_IN_PLATFORMS, *BUILT_IN_DOORS)
    with_verbs = [built_in for built_in in may_have if find_spec(f"{_PACKAGE}.{built_in}.verbs") is not None]
    return {
        verb: (built_in, says)
        for built_in in with_verbs
        for verb, says in load_built_in_module(built_in, "verbs").VERBS.items()
    }


def read_main_secrets() -> Mapping[str, str]:
    """For each of them that has secrets, the one that is meant by its name alone; of a voice by its provider's."""
    modules = {provider_of(built_in): load_built_in_module(built_in, "secrets") for built_in in _WITH_SECRETS}
    return {name: module.MAIN_SECRET for name, module in modules.items() if hasattr(module, "MAIN_SECRET")}


@cache
def read_built_in_secrets(names: tuple[str, ...] = _WITH_SECRETS) -> Mapping[str, str]:
    """The secrets of every built-in extension, or of those called *names*, each with what it is for."""
    return {
        name: says for built_in in names for name, says in load_built_in_module(built_in, "secrets").SECRETS.items()
    }
