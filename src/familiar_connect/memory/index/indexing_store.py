"""IndexingMemoryStore and Indexer: what is written is found again, without anybody waiting for it.

The store passes everything on and remembers which files were written. The indexer builds the index in the
background, embeds what was written, looks for the owner's own edits, follows the history, and waits while a reply
is being made. No failure of the index ever reaches a reply.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from familiar_connect.config.folders import index_folder
from familiar_connect.memory.index.folder_listing import FolderSnapshot
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import AuditEntry, GrepHits, MemoryEntry
from familiar_connect.support.aio import BackgroundTasks, is_on_loop, off_loop
from familiar_connect.support.files import SharedLock
from familiar_connect.support.folder_watch import FolderWatch
from familiar_connect.support.thread_pools import freeze_heap, is_program, lower_thread_priority

if TYPE_CHECKING:  # numpy is loaded with the index, not with the store
    from familiar_connect.memory.index.embeddings import BuildStats, EmbeddingIndex
    from familiar_connect.memory.index.protocols import EmbeddingModel
    from familiar_connect.memory.index.retriever import MemoryRetriever
    from familiar_connect.memory.index.turns import TurnIndex

LONGEST_WAIT_S = 20.0
"""A reply that takes longer than this no longer holds the index up."""
LAST_BATCH_S = 2.0
"""How long closing waits for the batch in hand, which a busy machine may hold up much longer."""
SCAN_S = 1.0
"""How often the owner's own edits are looked for, whatever else there is to do."""
UNWATCHED_S = 60.0
"""The folder is looked at that often though nobody told of a change: a network's file system may not tell."""
FOLLOW_S = 60.0
"""How often the history is followed where nothing was written meanwhile."""
BUILD_AGAIN_S = 5.0
"""How long after a build an index that was thrown away is built again at the soonest."""
HANDFUL = 16
"""Files brought level between two looks."""
LARGE_FILE_BYTES = 65_536
"""A file larger than this is embedded when no reply is being made; smaller ones at once."""
MAX_PENDING = 100_000
WAKING_BATCHES = 8
"""Batches of new or changed texts that are embedded while a first question waits; more of them are the worker's."""
IN_USE_FILE = "in-use.lock"
"""Held, in the folder of the index, by every program that keeps it level."""

_log = logging.getLogger(__name__)


class IndexingMemoryStore:
    """*inner*, and a list of what was written to it. Whatever else *inner* can do, this can do too."""

    def __init__(self, inner: MemoryStore) -> None:
        self.inner = inner
        self._lock = threading.Lock()
        self._pending: deque[str] = deque(maxlen=MAX_PENDING)
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    @property
    def root(self) -> Path:
        return self.inner.root

    @property
    def audit_entries(self) -> list[AuditEntry]:
        return self.inner.audit_entries

    def list_dir(self, rel_path: str = "") -> list[MemoryEntry]:
        return self.inner.list_dir(rel_path)

    def read_file(self, rel_path: str) -> str:
        return self.inner.read_file(rel_path)

    def read_to_cap(self, rel_path: str) -> str:
        return self.inner.read_to_cap(rel_path)

    def glob(self, pattern: str) -> list[str]:
        return self.inner.glob(pattern)

    def grep(self, pattern: str, rel_path: str = "", case_insensitive: bool = True) -> GrepHits:
        return self.inner.grep(pattern, rel_path, case_insensitive)

    def write_file(self, rel_path: str, content: str, *, source: str = "unknown", **facts: Any) -> None:
        self.inner.write_file(rel_path, content, source=source, **facts)
        self._note(rel_path)

    def append_file(self, rel_path: str, content: str, *, source: str = "unknown", **facts: Any) -> None:
        self.inner.append_file(rel_path, content, source=source, **facts)
        self._note(rel_path)

    def write_many(self, rel_path: str, texts: Mapping[str, str], *, source: str = "unknown") -> None:
        self.inner.write_many(rel_path, texts, source=source)
        for name in texts:
            self._note(f"{rel_path.strip('/')}/{name}".lstrip("/"))

    def delete_file(self, rel_path: str, *, source: str = "unknown") -> None:
        self.inner.delete_file(rel_path, source=source)
        self._note(rel_path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def drain_pending(self) -> list[str]:
        """Paths written since the last call, in order, as often as they were written."""
        with self._lock:
            found = list(self._pending)
            self._pending.clear()
            return found

    async def wait_for_writes(self) -> None:
        """Return once something is pending."""
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            if self._pending:
                return
            self._waiting.append(waiter)
        try:
            await waiter[1].wait()
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._waiting.remove(waiter)

    def _note(self, rel_path: str) -> None:
        with self._lock:
            self._pending.append(rel_path)
            waiting, self._waiting = self._waiting, []
        for loop, event in waiting:
            with contextlib.suppress(RuntimeError):  # that loop was closed meanwhile
                loop.call_soon_threadsafe(event.set)


class Indexer:
    """The owner of the index's work: one task, started with `start`, ended with `aclose`."""

    def __init__(
        self,
        *,
        store: IndexingMemoryStore,
        model: EmbeddingModel,
        files: EmbeddingIndex | None,
        turns: TurnIndex | None = None,
        retriever: MemoryRetriever | None = None,
        scan_s: float = SCAN_S,
    ) -> None:
        self._store = store
        self._model = model
        self._files = files
        self._turns = turns
        self._retriever = retriever
        self._scan_s = scan_s
        self._watch = FolderWatch(store.root)
        self._snapshot: FolderSnapshot | None = None
        self._scanned_at = self._followed_at = 0.0
        self._last_error = ""
        self._stale: dict[str, None] = {}
        self._in_hand: str | None = None
        """The large file that is being embedded, between whose batches others are taken in."""
        self._has_written = False
        """Whether the program wrote, or answered, since the history was last followed."""
        self._openings = 0
        """How often the index of the files had been opened when all of it was last built."""
        self._built_at = 0.0
        self._has_built = False
        """Whether all of it was looked at to the end, so that nothing but what is new may be missing."""
        self._in_use = SharedLock(index_folder(store.root) / IN_USE_FILE)
        self._holding = threading.Lock()
        self._background = BackgroundTasks("index")
        self._replies = 0
        self._busy_since = 0.0
        self._counting = threading.Lock()
        self._quiet = threading.Event()
        self._quiet.set()
        self._stopped = threading.Event()
        self._working = threading.Lock()

    def start(self) -> None:
        """Build, then keep level, until `aclose`."""
        self._stopped.clear()
        self._background.start(self._run(), name="keep level")

    def start_over(self) -> None:
        """Build again beside what `start` began: the index was thrown away."""
        self._background.start(self.build(), name="build anew")

    async def build(self, progress: Callable[[int, int], None] | None = None) -> BuildStats | None:
        """Bring everything level now; the first time this loads the embedder. None when the files were not reached."""
        return await off_loop(self.build_now, progress)

    def build_now(self, progress: Callable[[int, int], None] | None = None) -> BuildStats | None:
        """`build` for plain synchronous code."""
        lower_thread_priority()
        with self._working:
            self._store.drain_pending()
            if self._retriever is not None and not self._retriever.finds_meaning:
                self._retriever.warm()
            stats: BuildStats | None = self._guard(self._build_watched_files, progress)
            self._guard(self._follow_history)
            is_first, self._has_built = not self._has_built, self._has_built or not self._stopped.is_set()
            if is_first and is_program():
                freeze_heap()
        return stats

    @property
    def is_level(self) -> bool:
        """Whether all there was at the start is found, by words and by meaning."""
        return self._has_built

    def wake_words(self) -> None:
        """Have all that was said found by its words, and by its meaning as far as that was embedded before.

        In the thread of the caller, which does not step back: a reply waits for this.
        """
        with self._working:
            if self._turns is not None:
                self._guard(self._turns.sync, None)
            if self._retriever is not None:
                self._retriever.warm_words()

    def wake_meaning(self) -> None:
        """Load the embedder, and have what is new found by its meaning: the newest first, and so much at most.

        In the thread of the caller, which does not step back: a reply waits for this.
        """
        with self._working:
            if self._retriever is not None:
                self._retriever.warm()
            self._has_built = self._take_in_some()

    def finish(self) -> None:
        """Have what was said and written last found at once by the next process: so much of it at most."""
        if self._working.acquire(timeout=LAST_BATCH_S):
            try:
                self._take_in_some()
            finally:
                self._working.release()

    def _take_in_some(self) -> bool:
        """Embed what is new or changed, a few batches of it, without waiting for replies; whether that was all."""
        batches = itertools.count()
        is_cut = False

        def go_on() -> bool:
            nonlocal is_cut
            is_cut = is_cut or next(batches) >= WAKING_BATCHES or self._stopped.is_set()
            return not is_cut

        if self._turns is not None:
            self._guard(partial(self._turns.sync, self._model, go_on=go_on))
        self._guard(self._build_files, None, go_on)
        return not is_cut

    def catch_up(self) -> None:
        """Take in by its words what was said since the last look; where the worker is at it, nothing is waited for."""
        if self._turns is None or not self._working.acquire(blocking=False):
            return
        try:
            self._guard(self._turns.sync, None)
        finally:
            self._working.release()

    def follow_withdrawals(self) -> None:
        """Be level at once with what was taken back: nothing of it is left in the files of the index."""
        with self._working:
            self._refresh_handful()
            while self._stale and not self._stopped.is_set() and self._next_files():
                self._refresh_handful()
            if self._turns is not None:
                self._guard(self._turns.follow_withdrawals)
            if self._files is not None:
                self._guard(self._files.flush_deleted)

    @contextmanager
    def pause_while_replying(self) -> Iterator[None]:
        """While this is open a reply is being made, and the index holds still between its batches."""
        with self._counting:
            if self._replies == 0:
                self._busy_since = time.monotonic()
            self._replies += 1
            self._quiet.clear()
        try:
            yield
        finally:
            with self._counting:
                self._replies -= 1
                if self._replies == 0:
                    self._has_written = True  # what was said and answered: the worker follows it at its next look
                    self._quiet.set()

    def stop(self) -> None:
        """Have it end after the batch in hand; nobody waits for that here."""
        self._stopped.set()
        self._quiet.set()

    async def aclose(self) -> None:
        """Stop after the batch in hand."""
        self.stop()
        await self._background.aclose()
        # Native code that is still at work when the interpreter ends would take the process down with it; the program
        # itself leaves without taking it apart, so that nobody has to wait for long.
        if await off_loop(self._working.acquire, True, LAST_BATCH_S if is_program() else LONGEST_WAIT_S):
            self._working.release()
        await off_loop(self._release)
        self._watch.close()

    async def _run(self) -> None:
        await off_loop(self._hold)
        await self.build()
        while True:
            if not self._stale or not await off_loop(self._next_files):
                await self._wait_for_work()
            await off_loop(self._refresh)

    def _hold(self) -> None:
        """Say that the index is in use, unless that ended meanwhile: this thread outlives whoever waited for it."""
        with self._holding:
            if not self._stopped.is_set():
                self._in_use.hold()

    def _release(self) -> None:
        with self._holding:
            self._in_use.release()

    async def _wait_for_work(self) -> None:
        """Return once something was written, or the folder is to be looked at."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._scan_s):
                await self._store.wait_for_writes()

    def _build_watched_files(self, progress: Callable[[int, int], None] | None) -> BuildStats | None:
        """Build the files, and from here on see what changes among them: for the worker, which keeps them level."""
        if self._files is not None:
            self._take_snapshot()
        return self._build_files(progress)

    def _build_files(
        self, progress: Callable[[int, int], None] | None, go_on: Callable[[], bool] | None = None
    ) -> BuildStats | None:
        if self._files is None:
            return None
        self._openings, self._built_at = self._files.count_openings(), time.monotonic()
        stats = self._files.build_if_stale(self._store, self._model, progress=progress, go_on=go_on or self._go_on)
        self._files.warm()
        return stats

    def _take_snapshot(self) -> None:
        self._watch.watch()  # before the look: what changes after it is seen
        self._watch.may_have_changed()
        self._snapshot = FolderSnapshot(self._store.inner.listing)
        self._snapshot.take()
        self._scanned_at = time.monotonic()

    def _refresh(self) -> None:
        """Look at the folder if it is time to, and bring a handful of files level; the rest waits for the next call."""
        lower_thread_priority()
        with self._working:
            self._guard(self._rebuild_if_replaced)
            self._refresh_handful()
            if self._has_written or time.monotonic() - self._followed_at >= FOLLOW_S:
                self._guard(self._follow_history)

    def _rebuild_if_replaced(self) -> None:
        """Build all of it again where somebody threw the index away, or it was found to be damaged."""
        if self._files is None or not self._openings or time.monotonic() - self._built_at < BUILD_AGAIN_S:
            return
        if self._files.count_openings() != self._openings:
            self._build_watched_files(None)

    def _refresh_handful(self) -> None:
        """Bring some files level, what the owner changed first."""
        written = self._store.drain_pending()
        self._has_written |= bool(written)
        if self._files is None:
            return
        self._stale |= dict.fromkeys(written)
        since = time.monotonic() - self._scanned_at
        if since >= UNWATCHED_S or (since >= self._scan_s and self._watch.may_have_changed()):
            self._scan()
        for rel_path in self._next_files():
            if self._stopped.is_set():
                break
            del self._stale[rel_path]
            if self._snapshot is not None:
                self._snapshot.note(rel_path)  # before it is read: what changes from here on is seen at the next look
            self._guard(self._refresh_file, rel_path)

    def _refresh_file(self, rel_path: str) -> None:
        """Bring one file level; between the batches of a large one others are, and a reply is waited for."""
        if self._files is None:
            return
        if self._in_hand is not None or not self._is_large(rel_path):
            self._files.refresh(self._store, rel_path, self._model)
            return
        self._in_hand = rel_path
        try:
            self._files.refresh(self._store, rel_path, self._model, go_on=self._go_on)
        finally:
            self._in_hand = None

    def _next_files(self) -> list[str]:
        """A handful of what is to be brought level; large files wait while a reply is made, though not for long."""
        has_reply = not self._quiet.is_set() and time.monotonic() - self._busy_since < LONGEST_WAIT_S
        has_no_time = has_reply or self._in_hand is not None
        waiting = list(self._stale)
        ready = (path for path in waiting if path != self._in_hand and not (has_no_time and self._is_large(path)))
        return list(itertools.islice(ready, HANDFUL))

    def _scan(self) -> None:
        """Put what the owner changed before everything else that waits."""
        if self._snapshot is not None:
            if self._watch.is_watching:
                self._watch.watch()  # folders may have come
            changed = self._guard(self._snapshot.find_changes) or ()
            by_hand = [path for path in changed if path not in self._stale]
            self._stale = dict.fromkeys([*by_hand, *self._stale])
        self._scanned_at = time.monotonic()

    def _is_large(self, rel_path: str) -> bool:
        try:
            return (self._store.root / rel_path).stat().st_size > LARGE_FILE_BYTES
        except (OSError, ValueError):
            return False

    def _follow_history(self) -> None:
        self._has_written = False
        if self._turns is not None and self._go_on():
            self._turns.sync(self._model, go_on=self._go_on)
        self._followed_at = time.monotonic()

    def _guard(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """*work*, or None with one line in the log: the index is a convenience, never a condition."""
        try:
            found = work(*arguments)
        except Exception as exc:  # whatever an embedder's library throws must not end the worker
            error = f"{type(exc).__name__}: {exc}"
            is_news = error != self._last_error and not self._stopped.is_set()  # what a closed index misses is none
            self._last_error = error
            level = logging.WARNING if is_news else logging.DEBUG
            _log.log(level, "memory index could not be brought level", extra={"error": error})
            return None
        return found

    def _go_on(self) -> bool:
        """Wait while a reply is made, yet not for ever; says whether to go on.

        What the owner changes is found meanwhile, however much of files or history is still to be embedded.
        """
        ends = time.monotonic() + LONGEST_WAIT_S
        while True:
            self._refresh_handful()
            left = ends - time.monotonic()
            if is_on_loop() or left <= 0 or self._quiet.wait(min(left, self._scan_s)):
                return not self._stopped.is_set()
