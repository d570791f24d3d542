"""WingSettings: the sections of the extensions that come with the program, checked and shown as its own are."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

from familiar_connect.config.settings import section
from familiar_connect.config.wings import WINGS, load_wing_module

_KINDS = {wing: load_wing_module(wing, "settings").Settings for wing in WINGS}

WingSettings: type[Any] = make_dataclass(
    "WingSettings", [(wing, kind, section(kind, wing)) for wing, kind in _KINDS.items()], frozen=True
)
"""A field for each wing, named after it, as its section is."""
