"""An index takes no more of the disk than what it holds needs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.index import storage, turns
from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
from familiar_connect.memory.index.protocols import ExplainedScore, RecallScope
from familiar_connect.memory.index.turns import TURNS_FILE, TurnIndex
from familiar_connect.memory.index.vectors.blobs import to_byte_blob
from familiar_connect.memory.store import MemoryStore
from tests.fakes.embedding import CountingEmbedder

DIM = 512


@pytest.fixture
def model() -> CountingEmbedder:
    return CountingEmbedder(DIM, "counting")


def count_parts(path: Path, word_table: str) -> int:
    """In how many parts a table of words lies in the file."""
    with closing(sqlite3.connect(path)) as database:
        (parts,) = database.execute(f"SELECT COUNT(DISTINCT segid) FROM {word_table}_idx").fetchone()
    return int(parts)


@pytest.mark.slow
def test_a_passage_takes_little_more_than_its_vector(tmp_path: Path) -> None:
    """A key and the ends of nine columns for each of them took as much as what is known of it and more."""
    store, path = MemoryStore(tmp_path / "memory"), tmp_path / INDEX_FILE
    lines = "".join(f"- the heron slept on mill number {number} of the valley\n" for number in range(40))
    for number in range(100):
        store.write_file(f"topics/{number}.md", f"# Mills of valley {number}\n\n{lines}")
    with EmbeddingIndex(path, dim=8, model_name="small") as index:
        index.build_if_stale(store, CountingEmbedder(8, "small"))
        count = index.counts()["passages"]
    with closing(sqlite3.connect(path)) as database:
        try:
            (taken,) = database.execute("SELECT SUM(pgsize) FROM dbstat WHERE name = 'stored_chunks'").fetchone()
        except sqlite3.OperationalError:
            pytest.skip("this SQLite does not tell what a table takes")

        (chunks,) = database.execute("SELECT SUM(LENGTH(text) + LENGTH(counts)) FROM stored_chunks").fetchone()

    assert count >= 4_000
    assert (taken - chunks) / count - len(to_byte_blob(np.ones(8, dtype=np.float32))) < 16


def test_a_chunk_takes_less_than_its_text_and_a_byte_for_each_number(tmp_path: Path) -> None:
    """With four bytes for each, the vectors of pieces of files took half as much again as their words."""
    store, path = MemoryStore(tmp_path / "memory"), tmp_path / INDEX_FILE
    dim, text = 384, "# Mill\n\n" + "The heron slept on it, as herons do.\n" * 20
    for number in range(100):
        store.write_file(f"topics/{number}.md", f"{text}{number}\n")
    with EmbeddingIndex(path, dim=dim, model_name="small") as index:
        index.build_if_stale(store, CountingEmbedder(dim, "small"))
    with closing(sqlite3.connect(path)) as database:
        try:
            (taken,) = database.execute("SELECT SUM(pgsize) FROM dbstat WHERE name = 'stored_chunks'").fetchone()
        except sqlite3.OperationalError:
            pytest.skip("this SQLite does not tell what a table takes")

        (passages,) = database.execute("SELECT SUM(LENGTH(facts) + LENGTH(vectors)) FROM passages").fetchone()

    assert (taken - passages) / 100 < len(text) + dim


def test_the_index_of_a_few_notes_is_a_small_file(tmp_path: Path, model: CountingEmbedder) -> None:
    """Most homes are small, and a dozen tables of one row each are not to take a large page each."""
    store, path = MemoryStore(tmp_path / "memory"), tmp_path / INDEX_FILE
    for number in range(5):
        store.write_file(f"topics/{number}.md", f"# Mill {number}\n\nThe heron slept on it.\n")
    with EmbeddingIndex(path, dim=DIM, model_name="counting") as index:
        index.build_if_stale(store, model)

    assert path.stat().st_size < 50_000


def test_the_passages_of_a_file_read_the_same_when_the_index_is_opened_again(
    tmp_path: Path, model: CountingEmbedder
) -> None:
    """Those under a heading of their own, those with a label, and those far into a chunk without a space too."""
    store, path = MemoryStore(tmp_path / "memory"), tmp_path / INDEX_FILE
    long = "x" * 70_000
    store.write_file("far.md", f"# Far\n\n{long}\n\nThe heron is far out. {'It slept on a mill. ' * 30}\n")
    store.write_file("two.md", "# Two\n\n## Birds\n\n- **Ada:** Did the heron sleep?\n" + "- Bo: no.\n" * 60)
    scope = RecallScope()

    def read(index: EmbeddingIndex) -> list[tuple[str, str]]:
        units = index.passages.tellable_units(scope).tolist()
        hits = [(unit, ExplainedScore(0.0, {})) for unit in units]
        return [(hit.heading_path, hit.text) for hit in index.passages.show(hits, scope)]

    with EmbeddingIndex(path, dim=DIM, model_name="counting") as index:
        index.build_if_stale(store, model)
        told = read(index)
    with EmbeddingIndex(path, dim=DIM, model_name="counting") as index:
        assert read(index) == told
        units = index.passages.postings("heron")
        ada = index.passages.facts(units, replace(scope, names=frozenset({"ada"})), frozenset({"ada"}))

        assert ("Two > Birds", "- **Ada:** Did the heron sleep?") in told
        assert any(heading == "Far" and text.startswith("The heron is far out.") for heading, text in told)
        assert ada.concerns.tolist().count(1.0) == 1
        assert ada.asks.tolist() == ada.concerns.tolist()


def test_the_words_of_many_turns_lie_in_one_part(
    tmp_path: Path, model: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come in a few hundred at a time, and each time leaves a part of its own until all is level."""
    monkeypatch.setattr(turns, "READ_TURNS", 5)
    monkeypatch.setattr(storage, "COMPACT_AFTER_ROWS", 12)
    with closing(HistoryStore(tmp_path / "history.db")) as history:
        for number in range(12):
            history.append_turn(
                familiar_id="wren",
                channel_id=1,
                role="user",
                content=f"the heron slept on mill {number}",
                author=None,
                timestamp=datetime(2026, 11, 1, 12, number, tzinfo=UTC),
            )
        path = tmp_path / TURNS_FILE
        with closing(TurnIndex(path, history=history, familiar_id="wren", dim=DIM, model_name="counting")) as index:
            index.sync(model)

            assert len(index.postings("heron")) == 12
        assert count_parts(path, "words") == 1


def test_the_words_of_many_files_lie_in_one_part(
    tmp_path: Path, model: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Likewise, however many handfuls they were read in."""
    monkeypatch.setattr(storage, "COMPACT_AFTER_ROWS", 70)
    store = MemoryStore(tmp_path / "memory")
    for number in range(70):
        store.write_file(f"topics/{number}.md", f"The heron slept on mill {number}.\n")
    path = tmp_path / INDEX_FILE
    with EmbeddingIndex(path, dim=DIM, model_name="counting") as index:
        index.build_if_stale(store, model)

        assert len(index.passages.postings("heron")) == 70
    assert count_parts(path, "passage_words") == 1
