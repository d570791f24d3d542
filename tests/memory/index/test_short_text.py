"""The text of notes takes less room in the index than in the file, and reads the same from within and from outside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
from familiar_connect.memory.index.vectors.short_text import restore_text, shorten_text
from familiar_connect.memory.store import MemoryStore
from tests.fakes.embedding import CountingEmbedder

NOTE = (
    "# Ada\n\n- 2026-10-03, Ada said: I moved to the coast with my sister, and the others are not so happy about it.\n"
    "- She’s allergic to nuts; that is what the doctor said — “for good” … ☕ 🦉 naïve Łódź\n"
)


@given(st.text(max_size=200) | st.text(alphabet="the and wi\n’é🦉\0\x80", max_size=200))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    """Whatever somebody writes: other scripts, marks that no keyboard has, nothing at all."""
    assert restore_text(shorten_text(text)) == text


def test_plain_english_takes_two_thirds_of_its_bytes() -> None:
    """That is why it is not stored as it stands."""
    assert len(shorten_text(NOTE)) < len(NOTE.encode()) * 2 / 3


@pytest.mark.parametrize("text", ["水車小屋に鷺がいる。", "🦉🦉🦉", "QX7"])
def test_text_that_would_not_get_shorter_is_stored_as_it_is(text: str) -> None:
    """Other scripts would take more bytes than before."""
    assert shorten_text(text) == text


def test_another_program_reads_the_text_of_notes_from_the_index(tmp_path: Path) -> None:
    """With SQL alone, in whatever form each is stored."""
    store, path = MemoryStore(tmp_path / "memory"), tmp_path / INDEX_FILE
    notes = {"people/ada.md": NOTE, "topics/mill.md": "水車小屋に鷺がいる。\n"}
    for rel_path, text in notes.items():
        store.write_file(rel_path, text)
    with EmbeddingIndex(path, dim=8, model_name="small") as index:
        index.build_if_stale(store, CountingEmbedder(8, "small"))
    with closing(sqlite3.connect(path)) as database:
        assert dict(database.execute("SELECT rel_path, text FROM chunks")) == notes
        kinds = {kind for (kind,) in database.execute("SELECT DISTINCT typeof(text) FROM stored_chunks")}
        assert kinds == {"blob", "text"}
