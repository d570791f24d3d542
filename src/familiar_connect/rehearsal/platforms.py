"""The platforms that a rehearsal can play: those that come with the program, and the terminal."""

from __future__ import annotations

from functools import cache

from familiar_connect.config.built_in import BUILT_IN_PLATFORMS
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import SetupError
from familiar_connect.extensions.host import PlatformHost
from familiar_connect.extensions.load import load_built_in
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.parts import Extension, PlatformPart
from familiar_connect.extensions.setup import read_part_settings
from familiar_connect.familiar import Familiar

TERMINAL = "terminal"
PLATFORMS = (*BUILT_IN_PLATFORMS, TERMINAL)
DEFAULT_PLATFORM = PLATFORMS[0]


@cache
def find_part(platform: str) -> PlatformPart:
    """What the extension of *platform* gives."""
    return _find(platform)[1]


def _find(platform: str) -> tuple[Extension, PlatformPart]:
    for each in load_built_in():
        if each.name == platform and each.extension is not None and each.extension.platforms:
            return each.extension, each.extension.platforms[0]
    raise SetupError(f"{platform} cannot be rehearsed")


def has_servers(platform: str) -> bool:
    """Whether its channels are on servers, with roles and members."""
    return platform != TERMINAL and find_part(platform).rehearse_servers is not None


def name_with_servers() -> str:
    """The platforms that have servers, as people call them."""
    return " or ".join(each.title() for each in BUILT_IN_PLATFORMS if has_servers(each))


def create_host(familiar: Familiar, platform: str) -> PlatformHost:
    """*familiar* as the platform meets it, with its settings and no secret. What it tells is told to nobody."""
    extension, part = _find(platform)
    folder = FamiliarFolder(familiar.root)
    context = PartContext(
        settings=read_part_settings(part, extension, familiar.config, folder.settings_file),
        clock=familiar.clock,
        folder=folder.extension_data(platform),
        familiar_id=familiar.id,
    )
    return PlatformHost(familiar, platform, context, lambda sentence: None, keeps_numbers=part.keeps_numbers)
