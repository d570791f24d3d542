"""EmbeddingIndex: the Markdown files of a memory folder, searchable by meaning and by words.

Derived from the files and kept in a SQLite file that may be deleted at any time. A changed file is cut up and
embedded again by itself, inside one transaction, and texts in it that did not change keep their vectors; nothing
else is touched or loaded again. A file that cannot be read is passed by with a line in the log.
"""

from __future__ import annotations

import json
import logging
import math
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.file_audience import without_audience
from familiar_connect.memory.index.chunking import PreparedChunk, chunk_markdown
from familiar_connect.memory.index.folder_listing import FileStamp, file_stamps, locate_file
from familiar_connect.memory.index.passages import (
    Passages,
    PreparedPassage,
    count_numbers,
    digest_of,
    prepare_passages,
)
from familiar_connect.memory.index.protocols import EmbeddingModel, NumberedChunk, RetrievedChunk
from familiar_connect.memory.index.storage import (
    DerivedFile,
    IndexUnavailable,
    Vector,
    Vectors,
    read_ids,
    sync_vectors,
)
from familiar_connect.memory.index.vectors.blobs import from_blobs, to_blob
from familiar_connect.memory.index.vectors.chunk_rows import (
    CHUNK_STEPS,
    TABLES,
    from_counts,
    insert_chunk,
    to_counts,
)
from familiar_connect.memory.index.vectors.passage_rows import moment_of
from familiar_connect.memory.index.vectors.short_text import fill_table, restore_text
from familiar_connect.support.text import without_surrogates

INDEX_FILE = "embeddings.sqlite"
VERSION = "7"
EMBED_BATCH = 32
PAGE_BYTES = 512
"""Of a chunk and its vector two have room in a page of the usual size, and a fifth of that is wasted. A row that
goes on over several small pages fills them, and a table of one row, of which there are a dozen, takes but one."""
_OF_FILES = "FROM documents d CROSS JOIN stored_chunks c ON c.id >= d.doc AND c.id < d.doc + d.chunk_count WHERE"
"""The chunks of a file have numbers in a row from its own on, so that nobody needs an index to find them."""
_IN_FOLDER = f"{_OF_FILES} d.rel_path >= ? AND d.rel_path < ?"

_log = logging.getLogger(__name__)


class ReadableStore(Protocol):
    """The part of a memory store that indexing needs."""

    @property
    def root(self) -> Path: ...

    def read_to_cap(self, rel_path: str) -> str: ...


@dataclass
class BuildStats:
    """What a build changed."""

    rebuilt_paths: list[str] = field(default_factory=list)
    removed_paths: list[str] = field(default_factory=list)
    chunks_written: int = 0


@dataclass(frozen=True)
class _Prepared:
    """One file cut up; no chunks when it cannot be read."""

    rel_path: str
    stamp: FileStamp
    digest: bytes
    chunks: list[PreparedChunk]
    passages: list[PreparedPassage]

    @property
    def texts(self) -> list[str]:
        """What is to be embedded, each text once."""
        return list(dict.fromkeys([c.text for c in self.chunks] + [passage.embedded for passage in self.passages]))


class EmbeddingIndex:
    """The index at *path* for one model. Safe to use from several threads at once.

    Opening it with another model or dimension empties it; the next build fills it again.
    """

    def __init__(self, path: Path | str, *, dim: int, model_name: str = "") -> None:
        self.path = Path(path)
        self.dim = dim
        identity = {"version": VERSION, "model": model_name, "dim": str(dim)}
        self._file = DerivedFile(self.path, create=_create, identity=identity, page_bytes=PAGE_BYTES)
        self._chunks = Vectors(dim, CHUNK_STEPS)
        self._building = threading.RLock()
        self._level: tuple[int, int] = (-1, -1)
        self._refreshed: set[str] | None = None
        """Files brought level by themselves during a build: what it read of them before is out of date."""
        self.passages = Passages(self._file, dim)
        self._file.try_open()

    def build_if_stale(
        self,
        store: ReadableStore,
        model: EmbeddingModel,
        *,
        progress: Callable[[int, int], None] | None = None,
        go_on: Callable[[], bool] = lambda: True,
    ) -> BuildStats:
        """Bring the index level with the files: new and changed ones in, vanished ones out.

        *progress* hears how many of how many files are done. *go_on* is asked between batches; it may wait, and
        ends the build by saying no: what is done by then is kept.
        """
        stats = BuildStats()
        with self._noting_refreshed() as refreshed:
            self._file.reopen_if_replaced()
            self._catch_up()
            known = {
                row[0]: FileStamp(*row[1:])
                for row in self._file.read("SELECT rel_path, mtime, ctime, size FROM documents")
            }
            present = dict(file_stamps(store.root))
            stats.removed_paths = sorted(known.keys() - present.keys())
            for rel_path in stats.removed_paths:
                self._write([_Prepared(rel_path, FileStamp(0, 0, -1), b"", [], [])], {}, gone=True)
            stale = [path for path, stamp in present.items() if known.get(path) != stamp]
            done = 0
            for batch in self._batches(store, stale, present, known):
                if not go_on():
                    break
                changed = [prepared for prepared in batch if prepared is not None]
                if (vectors := self._vectors_for(changed, model, go_on)) is None:
                    break
                changed = [prepared for prepared in changed if prepared.rel_path not in refreshed]
                stats.chunks_written += self._write(changed, vectors)
                stats.rebuilt_paths += [prepared.rel_path for prepared in changed]
                done += len(batch)
                if progress is not None:
                    progress(done, len(stale))
            self._file.compact_once_level(len(stats.rebuilt_paths) + len(stats.removed_paths), "passage_words")
        return stats

    def refresh(
        self, store: ReadableStore, rel_path: str, model: EmbeddingModel, *, go_on: Callable[[], bool] = lambda: True
    ) -> BuildStats:
        """Bring one file level, and touch nothing else; it stays as it was where *go_on* says no between batches."""
        stats = BuildStats()
        with self._building:
            self._file.reopen_if_replaced()
            self._catch_up()
            if self._refreshed is not None:
                self._refreshed.add(rel_path)
            place = locate_file(store.root, rel_path)
            if place is None:
                if self._file.read("SELECT 1 FROM documents WHERE rel_path = ?", (rel_path,)):
                    self._write([_Prepared(rel_path, FileStamp(0, 0, -1), b"", [], [])], {}, gone=True)
                    stats.removed_paths = [rel_path]
                return stats
            prepared = _prepare(store, *place)
            vectors = None if prepared is None else self._vectors_for([prepared], model, go_on)
            if prepared is not None and vectors is not None:
                stats.chunks_written = self._write([prepared], vectors)
                stats.rebuilt_paths = [place[0]]
        return stats

    def query(self, vector: Vector, top_k: int) -> list[RetrievedChunk]:
        """The chunks nearest to *vector*, best first."""
        wanted = np.asarray(vector, dtype=np.float32).reshape(-1)
        if wanted.shape[0] != self.dim:
            raise ValueError(f"the query vector has {wanted.shape[0]} numbers, the index has {self.dim}")
        if top_k <= 0:
            return []
        self._catch_up()
        hits = self._chunks.nearest(wanted, top_k)
        rows = self._file.read(
            "SELECT id, rel_path, heading_path, text FROM stored_chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps([number for number, _ in hits]),),
        )
        texts = {number: (path, heading, restore_text(stored)) for number, path, heading, stored in rows}
        return [RetrievedChunk(*texts[number], score=score) for number, score in hits if number in texts]

    def has_folder(self, folder: str) -> bool:
        """Whether there is anything to find in a folder."""
        return bool(self._file.read(f"SELECT 1 {_IN_FOLDER} LIMIT 1", (folder, folder + "\U0010ffff")))

    def query_folder(self, vector: Vector, top_k: int, folder: str) -> list[NumberedChunk]:
        """The chunks nearest to *vector* among the files of one folder, best first."""
        self._catch_up()
        ids = read_ids(self._file, f"SELECT c.id {_IN_FOLDER}", (folder, folder + "\U0010ffff"))
        near = self._chunks.compare(np.asarray(vector, dtype=np.float32).reshape(-1))
        cosines = zip(ids.tolist(), near.of(ids, math.nan).tolist(), strict=True)
        known = [hit for hit in cosines if not math.isnan(hit[1])]
        best = sorted(known, key=lambda hit: (-hit[1], hit[0]))[: max(0, top_k)]
        rows = self._file.read(
            "SELECT c.id, c.rel_path, c.heading_path, c.text, c.id - d.doc + 1, d.chunk_count"
            " FROM stored_chunks c CROSS JOIN documents d ON d.rel_path = c.rel_path"
            " WHERE c.id IN (SELECT value FROM json_each(?))",
            (json.dumps([number for number, _ in best]),),
        )
        held = {row[0]: row[1:] for row in rows}
        return [
            NumberedChunk(path, heading, restore_text(stored), score, number, count)
            for id_, score in best
            if id_ in held
            for path, heading, stored, number, count in (held[id_],)
        ]

    def counts(self) -> dict[str, int]:
        """How many files, chunks and passages there are."""
        row = self._file.read(
            "SELECT (SELECT COUNT(*) FROM documents), (SELECT COUNT(*) FROM stored_chunks),"
            " (SELECT TOTAL(count) FROM passages)"
        )[0]
        return dict(zip(("files", "chunks", "passages"), map(int, row), strict=True))

    def count_openings(self) -> int:
        """How often the file was opened or made; more than before: what it held may be gone, and is to be built."""
        self._file.reopen_if_replaced()
        self._file.try_open()
        return self._file.open_count

    def flush_deleted(self) -> None:
        """Leave nothing in the file of what files no longer say."""
        with self._building:
            self._file.flush_deleted("passage_words")

    def forget(self) -> None:
        """Throw the index away; the next build makes it again."""
        with self._building:
            self._file.reset("asked for")

    def warm(self) -> None:
        """Read the vectors into memory, so that no question waits for it."""
        self._catch_up()
        self.passages.catch_up()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> EmbeddingIndex:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @contextmanager
    def _noting_refreshed(self) -> Iterator[set[str]]:
        """Builds alone; tells which files are brought level by themselves meanwhile, between two batches."""
        with self._building:
            self._refreshed = set()
            try:
                yield self._refreshed
            finally:
                self._refreshed = None

    def _batches(
        self, store: ReadableStore, stale: list[str], present: dict[str, FileStamp], known: dict[str, FileStamp]
    ) -> Iterator[list[_Prepared | None]]:
        """Files cut up, in handfuls worth an embedder's while; None for one that turned out unchanged or gone."""
        batch: list[_Prepared | None] = []
        texts = 0
        for rel_path in stale:
            prepared = _prepare(store, rel_path, present[rel_path])
            before = known.get(rel_path)
            touched_only = before is not None and before.mtime == present[rel_path].mtime
            if prepared is not None and touched_only and self._is_same(prepared):
                prepared = None
            batch.append(prepared)
            texts += len(prepared.texts) if prepared is not None else 0
            if texts >= EMBED_BATCH:
                yield batch
                batch, texts = [], 0
        if batch:
            yield batch

    def _is_same(self, prepared: _Prepared) -> bool:
        """Whether the text is the one we know, whatever else about the file changed; then only the stamp is kept."""
        row = self._file.read("SELECT digest FROM documents WHERE rel_path = ?", (prepared.rel_path,))
        if not row or row[0][0] != prepared.digest:
            return False
        with self._file.transaction() as connection:
            connection.execute(
                "UPDATE documents SET mtime = ?, ctime = ?, size = ? WHERE rel_path = ?",
                (*prepared.stamp, prepared.rel_path),
            )
        return True

    def _vectors_for(
        self, files: list[_Prepared], model: EmbeddingModel, go_on: Callable[[], bool]
    ) -> dict[str, bytes] | None:
        """The vector of every text in *files*: taken over where the same file held the same text, else made.

        None where *go_on*, asked between batches, says no.
        """
        wanted = dict.fromkeys(text for prepared in files for text in prepared.texts)
        kept: dict[bytes, bytes] = {}
        exact: dict[bytes, bytes] = {}
        for prepared in files:
            rows = self._file.read(f"SELECT c.text, c.counts {_OF_FILES} d.rel_path = ?", (prepared.rel_path,))
            kept |= self.passages.vectors_by_digest(prepared.rel_path)
            floats = from_counts([counts for _, counts in rows], self.dim)
            exact |= {
                digest_of(restore_text(row[0])): to_blob(vector) for row, vector in zip(rows, floats, strict=True)
            }
        found = {text: kept[digest] for text in wanted if (digest := digest_of(text)) in kept}
        # What is stored of a passage is enough for a passage; a chunk has far more of its vector kept.
        for text in [chunk.text for prepared in files for chunk in prepared.chunks]:
            found.pop(text, None)
        found |= {text: exact[digest] for text in wanted if (digest := digest_of(text)) in exact}
        missing = [text for text in wanted if text not in found]
        for start in range(0, len(missing), EMBED_BATCH):
            if start and not go_on():
                return None
            batch = missing[start : start + EMBED_BATCH]
            vectors = model.embed(batch)
            found |= {text: to_blob(vector) for text, vector in zip(batch, vectors, strict=True)}
        return found

    def _write(self, files: Sequence[_Prepared], vectors: dict[str, bytes], *, gone: bool = False) -> int:
        """Replace the rows of *files* in one transaction, then the vectors in memory."""
        dropped: list[int] = []
        added: list[tuple[int, bytes]] = []
        if not files:
            return 0
        with self._file.transaction() as connection:
            before = _generation(connection)
            for prepared in files:
                dropped += _delete_rows(connection, prepared.rel_path, self.passages)
                if not gone:
                    added += _insert_rows(connection, prepared, vectors, self.passages)
            connection.execute("UPDATE generation SET number = number + 1")
        self._chunks.drop(dropped)
        if added:
            self._chunks.put([number for number, _ in added], from_counts([blob for _, blob in added], self.dim))
        if self._level == (self._file.open_count, before):
            self._level = (self._file.open_count, before + 1)
        self.passages.commit_vectors(before)
        return len(added)

    def _catch_up(self) -> None:
        """Bring the vectors in memory level with the file: at first all of them, later what another process changed."""
        number = self._file.read("SELECT number FROM generation")[0][0]
        level = (self._file.open_count, number)
        if level == self._level:
            return
        with self._building:
            if self._file.open_count != self._level[0]:
                self._chunks.clear()
            stored = read_ids(self._file, "SELECT id FROM stored_chunks")
            select = "SELECT id, counts FROM stored_chunks WHERE id IN (SELECT value FROM json_each(?))"
            sync_vectors(self._chunks, self._file, stored, select, from_counts)
            self._level = level


def _create(connection: sqlite3.Connection) -> None:
    fill_table(connection)
    for statement in (
        "CREATE TABLE documents (rel_path TEXT PRIMARY KEY, mtime REAL, chunk_count INTEGER, doc INTEGER,"
        " ctime REAL, size INTEGER, digest BLOB) WITHOUT ROWID",
        "CREATE TABLE generation (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), number INTEGER, last_doc INTEGER)",
        "INSERT INTO generation VALUES (1, 0, 0)",
        *TABLES,
        *Passages.TABLES,
    ):
        connection.execute(statement)


def _generation(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT number FROM generation").fetchone()
    if row is None:
        raise IndexUnavailable("the index of memory files is damaged: it lost count.")
    return int(row[0])


def _delete_rows(connection: sqlite3.Connection, rel_path: str, passages: Passages) -> list[int]:
    select = "SELECT doc, chunk_count FROM documents WHERE rel_path = ?"
    row = connection.execute(select, (rel_path,)).fetchone()
    if row is None:
        return []
    passages.delete(connection, row[0])
    ids = list(range(row[0], row[0] + row[1]))
    connection.execute("DELETE FROM stored_chunks WHERE id >= ? AND id < ?", (row[0], row[0] + row[1]))
    connection.execute("DELETE FROM documents WHERE rel_path = ?", (rel_path,))
    return ids


def _insert_rows(
    connection: sqlite3.Connection, prepared: _Prepared, vectors: dict[str, bytes], passages: Passages
) -> list[tuple[int, bytes]]:
    # A new number each time: what was under the old one is never mistaken for what is there now.
    count = max(count_numbers(len(prepared.passages)), len(prepared.chunks))
    take = "UPDATE generation SET last_doc = last_doc + ? RETURNING last_doc"
    doc = connection.execute(take, (count,)).fetchone()[0] - count + 1
    counts = list(map(to_counts, from_blobs([vectors[chunk.text] for chunk in prepared.chunks], passages.vectors.dim)))
    numbered = list(enumerate(prepared.chunks, doc))
    for (number, chunk), blob in zip(numbered, counts, strict=True):
        insert_chunk(connection, number, chunk, blob, passages.vectors.dim)
    file_facts = (prepared.rel_path, prepared.stamp.mtime, len(prepared.chunks))
    connection.execute(
        "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)", (*file_facts, doc, *prepared.stamp[1:], prepared.digest)
    )
    if numbered:
        said_at = moment_of(prepared.rel_path, prepared.stamp.mtime)
        passages.insert(connection, doc, numbered, said_at, prepared.passages, vectors)
    return [(number, blob) for (number, _), blob in zip(numbered, counts, strict=True)]


def _prepare(store: ReadableStore, rel_path: str, stamp: FileStamp) -> _Prepared | None:
    """A file cut up; without chunks when it cannot be read, None when it is gone."""
    try:
        text = without_surrogates(without_audience(store.read_to_cap(rel_path)))
    except (MemoryStoreError, OSError, UnicodeDecodeError) as exc:
        if locate_file(store.root, rel_path) is None:
            return None
        _log.warning("a memory file cannot be indexed", extra={"path": rel_path, "error": str(exc)})
        return _Prepared(rel_path, stamp, b"", [], [])
    chunks = chunk_markdown(text, rel_path=rel_path, mtime=stamp.mtime)
    digest = digest_of(text)
    return _Prepared(rel_path, stamp, digest, chunks, prepare_passages(text, rel_path, chunks))
