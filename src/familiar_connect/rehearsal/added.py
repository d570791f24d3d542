"""create_added: what the owner's extensions bring to a rehearsal. Their platforms and models have no part in one.

change_file: what the owner does to a familiar's files with an editor, in a rehearsal.
"""

from __future__ import annotations

import os
from pathlib import Path

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.consent import OwnerConsent, SettingRequest
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import find_unallowed_settings
from familiar_connect.config.secrets import Secrets
from familiar_connect.errors import ConfigError
from familiar_connect.extensions.create import PartMaker, create_parts
from familiar_connect.extensions.load import load_extensions
from familiar_connect.rehearsal.types import ChangeFile
from familiar_connect.support.clock import Clock
from familiar_connect.support.no_follow import make_folder, open_file, remove_file
from familiar_connect.wiring.added_parts import NOTHING_ADDED, AddedParts


def create_added(home: Path | None, root: Path, config: CharacterConfig, clock: Clock) -> AddedParts:
    """The parts for the familiar in *root* of what was allowed in *home*; nothing where there is none."""
    if home is None:
        return NOTHING_ADDED
    maker = PartMaker(root=root, config=config, secrets=Secrets(home), clock=clock)
    return create_parts(load_extensions(home), maker)


SETTINGS_SUFFIX = ".toml"


def change_file(root: Path, action: ChangeFile) -> None:
    """Change a file as its owner would; a setting that is new in it counts, for it is the owner who sets it."""
    folder = FamiliarFolder(root)
    if not action.path.endswith(SETTINGS_SUFFIX):
        _write(root / action.path, action)
        return
    consent = OwnerConsent(folder.home.root, root.name)
    before = _list_unallowed(folder, consent)
    _write(root / action.path, action)
    for each in _list_unallowed(folder, consent):
        if each not in before:
            consent.allow_setting(each.key, each.value)


def _list_unallowed(folder: FamiliarFolder, consent: OwnerConsent) -> list[SettingRequest]:
    """What waits for the owner's yes; nothing where a file cannot be read, which the familiar says by itself."""
    try:
        return find_unallowed_settings(folder, consent)
    except ConfigError:
        return []


def _write(path: Path, action: ChangeFile) -> None:
    if action.how == "remove":
        remove_file(path)
        return
    make_folder(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if action.how == "write" else os.O_APPEND)
    with os.fdopen(open_file(path, flags), "wb") as file:
        file.write(action.text.encode("utf-8"))
