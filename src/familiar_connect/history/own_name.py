"""What a history goes by, wherever its file is moved: a page knows by it that it still talks to the same familiar."""

from __future__ import annotations

from familiar_connect.support.sqlite import Database

_GIVE = "INSERT OR IGNORE INTO history_name VALUES (1, lower(hex(randomblob(16))))"
NAME_TABLE = (
    "CREATE TABLE IF NOT EXISTS history_name (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), name TEXT NOT NULL)",
    _GIVE,
)


def read_history_name(database: Database) -> str:
    """The name that a history was given when it was made; no other goes by it, nor this one by another."""
    found = database.read("SELECT name FROM history_name")
    if not found:  # the table was put back empty
        database.write(_GIVE)
        found = database.read("SELECT name FROM history_name")
    return str(found[0][0])
