"""The vocabulary of an index: every word that its units are found by, under a small number, and how many hold it.

A unit keeps the numbers of its words, from which they can be said again when it is taken out. A word that no unit holds
any more goes, and its vector with it. Numbers are never given twice.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

TABLE = (
    "CREATE TABLE terms (word TEXT PRIMARY KEY, id INTEGER NOT NULL, units INTEGER NOT NULL, vector BLOB) WITHOUT ROWID"
)
MAX_SHORT = 0xFFFF


def pack_numbers(numbers: Sequence[int]) -> bytes:
    """Numbers of words as a unit keeps them: two bytes each, or four and an odd one at the end."""
    if max(numbers, default=0) <= MAX_SHORT:
        return np.array(numbers, dtype="<u2").tobytes()
    return np.array(numbers, dtype="<u4").tobytes() + b"\0"


def unpack_numbers(blob: bytes) -> list[int]:
    """What `pack_numbers` was given."""
    is_long = len(blob) % 2
    numbers: list[int] = np.frombuffer(blob[: len(blob) - is_long], dtype="<u4" if is_long else "<u2").tolist()
    return numbers


def number_words(connection: sqlite3.Connection, words_of: Mapping[int, Sequence[str]]) -> dict[int, bytes]:
    """Count the words of new units, each given once for a unit, and give numbers to new ones; what each unit keeps."""
    counts = Counter(word for words in words_of.values() for word in words)
    known: dict[str, int] = dict(
        connection.execute(
            "SELECT word, id FROM terms WHERE word IN (SELECT value FROM json_each(?))", (json.dumps(list(counts)),)
        )
    )
    new = [word for word in counts if word not in known]
    if new:
        (last,) = connection.execute(
            "UPDATE totals SET last_term = last_term + ? RETURNING last_term", (len(new),)
        ).fetchone()
        known |= {word: last - len(new) + at for at, word in enumerate(new, 1)}
        connection.executemany("INSERT INTO terms VALUES (?, ?, 0, NULL)", ((word, known[word]) for word in new))
    connection.executemany(
        "UPDATE terms SET units = units + ? WHERE word = ?", ((count, word) for word, count in counts.items())
    )
    return {unit: pack_numbers([known[word] for word in words]) for unit, words in words_of.items()}


def release_words(connection: sqlite3.Connection, kept: Iterable[tuple[int, bytes]]) -> dict[int, list[str]]:
    """The words of units that go, given with what each kept; they are no longer counted. See `drop_unheld`."""
    numbers = {unit: unpack_numbers(blob) for unit, blob in kept}
    counts = Counter(number for each in numbers.values() for number in each)
    words: dict[int, str] = dict(
        connection.execute(
            "SELECT id, word FROM terms WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(counts)),)
        )
    )
    connection.executemany(
        "UPDATE terms SET units = units - ? WHERE word = ?",
        ((count, words[number]) for number, count in counts.items() if number in words),
    )
    return {unit: [words[number] for number in each if number in words] for unit, each in numbers.items()}


def drop_unheld(connection: sqlite3.Connection) -> None:
    """Forget the words that no unit holds, once all that came in their stead is in: they need no new vector then."""
    connection.execute("DELETE FROM terms WHERE units <= 0")
