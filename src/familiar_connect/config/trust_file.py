"""TrustFile: the owner's word, kept in the home: `trust.toml`, with a table for each kind of thing that is allowed.

It stands outside every familiar's folder, so that nobody who gives a folder away can say yes in the owner's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.toml import format_rows, read_rows, write_text
from familiar_connect.errors import ConfigError

ORIGIN, SCRIPT, SETTING = "origin", "script", "setting"
_TABLES = {
    ORIGIN: (
        "# Where the familiars of this home may send what they see, and the key that was given for each place.\n"
        "# Written by `familiar connect` and `familiar trust`; a key goes to its own origin and nowhere else."
    ),
    SCRIPT: "# Regex scripts that you allowed, by familiar and by what they do; written by `familiar regex`.",
    SETTING: "# Settings that you allowed, which let a familiar do or tell more; written by `familiar trust`.",
}
_OWNER_ONLY = 0o600


class TrustFile:
    """The file of one home. Nothing is cached: each call reads it."""

    def __init__(self, home: Path) -> None:
        self.path = HomeFolder(Path(home)).trust_file

    def rows(self, table: str) -> list[Mapping[str, object]]:
        """The rows of one table; `ConfigError` for anything that is no row."""
        rows = read_rows(self.path, table, beside=_TABLES)
        found: list[Mapping[str, object]] = [row for row in rows if isinstance(row, dict)]
        if len(found) < len(rows):
            raise ConfigError(f"{self.path}: each row starts with [[{table}]] and gives keys; fix that row")
        return found

    def write(self, table: str, rows: Iterable[Mapping[str, object]]) -> None:
        """Put *rows* in place of those of one table; the other tables stay."""
        every = {name: list(rows) if name == table else self.rows(name) for name in _TABLES}
        parts = [format_rows(_TABLES[name], name, kept) for name, kept in every.items() if kept or name == ORIGIN]
        write_text(self.path, "\n".join(parts), mode=_OWNER_ONLY)
