"""MemoryIndex: what finds memory again, loaded in the background, and the worker that keeps its index level."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.folders import index_folder
from familiar_connect.memory.index.embedders.choice import choose_embedder, lacks_embedder
from familiar_connect.memory.index.indexing_store import (
    LONGEST_WAIT_S,
    Indexer,
    IndexingMemoryStore,
)
from familiar_connect.memory.index.protocols import (
    EmbeddingModel,
    NumberedChunk,
    RecallScope,
    Recollection,
    RetrievedChunk,
    SearchReadiness,
)
from familiar_connect.memory.people import read_aliases
from familiar_connect.memory.persona import persona_name
from familiar_connect.support.aio import cancel_and_wait, off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.wiring.stores import Stores

if TYPE_CHECKING:  # numpy is loaded with the index, in the background
    from familiar_connect.memory.index.embeddings import EmbeddingIndex
    from familiar_connect.memory.index.retriever import MemoryRetriever
    from familiar_connect.memory.index.turns import TurnIndex

logger = logging.getLogger(__name__)

FINISH_S = 3.0
"""How long closing waits until what was said and written last is found by the next process too."""
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
    model: EmbeddingModel
    """What turns texts into vectors here."""
    embedder: str
    """Which embedder is used, and why."""
    lacks: str = ""
    """Why it is not the one that the settings want; empty where it is."""

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
    folder = index_folder(store.root)
    model, embedder = choose_embedder(config.embedder, index=folder / INDEX_FILE)
    name = str(getattr(model, "name", type(model).__name__))
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
    lacks = embedder if lacks_embedder(config.embedder, model) else ""
    return MemoryIndex(files, turns, retriever, indexer, model, embedder, lacks)


class LazyMemoryIndex:
    """A memory index that is loaded in the background; whoever searches first waits for it, as long as they like.

    First everything is found by its words, then by its meaning. If it fails, it finds nothing.
    """

    def __init__(self, build: Callable[[], MemoryIndex]) -> None:
        """*build* is slow and runs in a thread."""
        self._build = build
        self._loaded: MemoryIndex | None = None
        self._failure = ""
        self._task: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._is_closing = False
        self._replies = 0
        self._is_quiet = asyncio.Event()
        self._is_quiet.set()

    @property
    def current(self) -> MemoryIndex | None:
        """The index, once it is there."""
        return self._loaded

    @property
    def retriever(self) -> MemoryRetriever | None:
        """What searches memory, once it is ready."""
        return self._loaded.retriever if self._loaded is not None else None

    def start(self, *, keeps_level: bool = True) -> None:
        """Load the index and have it ready, in the background; with *keeps_level*, keep it level from then on."""
        self._task = asyncio.get_running_loop().create_task(self._wake(keeps_level), name="load memory index")

    async def wait_until_loaded(self) -> None:
        """Wait until what `start` began is there, or has failed."""
        if self._task is not None:
            await self._task

    @property
    def is_awake(self) -> bool:
        """Whether whoever searches now need not wait for anything to be loaded."""
        return self._task is None or self._task.done()

    async def wait_until_awake(self, seconds: float) -> SearchReadiness:
        """Wait until what `start` began is there, no longer than *seconds*; how far memory can be searched by then.

        What was said a moment ago is found by its words from here on.
        """
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=None if seconds == math.inf else max(0.0, seconds))
        if self._loaded is not None and self.is_awake:
            await off_loop(_catch_up, self._loaded.indexer)
        return self._readiness()

    def _readiness(self) -> SearchReadiness:
        loaded = self._loaded
        if loaded is None or not loaded.retriever.is_warm:
            return SearchReadiness("asleep", self._failure or "the index of memory was still being loaded")
        if not loaded.retriever.finds_meaning:
            what = "could not be loaded" if self.is_awake else "was still being loaded"
            return SearchReadiness("words", f"memory was searched by words alone: the embedder {what}")
        if loaded.lacks:
            return SearchReadiness("words", f"memory was searched by {loaded.lacks.rstrip('.')}")
        if not loaded.indexer.is_level:
            return SearchReadiness("building", "the index of memory was still being built: not all of it was searched")
        return SearchReadiness("awake")

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
        """End it; a program that kept it level leaves it level, as far as that is done in a moment."""
        self._is_closing = True
        if self._loaded is not None:
            if self._following is not None and self._following.done():
                finishing = asyncio.ensure_future(off_loop(_finish, self._loaded.indexer))
                await asyncio.wait({finishing}, timeout=FINISH_S)
            self._loaded.indexer.stop()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CLOSE_WAIT_S)
        if self._following is not None:
            await cancel_and_wait(self._following)
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
        self._replies += 1
        self._is_quiet.clear()
        try:
            with self._loaded.indexer.pause_while_replying() if self._loaded is not None else nullcontext():
                yield
        finally:
            self._replies -= 1
            if not self._replies:
                self._is_quiet.set()

    async def _load(self) -> None:
        try:
            self._loaded = await off_loop(self._build)
        except Exception as error:  # isolation: finding more is a gift, never a condition
            self._failure = f"the index of memory could not be loaded ({type(error).__name__})"
            logger.warning("memory is not searched", extra={"error": f"{type(error).__name__}: {error}"})

    async def _wake(self, keeps_level: bool) -> None:
        await self._load()
        if self._loaded is None:
            return
        indexer = self._loaded.indexer
        for step in (_wake_words, _wake_meaning):
            if not self._is_closing:
                await off_loop(step, indexer)
        if keeps_level:
            self._following = asyncio.get_running_loop().create_task(self._follow(indexer), name="keep index level")

    async def _follow(self, indexer: Indexer) -> None:
        """Keep the index level, once the reply that may have waited for it is made."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT_S):
                await self._is_quiet.wait()
        if not self._is_closing:
            indexer.start()


# These run in threads of this module, which never step back: those of the indexer do, and on a busy machine whoever
# waits for them waits behind everybody else.


def _wake_words(indexer: Indexer) -> None:
    indexer.wake_words()


def _wake_meaning(indexer: Indexer) -> None:
    indexer.wake_meaning()


def _catch_up(indexer: Indexer) -> None:
    indexer.catch_up()


def _finish(indexer: Indexer) -> None:
    indexer.finish()
