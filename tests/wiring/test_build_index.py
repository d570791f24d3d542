"""LazyMemoryIndex: who searches first waits for it, and is told how far it has come."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from familiar_connect.config import CharacterConfig
from familiar_connect.identity import Author
from familiar_connect.memory.index import hashing, indexing_store
from familiar_connect.support.clock import SystemClock
from familiar_connect.wiring.build_index import LazyMemoryIndex, MemoryIndex, build_memory_index
from familiar_connect.wiring.stores import Stores, build_stores

ADA = Author(platform="discord", user_id="1", username="ada", display_name="Ada")
SOON = 60.0


def tell(stores: Stores, text: str) -> None:
    stores.history.append_turn(familiar_id="wren", channel_id=7, role="user", content=text, author=ADA)


@asynccontextmanager
async def an_index(
    tmp_path: Path, gate: threading.Event | None = None, *, embedder: str = "hashing"
) -> AsyncIterator[tuple[LazyMemoryIndex, Stores]]:
    """An index of what is told, which is not loaded before *gate* opens."""
    root = tmp_path / "wren"
    (root / "memory").mkdir(parents=True)
    config = CharacterConfig(embedder=embedder)
    stores = build_stores(root, config, SystemClock())

    def build() -> MemoryIndex:
        if gate is not None:
            gate.wait(SOON)
        return build_memory_index("wren", stores, config, SystemClock())

    index = LazyMemoryIndex(build)
    try:
        yield index, stores
    finally:
        if gate is not None:
            gate.set()
        await index.aclose()
        stores.history.close()


async def test_who_does_not_wait_long_enough_is_told_that_nothing_was_awake(tmp_path: Path) -> None:
    """And finds everything as soon as it is there."""
    gate = threading.Event()
    async with an_index(tmp_path, gate) as (index, stores):
        tell(stores, "The spare key lies under the blue pot.")
        index.start(keeps_level=False)
        early = await index.wait_until_awake(0.0)
        gate.set()
        late = await index.wait_until_awake(SOON)
        found = await index.recall("spare key")

    assert (early.state, early.why) == ("asleep", "the index of memory was still being loaded")
    assert late.state == "awake"
    assert [hit.text for hit in found] == ["The spare key lies under the blue pot."]


async def test_an_index_that_fails_is_asleep_with_the_reason(tmp_path: Path) -> None:
    """Nobody waits for it again and again."""

    def fail() -> MemoryIndex:
        raise OSError("no room")

    index = LazyMemoryIndex(fail)
    index.start()
    ready = await index.wait_until_awake(SOON)

    assert (ready.state, ready.why) == ("asleep", "the index of memory could not be loaded (OSError)")


async def test_without_a_working_embedder_memory_is_found_by_words_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words at once, whatever becomes of meaning."""

    def fail(self: hashing.HashingModel, texts: list[str]) -> np.ndarray[Any, Any]:
        raise RuntimeError("no weights")

    monkeypatch.setattr(hashing.HashingModel, "embed", fail)
    async with an_index(tmp_path) as (index, stores):
        tell(stores, "The spare key lies under the blue pot.")
        index.start(keeps_level=False)
        ready = await index.wait_until_awake(SOON)
        found = await index.recall("spare key")

    assert ready.state == "words"
    assert ready.why == "memory was searched by words alone: the embedder could not be loaded"
    assert len(found) == 1


async def test_an_embedder_that_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings want meaning, and this machine has none."""
    monkeypatch.setattr("familiar_connect.memory.index.minilm.why_unavailable", lambda: "onnxruntime is missing.")
    async with an_index(tmp_path, embedder="auto") as (index, _):
        index.start(keeps_level=False)
        ready = await index.wait_until_awake(SOON)

    assert ready.state == "words"
    assert ready.why == "memory was searched by words and spelling only. onnxruntime is missing"


async def test_of_a_large_backlog_the_first_question_waits_for_some_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it is found by its words; the rest of its meaning is left to the worker."""
    monkeypatch.setattr(indexing_store, "WAKING_BATCHES", 1)
    async with an_index(tmp_path) as (index, stores):
        for number in range(80):
            tell(stores, f"Lamp number {number} was lit by beacon{number}.")
        index.start(keeps_level=False)
        ready = await index.wait_until_awake(SOON)
        found = await index.recall("beacon3")
        await index.update(SOON)
        level = await index.wait_until_awake(SOON)

    assert ready.state == "building"
    assert "beacon3." in found[0].text
    assert level.state == "awake"


async def test_what_was_said_a_moment_ago_elsewhere_is_found_by_its_words(tmp_path: Path) -> None:
    """The worker looks once a minute; who asks takes it in first."""
    async with an_index(tmp_path) as (index, stores):
        index.start(keeps_level=False)
        await index.wait_until_awake(SOON)
        tell(stores, "The spare key lies under the blue pot.")
        await index.wait_until_awake(SOON)
        found = await index.recall("spare key")

    assert [hit.text for hit in found] == ["The spare key lies under the blue pot."]


async def test_waking_is_not_done_in_threads_that_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine whoever waits for such a thread waits behind everybody else."""
    lowered: set[int] = set()
    woke: list[int] = []
    monkeypatch.setattr(indexing_store, "lower_thread_priority", lambda: lowered.add(threading.get_ident()))
    wake = indexing_store.Indexer.wake_meaning

    def wake_and_note(self: indexing_store.Indexer) -> None:
        woke.append(threading.get_ident())
        wake(self)

    monkeypatch.setattr(indexing_store.Indexer, "wake_meaning", wake_and_note)
    async with an_index(tmp_path) as (index, _):
        index.start()
        await index.wait_until_awake(SOON)
        current = index.current
        assert current is not None
        await current.indexer.build()

    assert lowered
    assert not lowered & set(woke)


async def test_the_worker_begins_when_the_first_reply_is_made(tmp_path: Path) -> None:
    """It would take turns with the reply that everybody waits for."""
    async with an_index(tmp_path) as (index, _):
        with index.pause_while_replying():
            index.start()
            await index.wait_until_awake(SOON)
            await asyncio.sleep(0)
            following = index._following
            assert following is not None
            assert not following.done()
        await following
