"""The schema of a database: what this program makes, what a file holds, and what somebody else put into it.

A database can carry code of its own: triggers, views, indices over expressions, columns and checks that are
computed. In a folder that somebody sent, such code would run whenever we write. So what a file holds is compared
with what our own migrations make. Foreign triggers, views and indices that compute or forbid something are taken
out; a table of ours that was made to compute something is refused. A plain table that we do not know, or a plain
index, does nothing by itself and stays.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

TRIGGER, VIEW, INDEX, TABLE = "trigger", "view", "index", "table"
MAX_NAME_CHARS = 60
MAX_TRIGGER_DEPTH = 10
_INTERNAL = frozenset({"sqlite_sequence", "sqlite_stat1", "sqlite_stat3", "sqlite_stat4"})
_STRINGS = re.compile(r"'(?:[^']|'')*'")
_QUOTED_NAME = re.compile(r'"(\w+)"')
_QUOTED = re.compile(r'"[^"]*"|`[^`]*`|\[[^\]]*\]')
_COMPUTES = re.compile(r"\b(check|generated|as|references|collate|conflict|unique|virtual)\b|\bdefault\s*\(")

Steps = Sequence[Callable[[sqlite3.Connection], object]]


@dataclass(frozen=True, order=True)
class SchemaObject:
    """A table, index, trigger or view, with the text that makes it."""

    kind: str
    name: str
    sql: str

    def __str__(self) -> str:
        return f'the {self.kind} "{self.name[:MAX_NAME_CHARS]}"'


class ForeignSchema(sqlite3.DatabaseError):
    """A database was made to do something else than ours do; counts as damage, and nothing is changed."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


@dataclass(frozen=True)
class ExpectedSchema:
    """What our own steps make: every text that ever stood under a name, and the last one."""

    texts: Mapping[tuple[str, str], frozenset[str]]
    final: tuple[SchemaObject, ...]

    def foreign_code(self, connection: sqlite3.Connection) -> list[SchemaObject]:
        """What runs by itself in *connection* and is none of ours; a `ForeignSchema` where a table of ours does."""
        found = []
        for each in read_schema(connection):
            if plain_sql(each.sql) in self.texts.get((each.kind, each.name), ()):
                continue
            if each.kind == TABLE:
                self._refuse_changed(each)
            elif each.kind == VIEW and (TABLE, each.name) in self.texts:
                raise ForeignSchema(f'"{each.name}" is a view where this program makes a table')
            elif each.kind != INDEX or _has_effect(connection, each):
                found.append(each)
        return found

    def lacking(self, connection: sqlite3.Connection) -> list[SchemaObject]:
        """Triggers and indices of ours that are not there, of tables that are."""
        present = read_schema(connection)
        there = {(each.kind, each.name) for each in present}
        tables = {each.name for each in present if each.kind == TABLE}
        return [
            each
            for each in self.final
            if each.kind in (TRIGGER, INDEX) and (each.kind, each.name) not in there and _table_of(each) in tables
        ]

    def _refuse_changed(self, table: SchemaObject) -> None:
        bare = _QUOTED.sub('""', _STRINGS.sub("''", table.sql)).lower()
        is_virtual = bare.startswith("create virtual")
        if (TABLE, table.name) not in self.texts and not is_virtual:
            return
        if is_virtual or (found := _COMPUTES.search(bare)) is not None:
            what = "virtual" if is_virtual or found is None else found[0].upper()
            raise ForeignSchema(f"{table} is not as this program makes it: it says {what}")


def read_schema(connection: sqlite3.Connection) -> list[SchemaObject]:
    """Everything in the file but what SQLite keeps for itself."""
    rows = connection.execute("SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL")
    found = [SchemaObject(str(kind), str(name), str(sql)) for kind, name, sql in rows]
    return [each for each in found if each.kind != TABLE or each.name not in _INTERNAL]


def learn_schema(connection: sqlite3.Connection, steps: Steps) -> ExpectedSchema:
    """What *steps* make of the empty database behind *connection*, one after another."""
    texts: dict[tuple[str, str], set[str]] = {}
    final: list[SchemaObject] = []
    for step in steps:
        step(connection)
        final = read_schema(connection)
        for each in final:
            texts.setdefault((each.kind, each.name), set()).add(plain_sql(each.sql))
    return ExpectedSchema({key: frozenset(each) for key, each in texts.items()}, tuple(final))


def plain_sql(sql: str) -> str:
    """*sql* however it is spaced, and without quotes that a name does not need."""
    return _QUOTED_NAME.sub(r"\1", " ".join(sql.split()))


def remove_foreign_code(connection: sqlite3.Connection, foreign: Iterable[SchemaObject]) -> None:
    """Take out triggers, views and indices; inside the caller's transaction."""
    for each in foreign:
        name = each.name.replace('"', '""')
        connection.execute(f'DROP {each.kind.upper()} IF EXISTS main."{name}"')


def harden(connection: sqlite3.Connection) -> sqlite3.Connection:
    """*connection* that trusts nothing in the file: no function with an effect, no page whose cells do not fit."""
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, MAX_TRIGGER_DEPTH)
    set_config = getattr(connection, "setconfig", None)  # since Python 3.12
    if set_config is not None:
        set_config(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)  # type: ignore[attr-defined,unused-ignore]
    return connection


def _has_effect(connection: sqlite3.Connection, index: SchemaObject) -> bool:
    """Whether an index computes something, leaves rows out or forbids some; else it only costs time."""
    name = index.name.replace('"', '""')
    columns = connection.execute(f'PRAGMA main.index_xinfo("{name}")').fetchall()
    is_plain = bool(columns) and all(row[1] >= -1 and row[4] in ("BINARY", "NOCASE", "RTRIM") for row in columns)
    words = _QUOTED.sub('""', index.sql).lower().split()
    return not is_plain or "unique" in words or "where" in words


def _table_of(made: SchemaObject) -> str:
    """The table that a trigger or an index of ours belongs to."""
    found = re.search(r"\bON\s+\"?(\w+)", made.sql, re.IGNORECASE)
    return found[1] if found else ""
