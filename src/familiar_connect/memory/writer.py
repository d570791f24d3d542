"""MemoryWriter: writes up what was said as memory files.

One pass reads a bounded batch of turns past the watermark, all said to one audience, asks the side model
once, and lets code decide what of the answer is written. The plan is on disk before the first file changes
and until the watermark has moved, so a process killed anywhere leaves work that the next one finishes, once.
An answer that cannot be understood is tried again by later passes; when attempts are spent the batch is put
aside under `sessions/.pending/`, reported, what people told about themselves is quoted in their files, and the world
goes on. A model too small to write gets no call: its memory is made of quotes.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from zoneinfo import ZoneInfo

from familiar_connect.audience import Audience, parse_audience
from familiar_connect.errors import MemoryStoreError, ModelError
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.llm.protocols import SideModel
from familiar_connect.llm.types import Message, capabilities_of
from familiar_connect.memory.maintenance.daily_check import DailyCheck
from familiar_connect.memory.note_paths import is_archive
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.people import may_name_publicly, rebuild_aliases
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance
from familiar_connect.memory.withdrawal.withdraw_turns import TurnWithdrawal
from familiar_connect.memory.writing.apply import ApplyResult, apply_plan, no_step
from familiar_connect.memory.writing.batch import Batch, Bounds, authors_of, cut_batch, with_places
from familiar_connect.memory.writing.journal import (
    Attempts,
    Entry,
    Journal,
    RunLog,
    new_run_id,
    quarantine_plan,
    read_quarantined,
    remove_quarantined,
    writer_lock,
)
from familiar_connect.memory.writing.look_back import LookBack
from familiar_connect.memory.writing.look_up import ask_with_look_up, can_look_up
from familiar_connect.memory.writing.plan import MemoryWriterResult as MemoryWriterResult
from familiar_connect.memory.writing.plan import Plan, Proposals, WriterRun, question_plan
from familiar_connect.memory.writing.plan_edits import (
    find_people_left_out,
    interpret_reply,
    plan_floor,
    plan_from_answer,
    plan_from_transcript,
)
from familiar_connect.memory.writing.prompt import build_messages, fence_found, read_material, visible_to
from familiar_connect.support.aio import off_loop, run_to_end
from familiar_connect.support.clock import Clock, SystemClock

MAX_ATTEMPTS = 3
FIRST_PAUSE_S = 60.0
PAUSE_GROWTH = 5.0
MODEL_TIMEOUT_S = 900.0
"""A model on one's own processor reads a long prompt for minutes."""
MAX_TURNS_RECALLED = 1_000
MAX_RENEWALS = 5
"""How often a pass is made anew because something it was made of was taken back meanwhile."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class WriterOptions:
    """How a writer works, beside what it works on."""

    review: bool = False
    """Plans wait for the owner instead of being carried out."""
    bounds: Bounds = Bounds()
    timeout_s: float = MODEL_TIMEOUT_S
    max_attempts: int = MAX_ATTEMPTS
    """Answers that are not understood before a batch is put aside."""
    step: Callable[[str], None] = no_step
    """Told the name of each step once it is done."""
    withdrawal: TurnWithdrawal | None = None
    """Takes what was taken back out of everything made of it; None: out of memory alone."""


class MemoryWriter:
    """Writes the memory of one familiar."""

    def __init__(
        self,
        *,
        memory_store: MemoryStore,
        history_store: HistoryStore,
        llm_client: SideModel,
        familiar_id: str,
        channel_context_lookup: Callable[[int], str] | None = None,
        clock: Clock | None = None,
        zone: tzinfo | str | None = None,
        pending: Proposals | None = None,
        privacy: Privacy = EVERYTHING_ALLOWED,
        options: WriterOptions | None = None,
    ) -> None:
        options = options or WriterOptions()
        if options.review and pending is None:
            raise ValueError("review mode needs `pending`, a place where proposals wait")
        self.memory_store = memory_store
        self.history_store = history_store
        self.llm_client = llm_client
        self.familiar_id = familiar_id
        self.channel_context_lookup = channel_context_lookup
        self.review = options.review
        self.pending = pending
        self.privacy = privacy
        self._clock = clock or SystemClock()
        self._zone = ZoneInfo(zone) if isinstance(zone, str) and zone != "UTC" else zone
        self._bounds = options.bounds
        self._timeout_s = options.timeout_s
        self._max_attempts = options.max_attempts
        self._step = options.step
        audit = memory_store.audit
        self._folder = audit.folder if audit is not None else None
        self._provenance = Provenance(audit.folder) if audit is not None else None
        self._audiences = PartAudiences(memory_store, history_store, familiar_id=familiar_id, privacy=privacy)
        self.withdrawal = options.withdrawal or TurnWithdrawal(
            memory_store, history_store, familiar_id, clock=self._clock, privacy=privacy
        )
        self._months = LookBack(memory_store, familiar_id=familiar_id)
        self._check = DailyCheck(memory_store, familiar_id=familiar_id, audiences=self._audiences)
        self._journal = Journal(self._folder or memory_store.root / ".writing", transient=audit is None)
        self._attempts = Attempts(self._folder)
        self.runs = RunLog(self._folder)
        self._locks: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}
        self._files = threading.Lock()
        """Held while files change: taking back does not wait for a model."""
        self.is_passing = False

    @property
    def zone(self) -> tzinfo:
        return self._zone if isinstance(self._zone, tzinfo) else UTC

    async def run(self) -> MemoryWriterResult:
        """Finish what an ended process left, then write up the next batch.

        A failing model or disk is raised; the watermark stays where it was.
        """
        async with self._alone():
            recovered = await self._recover()
            self.is_passing = True
            try:
                result = await self._pass_until_level()
            finally:
                self.is_passing = False
        return recovered if recovered is not None and result.state == "nothing" else result

    async def correct(self) -> list[str]:
        """Take what was edited or taken back since out of everything made of it; the files that changed.

        A pass that waits for its model goes on; what it makes of such words is not written.
        """
        if self.is_passing:
            return await off_loop(self._withdraw)
        async with self._alone():
            await self._recover()
            return await off_loop(self._withdraw)

    async def look_back(self) -> list[str]:
        """Write the pages that lack of the last month, or put them before the owner; the files that were written."""
        owner = self.pending if self.review else None
        return await self._do_chore(lambda now: self._months.carry_out(now, owner))

    async def look_over(self) -> list[str]:
        """Put before the owner, once a day, what is not in order in memory; the proposals."""
        return await self._do_chore(self._check.carry_out) if self.pending is not None else []

    async def _do_chore(self, chore: Callable[[datetime], list[str]]) -> list[str]:
        async with self._alone():
            await off_loop(self._withdraw)
            return await run_to_end(off_loop(chore, self._clock.now().astimezone(self.zone)))

    async def recover(self) -> MemoryWriterResult | None:
        """Finish what an ended process left; None when it left nothing."""
        async with self._alone():
            return await self._recover()

    async def replay(self, run_id: str) -> MemoryWriterResult:
        """Try a batch that was put aside once more; on success its pages under `sessions/.pending/` go."""
        async with self._alone():
            turns = await off_loop(self._turns_between, *await off_loop(read_quarantined, self.memory_store, run_id))
            result = MemoryWriterResult()
            for audience in dict.fromkeys(turn.audience for turn in turns):
                left = [turn for turn in turns if turn.audience == audience]
                while (batch := await off_loop(self._cut, left)) is not None:
                    left = [turn for turn in left if turn.id > batch.turn_range[1]]
                    if not batch.turns:
                        continue
                    result = await self._write_up(batch, counted=False)
                    if result.state not in ("written", "proposed"):
                        return result
            if result.run_id is not None:
                await off_loop(remove_quarantined, self.memory_store, run_id)
            return result

    # One pass

    async def _pass_until_level(self) -> MemoryWriterResult:
        """One pass; made anew where something it was made of was taken back meanwhile."""
        for _ in range(MAX_RENEWALS):
            result = await self._pass()
            await off_loop(self._withdraw)
            if result.state != "outdated":
                break
        return result

    async def _pass(self) -> MemoryWriterResult:
        await off_loop(self._withdraw)
        turns = await off_loop(
            self.history_store.watermarks.next_unwritten,
            familiar_id=self.familiar_id,
            limit=self._fitting_bounds().turns,
        )
        batch = await off_loop(self._cut, turns)
        self._step("turns read")
        if batch is None:
            return MemoryWriterResult()
        if not batch.turns:
            await off_loop(self._advance, batch.turn_range, batch.audience)
            return MemoryWriterResult(watermark_id=batch.turn_range[1], state="skipped")
        return await self._write_up(batch)

    def _withdraw(self) -> list[str]:
        with self._files:
            return self.withdrawal.carry_out().files

    def _cut(self, turns: list[HistoryTurn]) -> Batch | None:
        batch = cut_batch(
            turns,
            zone=self.zone,
            bounds=self._fitting_bounds(),
            label_of=self.channel_context_lookup,
            privacy=self.privacy,
        )
        if batch is None:
            return None
        said_to = batch.audience
        return with_places(batch, lambda base: self._audiences.choose_path(base, said_to))

    def _fitting_bounds(self) -> Bounds:
        if not self._writes_prose():
            return replace(self._bounds, turns=self._bounds.quoted_turns)
        return self._bounds.within(capabilities_of(self.llm_client).window)

    def _writes_prose(self) -> bool:
        """Whether the side model is strong enough to be asked; a client that does not say so is."""
        return capabilities_of(self.llm_client).side_tasks

    async def _write_up(self, batch: Batch, *, counted: bool = True) -> MemoryWriterResult:
        now = self._clock.now()
        level = await off_loop(self.withdrawal.rows.newest_change)
        prompt: list[Message] = []
        run = WriterRun(run_id=new_run_id(self._clock), familiar_id=self.familiar_id, now=now.astimezone(self.zone))
        if not self._writes_prose():
            plan = await off_loop(plan_from_transcript, self.memory_store, batch, run)
        else:
            bounds = self._fitting_bounds()
            material = await off_loop(
                read_material, self.memory_store, batch, self.familiar_id, bounds, self._audiences
            )
            build = partial(build_messages, batch, material, bounds)
            memory = visible_to(self._audiences, batch) if can_look_up(self.llm_client) else None
            reply, prompt = await ask_with_look_up(self._ask, build, memory, fence_found)
            self._step("model answered")
            answer = await off_loop(interpret_reply, reply, material.name)
            if isinstance(answer, str):
                return await run_to_end(off_loop(self._failed, batch, run, answer, reply or "", counted))
            plan = await off_loop(plan_from_answer, self.memory_store, batch, material, answer, run)
            left_out = await off_loop(find_people_left_out, self.memory_store, batch, plan)
            if left_out:
                reason = f"nothing could be written of {len(left_out)} who told about themselves"
                return await run_to_end(off_loop(self._failed, batch, run, reason, reply or "", counted))
        self._step("decided")
        entry = Entry(plan=plan, proposed=self.review, again=not counted)
        made_of = [*(message.content for message in prompt), *(turn.content for turn in batch.turns)]
        result = await run_to_end(off_loop(self._carry_out_unless_outdated, entry, batch.authors, level, made_of))
        result.turns_summarized = len(batch.turns) if result.state != "outdated" else 0
        return result

    def _carry_out_unless_outdated(
        self, entry: Entry, authors: tuple[Author, ...], level: int, made_of: list[str]
    ) -> MemoryWriterResult:
        """Carry the plan out, unless something of the texts *made_of* was taken back since the change *level*."""
        with self._files:
            if self.withdrawal.is_outdated(level, made_of):
                logger.info("a memory pass is made anew: something it was made of was taken back")
                return MemoryWriterResult(run_id=entry.plan.run_id, state="outdated")
            return self._carry_out(entry, authors)

    async def _ask(self, prompt: list[Message]) -> str | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                reply = await self.llm_client.chat(prompt)
        except TimeoutError:
            raise ModelError("The model that writes memory was silent for too long.", retryable=True) from None
        content: str | None = getattr(reply, "content", None)
        return content if isinstance(content, str) else None

    def _failed(self, batch: Batch, run: WriterRun, reason: str, reply: str, counted: bool) -> MemoryWriterResult:
        """Count an answer that was none; after the last attempt, put the batch aside."""
        if not counted:
            return MemoryWriterResult(run_id=run.run_id, state="unparsed")
        failed = self._attempts.add(batch.turn_range[0], run.now, reason, reply)
        tries = len(failed.failures)
        facts = {"run": run.run_id, "attempt": tries, "reason": reason, "turns": batch.turn_range}
        if tries < self._max_attempts:
            logger.warning("memory writer got no usable answer; it will try again", extra=facts)
            pause = FIRST_PAUSE_S * PAUSE_GROWTH ** (tries - 1)
            return MemoryWriterResult(run_id=run.run_id, state="unparsed", retry_after_s=pause)
        logger.error("memory writer gave up on a batch and put it aside", extra=facts)
        plan = quarantine_plan(batch, failed, run_id=run.run_id, familiar_id=self.familiar_id, now=run.now)
        if not self.review:
            floor = plan_floor(self.memory_store, batch, run)
            plan = replace(plan, writes=(*plan.writes, *floor.writes))
        return self._carry_out(Entry(plan=plan, quarantine=True), ())

    # From a plan to files and watermark, in one thread

    def _carry_out(self, entry: Entry, authors: tuple[Author, ...], *, journaled: bool = False) -> MemoryWriterResult:
        try:
            if not journaled:
                self._step("journal: before")
                self._journal.write(entry)
                self._step("journal: written")
            applied = ApplyResult() if journaled and self._was_finished(entry) else self._apply(entry, authors)
            self._attempts.clear()
            result = self._result(entry, applied)
            self.runs.add(entry.plan, state=result.state, written=applied.written, refused=tuple(result.refused))
            self._step("run noted")
            self._journal.clear()
            self._step("journal: cleared")
        except OSError as error:
            why = (error.strerror or type(error).__name__).lower()
            raise MemoryStoreError(f"a memory pass could not be finished and will be taken up again: {why}") from error
        self._report(result)
        return result

    def _apply(self, entry: Entry, authors: tuple[Author, ...]) -> ApplyResult:
        """The plan in the files (or before the owner), then the watermark."""
        plan = entry.plan
        if entry.proposed and self.pending is not None:
            self.pending.propose(plan)
            self._step("proposed")
            applied = ApplyResult()
        else:
            applied = apply_plan(self.memory_store, plan, provenance=self._provenance, step=self._step)
            if not entry.quarantine:
                named = authors if may_name_publicly(plan.audience) else ()
                rebuild_aliases(self.memory_store, named, run_id=plan.run_id, turn_range=plan.turn_range)
            self._step("aliases rebuilt")
        self._ask_owner(plan)
        self._advance(plan.turn_range, parse_audience(plan.audience) if plan.audience else None)
        self._step("watermark moved")
        return applied

    def _ask_owner(self, plan: Plan) -> None:
        """Put before the owner what the model would change in lines of theirs; a rejected change is not put again."""
        for write in plan.questions if self.pending is not None else ():
            assert self.pending is not None
            try:
                self.pending.propose(question_plan(plan, write))
            except MemoryStoreError as error:
                logger.warning("a change of the owner's line could not be put before them", extra={"error": str(error)})
        if plan.questions:
            self._step("owner asked")

    def _was_finished(self, entry: Entry) -> bool:
        """Whether only the journal was left to clear: the watermark moves after the last file."""
        last = entry.plan.turn_range[1]
        mark = self.history_store.get_writer_watermark(familiar_id=self.familiar_id)
        reached = mark.last_written_id if mark is not None else 0
        if entry.plan.audience:
            audience = parse_audience(entry.plan.audience)
            own = self.history_store.watermarks.get_for(familiar_id=self.familiar_id, audience=audience)
            reached = max(reached, own)
        return not entry.again and reached >= last

    def _result(self, entry: Entry, applied: ApplyResult) -> MemoryWriterResult:
        plan = entry.plan
        state = "quarantined" if entry.quarantine else "proposed" if entry.proposed else "written"
        paths = [] if state != "written" else [*applied.written, *applied.unchanged]
        paths = [path for path in paths if not is_archive(path)]
        return MemoryWriterResult(
            session_file=next((path for path in paths if path.startswith("sessions/")), None),
            people_files=[path for path in paths if path.startswith("people/")],
            topic_files=[path for path in paths if path.startswith("topics/")],
            watermark_id=plan.turn_range[1],
            run_id=plan.run_id,
            refused=[*plan.refused, *applied.conflicts],
            state=state,
            questions=[question_plan(plan, write).run_id for write in plan.questions] if self.pending else [],
        )

    def _report(self, result: MemoryWriterResult) -> None:
        files = len(result.people_files) + len(result.topic_files) + (result.session_file is not None)
        facts = {"run": result.run_id, "state": result.state, "files": files, "refused": len(result.refused)}
        logger.info("memory pass done", extra=facts)
        for edit in result.refused:
            logger.warning("memory edit refused", extra={"run": result.run_id, "reason": edit.reason})

    def _advance(self, turn_range: tuple[int, int], audience: Audience | None) -> None:
        """Move the watermark on, never back: that of *audience*, or of all in a plan that mixed them."""
        to = turn_range[1]
        if audience is not None:
            self.history_store.watermarks.put_for(
                familiar_id=self.familiar_id, audience=audience, turn_range=turn_range
            )
            return
        mark = self.history_store.get_writer_watermark(familiar_id=self.familiar_id)
        if mark is None or mark.last_written_id < to:
            self.history_store.put_writer_watermark(familiar_id=self.familiar_id, last_written_id=to)

    # What an ended process left

    async def _recover(self) -> MemoryWriterResult | None:
        return await run_to_end(off_loop(self._finish_journal))

    def _finish_journal(self) -> MemoryWriterResult | None:
        entry = self._journal.read()
        if entry is None:
            return None
        if entry.plan.familiar_id != self.familiar_id:
            logger.error("the writer's journal belongs to another familiar; it was left out")
            return None
        logger.info("finishing a memory pass that was cut short", extra={"run": entry.plan.run_id})
        turns = self._turns_between(*entry.plan.turn_range, entry.plan.audience)
        result = self._carry_out(entry, authors_of(self._without_private(turns)), journaled=True)
        result.turns_summarized = 0 if entry.quarantine else len(turns)
        return result

    def _turns_between(self, first: int, last: int, audience: str) -> list[HistoryTurn]:
        """The turns of a range that were said to *audience*; of all, where it is empty."""
        found: list[HistoryTurn] = []
        after = first - 1
        while len(found) < MAX_TURNS_RECALLED and after < last:
            turns = self.history_store.turns_after(
                familiar_id=self.familiar_id, after_id=after, max_id=last, limit=MAX_TURNS_RECALLED
            )
            if not turns:
                break
            after = turns[-1].id
            found += [turn for turn in turns if not audience or turn.audience == parse_audience(audience)]
        return found[:MAX_TURNS_RECALLED]

    def _without_private(self, turns: list[HistoryTurn]) -> list[HistoryTurn]:
        return [turn for turn in turns if turn.author is None or not self.privacy.is_full(turn.author)]

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """One pass at a time, in this process and among all."""
        loop = asyncio.get_running_loop()
        self._locks = {known: lock for known, lock in self._locks.items() if not known.is_closed()}
        async with self._locks.setdefault(loop, asyncio.Lock()):
            held = writer_lock(self._folder)
            try:
                await run_to_end(off_loop(held.__enter__))
                yield
            finally:
                held.__exit__(None, None, None)
