"""Restore: a backup into an empty home, each file compared with what the backup says of it before any is put there."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from familiar_connect.bootstrap.backup.manifest import (
    DATABASE,
    MAX_BYTES,
    NAME,
    BackupFile,
    Manifest,
    count_rows,
    read_manifest,
)
from familiar_connect.config.folders import HomeFolder
from familiar_connect.errors import HomeError
from familiar_connect.support.files import sync_folder

_PIECE = 1 << 20
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError, struct.error)

Progress = Callable[[int, int], None]


def restore_backup(file: Path, home: Path, *, progress: Progress | None = None) -> Manifest:
    """Put everything that the backup *file* holds into *home*, which has none of it yet: all or nothing."""
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = _read_list(archive, file)
            _refuse_full_home(home, manifest)
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".restore-", dir=home) as folder:
                _unpack(archive, manifest, Path(folder), progress)
                _move_in(Path(folder), home)
    except FileNotFoundError as error:
        raise HomeError(f"{error.filename or file}: there is no such file") from error
    except _DAMAGE:
        raise HomeError(f"{file} is damaged or no backup; nothing was restored from it") from None
    except OSError as error:
        raise HomeError(f"{file} cannot be restored to {home} ({error.strerror}); nothing was kept of it") from error
    except HomeError as error:
        raise HomeError(f"{file}: {error}") from error
    return manifest


def _read_list(archive: zipfile.ZipFile, file: Path) -> Manifest:
    try:
        member = archive.getinfo(NAME)
    except KeyError:
        raise HomeError("it is no backup of this program; make one with `familiar backup`") from None
    with archive.open(member) as source:
        data = source.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise HomeError(f"its {NAME} is too large")
    manifest = read_manifest(data)
    lacking = sorted(set(manifest.files) - set(archive.namelist()))
    if lacking:
        raise HomeError(f"{len(lacking):,} of its files are missing, such as {lacking[0]}")
    return manifest


def _refuse_full_home(home: Path, manifest: Manifest) -> None:
    tops = sorted({path.split("/")[0] for path in manifest.files})
    there = [name for name in tops if os.path.lexists(home / name)]
    if there:
        raise HomeError(
            f"{home} already holds {', '.join(there[:3])}; name an empty folder: `familiar --home NEW restore FILE`"
        )


def _unpack(archive: zipfile.ZipFile, manifest: Manifest, folder: Path, progress: Progress | None) -> None:
    total, done = manifest.size, 0
    for path, expected in manifest.files.items():
        target = folder / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _unpack_file(archive, path, expected, target)
        if path.endswith(DATABASE):
            _check_rows(target, path, expected)
        done += expected.size
        if progress is not None:
            progress(done, total)


def _unpack_file(archive: zipfile.ZipFile, path: str, expected: BackupFile, target: Path) -> None:
    digest, size = hashlib.sha256(), 0
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with archive.open(path) as source, os.fdopen(descriptor, "wb") as file:
        while piece := source.read(_PIECE):
            size += len(piece)
            if size > expected.size:
                break  # never more on the disk than was announced
            digest.update(piece)
            file.write(piece)
    if size != expected.size or digest.hexdigest() != expected.sha256:
        raise HomeError(f"{path} is not what was backed up; the file was changed or damaged since")


def _check_rows(target: Path, path: str, expected: BackupFile) -> None:
    try:
        found = count_rows(target)
    except sqlite3.Error as error:
        raise HomeError(f"{path} is no database that can be read ({error})") from error
    if found != dict(expected.rows):
        raise HomeError(f"{path} has not the rows that were backed up")


def _move_in(folder: Path, home: Path) -> None:
    """Each top folder and file at once, the familiars last: without them there is no home."""
    familiars = HomeFolder(home).familiars.name
    for name in sorted(os.listdir(folder), key=lambda name: (name == familiars, name)):
        os.rename(folder / name, home / name)
    sync_folder(home)
