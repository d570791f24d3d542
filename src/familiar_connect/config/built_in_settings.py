"""BuiltInSettings: the sections of the extensions that come with the program, checked and shown as its own are."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

from familiar_connect.config.built_in import BUILT_IN_PLATFORMS, load_built_in_module
from familiar_connect.config.settings import section

PLATFORM_SECTIONS: dict[str, type[Any]] = {
    built_in: load_built_in_module(built_in, "settings").Settings for built_in in BUILT_IN_PLATFORMS
}
"""Platform → the dataclass of its section."""
BuiltInSettings: type[Any] = make_dataclass(
    "BuiltInSettings",
    [(built_in, kind, section(kind, built_in)) for built_in, kind in PLATFORM_SECTIONS.items()],
    frozen=True,
)
"""A field for each built-in platform, named after it, as its section is. Voices have theirs in [tts] and [stt]."""
