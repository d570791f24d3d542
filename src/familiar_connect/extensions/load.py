"""load_extensions: the owner's list, loaded from top to bottom. One that fails costs itself and one sentence."""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path

from familiar_connect import __version__
from familiar_connect.config.built_in import BUILT_IN, BUILT_IN_PLATFORMS, find_target
from familiar_connect.config.command import PACKAGE
from familiar_connect.config.extension_list import (
    MAX_EXTENSIONS,
    AllowedExtension,
    ExtensionList,
    FoundExtension,
    find_extensions,
)
from familiar_connect.config.settings import keys_of
from familiar_connect.errors import SetupError
from familiar_connect.extensions.part_context import ExtensionPart
from familiar_connect.extensions.parts import Extension, PlatformPart

logger = logging.getLogger(__name__)

OUR_DOOR = "familiar_connect.api"
"""What every extension imports first."""
LOAD_LIMIT_S = 5.0
"""An extension that takes longer to load is left out, whatever it is still doing."""
MOST_LOAD_S = 60.0
"""The same with all of ours that it is the first to ask for, which takes long on a slow computer."""


class ExtensionFault(Exception):
    """Why an extension, or a part of one, is left out; one sentence for the owner."""


@dataclass(frozen=True, kw_only=True)
class LoadedExtension:
    """An extension on the owner's list: its value, or why it was left out."""

    name: str
    extension: Extension | None = None
    trouble: str = ""


def load_extensions(
    home: Path, *, found: Sequence[FoundExtension] | None = None, limit_s: float = LOAD_LIMIT_S
) -> list[LoadedExtension]:
    """Every extension the owner allowed in *home*, in the order of the list. Looks for none where the list is empty.

    Each is loaded once in a process: one that hangs is not waited for again.
    """
    allowed = ExtensionList(home).list_allowed()
    if not allowed:
        return []
    installed = {each.name: each for each in (find_extensions() if found is None else found)}
    loaded = [_load_allowed(each, installed.get(each.name), limit_s) for each in allowed]
    for each in loaded:
        if each.trouble:
            logger.warning("extension left out", extra={"extension": each.name, "reason": each.trouble})
    return loaded


def load_built_in(names: Sequence[str] = BUILT_IN_PLATFORMS) -> list[LoadedExtension]:
    """The extensions called *names* that come with the program; nobody need allow them. A faulty one costs itself.

    Platforms, unless told otherwise: of the voices only the one that the settings name is loaded, by `voice`.
    """
    return [_load_one_built_in(each) for each in find_built_in() if each.name in names]


def load_one_built_in(name: str) -> LoadedExtension:
    """The one called *name*, and no other."""
    return next(_load_one_built_in(each) for each in find_built_in() if each.name == name)


def find_platform(name: str) -> PlatformPart:
    """The platform of the built-in extension called *name*."""
    extension = load_one_built_in(name).extension if name in BUILT_IN else None
    if extension is not None and extension.platforms:
        return extension.platforms[0]
    raise SetupError(f"{name} is not a platform of this program")


def find_built_in() -> list[FoundExtension]:
    """Those extensions as an entry point would name them."""
    return [
        FoundExtension(name=name, target=find_target(name), package=PACKAGE, version=__version__) for name in BUILT_IN
    ]


@cache
def _load_one_built_in(found: FoundExtension) -> LoadedExtension:
    try:
        return LoadedExtension(name=found.name, extension=load_extension(found))
    except ExtensionFault as fault:
        return LoadedExtension(name=found.name, trouble=str(fault))


@lru_cache(maxsize=MAX_EXTENSIONS)
def _load_allowed(allowed: AllowedExtension, found: FoundExtension | None, limit_s: float) -> LoadedExtension:
    try:
        if found is None:
            raise ExtensionFault(f"the package {allowed.package} is no longer installed")
        return LoadedExtension(name=allowed.name, extension=load_extension(found, limit_s=limit_s))
    except ExtensionFault as fault:
        return LoadedExtension(name=allowed.name, trouble=str(fault))


def load_extension(found: FoundExtension, *, limit_s: float = LOAD_LIMIT_S) -> Extension:
    """The value that *found* points to; an `ExtensionFault` says why it cannot be used."""
    import_module(OUR_DOOR)  # ours to load, so that its time is not the stranger's
    value = _import_within(found.target, limit_s)
    if not isinstance(value, Extension):
        raise ExtensionFault(f"{found.target} is no Extension of familiar_connect.api")
    check_extension(found.name, value)
    return value


def _import_within(target: str, limit_s: float) -> object:
    """The value at *target*, imported on a thread that is left behind where it takes too long."""
    outcome: list[object] = []
    failure: list[BaseException] = []

    def load() -> None:
        module, _, name = target.partition(":")
        try:
            value: object = import_module(module)
            for part in name.split(".") if name else ():
                value = getattr(value, part)
            outcome.append(value)
        except BaseException as error:  # isolation: whatever a stranger's module does, SystemExit included
            failure.append(error)

    thread = threading.Thread(target=load, name=f"load {target}", daemon=True)
    thread.start()
    _wait_for(thread, limit_s)
    if failure:
        raise ExtensionFault(f"{target} cannot be loaded: {type(failure[0]).__name__}: {failure[0]}")
    if not outcome:
        raise ExtensionFault(f"{target} took longer than {limit_s:g} seconds to load")
    return outcome[0]


def _wait_for(thread: threading.Thread, limit_s: float) -> None:
    """Wait until *thread* ends, or until nothing more of ours was loaded for *limit_s*: that is the stranger's time."""
    for _ in range(max(int(MOST_LOAD_S / limit_s), 1)):
        ours = _count_ours()
        thread.join(limit_s)
        if not thread.is_alive() or _count_ours() == ours:
            return


def _count_ours() -> int:
    return sum(name.startswith("familiar_connect.") for name in list(sys.modules))


def list_settings(extension: Extension) -> list[tuple[str, str]]:
    """Every setting of *extension*: its section and its key."""
    kinds = {
        (choose_section(part, extension), id(part.settings)): part.settings
        for part in extension.parts
        if part.settings is not None
    }
    return [(section, key.name) for (section, _), kind in kinds.items() for key in keys_of(kind)]


def choose_section(part: ExtensionPart, extension: Extension) -> str:
    """The section of the settings that *part* has its own in."""
    return part.shared_section if extension.name in BUILT_IN and part.shared_section else extension.name


def check_extension(name: str, extension: Extension) -> None:
    """Refuse an extension that calls itself otherwise than *name*, or names a part or a setting twice."""
    if extension.name != name:
        raise ExtensionFault(f"it calls itself {extension.name!r} and its entry point {name!r}")
    if len(extension.platforms) > 1:
        raise ExtensionFault("it brings more than one platform; make an extension of each")
    for what, names in (
        ("tool", [tool.name for tool in extension.tools]),
        ("verb", [verb.name for verb in extension.verbs]),
        ("importer", [f"{type(each).__name__} {each.name}" for each in extension.importers]),
        ("setting", [f"[{section}] {key}" for section, key in list_settings(extension)]),
    ):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            raise ExtensionFault(f"it names the {what} {twice[0]!r} twice")
