"""MemoryWriterScheduler: when memory is written. After so many turns, after so long a quiet, or on demand.

A start catches up with a talk that is over: so long after its last word that the quiet would have written it up. A
command that ends after one answer does neither: `hold`, then `write_finished_talk`. No reply waits for it. One pass at
a time; triggers that overlap collapse into one. A batch that failed is left alone for a growing while, however many
turns arrive. Built outside any event loop and usable from one after another.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import Any, TypeVar

from familiar_connect.errors import SpendingLimitError
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.withdrawal.withdrawals import Withdrawals
from familiar_connect.llm.types import capabilities_of
from familiar_connect.memory.writing.plan import MemoryWriterResult
from familiar_connect.support.aio import BackgroundTasks, off_loop
from familiar_connect.support.clock import Clock, SystemClock

T = TypeVar("T")

DEFAULT_TURN_THRESHOLD = 50
DEFAULT_IDLE_TIMEOUT_S = 1800.0
MAX_PASSES = 1_000
"""Passes of one trigger: a year's backlog, worked off at one go."""
MOST_COUNTED = 10_000
"""Turns that wait are counted no further: whoever looks wants to know whether there are many."""
LEAST_SHARE = 4
"""While people talk, fewer turns than this part of the threshold are not worth a pass of their own."""
FIRST_PAUSE_S = 60.0
MAX_PAUSE_S = 1800.0

logger = logging.getLogger(__name__)


class MemoryWriterScheduler:
    """Runs *writer* for one familiar. `writer` may be replaced at run time."""

    def __init__(
        self,
        *,
        writer: Any,
        history_store: HistoryStore,
        familiar_id: str,
        turn_threshold: int = DEFAULT_TURN_THRESHOLD,
        idle_timeout: float = DEFAULT_IDLE_TIMEOUT_S,
        calls_per_day: int = 0,
        clock: Clock | None = None,
        after_correction: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """*calls_per_day*: how many passes a model is asked for on one day; 0: as many as there is to write."""
        self.writer = writer
        self.history_store = history_store
        self.familiar_id = familiar_id
        self.turn_threshold = turn_threshold
        self.idle_timeout = idle_timeout
        self._calls_per_day = calls_per_day
        self._calls: tuple[str, int] = ("", 0)
        """A day, and how many passes a model was asked for on it."""
        self._clock = clock or SystemClock()
        self._background = BackgroundTasks("memory")
        self._withdrawals = Withdrawals(history_store, familiar_id, clock=self._clock)
        self._after_correction = after_correction
        self._is_correction_due = False
        self._started = False
        self._is_held = False
        self._looked_back = ""
        self._looked_over = ""
        self._has_written = False
        self._timer: asyncio.TimerHandle | None = None
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._heard = 0
        self._failures = 0
        self._not_before = 0.0
        self._offered = 0
        """Newest turn there was when the latest pass began."""
        self.latest_result: MemoryWriterResult | None = None
        """What the latest trigger brought about; None: nothing, or it failed."""

    # Starting and stopping

    def start(self) -> None:
        """Arm the idle timer and catch up with what was left from before."""
        self._started = True
        if _running_loop() is not None:
            self._arm(self.idle_timeout)
            self._background.start(self._sweep(), name="sweep")

    def hold(self) -> None:
        """Write nothing up by itself here; what is said waits for the next start, or for `memory write-now`."""
        self._is_held = True

    def stop(self) -> None:
        """Disarm the idle timer. A pass under way goes on; `aclose` ends it."""
        self._started = False
        self._disarm()

    @property
    def is_started(self) -> bool:
        return self._started

    @property
    def is_writing(self) -> bool:
        """Whether memory is being written up now."""
        return self._lock is not None and self._lock[1].locked()

    async def aclose(self) -> None:
        """Stop, and end what is under way; a plan half carried out is finished first."""
        self.stop()
        await self._background.aclose()

    async def wait_until_idle(self) -> None:
        """Wait until nothing is under way."""
        await self._background.wait_until_idle()

    # Triggers

    async def correct(self) -> None:
        """Take what was edited or taken back out of everything made of it. A pass under way is not waited for."""
        if getattr(self.writer, "is_passing", False):
            await self._correct()
            return
        async with self._own_lock():
            await self._correct()

    def correct_soon(self) -> None:
        """As `correct`, in the background; asked for several times before it begins, it is done once."""
        if not self._is_correction_due:
            self._is_correction_due = True
            self._background.start(self.correct(), name="correct")

    async def correct_if_changed_since(self, moment: datetime) -> None:
        """Look again at what was taken back since *moment*: something made before it is only now kept."""
        if await off_loop(self._withdrawals.reopen_since, moment):
            await self.correct()

    async def _correct(self) -> None:
        self._is_correction_due = False
        try:
            await self.writer.correct()
            if self._after_correction is not None:
                self._background.start(self._after_correction(), name="after correction")
        except Exception as error:  # isolation: the next pass tries again
            logger.error("memory could not be corrected", exc_info=error)

    async def run_alone(self, work: Callable[[], Awaitable[T]]) -> T:
        """Wait for a pass under way, and do *work* while none can begin."""
        async with self._own_lock():
            return await work()

    async def notify_turn(self) -> None:
        """A turn was stored. Returns at once; whatever it starts goes on in the background."""
        if self._is_held:
            return
        if self._started:
            self._arm(self.idle_timeout)
        self._heard += 1
        watching = self._watching
        if watching is None or watching.done() or watching.get_loop() is not asyncio.get_running_loop():
            self._watching = self._background.start(self._watch(), name="threshold")

    async def flush(self) -> MemoryWriterResult | None:
        """Wait for a pass under way, then write what remains; None when nothing did or it failed."""
        latest = await off_loop(self._latest_id)
        lock = self._own_lock()
        waited = lock.locked()
        async with lock:
            if waited and latest <= self._offered:
                return None  # the pass we waited for was given all of it
            if await self._waiting(1) == 0:
                return None
            return await self._run_up_to(latest)

    async def find_finished_talk(self) -> int:
        """The last turn of a talk that is over and waits to be written up; 0: none does, or it may still go on."""
        latest = await off_loop(self._latest_id)
        headers = await off_loop(
            self.history_store.turns_without_words, familiar_id=self.familiar_id, turn_ids=(latest,)
        )
        if latest not in headers:
            return 0
        quiet_s = (self._clock.now() - headers[latest].timestamp).total_seconds()
        return latest if quiet_s >= self.idle_timeout and await self._waiting(1) else 0

    async def write_finished_talk(self, latest: int) -> MemoryWriterResult | None:
        """Write up a talk that ended with turn *latest*, where that is cheap: made of quotes, or many turns at once.

        For a command that ends after one answer: somebody who only ever asks has a memory too, and pays for a call
        once in so many turns.
        """
        least = self.turn_threshold if _asks_model(self.writer) else 1
        if not latest or await self._waiting(least) < least:
            return None
        async with self._own_lock():
            return await self._run_up_to(latest)

    async def _watch(self) -> None:
        """Count, and run at the threshold, until no turn came in meanwhile."""
        seen = -1
        while seen != self._heard:
            seen = self._heard
            if self._clock.monotonic() < self._not_before or self._own_lock().locked():
                return
            if await self._waiting(self.turn_threshold) >= self.turn_threshold:
                # A few turns that are left over wait for the next time: the talk goes on, and each pass is a call.
                await self._run_in_background(least=max(1, self.turn_threshold // LEAST_SHARE))

    async def _on_idle(self) -> None:
        if await self._waiting(1):
            await self._run_in_background()
        await self._look_back()
        await self._look_over()

    async def _look_back(self) -> None:
        """Write the pages of the month that is over, once in a month of this process and only when nothing waits."""
        month = f"{self._clock.now():%Y-%m}"
        if month != self._looked_back and not await self._waiting(1):
            self._looked_back = month
            await self._do_chore("look_back")

    async def _look_over(self) -> None:
        """Put before the owner what is not in order: once a day, after a write-up, and only where it is quiet."""
        day = self._clock.now().date().isoformat()
        if self._has_written and day != self._looked_over and not await self._waiting(1):
            self._has_written, self._looked_over = False, day
            await self._do_chore("look_over")

    async def _do_chore(self, name: str) -> None:
        chore = getattr(self.writer, name, None)
        try:
            async with self._own_lock():
                if chore is not None:
                    await chore()
        except Exception as error:  # isolation: the next start tries again
            logger.error("a chore of memory could not be done", extra={"chore": name}, exc_info=error)

    async def _sweep(self) -> None:
        """Finish a pass that was cut short, and catch up if that many turns wait or the last talk is over."""
        try:
            async with self._own_lock():
                left = getattr(self.writer, "recover", None)
                pending = left() if callable(left) else None
                if inspect.isawaitable(pending):
                    await pending
        except Exception:  # isolation: whatever a pass dies of, the familiar goes on
            logger.exception("a memory pass that was cut short could not be finished")
        if await self._waiting(self.turn_threshold) >= self.turn_threshold or await self.find_finished_talk():
            await self._run_in_background()
        await self._look_back()

    # Running

    async def _run_in_background(self, *, least: int = 1) -> None:
        lock = self._own_lock()
        if lock.locked():
            return  # a pass is under way already
        async with lock:
            await self._run_up_to(await off_loop(self._latest_id), least=least)

    async def _run_up_to(self, latest: int, *, least: int = 1) -> MemoryWriterResult | None:
        """Pass after pass until turn *latest* is written up, fewer than *least* wait or one brings nothing.

        Their results as one.
        """
        results: list[MemoryWriterResult] = []
        self._offered = max(latest, self._offered)
        for number in range(MAX_PASSES):
            if number and await self._waiting(least) < least:
                break
            if await self._is_day_full():
                logger.info("memory is written further tomorrow", extra={"calls_per_day": self._calls_per_day})
                self._pause(0.0)
                break
            before = await off_loop(self._watermark)
            try:
                self._calls = (self._calls[0], self._calls[1] + 1)
                result = await self.writer.run()
            except SpendingLimitError as error:
                logger.info("memory is not written today", extra={"reason": str(error)})
                self._pause(0.0)
                break
            except Exception as error:  # isolation: whatever a pass dies of, the familiar goes on
                logger.error("memory pass failed", exc_info=error)
                self._pause(0.0)
                break
            results.append(result)
            self._has_written |= result.state == "written"
            after = await off_loop(self._watermark)
            if after <= before:
                self._pause(float(getattr(result, "retry_after_s", 0.0) or 0.0))
                break
            self._failures = 0
            self._not_before = 0.0
            if after >= latest:
                break
        self.latest_result = _join(results)
        return self.latest_result

    def _pause(self, asked_s: float) -> None:
        """Leave the batch alone for a while, longer each time, then try again."""
        growing = min(FIRST_PAUSE_S * 2.0**self._failures, MAX_PAUSE_S)
        pause = max(asked_s, growing)
        self._failures = min(self._failures + 1, 20)
        self._not_before = self._clock.monotonic() + pause
        if self._started:
            self._arm(pause)

    async def _is_day_full(self) -> bool:
        """Whether a model was asked as often today as it may be; what earlier runs of the program did counts."""
        if not self._calls_per_day or not _asks_model(self.writer):
            return False
        day = self._clock.now().date().isoformat()
        if self._calls[0] != day:
            runs = await off_loop(self.writer.runs.all)
            self._calls = (day, sum(str(run.get("time", "")).startswith(day) for run in runs))
        return self._calls[1] >= self._calls_per_day

    # Counting

    async def count_waiting(self, channel_id: int | None = None) -> int:
        """How many turns, of a channel or of all, are not written up yet, counted up to `MOST_COUNTED`."""
        return await self._waiting(MOST_COUNTED, channel_id)

    async def _waiting(self, most: int, channel_id: int | None = None) -> int:
        """How many turns lie past the watermark, counted up to *most*."""
        return await off_loop(
            self.history_store.watermarks.count_unwritten,
            familiar_id=self.familiar_id,
            most=most,
            channel_id=channel_id,
        )

    def _latest_id(self) -> int:
        return self.history_store.latest_id(familiar_id=self.familiar_id) or 0

    def _watermark(self) -> int:
        mark = self.history_store.get_writer_watermark(familiar_id=self.familiar_id)
        return mark.last_written_id if mark is not None else 0

    # Timer and lock, each of the loop that runs

    def _arm(self, seconds: float) -> None:
        self._disarm()
        loop = _running_loop()
        if loop is not None:
            self._timer = loop.call_later(seconds, self._expired)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        self._timer = None
        if self._started:
            self._background.start(self._on_idle(), name="idle")

    def _own_lock(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        return self._lock[1]


def _asks_model(writer: object) -> bool:
    """Whether a pass is a call: a model too small to write memory gets none."""
    return capabilities_of(getattr(writer, "llm_client", None)).side_tasks


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _join(results: list[MemoryWriterResult]) -> MemoryWriterResult | None:
    """Several passes told as one; a single one as it is. One that was put aside is not hidden by the next."""
    if len(results) <= 1:
        return results[0] if results else None
    return MemoryWriterResult(
        session_file=next((result.session_file for result in reversed(results) if result.session_file), None),
        people_files=list(dict.fromkeys(path for result in results for path in result.people_files)),
        topic_files=list(dict.fromkeys(path for result in results for path in result.topic_files)),
        turns_summarized=sum(result.turns_summarized for result in results),
        watermark_id=max(result.watermark_id for result in results),
        run_id=results[-1].run_id,
        refused=[edit for result in results for edit in result.refused],
        state="quarantined" if any(result.state == "quarantined" for result in results) else results[-1].state,
        retry_after_s=results[-1].retry_after_s,
    )
