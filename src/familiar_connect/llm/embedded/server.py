"""EmbeddedServer: the embedded model's server, started in the background, watched, restarted, ended.

One child process serves every slot. A native crash costs the reply it happened in; the next call
starts a new child, unless they keep dying. What the model had worked of the prompt is saved at the end
and taken up at the next start. Nothing here belongs to an event loop.

EmbeddedServers: the model servers of one familiar, one for each model file that its slots name.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from familiar_connect.config.llm import local_model_name
from familiar_connect.errors import ModelError, ModelSetupError
from familiar_connect.llm.embedded.gguf import ModelFile, read_gguf
from familiar_connect.llm.embedded.process import COMMAND, ChildProcess
from familiar_connect.llm.embedded.run_plan import RunPlan, plan_run
from familiar_connect.llm.embedded.weights import Weights, find_weights, repair_advice, require_runtime
from familiar_connect.llm.local.library import ModelLibrary
from familiar_connect.support.aio import cancel_and_wait, off_loop, run_to_end
from familiar_connect.support.no_follow import LinkRefused, make_folder, refuse_linked_path, remove_file

State = Literal["off", "starting", "ready", "failed"]

START_TIMEOUT_S = 60.0
SLOT_TIMEOUT_S = 5.0
TOKENIZE_TIMEOUT_S = 10.0
MAX_DEATHS = 3
DEATHS_WITHIN_S = 60.0
KEPT_SLOTS = 3
"""Saved prompt caches kept in one folder, tens of megabytes each."""
MAX_SLOT_BYTES = 400 << 20
"""A larger one takes longer to read than it saves, and is not kept."""

logger = logging.getLogger(__name__)


class EmbeddedServer:
    """The one local model server of a process."""

    def __init__(
        self,
        *,
        cache_dir: Path | None = None,
        cache_key: str = "",
        find: Callable[[], Weights] = find_weights,
        command: tuple[str, ...] = COMMAND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.token = secrets.token_urlsafe(24)
        """Asked of every caller, so that no other program on this machine can talk to the model."""
        self.state: State = "off"
        self.started_s: float | None = None
        """How long the last start took."""
        self.restored_tokens = 0
        """Prompt tokens taken up from the last run."""
        self._cache_dir = cache_dir
        self._cache_key = cache_key
        self._find = find
        self._command = command
        self._clock = clock
        self._lock = threading.RLock()
        self._boot: Future[ChildProcess] | None = None
        self._child: ChildProcess | None = None
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS)
        self._slot_file: Path | None = None
        self._calls = 0
        self._worked = False
        self._users = 0
        self._ahead: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None

    # Starting

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        child = self._child
        return child.pid if child is not None and child.is_alive else None

    def start_in_background(self) -> None:
        """Begin to start, unless it runs or is starting already. Returns at once, inside a loop or outside."""
        with self._lock:
            if self._boot is not None and not self._is_lost(self._boot):
                return
            boot: Future[ChildProcess] = Future()
            self._boot = boot
            self.state, self.started_s = "starting", None
            threading.Thread(target=self._start, args=(boot,), name="embedded-model-start", daemon=True).start()

    async def ready(self) -> str:
        """The address, once the server listens; starts it if need be."""
        self.start_in_background()
        boot = self._boot
        if boot is None:
            raise _closed()
        await _until_done(boot)
        return boot.result().address

    def _is_lost(self, boot: Future[ChildProcess]) -> bool:
        """Whether *boot* came to nothing or its child has died since."""
        if not boot.done():
            return False
        if boot.exception() is not None:
            return True
        child = boot.result()
        if child.is_alive:
            return False
        logger.warning("The embedded model's process ended by itself", extra={"pid": child.pid})
        self._deaths.append(self._clock())
        return True

    def _start(self, boot: Future[ChildProcess]) -> None:
        began = self._clock()
        try:
            child = self._launch(boot)
        except Exception as error:  # handed to whoever waits for the server
            with self._lock:
                if self._boot is boot:
                    self.state = "failed"
            boot.set_exception(error)
            return
        with self._lock:
            if self._boot is boot:
                self.state, self.started_s = "ready", self._clock() - began
        logger.info("The embedded model is ready", extra={"pid": child.pid, "restored_tokens": self.restored_tokens})
        boot.set_result(child)

    def _launch(self, boot: Future[ChildProcess]) -> ChildProcess:
        self._refuse_if_dying()
        weights = self._find()
        with self._lock:
            if self._boot is not boot:
                raise _closed()
            lost, self._child = self._child, None
        if lost is not None:
            lost.end()
        child = ChildProcess(self._settings(weights), self._command, label=weights.label, advice=weights.advice)
        with self._lock:
            wanted = self._boot is boot
            if wanted:
                self._child = child
        try:
            if not wanted:
                raise _closed()
            child.wait_ready(START_TIMEOUT_S + weights.start_s)
            self._take_up_slot(child, weights, boot)
            if not child.is_alive:
                raise ModelError("The embedded model stopped while it started.", retryable=True)
        except Exception as error:
            child.end(grace_s=0.5)
            with self._lock:
                if self._boot is not boot:
                    raise _closed() from error
                self._deaths.append(self._clock())
            raise
        return child

    def _refuse_if_dying(self) -> None:
        recent = [at for at in self._deaths if self._clock() - at < DEATHS_WITHIN_S]
        if len(recent) >= MAX_DEATHS:
            often = f"stopped {MAX_DEATHS} times within a minute and is left alone for now"
            raise ModelSetupError(f"The embedded model {often}: {repair_advice()}")

    def _settings(self, weights: Weights) -> dict[str, Any]:
        if self._cache_dir is not None:
            make_folder(self._cache_dir)
        return {
            **weights.run_settings,
            "token": self.token,
            "cache_dir": str(self._cache_dir) if self._cache_dir is not None else "",
        }

    # The prompt cache between runs

    def _take_up_slot(self, child: ChildProcess, weights: Weights, boot: Future[ChildProcess]) -> None:
        self.restored_tokens, self._worked = 0, False
        if self._cache_dir is None:
            return
        self._slot_file = self._cache_dir / weights.cache_name(self._cache_key)
        if not self._slot_file.exists():
            return
        try:
            refuse_linked_path(self._slot_file)
            answer = child.post("/slots/0?action=restore", {"filename": self._slot_file.name}, SLOT_TIMEOUT_S)
            self.restored_tokens = int(answer.get("n_restored", 0))
        except LinkRefused as error:
            logger.warning("The saved prompt cache is not used", extra={"reason": str(error)})
            self._slot_file = None
        except ModelError:
            with self._lock:
                if self._boot is not boot:
                    raise  # closed meanwhile: nothing is wrong with the file
            logger.warning("The saved prompt cache could not be read and was dropped")
            with suppress(OSError):
                remove_file(self._slot_file)

    def _save_slot(self, child: ChildProcess) -> None:
        if self._slot_file is None or not self._worked or not child.is_alive:
            return
        half = self._slot_file.with_suffix(".half")
        try:
            remove_file(half)
            refuse_linked_path(self._slot_file)
            child.post("/slots/0?action=save", {"filename": half.name}, SLOT_TIMEOUT_S)
            if half.stat().st_size > MAX_SLOT_BYTES:
                half.unlink()
                return
            os.replace(half, self._slot_file)
            slots = sorted(self._slot_file.parent.glob("*.slot"), key=lambda file: file.stat().st_mtime)
            for old in slots[:-KEPT_SLOTS]:
                remove_file(old)
        except (ModelError, OSError) as error:
            reason = {"reason": str(error)}
            logger.warning("The prompt cache could not be saved; the next start takes longer", extra=reason)
            with suppress(OSError):
                remove_file(half)

    # Work

    @contextmanager
    def call(self) -> Iterator[None]:
        """A real call is running: no work ahead is begun meanwhile."""
        with self._lock:
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                self._worked = True

    async def run_when_idle(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run *work* while nobody needs the model. False when a real call was there or came first."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._calls or self._ahead is not None:
                work.close()
                return False
            task = loop.create_task(work, name="embedded-model-work-ahead")
            self._ahead = (loop, task)
        try:
            await asyncio.wait({task})
        finally:
            with self._lock:
                self._ahead = None
            if not task.done():
                await cancel_and_wait(task)
        if task.cancelled():
            return False
        task.result()
        self._worked = True
        return True

    async def cancel_idle_work(self) -> None:
        """Give way to a real call: end work done ahead, if there is any."""
        with self._lock:
            ahead = self._ahead
        if ahead is None:
            return
        loop, task = ahead
        if loop is not asyncio.get_running_loop():
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)
        elif task is not asyncio.current_task():
            task.cancel()
            await asyncio.wait({task}, timeout=1.0)

    async def tokenize_count(self, text: str) -> int:
        """How many tokens *text* is to the embedded model, exactly."""
        await self.ready()
        child = self._child
        if child is None:
            raise _closed()
        answer = await off_loop(child.post, "/tokenize", {"content": text}, TOKENIZE_TIMEOUT_S)
        return len(answer.get("tokens", ()))

    # Ending

    def retain(self) -> None:
        """One more client uses this server."""
        with self._lock:
            self._users += 1

    async def release(self) -> None:
        """One client less; the last one ends the server."""
        with self._lock:
            self._users = max(0, self._users - 1)
            last = self._users == 0
        if last:
            await self.aclose()

    async def aclose(self) -> None:
        """Save the prompt cache and end the child. A later call starts it again."""
        await self.cancel_idle_work()
        await run_to_end(off_loop(self.close))

    def close(self) -> None:
        """The same, blocking, for code outside a loop."""
        with self._lock:
            boot, self._boot = self._boot, None
            child, self._child = self._child, None
            self.state = "off"
        if child is None:
            return
        if boot is not None and boot.done() and boot.exception() is None:
            self._save_slot(child)
        child.end()


async def _until_done(boot: Future[ChildProcess]) -> None:
    """Wait for *boot* to end. Whoever gives up neither ends it nor hears how it ended."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def wake(_: Future[ChildProcess]) -> None:
        with suppress(RuntimeError):  # the loop has closed: nobody waits any more
            loop.call_soon_threadsafe(over.set)

    if not boot.done():
        boot.add_done_callback(wake)
        await over.wait()


def _closed() -> ModelError:
    return ModelError("The embedded model was closed while it started.", retryable=True)


@dataclass(frozen=True, kw_only=True)
class LocalModel:
    """A model file, how it is run here, and its server."""

    file: ModelFile
    plan: RunPlan
    server: EmbeddedServer


class EmbeddedServers:
    """Servers by model; every slot that names the same model shares one. Without a home only the default is known."""

    def __init__(self, *, home: Path | None = None, cache_dir: Path | None = None, cache_key: str = "") -> None:
        self._library = ModelLibrary(home)
        self._cache_dir = cache_dir
        self._cache_key = cache_key
        self._local: dict[str, LocalModel] = {}
        find = partial(find_weights, home)
        self.default = EmbeddedServer(cache_dir=cache_dir, cache_key=cache_key, find=find)
        """Server of the small model that comes with the program."""

    def local(self, model_id: str, *, window: int | None = None) -> LocalModel:
        """The model behind `embedded:NAME`; a `ModelSetupError` says why it cannot run here.

        *window* is the one the owner asks for; the first slot that names the model decides.
        """
        name = local_model_name(model_id) or ""
        found = self._local.get(name)
        if found is None:
            path = self._library.file_of(name)
            found = open_model_file(name, path, window=window, cache_dir=self._cache_dir, cache_key=self._cache_key)
            self._local[name] = found
        return found

    def server_for(self, model_id: str) -> EmbeddedServer:
        """The server of a model that runs inside the program."""
        return self.default if local_model_name(model_id) is None else self.local(model_id).server


def open_model_file(
    name: str, path: Path, *, window: int | None = None, cache_dir: Path | None = None, cache_key: str = ""
) -> LocalModel:
    """The model file at *path*, ready to be started; a `ModelSetupError` says why it cannot run here."""
    require_runtime()
    file = read_gguf(path)
    plan = plan_run(replace(file, title=name), asked_window=window)
    weights = Weights.of_file(name, file, plan)
    server = EmbeddedServer(cache_dir=cache_dir, cache_key=cache_key, find=lambda: weights)
    return LocalModel(file=file, plan=plan, server=server)
