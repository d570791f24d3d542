"""Passages: lines and sentences of memory files, found by their words and by their meaning.

They share the file and the transactions of the index they belong to. A passage's number holds its file and its
place there; a file that changes gets a new number, so that nothing old is ever taken for new.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from familiar_connect.audience import Audience
from familiar_connect.memory.index.chunking import PreparedChunk, split_passages
from familiar_connect.memory.index.protocols import ExplainedScore, Neighbour, RecallScope, Recollection
from familiar_connect.memory.index.query import all_words, content_words, line_label, words_to_index
from familiar_connect.memory.index.ranking import (
    MAX_PLACE,
    PLACE_BITS,
    Flags,
    Floats,
    UnitFacts,
    no_likeness,
    stretch_of,
    unit_number,
    weigh_named,
)
from familiar_connect.memory.index.storage import (
    DerivedFile,
    Numbers,
    RowCache,
    Vector,
    Vectors,
)
from familiar_connect.memory.index.vectors import passage_rows
from familiar_connect.memory.index.vectors.blobs import Bits, from_blobs, from_small_blobs, to_blob
from familiar_connect.memory.index.vectors.fact_columns import Codes, FactColumns
from familiar_connect.memory.index.vectors.passage_rows import StoredPassage, date_in
from familiar_connect.memory.index.vectors.word_index import (
    delete_words,
    insert_words,
    read_postings,
    to_row,
    to_rows,
    word_table,
)
from familiar_connect.support.lru import LruCache
from familiar_connect.support.sqlite import Row

WHOLE_BELOW_WORDS = 60
"""A chunk this short is one passage: it says one thing, and is shown whole."""
MAX_VECTORS = 150_000
"""Passages with vectors in memory (230 MB at 384 numbers each); the newest files come first."""
ROW_BITS = 2
"""Of the number of a passage in the word index: a file has so many of them, or as many numbers as it needs."""
VECTOR_BITS: Bits = 2
"""Of each number of a vector. With one, as much was found, but a greeting bore on a question about a dog."""
MAX_POSTINGS = 5_000
MAX_WORDS_HELD, MAX_POSTINGS_HELD = 1_000, 500_000
"""Words whose postings are held, and numbers in all of them (4 MB), as long as no file changes."""
SPARE_CODES = 20_000
"""Labels and headings held beyond twice as many as there are passages, before those out of use go."""
LOAD_DOCS = 1_000
"""Files whose passages are read at a time."""


@dataclass(frozen=True)
class PreparedPassage:
    """A passage and the text it is embedded by: its headings, then itself."""

    heading_path: str
    text: str
    char_start: int
    char_end: int
    embedded: str


def prepare_passages(text: str, rel_path: str, chunks: Sequence[PreparedChunk]) -> list[PreparedPassage]:
    """The passages of a file; a short one is its own only passage."""
    if len(chunks) == 1 and len(text.split()) < WHOLE_BELOW_WORDS:
        whole = chunks[0]
        return [PreparedPassage(whole.heading_path, text.strip(), 0, len(text), whole.text)]
    return [
        PreparedPassage(
            piece.heading_path,
            piece.text.strip(),
            piece.char_start,
            piece.char_end,
            _under(piece.heading_path, piece.text.strip()),
        )
        for piece in split_passages(text)[:MAX_PLACE]
    ]


class Passages:
    """The passages in an index. Safe to use from any thread."""

    TABLES = (passage_rows.VIEW, word_table("passage_words"))

    def __init__(self, file: DerivedFile, dim: int) -> None:
        self._file = file
        self._lock = threading.RLock()
        self._level: tuple[int, int] = (-1, -1)
        self._counted: tuple[int, int] = (-2, -2)
        self._totals = (0, 0)
        self._dropped: list[int] = []
        self._added: list[tuple[int, bytes]] = []
        self._new_rows: list[Row] = []
        self.vectors = Vectors(dim)
        self._rows = RowCache(lambda units: passage_rows.read_passages(file, units))
        self._postings: LruCache[tuple[str, bool], tuple[tuple[int, int], Numbers]] = LruCache(
            MAX_WORDS_HELD, size=MAX_POSTINGS_HELD, size_of=lambda held: len(held[1])
        )
        self._facts = FactColumns(label="i4", heading="i4", said_at="f8", words="i4", asks="?")
        self._labels, self._headings = Codes(), Codes()
        self._headings_with: dict[str, set[int]] = {}
        """Headings by the words in them; of so many the words are known."""
        self._words_known = 0
        self._paths: dict[int, str] = {}
        """Files by their number."""
        self._rows_of: tuple[Numbers | None, Numbers] = (None, np.empty(0, dtype=np.int64))
        """The passages there were when they were last numbered for the word index, and their numbers there."""

    def delete(self, connection: sqlite3.Connection, doc: int) -> None:
        """Take out the passages of one file before its chunks go, inside the caller's transaction."""
        rows = passage_rows.read_doc(self._file, doc)
        words = ((to_row(each.unit, ROW_BITS), words_to_index(each.text)) for each in rows)
        delete_words(connection, "passage_words", words)
        self._dropped += [each.unit for each in rows]

    def insert(
        self,
        connection: sqlite3.Connection,
        doc: int,
        chunks: Sequence[tuple[int, PreparedChunk]],
        said_at: float,
        passages: Sequence[PreparedPassage],
        vectors: dict[str, bytes],
    ) -> None:
        """Put in the passages of one file, whose *chunks* are in already, inside the caller's transaction."""
        floats = from_blobs([vectors[passage.embedded] for passage in passages], self.vectors.dim)
        blobs = passage_rows.to_equal_blobs(floats, VECTOR_BITS)
        numbered = [(unit_number(doc, place), passage) for place, passage in enumerate(passages, 1)]
        stored = [_place_in_chunk(unit, passage, chunks) for unit, passage in numbered]
        _, first = chunks[0]
        passage_rows.insert_row(connection, doc, stored, blobs)
        for each, (unit, passage), blob in zip(stored, numbered, blobs, strict=True):
            facts = (each.label, passage.heading_path, said_at, each.word_count, each.asks)
            self._new_rows.append((unit, first.rel_path, *facts))
            self._added.append((unit, blob))
        rows = ((to_row(unit, ROW_BITS), words_to_index(each.text)) for unit, each in numbered)
        insert_words(connection, "passage_words", rows)

    def commit_vectors(self, before: int) -> None:
        """After the caller's transaction: the vectors in memory follow, unless they were behind anyway."""
        with self._lock:
            dropped, self._dropped = self._dropped, []
            added, self._added = self._added, []
            rows, self._new_rows = self._new_rows, []
            if self._level != (self._file.open_count, before):
                return
            self._drop_paths(dropped)
            self._facts.change(dropped, self._code(rows))
            if len(self._labels) + len(self._headings) > 2 * len(self._facts) + SPARE_CODES:
                self._clear_facts()
                self._sync_facts(passage_rows.read_units(self._file))
            self.vectors.drop(dropped)
            if added:
                rows_held = from_small_blobs([blob for _, blob in added], self.vectors.dim)
                self.vectors.put([unit for unit, _ in added], rows_held)
            self._level = (self._file.open_count, before + 1)

    def vectors_by_digest(self, rel_path: str) -> dict[bytes, bytes]:
        """Vectors of a file's passages by what was embedded: text that did not change needs no new one."""
        docs = [doc for (doc,) in self._file.read("SELECT doc FROM documents WHERE rel_path = ?", (rel_path,))]
        rows = {each.unit: each for doc in docs for each in passage_rows.read_doc(self._file, doc)}
        stored = [(unit, blob) for unit, blob in passage_rows.read_vectors(self._file, docs) if unit in rows]
        floats = from_small_blobs([blob for _, blob in stored], self.vectors.dim)
        embedded = (_under(rows[unit].heading_path, rows[unit].text) for unit, _ in stored)
        return {digest_of(text): to_blob(vector) for text, vector in zip(embedded, floats, strict=True)}

    def catch_up(self) -> None:
        """Bring the vectors in memory level with the file: at first all, later what another process changed."""
        level = (self._file.open_count, self._file.read("SELECT number FROM generation")[0][0])
        if level == self._level:
            return
        with self._lock:
            if self._file.open_count != self._level[0]:
                self.vectors.clear()
                self._clear_facts()
            stored = passage_rows.read_units(self._file)
            self._sync_vectors(stored[-MAX_VECTORS:])
            self._sync_facts(stored)
            self._level = level

    def _sync_vectors(self, stored: Numbers) -> None:
        """Hold the vectors of the passages *stored*, and no others."""
        held = self.vectors.ids()
        self.vectors.drop(np.setdiff1d(held, stored, assume_unique=True).tolist())
        missing = np.setdiff1d(stored, held, assume_unique=True)
        for docs in _handfuls(missing):
            wanted = set(missing[np.isin(missing >> PLACE_BITS, docs)].tolist())
            rows = [row for row in passage_rows.read_vectors(self._file, docs) if row[0] in wanted]
            self.vectors.put([row[0] for row in rows], from_small_blobs([row[1] for row in rows], self.vectors.dim))

    def _sync_facts(self, stored: Numbers) -> None:
        """Hold the facts of the passages *stored*; those of a file that is the same are held already."""
        held = self._facts.ids()
        gone = np.setdiff1d(held, stored, assume_unique=True).tolist()
        self._drop_paths(gone)
        self._facts.change(gone, ())
        for docs in _handfuls(np.setdiff1d(stored, held, assume_unique=True)):
            self._facts.change((), self._code(passage_rows.read_facts(self._file, docs)))

    def _clear_facts(self) -> None:
        """Let go of all facts, and of labels and headings that no file has any more."""
        self._facts.clear()
        self._labels, self._headings = Codes(), Codes()
        self._headings_with, self._words_known, self._paths = {}, 0, {}

    def _drop_paths(self, units: Iterable[int]) -> None:
        """Forget the files that *units* were of: one that changed has a new number."""
        for doc in {unit >> PLACE_BITS for unit in units}:
            self._paths.pop(doc, None)

    def _code(self, rows: Sequence[Row]) -> list[Row]:
        """*rows* with numbers for labels and headings; their files are noted."""
        found: list[Row] = []
        for unit, rel_path, label, heading, *rest in rows:
            self._paths[unit >> PLACE_BITS] = rel_path
            number = self._headings.put(heading)
            if number == self._words_known:
                self._words_known += 1
                for word in all_words(heading):
                    self._headings_with.setdefault(word, set()).add(number)
            found.append((unit, self._labels.put(label), number, *rest))
        return found

    def counts(self) -> tuple[int, int]:
        """How many passages there are, and in how many files; counted once for each state of the file."""
        self.catch_up()
        with self._lock:
            if self._counted != self._level:
                row = self._file.read("SELECT (SELECT TOTAL(count) FROM passages), (SELECT COUNT(*) FROM documents)")[0]
                self._totals = int(row[0]), int(row[1])
                self._counted = self._level
            return self._totals

    def best_sentences(self, vector: Vector, units: Numbers, whole: Floats) -> Floats:
        """As near as the passages are: they are cut at sentence ends already."""
        return whole

    def compare_words(self, asked: Mapping[str, Vector], units: Numbers) -> tuple[Floats, Floats]:
        """Nobody knows: the words of files have no vectors of their own."""
        return no_likeness(units)

    def postings(self, word: str, *, in_any_form: bool = False) -> Numbers:
        """Passages that hold *word*, of the newest files."""
        self.catch_up()
        level, held = self._level, self._postings.get((word, in_any_form))
        if held is not None and held[0] == level:
            return held[1]
        found = self._units_of(read_postings(self._file, "passage_words", word, MAX_POSTINGS, in_any_form=in_any_form))
        self._postings.put((word, in_any_form), (level, found))
        return found

    def _units_of(self, rows: Numbers) -> Numbers:
        """The passages that have *rows* in the word index; a long file goes on into the numbers after its own."""
        units = self._facts.ids()
        if self._rows_of[0] is not units:
            self._rows_of = units, to_rows(units, ROW_BITS)
        known = self._rows_of[1]
        if not len(known):
            return known
        places = np.searchsorted(known, rows).clip(0, len(known) - 1)
        found: Numbers = units[places[known[places] == rows]]
        return found

    def units_between(self, start: float, end: float, limit: int) -> Numbers:
        """Passages of files written, or named after days, in a stretch of time."""
        self.catch_up()
        return self._facts.between(start, end, limit)

    def facts(
        self, units: Numbers, scope: RecallScope, names: frozenset[str], first_named: frozenset[str] = frozenset()
    ) -> UnitFacts:
        """What is known of *units*; what the prompt holds already is left out.

        Passages about people in *names* are wanted, and more so those about whoever is *first_named*.
        """
        self.catch_up()
        with self._lock:  # the numbers of labels and headings are those of the rows
            rows = self._facts.of(units)
            if scope.exclude_paths or scope.exclude_folders:
                rows = rows[~self._is_elsewhere(rows["unit"] >> PLACE_BITS, scope)]
            named = self._concerns(rows, scope, names)
            is_one = first_named in (names, frozenset())
            named_first = named if is_one else self._concerns(rows, scope, first_named)
            return UnitFacts.from_columns(rows, weigh_named(named, named_first))

    def _is_elsewhere(self, docs: Numbers, scope: RecallScope) -> Flags:
        """Whether each of *docs* is a file that the prompt holds, or that somebody else looks through."""
        elsewhere = scope.exclude_folders or "\0"
        left_out = [
            doc
            for doc in np.unique(docs).tolist()
            if (path := self._paths.get(doc, "")) in scope.exclude_paths or path.startswith(elsewhere)
        ]
        return np.isin(docs, left_out)

    def _concerns(self, rows: NDArray[np.void], scope: RecallScope, names: frozenset[str]) -> Flags:
        """Whether each passage is by, or about, somebody of *names*."""
        if not names:
            return np.zeros(len(rows), dtype=np.bool_)
        naming = np.concatenate([self.postings(name) for name in names])
        headed = [code for name in names for code in self._headings_with.get(name, ())]
        about = np.isin(rows["unit"], naming) | np.isin(rows["heading"], headed)
        is_theirs = np.isin(rows["label"], self._labels.of(names))
        is_anybodys = np.isin(rows["label"], self._labels.of(scope.names))
        # A line that opens with somebody's name is theirs.
        return np.where(is_anybodys, is_theirs, about)

    def tellable_units(self, scope: RecallScope) -> Numbers:
        """All passages of files of which anything may be told."""
        self.catch_up()
        units = self._facts.ids()
        may_tell = scope.may_tell_of_file
        if may_tell is None:
            return units
        told = [doc for doc, path in list(self._paths.items()) if may_tell(path)]
        return units[np.isin(units >> PLACE_BITS, told)]

    def tellable_texts(self, units: Sequence[int], scope: RecallScope) -> dict[int, tuple[str, str]]:
        """The key and the text of each of *units* that may be told."""
        units = self._of_told_files(units, scope)
        return {
            unit: (_key(rel_path, unit), text)
            for unit, rel_path, _, _, text in self._rows.get(units, self._level).values()
            if _audiences(rel_path, text, scope) is not None
        }

    def _of_told_files(self, units: Sequence[int], scope: RecallScope) -> Sequence[int]:
        """Those of *units* in files of which anything may be told: the texts of the others are not even read."""
        may_tell = scope.may_tell_of_file
        if may_tell is None:
            return units
        docs = {unit >> PLACE_BITS for unit in units}
        told = {doc for doc in docs if (path := self._paths.get(doc)) is None or may_tell(path)}
        return [unit for unit in units if unit >> PLACE_BITS in told]

    def show(self, hits: Sequence[tuple[int, ExplainedScore]], scope: RecallScope) -> list[Recollection]:
        """*hits* with their text and what stands right before and after."""
        wanted = {unit + step for unit, _ in hits for step in (-1, 0, 1)}
        held = {unit: row[1:] for unit, row in self._rows.get(wanted, self._level).items()}
        found: list[Recollection] = []
        for unit, explained in hits:
            if unit not in held:
                continue
            rel_path, heading, said_at, text = held[unit]
            audiences = _audiences(rel_path, text, scope)
            if audiences is None:
                continue
            beside = {
                step: (Neighbour(stretch_of(unit + step)[1], held[unit + step][3]),)
                if unit + step in held and _audiences(rel_path, held[unit + step][3], scope) is not None
                else ()
                for step in (-1, 1)
            }
            found.append(
                Recollection(
                    source="file",
                    key=_key(rel_path, unit),
                    text=text,
                    explained=explained,
                    when=datetime.fromtimestamp(said_at, UTC) if date_in(rel_path) else None,
                    rel_path=rel_path,
                    heading_path=heading if _is_heading_told(rel_path, heading, scope) else "",
                    audiences=None if scope.audiences_of_passage is None else audiences,
                    place=(f"file:{rel_path}", stretch_of(unit)[1]),
                    before=beside[-1],
                    after=beside[1],
                )
            )
        return found


def _key(rel_path: str, unit: int) -> str:
    return f"{rel_path}#{stretch_of(unit)[1]}"


def _audiences(rel_path: str, text: str, scope: RecallScope) -> frozenset[Audience] | None:
    """Those a passage was said to; None when it may not be told where the question comes from."""
    if scope.audiences_of_passage is None:
        return frozenset()
    return scope.audiences_of_passage(rel_path, text)


def _is_heading_told(rel_path: str, heading_path: str, scope: RecallScope) -> bool:
    names = (name for name in heading_path.split(" > ") if name)
    return all(_audiences(rel_path, name, scope) is not None for name in names)


def _under(heading_path: str, text: str) -> str:
    """What a passage is embedded by."""
    return f"{heading_path}\n{text}" if heading_path else text


def _place_in_chunk(unit: int, passage: PreparedPassage, chunks: Sequence[tuple[int, PreparedChunk]]) -> StoredPassage:
    """*passage* in the chunk that holds it; with its heading and its text where those of the chunk will not do."""
    words = sum(1 for _ in content_words(passage.text))
    asks, label = passage.text.rstrip().endswith("?"), line_label(passage.text)
    known = (len(passage.text), words, asks, label)
    for number, chunk in chunks:
        at = chunk.text.find(passage.text) if chunk.char_start < passage.char_end else -1
        if at >= 0 and passage.char_start < chunk.char_end:
            heading = None if chunk.heading_path == passage.heading_path else passage.heading_path
            return StoredPassage(unit, number, at, *known, heading, None)
    return StoredPassage(unit, chunks[0][0], 0, *known, passage.heading_path, passage.text)


def _handfuls(units: Numbers) -> Iterator[list[int]]:
    """The files of *units*, some at a time."""
    docs = sorted(set((units >> PLACE_BITS).tolist()))
    for start in range(0, len(docs), LOAD_DOCS):
        yield docs[start : start + LOAD_DOCS]


def digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:16]


def count_numbers(passages: int) -> int:
    """How many of the numbers of files one of so many *passages* takes, for its rows in the word index."""
    return (passages >> ROW_BITS) + 1
