"""The platforms that a rehearsal can play: those that come with the program, and the terminal."""

from __future__ import annotations

from familiar_connect.config.built_in import BUILT_IN_PLATFORMS
from familiar_connect.extensions.load import find_platform

TERMINAL = "terminal"
PLATFORMS = (*BUILT_IN_PLATFORMS, TERMINAL)


def has_servers(platform: str) -> bool:
    """Whether its channels are on servers, with roles and members."""
    return platform != TERMINAL and find_platform(platform).rehearse_servers is not None


def name_with_servers() -> str:
    """The platforms that have servers, as people call them."""
    return " or ".join(each.title() for each in BUILT_IN_PLATFORMS if has_servers(each))
