"""ExtensionList: the extensions that the owner allowed, in the order they are loaded, in `extensions.toml` of the home.

A familiar's folder is data that anybody may have written, so nothing in it can allow an extension or bring one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.config.built_in import BUILT_IN
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.toml import format_rows, format_value, read_rows, write_text
from familiar_connect.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "familiar_connect.extensions"
MAX_EXTENSIONS = 64
_ROW = "extension"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_HEADER = (
    "# Extensions that may run in this home, in the order they are loaded.\n"
    "# `familiar extension allow NAME` and `familiar extension forbid NAME` write this file."
)


@dataclass(frozen=True, kw_only=True)
class FoundExtension:
    """An installed package that says it brings an extension. Nothing of it has been loaded."""

    name: str
    target: str
    """The module and the value in it, as `module:value`."""
    package: str
    version: str


@dataclass(frozen=True, kw_only=True)
class AllowedExtension:
    """An extension on the owner's list, with the package and version that the owner saw."""

    name: str
    package: str
    version: str


def is_extension_name(name: str) -> bool:
    """Whether *name* can be a section of a settings file: small letters, digits and underscores."""
    return _NAME.fullmatch(name) is not None


def find_extensions() -> list[FoundExtension]:
    """Every installed extension, by name; of two with one name only the first, and none with a built-in one's."""
    found: dict[str, FoundExtension] = {}
    for point in _entry_points():
        package = point.dist.name if point.dist is not None else "?"
        version = point.dist.version if point.dist is not None else "?"
        if is_extension_name(point.name) and point.name not in BUILT_IN:
            extension = FoundExtension(name=point.name, target=point.value, package=package, version=version)
            found.setdefault(point.name, extension)
    return [found[name] for name in sorted(found)]


def _entry_points() -> Iterator[EntryPoint]:
    from importlib.metadata import entry_points  # reads mail headers, and so loads what reads mail

    yield from sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value))


class ExtensionList:
    """What the owner allowed in one home."""

    def __init__(self, home: Path) -> None:
        self.file = HomeFolder(home).extensions_file

    def list_allowed(self) -> list[AllowedExtension]:
        """Those on the list, in its order."""
        rows = read_rows(self.file, _ROW)
        if len(rows) > MAX_EXTENSIONS:
            raise ConfigError(f"{self.file}: lists more than {MAX_EXTENSIONS} extensions; take some out")
        return [self._read(row) for row in rows]

    def find(self, name: str) -> AllowedExtension | None:
        return next((each for each in self.list_allowed() if each.name == name), None)

    def allow(self, extension: FoundExtension) -> None:
        """Put *extension* at the end of the list; one that is there already keeps its place and gets its version."""
        row = AllowedExtension(name=extension.name, package=extension.package, version=extension.version)
        rows = self.list_allowed()
        if any(each.name == row.name for each in rows):
            self._write([row if each.name == row.name else each for each in rows])
        else:
            self._write([*rows, row])

    def forbid(self, name: str) -> bool:
        """Take *name* off the list; whether it was there."""
        rows = self.list_allowed()
        left = [each for each in rows if each.name != name]
        if len(left) == len(rows):
            return False
        self._write(left)
        return True

    def _read(self, row: object) -> AllowedExtension:
        if not isinstance(row, Mapping) or set(row) - {"name", "package", "version"}:
            raise ConfigError(f"{self.file}: a row [[{_ROW}]] has name, package and version, not {format_value(row)}")
        name, package, version = (row.get(key, "") for key in ("name", "package", "version"))
        if not isinstance(name, str) or not is_extension_name(name):
            raise ConfigError(
                f"{self.file}: name must be an extension's name in small letters, not {format_value(name)}"
            )
        return AllowedExtension(name=name, package=str(package), version=str(version))

    def _write(self, rows: Sequence[AllowedExtension]) -> None:
        values = [{"name": each.name, "package": each.package, "version": each.version} for each in rows]
        write_text(self.file, format_rows(_HEADER, _ROW, values))
