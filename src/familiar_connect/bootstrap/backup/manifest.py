"""Manifest: what a backup holds, file by file, so that a restore can tell whether all of it is there and unchanged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from familiar_connect.errors import HomeError
from familiar_connect.support.sqlite import connect_unlinked

NAME = "manifest.json"
FORMAT = 1
"""Raised when an older program could not read what a newer one wrote."""
DATABASE = ".db"
MAX_BYTES = 64 << 20
MAX_FILES = 500_000
_PLAIN_NAME_LENGTH = 255


@dataclass(frozen=True)
class BackupFile:
    """One file of a home."""

    size: int
    sha256: str
    rows: Mapping[str, int] = field(default_factory=dict)
    """How many rows each table has, where it is a database."""


@dataclass(frozen=True)
class Manifest:
    """The files of a backup, by their path below the home."""

    made: str
    """When, with its time zone."""
    version: str
    """Of the program that wrote it."""
    files: Mapping[str, BackupFile]

    @property
    def size(self) -> int:
        return sum(each.size for each in self.files.values())

    @property
    def familiars(self) -> list[str]:
        """Names of the familiars in it."""
        below = (path.split("/") for path in self.files)
        return sorted({parts[1] for parts in below if parts[0] == "familiars" and parts[1][:1] not in ("_", ".")})

    def to_json(self) -> bytes:
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, sort_keys=True).encode()


def read_manifest(data: bytes) -> Manifest:
    """What *data* says; a `HomeError` where it is none of ours or names a place outside the home."""
    try:
        said = json.loads(data)
        if said["format"] != FORMAT:
            raise HomeError(
                f"it was made by version {str(said['version'])[:40]} of this program; update, then try again"
            )
        files = {str(path): _read_file(facts) for path, facts in said["files"].items()}
        manifest = Manifest(made=str(said["made"]), version=str(said["version"]), files=files)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise HomeError(f"its {NAME} cannot be read") from None
    if len(files) > MAX_FILES:
        raise HomeError(f"it lists more than {MAX_FILES:,} files")
    for path in files:
        if not is_inside(path):
            raise HomeError(f"it names {path[:80]!r}, which is no place in a home")
    return manifest


def _read_file(facts: Any) -> BackupFile:
    size, digest, rows = int(facts["size"]), str(facts["sha256"]), dict(facts["rows"])
    if size < 0:
        raise ValueError(size)
    return BackupFile(size, digest, {str(table): int(count) for table, count in rows.items()})


def is_inside(path: str) -> bool:
    """Whether *path* is a plain one that stays below the folder it is put in, on every system."""
    if any(mark in path for mark in "\\\0:") or not path.isprintable():
        return False
    return all(part not in ("", ".", "..") and len(part) <= _PLAIN_NAME_LENGTH for part in path.split("/"))


def count_rows(path: Path) -> dict[str, int]:
    """How many rows each table of the database *path* has; it is whole, else a `sqlite3.Error`."""
    with closing(connect_unlinked(path, "mode=ro&immutable=1")) as database:
        complaints = database.execute("PRAGMA quick_check(1)").fetchall()
        if complaints != [("ok",)]:
            raise sqlite3.DatabaseError(str(complaints[0][0]))
        listed = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        names = [name for name, sql in listed if not str(sql).upper().startswith("CREATE VIRTUAL")]
        return {
            name: database.execute('SELECT count(*) FROM "{}"'.format(name.replace('"', '""'))).fetchone()[0]
            for name in names
        }
