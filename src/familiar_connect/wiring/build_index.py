"""Recall: what finds memory again, and the worker that keeps its index level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from familiar_connect.config import CharacterConfig
from familiar_connect.config.folders import index_folder
from familiar_connect.context.providers.character import persona_name
from familiar_connect.memory.index.indexing_store import Indexer, IndexingMemoryStore, choose_embedder
from familiar_connect.memory.people import read_aliases
from familiar_connect.support.clock import Clock
from familiar_connect.wiring.stores import Stores

if TYPE_CHECKING:  # numpy is loaded with the index, in the background
    from familiar_connect.memory.index.embeddings import EmbeddingIndex
    from familiar_connect.memory.index.retriever import MemoryRetriever
    from familiar_connect.memory.index.turns import TurnIndex


@dataclass(frozen=True)
class MemoryIndex:
    """What finds memory again: the index of the files and of everything said, and the worker that keeps it level."""

    files: EmbeddingIndex | None
    turns: TurnIndex | None
    retriever: MemoryRetriever
    indexer: Indexer
    embedder: str
    """Which embedder is used, and why."""

    async def aclose(self) -> None:
        await self.indexer.aclose()
        for index in (self.files, self.turns):
            if index is not None:
                index.close()


def build_memory_index(familiar_id: str, stores: Stores, config: CharacterConfig, clock: Clock) -> MemoryIndex:
    """Slow the first time, as it loads the index's library: called in a thread, never in a reply."""
    from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
    from familiar_connect.memory.index.retriever import MemoryRetriever
    from familiar_connect.memory.index.turns import TURNS_FILE, TurnIndex

    store = cast("IndexingMemoryStore", stores.memory)
    model, embedder = choose_embedder(config.embedder)
    name = str(getattr(model, "name", type(model).__name__))
    folder = index_folder(store.root)
    files = turns = None
    if config.search_files:
        files = EmbeddingIndex(folder / INDEX_FILE, dim=model.dim, model_name=name)
    if config.search_turns:
        turns = TurnIndex(
            folder / TURNS_FILE,
            history=stores.history,
            familiar_id=familiar_id,
            dim=model.dim,
            model_name=name,
            own_name=persona_name(stores.memory, familiar_id),
            privacy=stores.privacy,
        )
    retriever = MemoryRetriever(
        model=model, files=files, turns=turns, names=lambda: read_aliases(stores.memory), clock=clock
    )
    indexer = Indexer(store=store, model=model, files=files, turns=turns, retriever=retriever)
    return MemoryIndex(files, turns, retriever, indexer, embedder)
