"""The files of somebody's familiar, read from a folder or an archive: text only, within bounds, no link followed.

Nothing is written here. What is not taken is listed with its reason, so that a person can be shown both.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from familiar_connect.bootstrap.card_files.archives import FIRST_MEMBER, check_directory
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import CharacterCardError, HomeError, MemoryStorePathError
from familiar_connect.memory.paths import Folder, Root, split_path
from familiar_connect.memory.types import DEFAULT_MAX_FILE_BYTES
from familiar_connect.presets.load import MAX_BYTES as MAX_PRESET_BYTES
from familiar_connect.support.text import printable

MAX_ARCHIVE_BYTES = 32 * 1024 * 1024
MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""Of all texts together, unpacked."""
MAX_FILES = 10_000
MAX_DEPTH = 16
MAX_NAME_CHARS = 200

_PLACE = FamiliarFolder(Path())
SETTINGS = _PLACE.settings_file.name
MEMORY, MODES, PRESETS = _PLACE.memory.name, _PLACE.modes.name, _PLACE.presets.name
_TEXT_ENDINGS = {MEMORY: (".md", ".txt", ".json"), MODES: (".md",), PRESETS: (".json",)}
_OF_ITS_HOME = {_PLACE.channels.name, _PLACE.audit.name, _PLACE.traces.name}
_OF_ITS_HOME |= {_PLACE.subscriptions_file.name, _PLACE.privacy_file.name, _PLACE.ignore_list_file.name}
_OF_ITS_HOME |= {_PLACE.chats_file.name}
_SYMLINK_TYPE = 0o120000


@dataclass(frozen=True)
class DroppedFile:
    """A file that is not taken, and why."""

    path: str
    reason: str


@dataclass
class SharedFiles:
    """What was read: texts by path, and what is left out."""

    texts: dict[str, bytes] = field(default_factory=dict)
    dropped: list[DroppedFile] = field(default_factory=list)
    total_bytes: int = 0

    def drop(self, path: str, reason: str) -> None:
        self.dropped.append(DroppedFile(printable(path)[:MAX_NAME_CHARS], reason))

    def add(self, path: str, data: bytes) -> None:
        """Take *data* as the file *path*, unless it is too large or no text; every byte read counts."""
        self.total_bytes += len(data)
        if self.total_bytes > MAX_TOTAL_BYTES:
            raise HomeError(f"this familiar holds more than {MAX_TOTAL_BYTES:,} bytes of text; remove some first")
        if len(data) > most_bytes(path):
            return self.drop(path, "too large")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return self.drop(path, "no text")
        if "\0" in text:
            return self.drop(path, "no text")
        self.texts[path] = data
        return None


def read_shared_files(source: Path) -> SharedFiles:
    """The familiar in the folder or ZIP *source*; a sentence when there is none in it."""
    try:
        found = _read_folder(source) if source.is_dir() else _read_archive(source)
    except FileNotFoundError:
        raise HomeError(f"{source}: there is no such file or folder; check the name") from None
    except OSError as error:
        raise HomeError(f"{source}: cannot be read ({error.strerror}); check that you may read it") from error
    if not any(path.startswith(f"{MEMORY}/") for path in found.texts):
        raise HomeError(f"{source}: there is no familiar in it, because it has no {MEMORY} folder with texts")
    return found


def why_dropped(path: str) -> str | None:
    """Why the file at *path* of a familiar's folder is not shared, as far as its name says; None: it is."""
    parts = PurePosixPath(path).parts
    if any(part.startswith(".") for part in parts):
        return "hidden"
    if path == SETTINGS:
        return None
    top = parts[0]
    if top in _OF_ITS_HOME:
        return "belongs to the home it comes from"
    if ".db" in parts[-1]:
        return "a database"
    endings = _TEXT_ENDINGS.get(top)
    if endings is None or len(parts) < 2 or (top != MEMORY and len(parts) > 2):
        return "not part of a familiar"
    return None if parts[-1].lower().endswith(endings) else "no text"


def most_bytes(path: str) -> int:
    """How large the file at *path* may be."""
    return MAX_PRESET_BYTES if path.startswith(f"{PRESETS}/") else DEFAULT_MAX_FILE_BYTES


# --- folders ---


def _read_folder(source: Path) -> SharedFiles:
    found = SharedFiles()
    with Root(Path(os.path.realpath(source))).folder(()) as top:
        for folder, entry in _walk(top, found):
            path = "/".join((*folder.parts, entry.name))
            reason = _name_problem(path) or why_dropped(path)
            if reason is None:
                data = folder.read(entry.name, most_bytes(path))
                reason = "too large" if data is None else None
                if data is not None:
                    found.add(path, data)
            if reason is not None:
                found.drop(path, reason)
            _check_count(found)
    return found


def _walk(folder: Folder, found: SharedFiles) -> Iterator[tuple[Folder, os.DirEntry[str]]]:
    """Every plain file below *folder*; links and what is neither file nor folder are dropped."""
    for entry in sorted(folder.scan(), key=lambda each: each.name):
        path = "/".join((*folder.parts, entry.name))
        if entry.is_symlink():
            found.drop(path, "a link")
        elif entry.is_dir(follow_symlinks=False):
            if len(folder.parts) >= MAX_DEPTH or (not folder.parts and entry.name in _OF_ITS_HOME):
                found.drop(f"{path}/", "belongs to the home it comes from" if not folder.parts else "too deep")
            elif entry.name.startswith("."):
                found.drop(f"{path}/", "hidden")
            else:
                with folder.open_folder(entry.name) as inner:
                    yield from _walk(inner, found)
        elif entry.is_file(follow_symlinks=False):
            yield folder, entry
        else:
            found.drop(path, "not a plain file")
        _check_count(found)


# --- archives ---


def _read_archive(source: Path) -> SharedFiles:
    with source.open("rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise HomeError(f"{source}: is neither a folder nor a ZIP file")
        data = file.read(MAX_ARCHIVE_BYTES + 1)
    if len(data) > MAX_ARCHIVE_BYTES:
        raise HomeError(f"{source}: is larger than {MAX_ARCHIVE_BYTES:,} bytes, which no packed familiar is")
    if not data.startswith(FIRST_MEMBER):
        raise HomeError(f"{source}: is neither a folder nor a ZIP file; `familiar pack` makes one")
    try:
        check_directory(data, most=MAX_FILES)
        return _read_members(zipfile.ZipFile(io.BytesIO(data)))
    except CharacterCardError as error:
        raise HomeError(f"{source}: {error}") from None
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, struct.error, zlib.error, EOFError):
        raise HomeError(f"{source}: this archive is damaged, encrypted or packed in an unusual way") from None


def _read_members(archive: zipfile.ZipFile) -> SharedFiles:
    found = SharedFiles()
    members = [each for each in archive.infolist() if not each.filename.endswith("/")]
    if len(members) > MAX_FILES:
        raise HomeError(f"this archive holds more than {MAX_FILES:,} files, more than a familiar may have")
    above = _common_folder([each.filename for each in members])
    for member in members:
        path = member.filename.removeprefix(above)
        reason = _name_problem(path)
        if reason is None and member.external_attr >> 16 & 0o170000 == _SYMLINK_TYPE:
            reason = "a link"
        if reason is None and member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            reason = "packed in an unusual way"
        reason = reason or why_dropped(path) or ("twice in the archive" if path in found.texts else None)
        if reason is None:
            with archive.open(member) as stream:
                found.add(path, stream.read(most_bytes(path) + 1))  # never more, whatever the archive says of itself
        else:
            found.drop(path, reason)
    return found


def _common_folder(names: list[str]) -> str:
    """The one folder everything lies in, with its slash; nothing where the familiar is at the top."""
    tops = {name.partition("/")[0] for name in names}
    only = next(iter(tops)) if len(tops) == 1 else ""
    return f"{only}/" if only not in ("", MEMORY, MODES, PRESETS, SETTINGS) else ""


def _name_problem(path: str) -> str | None:
    """Why *path* cannot name a file of a familiar."""
    try:
        parts = split_path(path)
    except MemoryStorePathError:
        return "a name that leads elsewhere or cannot be written"
    if "/".join(parts) != path or not parts or any(len(part) > MAX_NAME_CHARS for part in parts) or ":" in path:
        return "a name that leads elsewhere or cannot be written"
    return "too deep" if len(parts) > MAX_DEPTH else None


def _check_count(found: SharedFiles) -> None:
    if len(found.texts) + len(found.dropped) > MAX_FILES:
        raise HomeError(f"this folder holds more than {MAX_FILES:,} files, more than a familiar may have")
