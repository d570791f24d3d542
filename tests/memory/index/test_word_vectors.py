"""What the vectors of single words promise: a word is met by one that means nearly the same, there or beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from familiar_connect.memory.index.ranking import unit_number
from familiar_connect.memory.index.storage import DerivedFile, Vector
from familiar_connect.memory.index.turn_rows import create_tables
from familiar_connect.memory.index.vectors.blobs import from_byte_blobs, to_byte_blob
from familiar_connect.memory.index.vectors.word_vectors import WORDS_OF_UNIT, WordVectors

DIM = 8
CELLO, BREAD, EMPTY = unit_number(1, 1), unit_number(1, 9), unit_number(1, 20)
KINDS = {"cello": 0, "instrument": 0, "bread": 1, "baker": 1}


class KindEmbedder:
    """Words of one kind lie near one another, all others far apart."""

    dim, name = DIM, "kinds"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.texts += texts
        found = np.zeros((len(texts), DIM), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            row[KINDS.get(text, 2 + len(text) % 4)] = 1.0
            row[6 + len(text) % 2] = 0.3
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


@pytest.fixture
def model() -> KindEmbedder:
    return KindEmbedder()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[DerivedFile]:
    made = DerivedFile(tmp_path / ".index/turns.sqlite", create=create_tables, identity={"version": "1"})
    yield made
    made.close()


def take_in(words: WordVectors, file: DerivedFile, model: KindEmbedder, texts: dict[int, str]) -> None:
    new = words.embed_new(model, list(texts.items()))
    with file.transaction() as connection:
        words.insert(connection, new)
    words.hold(new)


def asked(model: KindEmbedder, *words: str) -> dict[str, Vector]:
    return dict(zip(words, model.embed(list(words)), strict=True))


def test_a_word_is_met_by_one_of_its_kind(file: DerivedFile, model: KindEmbedder) -> None:
    """Most in the unit itself, less beside it, not in another; of what is not known nothing is said."""
    words = WordVectors(file, DIM)
    take_in(words, file, model, {CELLO: "my cello broke", CELLO + 2: "oh dear", BREAD: "fresh bread"})

    own, around = words.score(asked(model, "instrument"), np.array([CELLO, CELLO + 2, BREAD, EMPTY]))

    assert own[0] > 0.8
    assert own.tolist() == pytest.approx([own[0], 0.0, 0.0, np.nan], nan_ok=True)
    assert around.tolist() == pytest.approx([own[0], 0.6 * own[0], 0.0, np.nan], nan_ok=True)


def test_every_word_is_embedded_once(file: DerivedFile, model: KindEmbedder) -> None:
    """Also by a program that was started later, which reads what the first one wrote."""
    words = WordVectors(file, DIM)
    take_in(words, file, model, {CELLO: "cello, bread", BREAD: "bread"})
    later = WordVectors(file, DIM)
    later.load()
    take_in(later, file, model, {EMPTY: "bread and cello"})

    assert sorted(model.texts) == ["bread", "cello"]
    assert later.vectors_of(["cello", "baker"]).keys() == {"cello"}
    assert later.score(asked(model, "baker"), np.array([EMPTY]))[0][0] > 0


def test_a_unit_that_goes_takes_its_words_along(file: DerivedFile, model: KindEmbedder) -> None:
    """What stood in it is not counted any more."""
    words = WordVectors(file, DIM)
    take_in(words, file, model, {CELLO: "cello", BREAD: "bread"})
    words.drop_units([CELLO])

    own, _ = words.score(asked(model, "instrument", "baker"), np.array([CELLO, BREAD]))
    assert np.isnan(own).tolist() == [True, False]
    assert own[1] > 0


@given(st.lists(st.text(max_size=12), max_size=2 * WORDS_OF_UNIT), st.integers(0, 4))
def test_no_text_breaks_it(tmp_path_factory: pytest.TempPathFactory, parts: list[str], more: int) -> None:
    """Shares lie between 0 and 1, whatever was said and asked."""
    file = DerivedFile(tmp_path_factory.mktemp("words") / "t.sqlite", create=create_tables, identity={"version": "1"})
    model, words = KindEmbedder(), WordVectors(file, DIM)
    take_in(words, file, model, {CELLO: " ".join(parts), BREAD: "bread"})

    for shares in words.score(asked(model, *parts[:more]), np.array([CELLO, BREAD])):
        known = shares[~np.isnan(shares)]
        assert np.all((known >= 0.0) & (known <= 1.0 + 1e-6))
    file.close()


@given(st.lists(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3), min_size=1))
def test_a_stored_vector_is_read_as_it_was(rows: list[list[float]]) -> None:
    """But for half a step of its whole numbers."""
    vectors = np.array(rows, dtype=np.float32)
    read = from_byte_blobs([to_byte_blob(row) for row in vectors], 3)

    assert np.all(np.abs(read - vectors) <= np.abs(vectors).max(axis=1, keepdims=True) / 127 * 0.51 + 1e-9)
