"""What the vectors of single words promise: a word is met by one that means nearly the same, there or beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from familiar_connect.memory.index.query import words_to_index
from familiar_connect.memory.index.ranking import unit_number
from familiar_connect.memory.index.storage import DerivedFile, Vector
from familiar_connect.memory.index.turn_rows import create_tables
from familiar_connect.memory.index.vectors.blobs import (
    LEAST_DIM,
    Bits,
    from_byte_blobs,
    from_small_blobs,
    to_byte_blob,
    to_small_blobs,
)
from familiar_connect.memory.index.vectors.word_vectors import (
    WORDS_OF_UNIT,
    WordVectors,
    drop_unheld,
    number_words,
    pack_numbers,
    release_words,
    unpack_numbers,
)

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
    with file.transaction() as connection:
        kept = number_words(connection, {unit: words_to_index(text) for unit, text in texts.items()})
        for unit, numbers in kept.items():
            connection.execute("INSERT INTO units (id, words, vector) VALUES (?, ?, x'00')", (unit, numbers))
    new = words.embed_new(model, [(unit, text, kept[unit]) for unit, text in texts.items()])
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


@given(st.integers(0, 2**32 - 1), st.integers(LEAST_DIM, 400), st.sampled_from([1, 2]))
def test_a_vector_of_many_numbers_is_stored_in_a_bit_or_two_for_each(seed: int, dim: int, bits: Bits) -> None:
    """It stays as near to itself as it was, and about as near to others; storing it again changes nothing."""
    rows = np.random.default_rng(seed).standard_normal((6, dim)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    blobs = to_small_blobs(rows, bits)
    read = from_small_blobs(blobs, dim)

    assert {len(blob) for blob in blobs} == {2 + bits * ((dim + 7) // 8)}
    assert np.abs(read @ rows.T - rows @ rows.T).max() < 0.4 / bits
    assert np.diag(read @ rows.T) == pytest.approx(np.ones(6), abs=0.01)
    assert to_small_blobs(read, bits) == blobs


@pytest.mark.parametrize("bits", [1, 2])
@pytest.mark.parametrize("dim", [8, LEAST_DIM, 512])
def test_a_vector_that_is_mostly_nothing_is_stored_in_bytes(dim: int, bits: Bits) -> None:
    """As those of the embedder that counts words; it stands beside others that are stored in bits."""
    rows = np.zeros((3, dim), dtype=np.float32)
    rows[0, 2] = rows[1, 5] = 1.0
    rows[2] = 1.0 / np.sqrt(np.float32(dim))

    read = from_small_blobs(to_small_blobs(rows, bits), dim)

    assert read == pytest.approx(rows, abs=0.01)


@given(st.lists(st.integers(0, 1 << 20), max_size=40))
def test_the_numbers_of_words_are_read_as_they_were_kept(numbers: list[int]) -> None:
    """However many words there are by now."""
    assert unpack_numbers(pack_numbers(numbers)) == numbers


def test_a_word_goes_with_the_last_unit_that_holds_it(file: DerivedFile) -> None:
    """And is said once more for whoever takes it out of the word index; a number is never given again."""
    with file.transaction() as connection:
        kept = number_words(connection, {1: ["cello", "bread"], 2: ["bread"]})
        gone = release_words(connection, [(1, kept[1])])
        drop_unheld(connection)
        left = connection.execute("SELECT word FROM terms").fetchall()
        again = number_words(connection, {3: ["cello"]})

    assert gone == {1: ["cello", "bread"]}
    assert left == [("bread",)]
    assert unpack_numbers(again[3]) == [3]
