"""The home a rehearsal is played in: a new familiar, one from a card, or a copy of one that lives here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from familiar_connect.bootstrap.from_card import familiar_id_for, make_from_card, read_card_file
from familiar_connect.bootstrap.starter import STARTER_ID, STARTER_NAME, make_starter
from familiar_connect.commands.common import open_root
from familiar_connect.commands.consent import allow_scripts as allow
from familiar_connect.commands.consent import scripts_of, waiting_scripts
from familiar_connect.commands.sandbox import copy_familiar
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import is_valid_familiar_id
from familiar_connect.config.load import load_character_config, own_settings
from familiar_connect.config.merge import merge_settings
from familiar_connect.config.toml import parse_toml, read_text, write_text
from familiar_connect.errors import ConfigError, MemoryStoreError
from familiar_connect.memory.store import MemoryStore
from familiar_connect.rehearsal.types import FamiliarSetup, Rehearsal
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.name_forms import romanize
from familiar_connect.support.text import to_slug

FALLBACK_ID = "familiar"
SOURCE = "rehearsal"


def make_rehearsal_home(rehearsal: Rehearsal, stage: Path, *, home: Path, allow_scripts: bool = False) -> Path:
    """Make the familiar of *rehearsal* in the home *stage*; *home* is where a familiar to copy lives. Its folder.

    The regex scripts of a card run only if *allow_scripts* says so. Settings of a familiar that is copied count as far
    as its owner allowed them; those of the rehearsal itself count, for whoever plays it chose them.
    """
    setup = rehearsal.familiar
    try:
        root = _make_familiar(setup, stage, home, allow_scripts=allow_scripts)
        if setup.settings.strip():
            _merge(setup, root, rehearsal.source)
        _write_memory(setup, root, ManualClock(rehearsal.begins_at))
    except ConfigError as error:  # whoever reads it has the rehearsal, not the folder it is played in
        raise ConfigError(str(error).replace(str(stage), rehearsal.source)) from error
    except MemoryStoreError as error:
        raise ConfigError(f"{rehearsal.source}: familiar: memory: {error}") from error
    return root


def _make_familiar(setup: FamiliarSetup, stage: Path, home: Path, *, allow_scripts: bool) -> Path:
    if setup.base is not None:
        folder = HomeFolder(stage).familiars
        folder.mkdir(parents=True, exist_ok=True)
        there = open_root(home, setup.base)
        OwnerConsent(home, there.name).copy_to(stage, there.name)
        return copy_familiar(there, folder)
    if setup.card is not None:
        source = read_card_file(setup.card)
        root = make_from_card(stage, familiar_id_for(source.card, setup.card), source).root
        if allow_scripts:
            allow(root, waiting_scripts(scripts_of(root)))
        return root
    if setup.name == STARTER_NAME:
        return make_starter(stage, STARTER_ID)
    slug = to_slug(romanize(setup.name), 40)
    return make_starter(stage, slug if is_valid_familiar_id(slug) else FALLBACK_ID, name=setup.name)


def _merge(setup: FamiliarSetup, root: Path, source: str) -> None:
    path = FamiliarFolder(root).settings_file
    where = f"{source}: familiar: settings"
    try:
        write_text(path, merge_settings(read_text(path) or "", setup.settings, where=Path(where)))
        load_character_config(path)
        _allow_settings(root, parse_toml(setup.settings, Path(where)))
    except ConfigError as error:
        raise ConfigError(str(error).replace(str(path), where)) from None


def _allow_settings(root: Path, chosen: Mapping[str, object]) -> None:
    """Let the settings that the rehearsal has *chosen* count in the home it is played in."""
    folder = FamiliarFolder(root)
    consent = OwnerConsent(folder.home.root, root.name)
    for each in consent.missing_settings(own_settings(folder.settings_file)):
        found: object = chosen
        for name in each.key.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        if found is not None:
            consent.allow_setting(each.key, each.value)


def _write_memory(setup: FamiliarSetup, root: Path, clock: ManualClock) -> None:
    if not setup.memory:
        return
    folder = FamiliarFolder(root)
    store = MemoryStore(folder.memory, audit_dir=folder.audit, clock=clock)
    try:
        for path, text in setup.memory.items():
            store.write_file(path, text, source=SOURCE)
    finally:
        if store.audit is not None:
            store.audit.close()
