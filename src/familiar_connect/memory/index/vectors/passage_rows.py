"""Passages as they are stored: what is known of those of a file, and their vectors, in the row of its first chunk.

A row for each of them would spend a fifth of its bytes on keys and on saying where one column ends. A passage is a
piece of a chunk and stands under its heading: only where that is not so it has a text or a heading of its own.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from familiar_connect.memory.index.ranking import PLACE_BITS, stretch_of, unit_number
from familiar_connect.memory.index.storage import DerivedFile, Numbers, Vector
from familiar_connect.memory.index.vectors.blobs import Bits, to_byte_blob, to_small_blobs
from familiar_connect.memory.index.vectors.short_text import restore_text
from familiar_connect.support.sqlite import Row

VIEW = (
    "CREATE VIEW passages AS SELECT id AS doc, count, facts, labels, apart, vectors FROM stored_chunks"
    " WHERE count NOT NULL"
)
TINY = np.dtype([("chunk", "u1"), ("gap", "u1"), ("length", "u1"), ("told", "u1")])
"""The facts of a passage in most files. `chunk` counts those of the file, `gap` is how far after the passage before it
this one begins, and `told` is twice its words, and one where it asks."""
SMALL = np.dtype([("chunk", "u1"), ("start", "<u2"), ("length", "<u2"), ("told", "u1")])
"""The same for a file where a number is too large for that."""
WIDE = np.dtype([("chunk", "<u4"), ("start", "<u4"), ("length", "<u4"), ("told", "<u4")])
"""The same for any file. How many bytes there are for a passage tells which it is."""
_DATE = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")


class StoredPassage(NamedTuple):
    """One passage: a stretch of the text of a chunk, or a text of its own."""

    unit: int
    chunk: int
    start: int
    char_count: int
    word_count: int
    asks: bool
    label: str | None
    heading_path: str | None
    """None: the heading of its chunk."""
    text: str | None
    """None: it stands in its chunk."""


class ReadPassage(NamedTuple):
    """One passage as it reads."""

    unit: int
    rel_path: str
    heading_path: str
    said_at: float
    text: str


def insert_row(
    connection: sqlite3.Connection,
    doc: int,
    passages: Sequence[StoredPassage],
    blobs: Sequence[bytes],
) -> None:
    """Put in the passages of one file, whose chunks are in and whose vectors are *blobs* of one length."""
    labels = "\n".join(each.label or "" for each in passages)
    apart = [
        (at, each.heading_path, each.text)
        for at, each in enumerate(passages)
        if each.heading_path is not None or each.text is not None
    ]
    connection.execute(
        "UPDATE stored_chunks SET count = ?, facts = ?, labels = ?, apart = ?, vectors = ? WHERE id = ?",
        (
            len(passages),
            _pack([(each.chunk - doc, *each[2:4], 2 * each.word_count + each.asks) for each in passages]),
            labels if labels.strip("\n") else None,
            json.dumps(apart, ensure_ascii=False, separators=(",", ":")) if apart else None,
            b"".join(blobs),
            doc,
        ),
    )


def to_equal_blobs(vectors: Vector, bits: Bits) -> list[bytes]:
    """*vectors* as they are stored, all in as many bits: where those tell too little of one, they all are in bytes."""
    blobs = to_small_blobs(vectors, bits)
    return blobs if len(set(map(len, blobs))) <= 1 else [to_byte_blob(vector) for vector in vectors]


def split_blobs(joined: bytes, count: int) -> list[bytes]:
    """The *count* blobs that were *joined*."""
    size = len(joined) // max(1, count)
    return [joined[at * size : (at + 1) * size] for at in range(count)]


def read_stored(file: DerivedFile, docs: Iterable[int]) -> Iterator[StoredPassage]:
    """The passages of the files *docs*, by their numbers."""
    select = (
        "SELECT doc, count, facts, labels, apart FROM passages"
        " WHERE doc IN (SELECT value FROM json_each(?)) ORDER BY doc"
    )
    for row in file.read(select, (json.dumps(list(docs)),)):
        yield from _unpack(row)


def read_vectors(file: DerivedFile, docs: Iterable[int]) -> list[tuple[int, bytes]]:
    """The units of the files *docs* with their vectors as they are stored."""
    select = "SELECT doc, count, vectors FROM passages WHERE doc IN (SELECT value FROM json_each(?))"
    return [
        (unit_number(doc, place), blob)
        for doc, count, vectors in file.read(select, (json.dumps(list(docs)),))
        for place, blob in enumerate(split_blobs(vectors, count), 1)
    ]


def read_units(file: DerivedFile) -> Numbers:
    """The numbers of all passages, in order."""
    rows = np.array(file.read("SELECT doc, count FROM passages ORDER BY doc"), dtype=np.int64).reshape(-1, 2)
    docs, counts = rows[:, 0], rows[:, 1]
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    return np.asarray((np.repeat(docs, counts) << PLACE_BITS) | places, dtype=np.int64)


def read_passages(file: DerivedFile, units: Iterable[int]) -> list[ReadPassage]:
    """Those of *units* that there are, as they read."""
    wanted = set(units)
    stored = [
        each for each in read_stored(file, sorted({stretch_of(unit)[0] for unit in wanted})) if each.unit in wanted
    ]
    chunks = _read_chunks(file, {each.chunk for each in stored}, "c.text")
    return [
        ReadPassage(
            each.unit,
            rel_path,
            heading if each.heading_path is None else each.heading_path,
            said_at,
            text[each.start : each.start + each.char_count] if each.text is None else each.text,
        )
        for each in stored
        if each.chunk in chunks
        for rel_path, heading, said_at, text in (chunks[each.chunk],)
    ]


def read_doc(file: DerivedFile, doc: int) -> list[ReadPassage]:
    """All passages of one file."""
    return read_passages(file, [each.unit for each in read_stored(file, [doc])])


def read_facts(file: DerivedFile, docs: Iterable[int]) -> list[Row]:
    """`unit, rel_path, label, heading_path, said_at, word_count, asks` of every passage of the files *docs*."""
    stored = list(read_stored(file, docs))
    chunks = _read_chunks(file, {each.chunk for each in stored}, "NULL")
    return [
        (
            each.unit,
            rel_path,
            each.label,
            heading if each.heading_path is None else each.heading_path,
            said_at,
            each.word_count,
            each.asks,
        )
        for each in stored
        if each.chunk in chunks
        for rel_path, heading, said_at, _ in (chunks[each.chunk],)
    ]


def _read_chunks(file: DerivedFile, ids: Iterable[int], last: str) -> dict[int, tuple[str, str, float, str]]:
    """File, heading and moment of chunks by their numbers, and the column *last*."""
    rows = file.read(
        f"SELECT c.id, c.rel_path, c.heading_path, d.mtime, {last} FROM stored_chunks c"
        " CROSS JOIN documents d ON d.rel_path = c.rel_path WHERE c.id IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(ids)),),
    )
    return {
        number: (rel_path, heading, moment_of(rel_path, mtime), "" if stored is None else restore_text(stored))
        for number, rel_path, heading, mtime, stored in rows
    }


def moment_of(rel_path: str, mtime: float) -> float:
    """When what a file says was said: on the day it is named after, else when it was written."""
    day = date_in(rel_path)
    return max(0.0, mtime) if day is None else day.timestamp()


def date_in(rel_path: str) -> datetime | None:
    """The day a file is named after, if it is."""
    match = _DATE.search(rel_path)
    if match is None:
        return None
    try:
        return datetime(int(match[1]), int(match[2]), int(match[3]), 12, tzinfo=UTC)
    except ValueError:
        return None


def _pack(facts: Sequence[tuple[int, int, int, int]]) -> bytes:
    """*facts* in as few bytes as hold them all."""
    ends = [0, *(start + length for _, start, length, _ in facts)]
    gaps = [(chunk, start - end, *rest) for (chunk, start, *rest), end in zip(facts, ends, strict=False)]
    for rows, kind in ((gaps, TINY), (facts, SMALL), (facts, WIDE)):
        if all(0 <= value <= np.iinfo(kind[at]).max for row in rows for at, value in enumerate(row)):
            return np.array([tuple(row) for row in rows], dtype=kind).tobytes()
    raise ValueError("a passage begins further into its chunk than can be told")


def _unpack_facts(packed: bytes, count: int) -> list[tuple[int, int, int, int]]:
    """What `_pack` was given, *count* of them."""
    kind = next(kind for kind in (TINY, SMALL, WIDE) if len(packed) == count * kind.itemsize)
    rows: list[tuple[int, int, int, int]] = np.frombuffer(packed, dtype=kind).tolist()
    if kind is TINY:
        end = 0
        for at, (chunk, gap, length, told) in enumerate(rows):
            rows[at] = (chunk, end + gap, length, told)
            end += gap + length
    return rows


def _unpack(row: Row) -> Iterator[StoredPassage]:
    doc, count, facts, labels, apart = row
    rows = _unpack_facts(facts, count)
    names = labels.split("\n") if labels else [""] * count
    own = {at: (heading, text) for at, heading, text in json.loads(apart)} if apart else {}
    for at, ((chunk, start, length, told), label) in enumerate(zip(rows, names, strict=True)):
        heading, text = own.get(at, (None, None))
        yield StoredPassage(
            unit_number(doc, at + 1),
            doc + chunk,
            start,
            length,
            told >> 1,
            bool(told & 1),
            label or None,
            heading,
            text,
        )
