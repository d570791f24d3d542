"""MemoryIndex: what finds memory again, loaded in the background, and the worker that keeps its index level."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from familiar_connect.config import CharacterConfig
from familiar_connect.config.folders import index_folder
from familiar_connect.context.providers.character import persona_name
from familiar_connect.memory.index.indexing_store import Indexer, IndexingMemoryStore, choose_embedder
from familiar_connect.memory.index.protocols import NumberedChunk, RecallScope, Recollection, RetrievedChunk
from familiar_connect.memory.people import read_aliases
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.wiring.stores import Stores

if TYPE_CHECKING:  # numpy is loaded with the index, in the background
    from familiar_connect.memory.index.embeddings import EmbeddingIndex
    from familiar_connect.memory.index.retriever import MemoryRetriever
    from familiar_connect.memory.index.turns import TurnIndex

logger = logging.getLogger(__name__)

CLOSE_WAIT_S = 10.0
"""How long closing waits for an index that is still being loaded."""
RECALL_LIMIT = 40
"""Recollections of one search, unless more are asked for."""


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


class LazyMemoryIndex:
    """A memory index that is loaded in the background: until it is there, and if it fails, it finds nothing."""

    def __init__(self, build: Callable[[], MemoryIndex]) -> None:
        """*build* is slow and runs in a thread."""
        self._build = build
        self._loaded: MemoryIndex | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def current(self) -> MemoryIndex | None:
        """The index, once it is there."""
        return self._loaded

    @property
    def retriever(self) -> MemoryRetriever | None:
        """What searches memory, once it is ready."""
        return self._loaded.retriever if self._loaded is not None else None

    def start(self) -> None:
        """Load the index and keep it level from then on, in the background."""
        self._task = asyncio.get_running_loop().create_task(self._load_and_follow(), name="load memory index")

    async def wait_until_loaded(self) -> None:
        """Wait until what `start` began is there, or has failed."""
        if self._task is not None:
            await self._task

    async def update(self, limit_s: float) -> bool:
        """Load the index and bring it level once, and nothing else. Says whether all of memory can be found."""
        if self._loaded is None:
            await self._load()
        if self._loaded is None:
            return False
        try:
            async with asyncio.timeout(limit_s):
                await self._loaded.indexer.build()
        except TimeoutError:
            return False
        return True

    async def follow_now(self) -> None:
        """Be level at once with what was taken back, and leave nothing of it in the files of the index."""
        if self._loaded is not None:
            await off_loop(self._loaded.indexer.follow_withdrawals)

    async def forget(self) -> None:
        """Throw away what is indexed, so that nothing of what was erased is left; it is made again by and by."""
        await self.wait_until_loaded()
        loaded = self._loaded
        if loaded is None:
            return
        for part in (loaded.files, loaded.turns):
            if part is not None:
                await off_loop(part.forget)
        loaded.indexer.start_over()

    async def aclose(self) -> None:
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CLOSE_WAIT_S)
        if self._loaded is not None:
            await self._loaded.aclose()

    async def query(self, utterance: str, top_k: int, *, exclude_paths: set[str] | None = None) -> list[RetrievedChunk]:
        if (retriever := self.retriever) is None:
            return []
        return await retriever.query(utterance, top_k, exclude_paths=exclude_paths)

    async def query_folder(self, utterance: str, top_k: int, *, folder: str, least: float = 0.0) -> list[NumberedChunk]:
        if (retriever := self.retriever) is None:
            return []
        return await retriever.query_folder(utterance, top_k, folder=folder, least=least)

    async def recall(
        self, utterance: str, *, limit: int = RECALL_LIMIT, scope: RecallScope | None = None
    ) -> list[Recollection]:
        if (retriever := self.retriever) is None:
            return []
        return await retriever.recall(utterance, limit=limit, scope=scope)

    @contextmanager
    def pause_while_replying(self) -> Iterator[None]:
        """While this is open a reply is being made, and the index holds still between its batches."""
        with self._loaded.indexer.pause_while_replying() if self._loaded is not None else nullcontext():
            yield

    async def _load(self) -> None:
        try:
            self._loaded = await off_loop(self._build)
        except Exception as error:  # isolation: finding more is a gift, never a condition
            logger.warning("memory is not searched", extra={"error": f"{type(error).__name__}: {error}"})

    async def _load_and_follow(self) -> None:
        await self._load()
        if self._loaded is not None:
            self._loaded.indexer.start()
