"""Backup: a data home as one file, made while familiars talk.

Databases are copied as SQLite does it, so that each is whole. What is said meanwhile may change memory and history
together, so a familiar is copied again until nothing of its memory changed on the way. Caches, indices and locks are
left out: they are made anew. Keys are left out, too, unless they are asked for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from familiar_connect.bootstrap.backup.manifest import DATABASE, NAME, BackupFile, Manifest, count_rows
from familiar_connect.config.folders import INDEX_NAME, FamiliarFolder, HomeFolder
from familiar_connect.config.home import list_familiars
from familiar_connect.errors import HomeError
from familiar_connect.support.files import is_temporary, sync_folder, temporary_name
from familiar_connect.support.no_follow import LinkRefused, open_to_read
from familiar_connect.support.sqlite import BESIDE, connect_unlinked, copy_database

MOST_TRIES = 5
"""How often a familiar is copied before one that changed on the way is taken as it is."""
_LOCK = ".lock"
_SAME_DATE = (1980, 1, 1, 0, 0, 0)
_PIECE = 1 << 20

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class BackupReport:
    """What a backup holds."""

    file: Path
    manifest: Manifest
    left_out: tuple[str, ...]
    """Links, which are not followed."""
    unsettled: tuple[str, ...]
    """Familiars whose memory changed each time they were copied."""
    has_keys: bool


def write_backup(
    home: Path, target: Path, *, with_keys: bool, now: datetime, version: str, progress: Progress | None = None
) -> BackupReport:
    """Write everything of *home* to the new file *target*: whole or not at all."""
    if target.exists():
        raise HomeError(f"{target} exists already: name another file with -o FILE")
    if not list_familiars(home):
        raise HomeError(f"{home}: there is no familiar here yet, so there is nothing to back up")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / temporary_name()
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=target.parent) as folder:
            copy = _Copy(home, Path(folder), with_keys=with_keys)
            copy.take_all()
            files = _write_archive(copy.folder, temporary, Manifest(now.isoformat(), version, {}), progress)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)
    return BackupReport(
        file=target,
        manifest=files,
        left_out=tuple(copy.left_out),
        unsettled=tuple(copy.unsettled),
        has_keys=with_keys and HomeFolder(home).secrets_file.name in files.files,
    )


class _Copy:
    """The files of *home* as they were at one moment, in *folder*."""

    def __init__(self, home: Path, folder: Path, *, with_keys: bool) -> None:
        self.folder = folder
        self.left_out: list[str] = []
        self.unsettled: list[str] = []
        self._home = HomeFolder(home)
        self._unwanted = {self._home.cache, self._home.trial, folder}
        if not with_keys:
            self._unwanted.add(self._home.secrets_file)

    def take_all(self) -> None:
        """Familiars first, each in one go; then what is about all of them."""
        folders = [self._home.familiar(each) for each in list_familiars(self._home.root)]
        for familiar in folders:
            self._take_familiar(familiar)
        taken = {each.root for each in folders}
        for path in self._walk(self._home.root, passed_over=taken):
            self._take(path)
        self.left_out = sorted(set(self.left_out))

    def _take_familiar(self, familiar: FamiliarFolder) -> None:
        for _ in range(MOST_TRIES):
            before = self._stamps(familiar.memory)
            for path in sorted(self._walk(familiar.root), key=lambda path: path.suffix != DATABASE):
                self._take(path)
            if self._stamps(familiar.memory) == before:
                return
            shutil.rmtree(self.folder / familiar.root.relative_to(self._home.root))
        for path in sorted(self._walk(familiar.root), key=lambda path: path.suffix != DATABASE):
            self._take(path)
        self.unsettled.append(familiar.familiar_id)

    def _stamps(self, folder: Path) -> dict[Path, tuple[int, int]]:
        found = {}
        for path in self._walk(folder):
            with suppress(FileNotFoundError):
                facts = path.lstat()
                found[path] = (facts.st_mtime_ns, facts.st_size)
        return found

    def _walk(self, folder: Path, *, passed_over: frozenset[Path] | set[Path] = frozenset()) -> Iterator[Path]:
        """Every plain file below *folder* that a home cannot do without."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            path = folder / entry.name
            if path in self._unwanted or path in passed_over or is_temporary(entry.name):
                continue
            if entry.is_symlink():
                self.left_out.append(path.relative_to(self._home.root).as_posix())
            elif entry.is_dir():
                if entry.name != INDEX_NAME:
                    yield from self._walk(path, passed_over=passed_over)
            elif entry.is_file() and not entry.name.endswith((*(DATABASE + each for each in BESIDE), _LOCK)):
                yield path

    def _take(self, path: Path) -> None:
        """Copy *path*; one that was deleted meanwhile is none."""
        copy = self.folder / path.relative_to(self._home.root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            if path.suffix == DATABASE:
                with closing(connect_unlinked(path, "mode=ro")) as source:
                    copy_database(source, copy)
                return
            with open_to_read(path) as source_file, copy.open("wb") as target:
                shutil.copyfileobj(source_file, target, _PIECE)
        except FileNotFoundError:
            copy.unlink(missing_ok=True)
        except LinkRefused:
            self.left_out.append(path.relative_to(self._home.root).as_posix())
        except sqlite3.Error as error:
            raise HomeError(f"{path}: cannot be copied ({error}); `familiar doctor` says what to do") from error


def _write_archive(folder: Path, file: Path, manifest: Manifest, progress: Progress | None) -> Manifest:
    """Everything in *folder* as the archive *file*, the manifest last; it with the files filled in."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    total = sum(path.stat().st_size for path in paths)
    done = 0
    files: dict[str, BackupFile] = {}
    with (
        os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened,
        zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for path in paths:
            name = path.relative_to(folder).as_posix()
            rows = count_rows(path) if path.suffix == DATABASE else {}
            digest, size = hashlib.sha256(), 0
            with path.open("rb") as source, archive.open(zipfile.ZipInfo(name, _SAME_DATE), "w") as member:
                while piece := source.read(_PIECE):
                    digest.update(piece)
                    size += len(piece)
                    member.write(piece)
                    if progress is not None:
                        progress(done + size, total)
            done += size
            files[name] = BackupFile(size, digest.hexdigest(), rows)
        whole = Manifest(manifest.made, manifest.version, files)
        archive.writestr(zipfile.ZipInfo(NAME, _SAME_DATE), whole.to_json(), zipfile.ZIP_DEFLATED)
        opened.flush()
    with file.open("rb") as written:
        os.fsync(written.fileno())
    return whole
