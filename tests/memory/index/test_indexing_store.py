"""What is written is found again, without anybody waiting for it."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.index import indexing_store
from familiar_connect.memory.index.embeddings import EmbeddingIndex
from familiar_connect.memory.index.indexing_store import (
    HANDFUL,
    IN_USE_FILE,
    LARGE_FILE_BYTES,
    Indexer,
    IndexingMemoryStore,
)
from familiar_connect.memory.index.retriever import MemoryRetriever
from familiar_connect.memory.index.turns import TurnIndex
from familiar_connect.memory.store import MemoryStore, MemoryStorePathError
from familiar_connect.support.files import is_held
from tests.fakes.embedding import BrokenEmbedder, CountingEmbedder
from tests.fakes.waiting import until


@pytest.fixture
def store(tmp_path: Path) -> IndexingMemoryStore:
    return IndexingMemoryStore(MemoryStore(tmp_path / "memory"))


def an_index(store: IndexingMemoryStore) -> EmbeddingIndex:
    return EmbeddingIndex(store.root / ".index/embeddings.sqlite", dim=512, model_name="counting")


def paths_in(index: EmbeddingIndex) -> set[str]:
    return {chunk.rel_path for chunk in index.query(np.ones(512, dtype=np.float32), 100)}


def test_everything_is_passed_on(store: IndexingMemoryStore) -> None:
    """The store does what the one inside does."""
    store.write_file("a.md", "bees", source="test", run_id="r1")
    store.append_file("a.md", " and geese", source="test")

    assert store.read_file("a.md") == store.inner.read_file("a.md") == "bees and geese"
    assert store.root == store.inner.root
    assert [entry.name for entry in store.list_dir()] == ["a.md"]
    assert store.glob("*.md") == ["a.md"]
    assert [hit.rel_path for hit in store.grep("GEESE")] == ["a.md"]
    assert [entry.operation for entry in store.audit_entries] == ["write", "append"]
    assert store.limits == store.inner.limits


def test_what_was_written_is_pending_in_order_as_often_as_written(store: IndexingMemoryStore) -> None:
    """Until it is taken."""
    store.write_file("b.md", "1")
    store.append_file("a.md", "2")
    store.write_file("b.md", "3")

    assert store.drain_pending() == ["b.md", "a.md", "b.md"]
    assert store.drain_pending() == []


def test_what_was_not_written_is_not_pending(store: IndexingMemoryStore) -> None:
    """A refused write leaves nothing to do."""
    with pytest.raises(MemoryStorePathError):
        store.write_file("../x.md", "no")

    assert store.drain_pending() == []


async def test_waiting_ends_with_a_write_from_any_thread(store: IndexingMemoryStore) -> None:
    """And at once when something is pending."""
    waiting = asyncio.create_task(store.wait_for_writes())
    await asyncio.sleep(0)
    assert not waiting.done()
    await asyncio.to_thread(store.write_file, "a.md", "x")
    await waiting

    await store.wait_for_writes()
    assert store.drain_pending() == ["a.md"]


def test_one_store_serves_one_loop_after_another(store: IndexingMemoryStore) -> None:
    """Nothing is bound when it is made, and a loop that is gone is no trouble."""

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(store.wait_for_writes(), 0)

    asyncio.run(give_up())
    store.write_file("a.md", "x")

    asyncio.run(store.wait_for_writes())


async def test_the_worker_builds_then_embeds_what_is_written(store: IndexingMemoryStore) -> None:
    """Only the written file, and the answer is there without a restart."""
    store.write_file("old.md", "Geese bite.")
    model = Watched()
    index = an_index(store)
    retriever = MemoryRetriever(model=model, files=index)
    indexer = Indexer(store=store, model=model, files=index, retriever=retriever)
    indexer.start()
    await model.seen("Geese bite.")
    store.write_file("new.md", "Bees dance.")
    await model.seen("Bees dance.")
    await indexer.aclose()
    index.refresh(store, "new.md", model)

    assert next(hit.text for hit in await retriever.recall("bees dance")) == "Bees dance."
    index.close()


async def test_the_index_holds_still_while_a_reply_is_made(store: IndexingMemoryStore) -> None:
    """And goes on afterwards."""
    store.write_file("a.md", "Geese bite.")
    model = Watched()
    index = an_index(store)
    indexer = Indexer(store=store, model=model, files=index)
    with indexer.pause_while_replying():
        building = asyncio.create_task(indexer.build())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(building), 0.2)
        assert model.texts == []

    stats = await building
    assert stats is not None
    assert stats.rebuilt_paths == ["a.md"]
    index.close()


@pytest.mark.parametrize("is_program", [True, False])
def test_a_program_sets_its_heap_aside_once_the_index_is_loaded(
    is_program: bool, store: IndexingMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and nobody's heap who only imports the package."""
    monkeypatch.setattr(indexing_store, "is_program", lambda: is_program)
    frozen: list[bool] = []
    model, index = CountingEmbedder(), an_index(store)
    retriever = MemoryRetriever(model=model, files=index)
    monkeypatch.setattr(indexing_store, "freeze_heap", lambda: frozen.append(retriever.is_warm))
    indexer = Indexer(store=store, model=model, files=index, retriever=retriever)

    indexer.build_now()
    indexer.build_now()
    index.close()

    assert frozen == ([True] if is_program else [])


async def test_what_the_owner_changes_by_hand_is_followed(store: IndexingMemoryStore) -> None:
    """Edited, added, renamed and deleted files, without a write of ours to wake the worker."""
    store.write_file("a.md", "Geese bite.")
    (store.root / "gone.md").write_text("Moths sleep.", encoding="utf-8")
    model = Watched()
    index = an_index(store)
    indexer = Indexer(store=store, model=model, files=index, scan_s=0.01)
    indexer.start()
    await model.seen("Moths sleep.")
    (store.root / "new.md").write_text("Bees dance.", encoding="utf-8")
    (store.root / "a.md").write_text("Geese sing.", encoding="utf-8")
    (store.root / "gone.md").rename(store.root / "here.md")
    await model.seen("Bees dance.", "Geese sing.")
    await until(lambda: paths_in(index) == {"a.md", "new.md", "here.md"})
    (store.root / "here.md").unlink()
    await until(lambda: paths_in(index) == {"a.md", "new.md"})
    await indexer.aclose()
    index.close()


async def test_the_owners_edit_does_not_wait_behind_what_we_write(store: IndexingMemoryStore) -> None:
    """With hundreds of our own files pending, and more coming, it is embedded before most of them."""
    model = Watched()
    index = an_index(store)
    indexer = Indexer(store=store, model=model, files=index, scan_s=0.01)
    store.write_file("first.md", "Geese bite.")
    indexer.start()
    await model.seen("Geese bite.")
    with model.held():  # all of it lies there before the worker goes on
        for number in range(20 * HANDFUL):
            store.write_file(f"ours/{number}.md", f"Note {number}.")
        (store.root / "owner.md").write_text("Bees dance.", encoding="utf-8")
    await model.seen("Bees dance.")

    assert model.texts.index("Bees dance.") < 4 * HANDFUL
    await indexer.aclose()
    index.close()


async def test_a_small_edit_is_taken_in_while_a_reply_is_made(store: IndexingMemoryStore) -> None:
    """A large one waits until the reply is out, and nothing behind it does."""
    model = Watched()
    index = an_index(store)
    indexer = Indexer(store=store, model=model, files=index, scan_s=0.01)
    store.write_file("first.md", "Ants march.")
    indexer.start()
    await model.seen("Ants march.")  # what is there at the start is built, and that waits for replies
    with indexer.pause_while_replying():
        (store.root / "small.md").write_text("Bees dance.", encoding="utf-8")
        await model.seen("Bees dance.")
        large = "\n\n".join(f"# {number}\n\n" + "Geese " * 150 for number in range(LARGE_FILE_BYTES // 900))
        (store.root / "large.md").write_text(large, encoding="utf-8")
        (store.root / "after.md").write_text("Moths sleep.", encoding="utf-8")
        await model.seen("Moths sleep.")
        assert not any("Geese" in text for text in model.texts)
    await until(lambda: any("Geese" in text for text in list(model.texts)))
    await indexer.aclose()
    index.close()


async def test_an_edit_does_not_wait_for_a_large_file_in_hand(store: IndexingMemoryStore) -> None:
    """Between two batches of it the owner's other edits are taken in."""
    model = Watched()
    index = an_index(store)
    indexer = Indexer(store=store, model=model, files=index, scan_s=0.0)
    indexer.start()
    await until(lambda: index.counts()["files"] == 0)
    with model.held():
        lines = (f"# {number}\n\nGeese number {number}{' honk' * 40}." for number in range(LARGE_FILE_BYTES // 200))
        (store.root / "large.md").write_text("\n\n".join(lines), encoding="utf-8")
        await until(lambda: model.waiting)
        (store.root / "after.md").write_text("Moths sleep.", encoding="utf-8")
    await model.seen("Moths sleep.")
    await until(lambda: paths_in(index) == {"large.md", "after.md"})

    assert [batch for batch in model.batches if "Moths sleep." in batch] == [["Moths sleep."]]
    assert model.batches.index(["Moths sleep."]) < len(model.batches) // 2
    await indexer.aclose()
    index.close()


async def test_an_edit_does_not_wait_for_the_history(store: IndexingMemoryStore, tmp_path: Path) -> None:
    """Talk that is still to be taken in waits for the reply that is being made; the owner's edit does not."""
    history = HistoryStore(tmp_path / "history.db")
    store.write_file("first.md", "Swans float.")
    model = Watched()
    index = an_index(store)
    turns = TurnIndex(
        store.root / ".index/turns.sqlite", history=history, familiar_id="wren", dim=512, model_name="counting"
    )
    indexer = Indexer(store=store, model=model, files=index, turns=turns, scan_s=0.01)
    indexer.start()
    await model.seen("Swans float.")
    with indexer.pause_while_replying():
        history.append_turn(familiar_id="wren", channel_id=1, role="assistant", content="Geese bite.")
        store.write_file("ours.md", "Moths sleep.")  # after which the history is followed
        await model.seen("Moths sleep.")
        (store.root / "small.md").write_text("Bees dance.", encoding="utf-8")
        await model.seen("Bees dance.")
        assert "Geese bite." not in model.texts
    await model.seen("Geese bite.")
    await indexer.aclose()
    for each in (index, turns, history):
        each.close()


async def test_an_index_thrown_away_is_built_again(store: IndexingMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody deletes the folder while the program runs: all of it is found again, not only what changes next."""
    monkeypatch.setattr("familiar_connect.memory.index.indexing_store.BUILD_AGAIN_S", 0.0)
    store.write_file("a.md", "Geese bite.")
    store.write_file("b.md", "Moths sleep.")
    model = Watched()
    index = an_index(store)
    indexer = Indexer(store=store, model=model, files=index, scan_s=0.01)
    indexer.start()
    await until(lambda: paths_in(index) == {"a.md", "b.md"})
    shutil.rmtree(store.root / ".index")
    (store.root / "a.md").write_text("Geese sing.", encoding="utf-8")
    await model.seen("Geese sing.")
    await until(lambda: model.texts.count("Moths sleep.") == 2 and paths_in(index) == {"a.md", "b.md"})

    assert index.counts()["files"] == 2
    await indexer.aclose()
    index.close()


async def test_a_failing_embedder_never_ends_the_worker(
    store: IndexingMemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    """One line in the log, nothing else."""
    store.write_file("a.md", "Geese bite.")
    index = an_index(store)
    indexer = Indexer(store=store, model=BrokenEmbedder(), files=index)

    assert await indexer.build() is None
    assert [record.message for record in caplog.records] == ["memory index could not be brought level"]
    index.close()


async def test_an_index_that_is_closed_in_the_middle_of_a_build_is_news_only_before_the_end(
    store: IndexingMemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    """A chat that is left while its index is still being built says nothing about that."""
    store.write_file("a.md", "Geese bite.")
    index = an_index(store)
    indexer = Indexer(store=store, model=CountingEmbedder(), files=index)
    index.close()
    with caplog.at_level(logging.WARNING):
        await indexer.build()
        told = len(caplog.records)
        await indexer.aclose()
        await indexer.build()

    assert (told, len(caplog.records)) == (1, 1)


async def test_progress_can_be_watched(store: IndexingMemoryStore) -> None:
    """File by file."""
    store.write_file("a.md", "Geese bite.")
    index = an_index(store)
    told: list[tuple[int, int]] = []
    await Indexer(store=store, model=CountingEmbedder(), files=index).build(lambda done, of: told.append((done, of)))

    assert told == [(1, 1)]
    index.close()


class Watched(CountingEmbedder):
    """A counting embedder that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self.waiting = False
        """Whether somebody embeds, or waits for it."""

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        self.waiting = True
        with self._changed:
            self.waiting = False
            found = super().embed(texts)
            self._changed.notify_all()
        return found

    @contextmanager
    def held(self) -> Iterator[None]:
        """Whoever embeds meanwhile waits."""
        with self._changed:
            yield

    async def seen(self, *texts: str) -> None:
        def wait() -> None:
            with self._changed:
                assert self._changed.wait_for(lambda: set(texts) <= set(self.texts), timeout=400)

        await asyncio.to_thread(wait)


async def test_a_worker_that_is_ended_while_it_begins_holds_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that says that the index is in use may come to it after everything was closed."""
    store = IndexingMemoryStore(MemoryStore(tmp_path / "memory"))
    indexer = Indexer(store=store, model=CountingEmbedder(), files=None)
    begun, may_go_on, done = threading.Event(), threading.Event(), threading.Event()
    hold = indexer._hold

    def hold_late() -> None:
        begun.set()
        may_go_on.wait()
        hold()
        done.set()

    monkeypatch.setattr(indexer, "_hold", hold_late)
    indexer.start()
    await asyncio.to_thread(begun.wait)
    await indexer.aclose()
    may_go_on.set()
    await asyncio.to_thread(done.wait)

    assert not is_held(tmp_path / "memory" / ".index" / IN_USE_FILE)
