"""What embedders promise: unit rows, the same for the same text, nothing loaded before it is needed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.index import minilm
from familiar_connect.memory.index.embedders.choice import choose_embedder
from familiar_connect.memory.index.fastembed import (
    DEFAULT_EMBEDDING_DIM,
    DEFAULT_EMBEDDING_MODEL,
    FastEmbedModel,
    FastEmbedUnavailable,
    weights_are_cached,
)
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.minilm import WordPiece, split_words

needs_minilm = pytest.mark.skipif(minilm.why_unavailable() is not None, reason="MiniLM cannot run here")


@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=5))
def test_hashed_texts_are_unit_rows(texts: list[str]) -> None:
    """Whatever the text, its vector has length one."""
    found = HashingModel(32).embed(texts)

    assert found.shape == (len(texts), 32)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)


def test_hashed_texts_that_share_words_are_near() -> None:
    """More words in common, nearer."""
    bees, honey, tax = HashingModel().embed(["Ada keeps bees", "bees that Ada keeps", "a form for the tax office"])

    assert bees @ honey > 0.6 > 0.3 > bees @ tax


def test_fastembed_is_the_named_model_and_loads_nothing_when_made() -> None:
    """Neither library nor weights are touched before the first text."""
    model = FastEmbedModel()

    assert (
        (model.name, model.dim) == (DEFAULT_EMBEDDING_MODEL, DEFAULT_EMBEDDING_DIM) == ("BAAI/bge-small-en-v1.5", 384)
    )
    assert model.embed([]).shape == (0, 384)
    assert FastEmbedModel("x/y", dim=12).embed([]).shape == (0, 12)


def test_fastembed_missing_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, the error names the command that installs it."""
    monkeypatch.setitem(sys.modules, "fastembed", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(FastEmbedUnavailable, match=r"install .*'fastembed>=0\.6'"):
        FastEmbedModel().embed(["x"])


def test_cached_weights_are_recognised_by_name(tmp_path: Path) -> None:
    """A folder named after the model counts."""
    assert not weights_are_cached(cache_path=tmp_path)
    (tmp_path / "models--qdrant--bge-small-en-v1.5-onnx-q").mkdir()

    assert weights_are_cached(cache_path=tmp_path)


def test_an_embedder_that_is_not_there_is_replaced_with_a_word_of_explanation() -> None:
    """Asking for what cannot run here gives what can, and says so."""
    model, said = choose_embedder("BAAI/bge-small-en-v1.5", cache_path=Path("nowhere"))

    assert getattr(model, "name", "") != "BAAI/bge-small-en-v1.5"
    assert "BAAI/bge-small-en-v1.5" in said
    assert isinstance(choose_embedder("hashing")[0], HashingModel)


def test_words_are_taken_apart_as_the_model_learnt_them() -> None:
    """Lower case, no accents, marks and ideographs alone, long words in pieces."""
    assert split_words("Héllo, wörld! 寿司\x00") == ["hello", ",", "world", "!", "寿", "司"]
    pieces = WordPiece.load_bundled()

    assert pieces.encode("Hello, world!", 256) == [101, 7592, 1010, 2088, 999, 102]
    assert pieces.encode("unaffable", 256) == [101, 14477, 20961, 3468, 102]
    assert pieces.encode("word " * 900, 16) == [101, *[2773] * 14, 102]
    assert pieces.encode("x" * 500, 256) == [101, 100, 102]


@given(st.text())
def test_any_text_can_be_taken_apart(text: str) -> None:
    """Never more than was asked for, always between the two marks."""
    found = WordPiece.load_bundled().encode(text, 20)

    assert found[0] == 101
    assert found[-1] == 102
    assert len(found) <= 20


@pytest.mark.slow
@needs_minilm
def test_minilm_knows_what_means_the_same() -> None:
    """A paraphrase is nearer than a sentence that shares the words."""
    model = minilm.MiniLMModel()

    found = model.embed(["My dog died last week", "I lost my pet recently", "The hot dog stand opened last week"])

    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-4)
    assert found[0] @ found[1] > found[0] @ found[2]
    assert model.embed([]).shape == (0, 384)


@pytest.mark.slow
@needs_minilm
def test_minilm_gives_the_same_vector_alone_and_in_company() -> None:
    """Batches of like length change nothing that matters."""
    model = minilm.MiniLMModel()
    texts = ["short", "a somewhat longer sentence about bees", "word " * 300]

    together = model.embed(texts)

    for row, text in zip(together, texts, strict=True):
        assert float(row @ model.embed([text])[0]) > 0.995


@needs_minilm
@pytest.mark.slow
def test_a_question_is_embedded_without_the_library_that_runs_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numpy gives the vector that onnxruntime gives, for a short text and a long one, and nothing else is loaded."""
    texts = ["Where did Bo bury the spoon?", "cello", "Ünïcode 東京 and a comma, " * 6]
    usual = minilm.mean_vectors(minilm._load_session(minilm._weights(), minilm.THREADS), _tokens(texts))
    loads: list[Path] = []
    monkeypatch.setattr(minilm, "_load_session", lambda path, threads: loads.append(path))

    found = minilm.MiniLMModel().embed(texts)

    assert np.abs(found - usual).max() < 1e-5
    assert loads == []


@pytest.mark.slow
@needs_minilm
def test_many_texts_load_the_library_and_from_then_on_it_does_all() -> None:
    """A folder of files is not embedded by the slower way, and a question after it is not either."""
    model = minilm.MiniLMModel()
    model.embed(["one question"])
    assert model._session is None

    model.embed(["a line of talk"] * minilm.FEW_TOKENS)
    assert model._session is not None


@needs_minilm
def test_while_one_loads_the_library_the_question_of_another_does_not_wait() -> None:
    """Whoever loads it may be in a thread that gives way to everybody: a reply is not held up by that."""
    model = minilm.MiniLMModel()

    with model._loading:  # as held by whoever loads
        found = model.embed(["Where did Bo bury the spoon?"])

    assert found.shape == (1, 384)


def _tokens(texts: list[str]) -> list[list[int]]:
    return [WordPiece.load_bundled().encode(text, minilm.MAX_TOKENS) for text in texts]


def test_minilm_loads_nothing_when_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing weights are an error of the first text, in a sentence."""
    monkeypatch.setattr(minilm, "WEIGHTS_PACKAGE", "no_such_package_here")
    model = minilm.MiniLMModel()

    with pytest.raises(minilm.EmbedderUnavailable, match="install"):
        model.embed(["x"])


@pytest.mark.slow
@needs_minilm
def test_weights_that_are_not_the_right_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short, or of another version: by a process that asks one thing as well, which looks at both ends alone."""
    here = minilm.weights_path()
    assert here is not None
    whole = here.read_bytes()
    monkeypatch.setattr(minilm, "weights_path", lambda: tmp_path / "model.onnx")
    for wrong in (whole[:-1], whole[:-1] + b"?", b"?" + whole[1:]):
        (tmp_path / "model.onnx").write_bytes(wrong)
        for count in (1, minilm.FEW_TOKENS):
            with pytest.raises(minilm.EmbedderUnavailable, match="is not the file it should be"):
                minilm.MiniLMModel().embed(["one"] * count)
    (tmp_path / "model.onnx").write_bytes(whole[:-100_000] + b"?" + whole[-99_999:])
    with pytest.raises(minilm.EmbedderUnavailable, match="is not the file it should be"):
        minilm.MiniLMModel().embed(["one"] * minilm.FEW_TOKENS)
