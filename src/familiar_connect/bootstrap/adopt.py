"""adopt: someone else's familiar becomes one of this home's, all or nothing.

Its texts are taken; its links, databases, platforms, permissions and endpoints are not. What would be taken is worked
out first and shown, so that nothing is written before the owner agrees.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from familiar_connect.bootstrap.child_reader import read_in_child
from familiar_connect.bootstrap.from_card import id_from_words, rename_into_place
from familiar_connect.bootstrap.shared_files import (
    MEMORY,
    MODES,
    PRESETS,
    SETTINGS,
    DroppedFile,
    SharedFiles,
    read_shared_files,
)
from familiar_connect.bootstrap.starter import new_familiar_root
from familiar_connect.config.consent import WIDENING
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import load_character_config
from familiar_connect.config.reference import starter_toml
from familiar_connect.config.toml import parse_toml, toml_literal
from familiar_connect.errors import ConfigError, FamiliarError, HomeError, MemoryStoreError, PresetError
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.store import PresetStore
from familiar_connect.presets.types import PresetFidelity
from familiar_connect.support.files import atomic_write, temporary_name
from familiar_connect.support.text import one_line, printable

SOURCE = "adopt"
CHARACTER_SETTINGS = (
    "default_mode",
    "aliases",
    "chattiness",
    "interjection",
    "decide_with",
    "delivery",
    "text_lull_timeout",
    "prompt_order",
    "preset_fidelity",
)
"""Settings that shape a character and give it no right: the only ones that travel."""
_MOST_NAME = 80


@dataclass(frozen=True, kw_only=True)
class AdoptionPlan:
    """What would be taken from *source*, and what would not."""

    source: Path
    familiar_id: str
    name: str
    texts: Mapping[str, bytes]
    """By path; settings and presets among them."""
    settings: Mapping[str, object]
    widening: Mapping[str, object]
    """Settings, by dotted key, that let it do or tell more: taken one by one, where the owner says yes to each."""
    dropped: tuple[DroppedFile, ...]

    @property
    def total_bytes(self) -> int:
        return sum(len(data) for data in self.texts.values())

    def count(self, folder: str) -> int:
        """How many files of *folder* are taken."""
        return sum(path.startswith(f"{folder}/") for path in self.texts)


def plan_adoption(source: Path, familiar_id: str | None = None) -> AdoptionPlan:
    """Read *source*, a folder or a ZIP, and say what it would become. Nothing is written."""
    found = read_shared_files(source)
    raw = found.texts.pop(SETTINGS, None)
    settings, widening = ({}, {}) if raw is None else _settings(raw, found)
    for path in [each for each in found.texts if each.startswith(f"{PRESETS}/")]:
        problem = _preset_problem(path, found.texts[path])
        if problem is not None:
            del found.texts[path]
            found.drop(path, problem)
    named = one_line(found.texts.get(f"{MEMORY}/self/name.md", b"").decode("utf-8")).lstrip("# ")
    name = printable(named)[:_MOST_NAME]
    return AdoptionPlan(
        source=source,
        familiar_id=familiar_id or id_from_words(name, source.stem),
        name=name or source.stem,
        texts=found.texts,
        settings=settings,
        widening=widening,
        dropped=tuple(found.dropped),
    )


def shareable_settings(document: Mapping[str, object]) -> dict[str, object]:
    """What of a settings file travels with a character."""
    return {name: document[name] for name in CHARACTER_SETTINGS if name in document}


def settings_text(settings: Mapping[str, object], origin: str) -> str:
    """A settings file with *settings* at its head."""
    lines = [f"{name} = {toml_literal(value)}" for name, value in settings.items()]
    return "\n".join([f"# {one_line(origin)}", *lines, "", ""]) if lines else ""


def adopt_familiar(home: Path, plan: AdoptionPlan) -> Path:
    """Make the familiar of *plan*: whole or not at all. One that exists is never touched."""
    root = new_familiar_root(home, plan.familiar_id)
    taken = HomeError(f"{root} exists already: choose another name with --as ID")
    if root.exists():
        raise taken
    made = root.with_name(f".{temporary_name()}")
    folder = FamiliarFolder(made)
    try:
        head = settings_text(plan.settings, f"From {plan.source.name}")
        atomic_write(folder.settings_file, head + starter_toml())
        load_character_config(folder.settings_file)
        _write_texts(folder, plan.texts)
        if not rename_into_place(made, root):
            raise taken
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return root


def _write_texts(folder: FamiliarFolder, texts: Mapping[str, bytes]) -> None:
    store = MemoryStore(folder.memory, audit_dir=folder.audit)
    presets = PresetStore(folder.presets)
    try:
        for path, data in texts.items():
            top, _, rest = path.partition("/")
            if top == MEMORY:
                store.write_file(rest, data.decode("utf-8"), source=SOURCE)
            elif top == MODES:
                atomic_write(folder.modes / rest, data)
            else:
                presets.import_bytes(PurePosixPath(rest).stem, data)
        if presets.names():
            presets.use_none()  # a preset changes every prompt: the owner switches it on
    except (MemoryStoreError, PresetError) as error:
        raise HomeError(f"nothing was added: {error}") from error
    finally:
        if store.audit is not None:
            store.audit.close()


def _settings(raw: bytes, found: SharedFiles) -> tuple[dict[str, object], dict[str, object]]:
    """The settings that are taken, and those that the owner is asked about; all others are listed as dropped."""
    try:
        document = parse_toml(raw.decode("utf-8-sig"), Path(SETTINGS))
    except ConfigError as error:
        found.drop(SETTINGS, str(error))
        return {}, {}
    settings = shareable_settings(document)
    for name, value in document.items():
        if name not in settings:
            found.drop(f"{SETTINGS}: {name}", _why_not_taken(name, value))
    try:
        _check_settings(settings)
    except FamiliarError as error:
        found.drop(SETTINGS, str(error))
        return {}, {}
    return settings, _widening(document)


def _widening(document: Mapping[str, object]) -> dict[str, object]:
    """What of a settings file lets a familiar do or tell more, as far as it is valid."""
    found: dict[str, object] = {}
    for each in WIDENING:
        table, _, name = each.key.rpartition(".")
        holder = document.get(table) if table else document
        value = holder.get(name) if isinstance(holder, dict) else None
        if value is None or each.is_ordinary(value):
            continue
        try:
            _check_settings({table: {name: value}} if table else {name: value})
        except FamiliarError:
            continue
        found[each.key] = value
    return found


def _check_settings(settings: Mapping[str, object]) -> None:
    from familiar_connect.config.character import CHARACTER_KEYS
    from familiar_connect.config.toml import check_document

    check_document(settings, CHARACTER_KEYS, Path(SETTINGS))


def _why_not_taken(name: str, value: object) -> str:
    if name == "llm":
        slots = value.values() if isinstance(value, dict) else ()
        addresses = {str(slot["base_url"]) for slot in slots if isinstance(slot, dict) and "base_url" in slot}
        shown = ", ".join(sorted(printable(one_line(each))[:_MOST_NAME] for each in addresses))
        return f"models and endpoints are yours to choose (it names {shown})" if shown else "models are yours to choose"
    return "yours to set"


def _preset_problem(path: str, data: bytes) -> str | None:
    """Why the preset at *path* cannot be used, as its reader in a child process says; None: it can."""
    name = PurePosixPath(path).stem
    try:
        answer = read_in_child("preset", data, (name, PresetFidelity.with_memory.value), shown=path, error=PresetError)
    except PresetError as error:
        return str(error)
    problem = answer.get("problem")
    return None if problem is None else str(problem)
