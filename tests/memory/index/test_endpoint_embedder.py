"""Vectors by URL: any server that offers an embedder, such as a multilingual one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.index.embedders.choice import choose_embedder
from familiar_connect.memory.index.embedders.endpoint import LEFT_ALONE_S, EmbeddingsUnavailable, EndpointModel
from familiar_connect.memory.index.embeddings import EmbeddingIndex
from familiar_connect.memory.index.minilm import MiniLMModel
from familiar_connect.memory.index.relevance import only_relevant
from familiar_connect.memory.index.retriever import MemoryRetriever
from familiar_connect.memory.index.turns import TurnIndex
from familiar_connect.memory.index.vectors.nearness import FEWEST_ROWS, USUAL, find_level
from familiar_connect.support.clock import ManualClock
from tests.fakes.embedding_server import DIM, EmbeddingServer, serve_embeddings

NOW = datetime(2026, 11, 18, 15, 30, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serve_embeddings() as found:
        yield found


def _remember(folder: Path, model: EndpointModel) -> MemoryRetriever:
    history = HistoryStore(folder / "history.db")
    who = Author("discord", "1", "mika", "Mika")
    chatter = [f"der Bus war voll {number}" for number in range(FEWEST_ROWS)]
    for text in (*chatter, "der Ersatzschlüssel hängt hinterm Fensterladen"):
        history.append_turn(familiar_id="wren", channel_id=1, role="user", content=text, author=who, timestamp=NOW)
    turns = TurnIndex(
        folder / "turns.sqlite", history=history, familiar_id="wren", dim=model.dim, model_name=model.name
    )
    turns.sync(model)
    retriever = MemoryRetriever(model=model, turns=turns, clock=ManualClock(NOW))
    retriever.warm()
    return retriever


@pytest.mark.parametrize("question", ["where is the spare key", "где ключ", "鍵"])
async def test_an_answer_is_found_in_another_language(server: EmbeddingServer, tmp_path: Path, question: str) -> None:
    """By what it means, though all texts are near each other for such a model."""
    retriever = _remember(tmp_path, EndpointModel(server.url))

    found = only_relevant(question, await retriever.recall(question))

    assert [hit.text for hit in found][:1] == ["der Ersatzschlüssel hängt hinterm Fensterladen"]


async def test_words_are_found_while_the_server_is_away(server: EmbeddingServer, tmp_path: Path) -> None:
    """It is left alone for a while after a failure, and asked again then."""
    now = [0.0]
    retriever = _remember(tmp_path, EndpointModel(server.url, clock=lambda: now[0]))
    server.status = 503
    asked = len(server.inputs)

    found = [hit.text for hit in await retriever.recall("der Ersatzschlüssel?", limit=1)]
    again = await retriever.recall("Ersatzschlüssel", limit=1)

    assert found == ["der Ersatzschlüssel hängt hinterm Fensterladen"]
    assert again
    assert len(server.inputs) == asked + 1
    server.status, now[0] = 200, LEFT_ALONE_S
    assert await retriever.recall("wo hängt der Schlüssel", limit=1)
    assert len(server.inputs) > asked + 1


def test_vectors_come_in_the_order_of_the_texts(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """At length one, whatever order the server answers in; with the key, which stays on this machine or goes by TLS."""
    monkeypatch.setenv("EMBEDDINGS_API_KEY", "k-1")
    model = EndpointModel(server.url)
    rows = model.embed(["der Bus", "ключ", "key"])

    assert model.dim == DIM + 1
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert rows[1] @ rows[2] > 0.99 > rows[0] @ rows[2]
    assert set(server.keys) == {"Bearer k-1"}


@pytest.mark.parametrize(
    "body", [{}, {"data": []}, {"data": [{"embedding": "x"}]}, {"data": [{"embedding": []}]}, [1], {"data": [3]}]
)
def test_an_answer_without_vectors_is_a_sentence(server: EmbeddingServer, body: object) -> None:
    """Whatever it is."""
    server.body = body

    with pytest.raises(EmbeddingsUnavailable, match="the embedder tiny-multilingual at http://127"):
        EndpointModel(server.url).embed(["one"])


def test_other_sizes_are_refused(server: EmbeddingServer) -> None:
    """An index holds vectors of one size."""
    with pytest.raises(EmbeddingsUnavailable, match="numbers for a text, not 7"):
        EndpointModel(server.url, dim=7).embed(["one"])


def test_the_settings_name_a_server_and_its_model(server: EmbeddingServer, tmp_path: Path) -> None:
    """One that is away is replaced only where no index was made with it."""
    assert isinstance(choose_embedder(server.url)[0], EndpointModel)
    nobody, said = choose_embedder("http://127.0.0.1:9/v1#bge-m3")
    assert isinstance(nobody, MiniLMModel)
    assert "the embedder bge-m3 at http://127.0.0.1:9/v1 gave no vectors" in said
    assert "names no model" in choose_embedder("http://127.0.0.1:9/v1")[1]

    with EmbeddingIndex(tmp_path / "index.sqlite", dim=5, model_name="http://127.0.0.1:9/v1#bge-m3"):
        kept, _ = choose_embedder("http://127.0.0.1:9/v1#bge-m3", index=tmp_path / "index.sqlite")

    assert isinstance(kept, EndpointModel)
    assert (kept.name, kept.dim) == ("http://127.0.0.1:9/v1#bge-m3", 5)


def test_models_of_one_family_are_asked_as_they_learnt(server: EmbeddingServer) -> None:
    """With a word before each text."""
    EndpointModel(server.url.replace("tiny-multilingual", "multilingual-e5-small")).embed(["one"])

    assert server.inputs[-1] == ["query: one"]


def test_nearness_is_brought_to_the_usual() -> None:
    """Where all lies near all; English, and an index of a few lines, stay as they are."""
    near = np.linspace(0.75, 0.9, FEWEST_ROWS)
    level = find_level(near)

    assert level is not None
    assert level.bring(near).mean() == pytest.approx(USUAL)
    assert np.allclose(level.take_back(level.bring(near[:-1])), near[:-1])
    assert find_level(near[1:]) is None
    assert find_level(near - 0.7) is None
