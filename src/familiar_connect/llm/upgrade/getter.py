"""ModelGetter: downloads a model where it is not here, lets it take over, and says meanwhile how far that is.

BackgroundFetch: a model of the catalogue fetched in a thread of its own, while the program does other things.

Whoever gives up leaves what has come for the next try; the thread never keeps the program from ending.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.errors import FamiliarError
from familiar_connect.llm.local.catalogue import CatalogueModel
from familiar_connect.llm.local.fetch import fetch_model
from familiar_connect.llm.local.library import ModelLibrary
from familiar_connect.llm.local.publisher import PublisherUnreachable
from familiar_connect.llm.upgrade.describe import MEGABYTE
from familiar_connect.llm.upgrade.offers import Upgrade, UpgradeFinder
from familiar_connect.support.aio import run_to_end
from familiar_connect.support.text import describe_wait

STOP_S = 2.0
"""How long a fetch that was given up may take to end; one that waits for its server is left behind."""


class _Stopped(Exception):
    """Nobody wants the model any more."""


class BackgroundFetch:
    """One fetch of *model* to *target*; `done` and `total` say how far it is, in bytes."""

    def __init__(self, model: CatalogueModel, target: Path) -> None:
        self._model = model
        self._target = target
        self._is_stopping = threading.Event()
        self.title = model.title
        self.done = 0
        self.total = model.bytes

    async def run(self) -> None:
        """Fetch it, check its hash, and put it where it belongs; a `ModelSetupError` says why that failed."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[Exception | None] = loop.create_future()

        def end(error: Exception | None) -> None:
            if not over.done():
                over.set_result(error)

        def work() -> None:
            error: Exception | None = None
            try:
                fetch_model(self._model, self._target, progress=self._note_progress)
            except Exception as problem:  # handed to whoever waits
                error = problem
            with suppress(RuntimeError):  # the loop has closed: nobody waits any more
                loop.call_soon_threadsafe(end, error)

        threading.Thread(target=work, name="model-fetch", daemon=True).start()
        try:
            error = await asyncio.shield(over)
        except asyncio.CancelledError:
            self._is_stopping.set()
            await run_to_end(_wait(over))
            raise
        if error is not None:
            raise error

    def _note_progress(self, done: int, total: int) -> None:
        if self._is_stopping.is_set():
            raise _Stopped
        self.done, self.total = done, total


async def _wait(over: asyncio.Future[Exception | None]) -> None:
    await asyncio.wait({over}, timeout=STOP_S)


STATUS_S = 0.5


@dataclass(frozen=True, kw_only=True)
class GetProgress:
    """How far a model is."""

    text: str
    percent: int | None = None
    """Of the download; None: it is downloaded, or never had to be."""


class ModelGetter:
    """Gets one model after the other; whoever has it does not ask for two at once."""

    def __init__(
        self,
        finder: UpgradeFinder,
        *,
        home: Path,
        adopt: Callable[[Upgrade], Awaitable[None]],
        show: Callable[[GetProgress | None], None],
    ) -> None:
        """*adopt* lets a model that is here answer; *show* is told how far it is, and None when it is over.

        *finder* is told which models and publishers are of no use.
        """
        self._finder = finder
        self._library = ModelLibrary(home)
        self._adopt = adopt
        self._show = show
        self._fetch: BackgroundFetch | None = None
        self._began = 0.0
        self._had = 0
        """Bytes that were here when the download began."""

    @property
    def is_downloading(self) -> bool:
        return self._fetch is not None

    async def get(self, upgrade: Upgrade) -> None:
        """Download it, check it, let it answer. A `FamiliarError` or an `OSError` says why that failed."""
        showing = asyncio.create_task(self._show_progress(), name="model-progress")
        try:
            if upgrade.entry is not None:
                await self._download(upgrade.entry)
            self._show(GetProgress(text=f"{upgrade.title}: loading…"))
            await self._take_over(upgrade)
        except FamiliarError as error:
            if upgrade.entry is not None and is_unreachable(error):
                self._finder.note_unreachable(upgrade.entry)
            raise
        finally:
            self._fetch = None
            showing.cancel()
            self._show(None)

    async def _download(self, model: CatalogueModel) -> None:
        self._began, self._had = time.monotonic(), 0
        self._fetch = BackgroundFetch(model, self._library.path_for(model.name))
        await self._fetch.run()
        self._fetch = None

    async def _take_over(self, upgrade: Upgrade) -> None:
        try:
            await self._adopt(upgrade)
        except FamiliarError:
            self._finder.note_unusable(upgrade.name)
            raise

    async def _show_progress(self) -> None:
        while True:
            progress = self.progress()
            if progress is not None:
                self._show(progress)
            await asyncio.sleep(STATUS_S)

    def progress(self) -> GetProgress | None:
        """How far the download is; None where there is none."""
        fetch = self._fetch
        if fetch is None:
            return None
        if fetch.done >= fetch.total:
            return GetProgress(text=f"{fetch.title}: checking…")
        self._had = self._had or fetch.done
        speed = (fetch.done - self._had) / max(1e-3, time.monotonic() - self._began)
        left = f", about {describe_wait((fetch.total - fetch.done) / speed)} left" if speed > 0 else ""
        percent = fetch.done * 100 // fetch.total
        return GetProgress(
            text=f"{fetch.title}: {percent} % of {fetch.total / MEGABYTE:,.0f} MB{left}", percent=percent
        )


def is_unreachable(error: Exception) -> bool:
    """Whether a download failed because its publisher cannot be reached."""
    return isinstance(error.__cause__, PublisherUnreachable)
