"""When memory is written: at the threshold, after a quiet, on demand; never in the way of a reply."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.memory.scheduler import MemoryWriterScheduler
from familiar_connect.memory.writer import MemoryWriterResult
from familiar_connect.support.clock import ManualClock
from tests.fakes.writer_setup import ALICE, EVENING, FAMILIAR, WriterSetup, writer_answer


class Desk:
    """A writer that notes its passes; `gate` holds them, `batch` says how much one takes, `fails` what it dies of."""

    def __init__(self, history: HistoryStore) -> None:
        self.history = history
        self.passes = 0
        self.recovered = 0
        self.began = asyncio.Condition()
        self.gate: asyncio.Event | None = None
        self.batch: int | None = None
        self.fails: Exception | None = None
        self.moves = True

    async def recover(self) -> None:
        self.recovered += 1

    async def run(self) -> MemoryWriterResult:
        waiting = self.history.turns_since_watermark(familiar_id=FAMILIAR)[: self.batch]
        async with self.began:
            self.passes += 1
            self.began.notify_all()
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        if self.moves and waiting:
            self.history.put_writer_watermark(familiar_id=FAMILIAR, last_written_id=waiting[-1].id)
        return MemoryWriterResult(turns_summarized=len(waiting), watermark_id=waiting[-1].id if waiting else 0)

    async def until(self, passes: int) -> None:
        async with self.began:
            await asyncio.wait_for(timeout=100, fut=self.began.wait_for(lambda: self.passes >= passes))


class Office:
    """A scheduler with its desk, a history and a clock wound by hand."""

    def __init__(self) -> None:
        self.history = HistoryStore(":memory:")
        self.clock = ManualClock(EVENING)
        self.desk = Desk(self.history)
        self.schedulers: list[MemoryWriterScheduler] = []

    def scheduler(self, **settings: Any) -> MemoryWriterScheduler:
        facts = {"writer": self.desk, "history_store": self.history, "familiar_id": FAMILIAR, "clock": self.clock}
        self.schedulers.append(MemoryWriterScheduler(**{**facts, **settings}))
        return self.schedulers[-1]

    def hear(self, count: int = 1) -> None:
        for _ in range(count):
            self.history.append_turn(familiar_id=FAMILIAR, channel_id=1, role="user", content="hi", author=ALICE)

    async def settle(self) -> None:
        for scheduler in self.schedulers:
            await asyncio.wait_for(timeout=100, fut=scheduler.wait_until_idle())


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    made = Office()
    yield made
    for scheduler in made.schedulers:
        await scheduler.aclose()
    made.history.close()


def test_defaults_and_no_loop() -> None:
    """Built outside a loop, with the promised numbers; starting and stopping there does no harm."""
    history = HistoryStore(":memory:")
    scheduler = MemoryWriterScheduler(writer=None, history_store=history, familiar_id=FAMILIAR)
    scheduler.start()
    scheduler.stop()
    history.close()

    assert (scheduler.turn_threshold, scheduler.idle_timeout) == (50, 1800.0)


async def test_the_threshold_starts_a_pass(office: Office) -> None:
    """At the turn that reaches it, not before."""
    scheduler = office.scheduler(turn_threshold=3)
    for _ in range(2):
        office.hear()
        await scheduler.notify_turn()
    await office.settle()
    early = office.desk.passes
    office.hear()
    await scheduler.notify_turn()
    await office.settle()

    assert (early, office.desk.passes) == (0, 1)


async def test_a_turn_never_waits_for_a_pass(office: Office) -> None:
    """The notice returns while the pass is still going on."""
    office.desk.gate = asyncio.Event()
    scheduler = office.scheduler(turn_threshold=1)
    office.hear()
    await asyncio.wait_for(timeout=60, fut=scheduler.notify_turn())
    await office.desk.until(1)
    await asyncio.wait_for(timeout=60, fut=scheduler.notify_turn())
    office.desk.gate.set()
    await office.settle()

    assert office.desk.passes == 1


async def test_overlapping_triggers_collapse(office: Office) -> None:
    """Turns that arrive during a pass start no second one beside it."""
    office.desk.gate = asyncio.Event()
    office.desk.moves = False
    scheduler = office.scheduler(turn_threshold=1)
    for _ in range(5):
        office.hear()
        await scheduler.notify_turn()
    await office.desk.until(1)
    for _ in range(5):
        await scheduler.notify_turn()
    office.desk.gate.set()
    await office.settle()

    assert office.desk.passes == 1


async def test_turns_heard_during_a_pass_are_not_forgotten(office: Office) -> None:
    """When enough came in meanwhile, the next pass follows at once."""
    office.desk.gate = asyncio.Event()
    scheduler = office.scheduler(turn_threshold=2)
    office.hear(2)
    await scheduler.notify_turn()
    await office.desk.until(1)
    office.hear(2)
    await scheduler.notify_turn()
    office.desk.gate.set()
    await office.settle()

    assert office.desk.passes == 2


async def test_quiet_starts_a_pass_only_if_something_waits(office: Office) -> None:
    """The idle timer looks before it runs."""
    scheduler = office.scheduler(idle_timeout=0.01)
    scheduler.start()
    scheduler._expired()
    await office.settle()
    empty = office.desk.passes
    office.hear()
    await scheduler.notify_turn()
    await office.desk.until(1)

    assert empty == 0


async def test_each_turn_winds_the_timer_anew(office: Office) -> None:
    """And a stopped scheduler has none."""
    scheduler = office.scheduler(idle_timeout=100)
    scheduler.start()
    first = scheduler._timer
    await scheduler.notify_turn()
    second = scheduler._timer
    scheduler.stop()

    assert first is not None
    assert first.cancelled()
    assert second is not first
    assert scheduler._timer is None


async def test_start_finishes_what_was_cut_short_and_catches_up_if_due(office: Office) -> None:
    """At once when enough turns wait, else by the timer."""
    office.hear(3)
    few = office.scheduler(turn_threshold=10)
    few.start()
    await office.settle()
    before = (office.desk.recovered, office.desk.passes)
    due = office.scheduler(turn_threshold=3)
    due.start()
    await office.settle()

    assert before == (1, 0)
    assert (office.desk.recovered, office.desk.passes) == (2, 1)


@pytest.mark.parametrize(("quiet_s", "passes"), [(1799, 0), (1800, 1)])
async def test_a_start_writes_up_a_talk_that_is_over(office: Office, quiet_s: float, passes: int) -> None:
    """Few as its turns are, once its last word is so long ago that the quiet would have written it up."""
    said = office.clock.now() - timedelta(seconds=quiet_s)
    office.history.append_turn(
        familiar_id=FAMILIAR, channel_id=1, role="user", content="hi", author=ALICE, timestamp=said
    )
    scheduler = office.scheduler()
    scheduler.start()
    await office.settle()

    assert office.desk.passes == passes


async def test_held_back_it_writes_nothing_by_itself(office: Office) -> None:
    """However many turns arrive; a talk that was over before is written up on demand, and its model asked seldom."""
    scheduler = office.scheduler(turn_threshold=2)
    scheduler.hold()
    office.hear(3)
    await scheduler.notify_turn()
    await office.settle()
    by_itself = office.desk.passes
    office.clock.advance(10**9)
    latest = await scheduler.find_finished_talk()
    scheduler.turn_threshold = 4
    few = await scheduler.write_finished_talk(latest)
    scheduler.turn_threshold = 3
    many = await scheduler.write_finished_talk(latest)

    assert (by_itself, few, office.desk.passes) == (0, None, 1)
    assert many is not None


async def test_flush_writes_what_remains(office: Office) -> None:
    """And says what it did; nothing left gives None."""
    scheduler = office.scheduler()
    office.hear(3)
    first = await scheduler.flush()
    second = await scheduler.flush()

    assert first is not None
    assert first.turns_summarized == 3
    assert second is None
    assert office.desk.passes == 1


async def test_flush_works_off_a_long_backlog(office: Office) -> None:
    """Batch after batch, told as one result."""
    office.desk.batch = 2
    office.hear(5)
    result = await office.scheduler().flush()

    assert result is not None
    assert (result.turns_summarized, result.watermark_id, office.desk.passes) == (5, 5, 3)


async def test_flush_waits_for_a_pass_under_way_then_writes_the_rest(office: Office) -> None:
    """Turns that came too late for the pass are written by the flush."""
    office.desk.gate = asyncio.Event()
    scheduler = office.scheduler(turn_threshold=2)
    office.hear(2)
    await scheduler.notify_turn()
    await office.desk.until(1)
    office.hear(1)
    flushing = asyncio.create_task(scheduler.flush())
    await asyncio.wait({flushing}, timeout=0.05)
    waited = not flushing.done()
    office.desk.gate.set()
    result = await flushing

    assert waited
    assert result is not None
    assert (result.turns_summarized, office.desk.passes) == (1, 2)


@pytest.mark.parametrize("moves", [True, False])
async def test_of_two_flushes_at_once_one_gets_the_result(office: Office, moves: bool) -> None:
    """Even when the pass brought nothing forward."""
    office.desk.moves = moves
    scheduler = office.scheduler()
    office.hear(3)
    results = await asyncio.gather(scheduler.flush(), scheduler.flush())

    assert [result is None for result in results].count(False) == 1
    assert office.desk.passes == 1


async def test_a_failing_pass_is_logged_and_gives_none(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever it dies of."""
    office.desk.fails = RuntimeError("no model")
    office.hear()

    assert await office.scheduler().flush() is None
    assert [record.levelno for record in caplog.records if record.message == "memory pass failed"] == [logging.ERROR]


@pytest.mark.parametrize(
    "spoil", [lambda desk: setattr(desk, "fails", OSError()), lambda d: setattr(d, "moves", False)]
)
async def test_a_failing_batch_is_not_tried_on_every_turn(office: Office, spoil: Callable[[Desk], None]) -> None:
    """Only after a pause, and after a longer one the next time."""
    spoil(office.desk)
    scheduler = office.scheduler(turn_threshold=1)
    passes = []
    for wait in (0, 0, 61, 61, 60):
        office.clock.advance(wait)
        office.hear()
        await scheduler.notify_turn()
        await office.settle()
        passes.append(office.desk.passes)

    assert passes == [1, 1, 2, 2, 3]


async def test_the_pause_a_writer_asks_for_is_kept(office: Office) -> None:
    """An answer that could not be understood is tried again when the writer says."""

    class Patient(Desk):
        async def run(self) -> MemoryWriterResult:
            self.passes += 1
            return MemoryWriterResult(state="unparsed", retry_after_s=300)

    office.desk = Patient(office.history)
    scheduler = office.scheduler(turn_threshold=1)
    office.hear()
    await scheduler.notify_turn()
    await office.settle()
    office.clock.advance(299)
    await scheduler.notify_turn()
    await office.settle()
    early = office.desk.passes
    office.clock.advance(2)
    await scheduler.notify_turn()
    await office.settle()

    assert (early, office.desk.passes) == (1, 2)


async def test_a_writer_may_be_replaced(office: Office) -> None:
    """Looked up when called."""
    scheduler = office.scheduler()
    other = Desk(office.history)
    scheduler.writer = other
    office.hear()
    await scheduler.flush()

    assert (office.desk.passes, other.passes) == (0, 1)


async def test_a_flush_can_be_cut_off(office: Office) -> None:
    """Shutdown waits no longer than it wants to; the next flush is free."""
    office.desk.gate = asyncio.Event()
    scheduler = office.scheduler()
    office.hear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(timeout=0.05, fut=scheduler.flush())
    office.desk.gate.set()

    assert await asyncio.wait_for(timeout=100, fut=scheduler.flush()) is not None


def test_successive_loops() -> None:
    """A timer left by a closed loop is cancelled without error; the next loop starts afresh."""
    office = Office()
    scheduler = office.scheduler(turn_threshold=1)

    async def once() -> None:
        scheduler.start()
        office.hear()
        await scheduler.flush()  # the sweep of the start may have been quicker: either way it is written

    asyncio.run(once())
    asyncio.run(once())
    scheduler.stop()

    assert office.history.turns_since_watermark(familiar_id=FAMILIAR) == []
    office.history.close()


async def test_with_a_real_writer_a_conversation_becomes_memory(tmp_path: Any) -> None:
    """Turns, threshold, model, files, watermark."""
    table = WriterSetup(tmp_path)
    writer = table.writer(ScriptedModel([writer_answer("Alice said hi.")]))
    scheduler = MemoryWriterScheduler(
        writer=writer, history_store=table.history, familiar_id=FAMILIAR, turn_threshold=2
    )
    scheduler.start()
    for words in ("hi", "hello?"):
        table.say((ALICE, words))
        await scheduler.notify_turn()
    await scheduler.wait_until_idle()
    await scheduler.aclose()

    assert table.watermark == 2
    assert "Alice said hi." in table.read("sessions/2026-04-07-evening.md")
