"""What imported documents say, in a prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.config.types import PlaceSettings
from familiar_connect.context.providers.content_search import ContentSearchProvider
from familiar_connect.context.providers.content_search.provider import SearchScope
from familiar_connect.context.providers.documents import DocumentsProvider, group_by_document, search_query
from familiar_connect.context.slots import prompt_text
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer
from familiar_connect.memory.index.embeddings import EmbeddingIndex
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.protocols import NumberedChunk
from familiar_connect.memory.index.retriever import MemoryRetriever
from familiar_connect.memory.store import MemoryStore
from tests.fakes.context import a_request
from tests.fakes.embedding import BrokenEmbedder
from tests.fakes.short_term import an_entry, finished_turn, our_entry

HANDBOOK = "# Handbook\n\n> Imported from `hb.pdf` on 2026-03-01: PDF (0)\n\n" + "\n\n".join(
    f"## Page {n}\n\n" + f"{words} " * 35
    for n, words in enumerate(("the copper kettle boils water", "gardens need rain and roses"), start=1)
)
RULES = (
    "# Rules\n\n> Imported from `r.md` on 2026-03-01: markdown (0)\n> Channels: #kitchen\n\n"
    "the copper kettle boils the water\n"
)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "memory")
    store.write_file("documents/handbook.md", HANDBOOK)
    store.write_file("documents/rules.md", RULES)
    store.write_file("topics/kettle.md", "# Kettle\n\nthe copper kettle boils water\n")
    return store


def searching(store: MemoryStore, model: Any = None) -> MemoryRetriever:
    working = HashingModel(256)
    index = EmbeddingIndex(store.root / ".index" / "e.sqlite", dim=256, model_name="test")
    index.build_if_stale(store, working)
    retriever = MemoryRetriever(model=model or working, files=index)
    retriever.warm()
    return retriever


async def told(store: MemoryStore, request: ContextRequest, *, least: float = 0.1) -> list[Contribution]:
    provider = DocumentsProvider(store=store, search=searching(store), least_cosine=least)
    return await provider.contribute(request)


def asked(utterance: str = "what does the copper kettle do?", **more: Any) -> ContextRequest:
    return a_request(utterance=utterance, **more)


async def test_pieces_are_grouped_by_document_with_number_and_score(store: MemoryStore) -> None:
    """B71, B74: the best first, each with its place and how well it fits; other folders are not looked at."""
    (piece,) = await told(store, asked())

    assert piece.text.index("Document: Handbook") < piece.text.index("Document: Rules")
    assert "(part 2 of 3, fits 0.58, Handbook > Page 1)\nthe copper kettle boils" in piece.text
    assert "(part 1 of 1, fits 0." in piece.text
    assert "Imported from" not in piece.text
    assert "Document: Kettle" not in piece.text
    assert (piece.layer, piece.tag, piece.role, piece.volatile, piece.priority) == (
        Layer.content,
        ItemTag.DOCUMENTS,
        "user",
        True,
        60,
    )
    assert prompt_text(piece).startswith("<memory: from documents you were given;")


async def test_what_fits_badly_is_left_out(store: MemoryStore) -> None:
    """B71: nothing below the threshold, however few there are."""
    assert await told(store, asked(), least=0.99) == []


async def test_a_document_for_other_channels_is_left_out_where_that_is_set(store: MemoryStore) -> None:
    """B73: by the channels its header names; without any it is for all."""
    by_channel = PlaceSettings(channel_memory_enabled=True)
    kitchen = Scene(channel=ChannelContext("Kitchen", ChannelKind.text))
    garden = Scene(channel=ChannelContext("garden", ChannelKind.text))

    (there,) = await told(store, asked(settings=by_channel, scene=kitchen))
    (elsewhere,) = await told(store, asked(settings=by_channel, scene=garden))
    (anywhere,) = await told(store, asked(scene=garden))

    assert "Document: Rules" in there.text
    assert "Document: Rules" not in elsewhere.text
    assert "Document: Handbook" in elsewhere.text
    assert "Document: Rules" in anywhere.text


async def test_without_index_embedder_or_documents_there_is_nothing(store: MemoryStore, tmp_path: Path) -> None:
    """B72: no search yet, an embedder that does not work, no document at all."""
    empty = MemoryStore(tmp_path / "other")
    broken = DocumentsProvider(store=store, search=searching(store, BrokenEmbedder()), least_cosine=0.0)

    assert await DocumentsProvider(store=store).contribute(asked()) == []
    assert await broken.contribute(asked()) == []
    assert await told(empty, asked()) == []


async def test_too_short_a_question_finds_nothing(store: MemoryStore) -> None:
    """B70: fewer than three characters."""
    assert await told(store, asked("hm")) == []


def test_the_question_is_the_newest_thing_a_person_wrote() -> None:
    """B70: neither ours nor System lines, and no more than a thousand characters."""
    turn = finished_turn(
        an_entry("older"),
        an_entry("[System: Ada replies]\nwhat about tea? " + "x" * 2000),
        our_entry("mine"),
        an_entry("[System: a picture]"),
        an_entry("notice", author_kind="system"),
    )

    query = search_query(a_request(turn=turn))

    assert query.startswith("what about tea?")
    assert len(query) == 1000
    assert search_query(a_request(utterance="plain")) == "plain"


async def test_a_file_that_went_meanwhile_is_left_out(store: MemoryStore) -> None:
    """The index may be a moment behind."""
    search = searching(store)
    store.delete_file("documents/rules.md")

    (piece,) = await DocumentsProvider(store=store, search=search, least_cosine=0.1).contribute(asked())

    assert "Rules" not in piece.text


def test_the_block_keeps_to_its_room() -> None:
    """The best piece always comes, the others while there is room."""
    chunks = [NumberedChunk(f"documents/{n}.md", "", "tea " * 200, 0.9 - n / 100, 1, 1) for n in range(6)]
    heads = {chunk.rel_path: f"# Doc {n}\n" for n, chunk in enumerate(chunks)}

    text = group_by_document(chunks, heads, 500)

    assert "Doc 0" in text
    assert "Doc 1" in text
    assert "Doc 3" not in text
    assert len(text) < 500 * 5


async def test_what_documents_tell_is_not_told_twice(store: MemoryStore) -> None:
    """Content search looks past the folders somebody else looks through, in every tier."""
    search = searching(store)
    provider = ContentSearchProvider(
        store=store, llm_client=None, retriever=search, scope=SearchScope(exclude_folders=("documents/",))
    )
    everywhere = ContentSearchProvider(store=store, llm_client=None, retriever=search)

    found = "".join(piece.text for piece in await provider.contribute(asked()))
    all_found = "".join(piece.text for piece in await everywhere.contribute(asked()))
    await provider.aclose()
    await everywhere.aclose()

    assert "topics/kettle.md" in found
    assert "documents/" not in found
    assert "documents/" in all_found
