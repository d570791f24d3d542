"""WINGS: the extensions that come with the program, in the order they are loaded, and the secrets of each.

Of a wing's package only `secrets` is loaded here: whoever asks for a key loads nothing else of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

PLATFORM_WINGS = ("twitch",)
"""Those that bring a network to talk on, which has the name of its wing."""
WINGS = (*PLATFORM_WINGS,)
"""The owner need not allow them: who installs the program has them, and their settings switch them on."""
PLATFORM_TITLES = ("Discord", *(name.title() for name in PLATFORM_WINGS))
"""The networks that the program comes with, as people call them."""
_PACKAGE = "familiar_connect.extensions"


def wing_target(name: str) -> str:
    """Where the value of a wing lies, as an entry point says it."""
    return f"{_PACKAGE}.{name}.extension:extension"


def load_wing_module(wing: str, name: str) -> Any:
    """The module called *name* in the package of *wing*."""
    return import_module(f"{_PACKAGE}.{wing}.{name}")


@cache
def wing_secrets() -> Mapping[str, str]:
    """The names of every wing's secrets, each with what it is for."""
    return {name: says for wing in WINGS for name, says in load_wing_module(wing, "secrets").SECRETS.items()}
