"""pack: a familiar as one archive for somebody else, without secrets, history or confidences.

It holds who the character is: its texts, lore, documents, modes, presets and the settings that shape it. What it
learned from talking to people stays unless it is asked for.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.audience import EVERYONE
from familiar_connect.bootstrap.adopt import settings_text, shareable_settings
from familiar_connect.bootstrap.shared_files import MEMORY, MODES, PRESETS, SETTINGS, most_bytes, why_dropped
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.toml import read_toml
from familiar_connect.errors import HomeError
from familiar_connect.memory.file_audience import read_audience
from familiar_connect.memory.paths import Root
from familiar_connect.memory.search import path_of, walk_files
from familiar_connect.support.files import sync_folder, temporary_name
from familiar_connect.support.sqlite import connect_unlinked, copy_database

EXPERIENCE = ("people/", "servers/", "sessions/", "topics/")
"""Folders of memory that grow out of what people said."""
_SAME_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class PackReport:
    """What went into an archive."""

    file: Path
    packed: tuple[str, ...]
    kept_back: tuple[str, ...]
    """Memory files that hold what was said in confidence, or may."""


def pack_familiar(
    root: Path, target: Path, *, with_history: bool = False, with_confidences: bool = False
) -> PackReport:
    """Write the familiar in *root* to the new file *target*: whole or not at all."""
    if target.exists():
        raise HomeError(f"{target} exists already: name another file with -o FILE")
    packed: list[str] = []
    kept_back: list[str] = []
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / temporary_name()
    try:
        with (
            os.fdopen(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for path, data in _contents(root):
                if not with_confidences and is_confidential(path, data):
                    kept_back.append(path)
                    continue
                archive.writestr(zipfile.ZipInfo(path, _SAME_DATE), data, zipfile.ZIP_DEFLATED)
                packed.append(path)
            if with_history and (history := _history(root, temporary)) is not None:
                archive.writestr(zipfile.ZipInfo(FamiliarFolder(root).history_db.name, _SAME_DATE), history)
                packed.append(FamiliarFolder(root).history_db.name)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)
    return PackReport(file=target, packed=tuple(packed), kept_back=tuple(kept_back))


def is_confidential(path: str, data: bytes) -> bool:
    """Whether the memory file *path* may hold what not everybody was told.

    A file whose front matter says `audience: everyone` does not; one that names any other audience does, and so may
    whatever grew out of conversations and says nothing.
    """
    if not path.startswith(f"{MEMORY}/"):
        return False
    audience = read_audience(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    if audience is not None:
        return audience != EVERYONE
    return path.removeprefix(f"{MEMORY}/").startswith(EXPERIENCE)


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """Path and text of everything that may be shared, settings first."""
    settings = shareable_settings(read_toml(FamiliarFolder(root).settings_file) or {})
    yield SETTINGS, settings_text(settings, f"Settings of {root.name}").encode("utf-8")
    for top in (MEMORY, MODES, PRESETS):
        for folder, name in walk_files(Root(Path(os.path.realpath(root))), (top,)):
            path = path_of(folder, name)
            data = folder.read(name, most_bytes(path)) if why_dropped(path) is None else None
            if data is not None:
                yield path, data


def _history(root: Path, beside: Path) -> bytes | None:
    """The history as one file, with what is not yet merged into it."""
    path = FamiliarFolder(root).history_db
    if not path.exists():
        return None
    copy = beside.with_name(temporary_name())
    try:
        with closing(connect_unlinked(path)) as source:
            copy_database(source, copy)
        return copy.read_bytes()
    finally:
        copy.unlink(missing_ok=True)
