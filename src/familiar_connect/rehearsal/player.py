"""Player: plays the steps of a rehearsal, one after another, through the same ways as a live platform.

Between two steps simulated time passes: timers that are due go off at their own moment and in order, and whatever
goes on in the background comes to its end before the next step.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.load import load_allowed_config
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from familiar_connect.errors import FamiliarError
from familiar_connect.familiar import Familiar
from familiar_connect.history.reminders import StoredReminder
from familiar_connect.identity import Author
from familiar_connect.memory.maintenance.housekeeping import examine_memory, proposal
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.observe.trace import TurnTrace
from familiar_connect.rehearsal.added import change_file, create_added
from familiar_connect.rehearsal.expectations import Evidence, check_expectation, withheld_sources
from familiar_connect.rehearsal.models import PLACE, ModelCall
from familiar_connect.rehearsal.place import RehearsalPlace, rehearsal_place
from familiar_connect.rehearsal.platforms import TERMINAL
from familiar_connect.rehearsal.types import (
    OWNER,
    Change,
    ChangeFile,
    ChangeMembers,
    ChangeRoles,
    ChangeRules,
    ChangeVisibility,
    Edit,
    Expect,
    Expectation,
    Hear,
    Kick,
    Proxy,
    React,
    Say,
    SearchExpectation,
    Slash,
    Step,
    Upkeep,
)
from familiar_connect.rehearsal.world import Notice, RehearsalWorld, Reply
from familiar_connect.slash.command import SlashContext, SlashPlace, run_command
from familiar_connect.slash.registry import find_command
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import off_loop
from familiar_connect.support.simulated_time import SimulatedLoop
from familiar_connect.tools.search_memory import SearchMemoryTool

LAST_WAIT_S = 60.0
"""Simulated time that follows the last step, so that what it set off comes to its end."""
NOT_COPIED = ("*-shm", "*.lock")
MOST_TRACES = 1_000
INDEX_READY_S = 60.0
FOLLOWED_S = 2.0
"""After so long a pause the worker of a running program has its index level with what was said and written."""


@dataclass
class StepResult:
    """What came of one step, up to the next."""

    step: Step
    replies: list[Reply] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    note: str = ""
    """What else is to be said of it, for a person."""


@dataclass(frozen=True)
class _Mark:
    """How far everything had come at one moment."""

    replies: int = 0
    notices: int = 0
    calls: int = 0
    mistakes: int = 0


class Player:
    """One rehearsal being played in the folder *root*."""

    def __init__(
        self,
        world: RehearsalWorld,
        root: Path,
        *,
        loop: SimulatedLoop,
        models: Mapping[str, Any],
        profile: Path | None = None,
        seed: int = 0,
        owner_home: Path | None = None,
    ) -> None:
        self._world = world
        self._rehearsal = world.rehearsal
        self._root = root
        self._loop = loop
        self._models = models
        self._profile = profile
        self._owner_home = owner_home
        self._rng = random.Random(seed)
        self._familiar: Familiar | None = None
        self._ends = ExitStack()
        """What ends with the familiar that is open."""
        self._seen_traces: set[str] = set()
        self._evidence_from = _Mark()
        self._answers: list[str] = []
        self._withheld: list[str] = []

    async def play(self, on_step: Callable[[StepResult], None]) -> None:
        """Play every step and tell of each when it is over; at the end the familiar is closed and asks nobody more."""
        self._familiar = await self._open()
        try:
            await self._prepare()
            under_way: tuple[StepResult, _Mark] | None = None
            for step in self._rehearsal.steps:
                await self._wait_until(step)
                if under_way is not None:
                    on_step(await self._finish(*under_way))
                under_way = StepResult(step=step), self._mark()
                await self._perform(under_way[0])
                await self._loop.settle()
            await asyncio.sleep(LAST_WAIT_S)
            await self._loop.settle()
            if under_way is not None:
                on_step(await self._finish(*under_way))
        finally:
            if self._familiar is not None:
                await self._close_quietly()

    @property
    def familiar(self) -> Familiar:
        assert self._familiar is not None
        return self._familiar

    # Opening and closing

    async def _open(self) -> Familiar:
        folder = FamiliarFolder(self._root)
        consent = OwnerConsent(folder.home.root, self._root.name)
        config = await off_loop(load_allowed_config, folder.settings_file, consent, defaults_path=self._profile)
        familiar = Familiar.from_config(
            self._root,
            config,
            llm_clients=dict(self._models),
            defaults_path=self._profile,
            clock=self._world.clock,
            fetches_media=False,
            rng=self._rng,
            consent=consent,
            added=await off_loop(create_added, self._owner_home, self._root, config, self._world.clock),
        )
        self._ends.enter_context(familiar.owner.connect(is_owner=self._is_owner))
        self._world.connect(familiar)
        for platform in self._rehearsal.platforms:
            familiar.intake.hear_dms_of(platform, "everyone")
            place_at = partial(self._reminder_place, familiar)
            self._ends.enter_context(familiar.reply_path.reminders.connect(platform, place_at=place_at))
        await familiar.start(keep_index=False)
        await self._loop.settle()
        return familiar

    async def _reminder_place(self, familiar: Familiar, reminder: StoredReminder) -> RehearsalPlace | None:
        """Where a reminder is told; what its task does from here on is about that place."""
        setup = next((p for p in self._rehearsal.places.values() if p.channel_id == reminder.channel_id), None)
        if setup is None:
            return None
        PLACE.set(setup.key)
        return rehearsal_place(self._world, setup, familiar)

    def _is_owner(self, author: Author) -> bool:
        return author.user_id == self._rehearsal.people[OWNER].user_id

    async def _prepare(self) -> None:
        """Every place is listened to, and what people allow is known."""
        for place in self._rehearsal.places.values():
            for kind in SubscriptionKind:
                self.familiar.subscriptions.add(channel_id=place.channel_id, kind=kind, guild_id=place.server_id)
        for author, level in self._rehearsal.levels:
            await off_loop(self.familiar.stores.privacy.set, author, level)

    async def _restart(self) -> None:
        await self._close()
        self._familiar = await self._open()

    async def _close(self) -> None:
        familiar, self._familiar = self.familiar, None
        self._ends.close()
        await familiar.aclose()

    async def _close_quietly(self) -> None:
        """Close the familiar without having its memory written up."""
        self.familiar.memory_writer_scheduler.stop()
        await self._close()

    async def _kill(self) -> None:
        """Go on from what is on disk now, as if the process had ended without a word."""
        survives = self._root.with_name(f".{self._root.name}-survives")
        await off_loop(shutil.copytree, self._root, survives, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
        await self._close_quietly()
        await off_loop(shutil.rmtree, self._root)
        await off_loop(survives.rename, self._root)
        self._familiar = await self._open()

    # Time

    async def _wait_until(self, step: Step) -> None:
        left_s = (step.at - self._world.clock.now()).total_seconds()
        if left_s > 0:
            await asyncio.sleep(left_s)
        await self._loop.settle()
        if left_s >= FOLLOWED_S:  # right after a start, or without a pause, nobody waits for the index but who asks
            await self.familiar.update_memory_index(INDEX_READY_S)

    def _mark(self) -> _Mark:
        log = self._world.log
        return _Mark(len(self._world.replies), len(self._world.notices), len(log.calls), len(log.mistakes))

    async def _finish(self, result: StepResult, since: _Mark) -> StepResult:
        """*result* with everything that happened since its step began."""
        world = self._world
        result.replies = world.replies[since.replies :]
        result.notices = world.notices[since.notices :]
        result.calls = world.log.calls[since.calls :]
        result.failed += world.log.mistakes[since.mistakes :]
        for trace in await self._new_traces():
            result.dropped += [str(note["source"]) for note in trace.fact("dropped") or ()]
            result.withheld += withheld_sources(trace)
        self._withheld += result.withheld
        return result

    async def _new_traces(self) -> list[TurnTrace]:
        """The turns that ended since the last look, oldest first."""
        await self.familiar.reply_path.recorder.wait_until_idle()
        recent = await off_loop(
            self.familiar.reply_path.collector.recent_traces, familiar_id=self.familiar.id, limit=MOST_TRACES
        )
        new = [trace for trace in reversed(recent) if trace.trace_id not in self._seen_traces]
        self._seen_traces |= {trace.trace_id for trace in new}
        return new

    # Steps

    async def _perform(self, result: StepResult) -> None:
        action = result.step.action
        match action:
            case Say():
                result.note = await self._say(action, result)
            case Proxy():
                await self._proxy(action, result)
            case Hear():
                await self._hear(action)
            case Edit():
                await self._edit(action, result)
            case React():
                author = self._world.author(action.person, action.place)
                if not self._world.react(action.place, action.target, action.emoji, author):
                    result.failed.append(f"there is no {action.target!r} in {action.place} to react to")
            case Slash():
                await self._slash(action, result)
            case ChangeFile() | ChangeMembers() | ChangeVisibility() | ChangeRules() | ChangeRoles() | Kick():
                await self._change(action, result)
            case Upkeep():
                await self._upkeep(action, result)
            case Expect():
                result.failed += await self._check(action.expectation)

    async def _say(self, say: Say, result: StepResult) -> str:
        message, place = self._world.message_of(say, result.step.at), self.place(say.place)
        with self._about(say.place):
            answers = await self._world.answer_command(say, message, place)
            if answers is not None:
                result.answers += answers
                self._answers += answers
                return "a command"
            heard = await self.familiar.intake.receive(message, place)
        return heard.value

    async def _proxy(self, action: Proxy, result: StepResult) -> None:
        """What was said is heard, is gone, and comes again from a webhook, as PluralKit does it."""
        await self._say(action.say, result)
        said = action.say
        await self._edit(Edit(place=said.place, target=said.message_id, text=None), result)
        result.note = await self._say(self._world.twin_of(action), result)

    async def _change(self, action: Change, result: StepResult) -> None:
        """The owner changes a file, or a server changes who can read what."""
        world = self._world
        match action:
            case ChangeFile():
                try:
                    await off_loop(change_file, self._root, action)
                except OSError as error:
                    result.failed.append(f"{action.path} cannot be changed ({error.strerror})")
            case ChangeMembers():
                world.change_members(action.place, action.person, joins=action.joins)
            case ChangeVisibility():
                world.change_visibility(action.place, hides=action.hides, members=action.members)
            case ChangeRules():
                world.change_rules(action.place, action.names, allows=action.allows)
            case ChangeRoles():
                world.change_roles(action.roles)
            case Kick():
                world.kick(action.person, action.server_id)
        if not isinstance(action, ChangeFile):
            await self._tell_changes()

    async def _tell_changes(self) -> None:
        """Say which places are hidden now, as a platform does."""
        for key, setup in self._rehearsal.places.items():
            rules = self._world.rules_of(key)
            if rules is not None:
                await self.familiar.intake.on_channel_hidden(
                    setup.channel_id, platform=setup.platform, guild_id=setup.server_id, rules=rules
                )

    @contextmanager
    def _about(self, place: str) -> Iterator[None]:
        """What is begun meanwhile is about *place*, its tasks and timers included."""
        before = PLACE.set(place)
        try:
            yield
        finally:
            PLACE.reset(before)

    def place(self, key: str) -> RehearsalPlace:
        return rehearsal_place(self._world, self._rehearsal.places[key], self.familiar)

    async def _hear(self, action: Hear) -> None:
        """A message of a conversation file: stored, and answered only where it is the last."""
        setup = self._rehearsal.places[action.place]
        if action.message.is_self:
            channel = await off_loop(self.familiar.channel_configs.get, channel_id=setup.channel_id)
            await off_loop(
                self.familiar.history_store.append_turn,
                familiar_id=self.familiar.id,
                channel_id=setup.channel_id,
                role="assistant",
                content=action.message.text,
                guild_id=setup.server_id,
                mode=channel.mode,
                timestamp=action.message.timestamp,
            )
            return
        message = replace(
            action.message,
            channel_id=setup.channel_id,
            guild_id=setup.server_id,
            is_dm=setup.is_dm,
            wants_answer=action.is_answered,
        )
        self._world.add_message(action.place, message)
        monitor = self.familiar.monitor
        with self._about(action.place), nullcontext() if action.is_answered else monitor.pause_replies():
            await self.familiar.intake.receive(message, self.place(action.place))
            await self._loop.settle()
        if not action.is_answered:
            monitor.clear_channel(setup.channel_id)

    async def _edit(self, action: Edit, result: StepResult) -> None:
        message = self._world.find_message(action.place, action.target, action.person)
        if message is None or message.message_id is None:
            result.failed.append(f"there is no message {action.target!r} in {action.place} to change")
            return
        revised = self._world.revise(action.place, message, action.text)
        handler = self.familiar.reply_path.message_edits
        if action.text is None:
            await handler.on_delete(message.channel_id, [message.message_id])
        else:
            await handler.on_edit(revised, self.place(action.place))

    async def _slash(self, action: Slash, result: StepResult) -> None:
        setup = self._rehearsal.places[action.place]
        command = find_command(action.command)
        assert command is not None
        is_owner = action.person == OWNER
        here = self.place(action.place)
        server = None if setup.is_dm else self._world.server_of(action.place)
        controls = getattr(getattr(self.familiar.config.built_in, setup.platform, None), "controls", None)
        with self._about(action.place):
            shown = SlashPlace(channel=here.channel_context, guild_id=server, scene=await here.scene())
            reply = await run_command(
                command,
                SlashContext(
                    channel_id=setup.channel_id,
                    author=self._world.author(action.person, action.place),
                    is_operator=is_owner,
                    words=action.words,
                    may_manage=is_owner,
                    may_control=setup.is_dm or controls == "everyone",
                    controls_section=setup.platform if controls is not None else None,
                    answers_at=here,
                    place=None if setup.platform == TERMINAL else shown,
                ),
                self.familiar,
            )
        answer = reply.text if reply.file is None else f"{reply.text}\n\n{reply.file.text}"
        result.answers.append(answer)
        self._answers.append(answer)

    async def _upkeep(self, action: Upkeep, result: StepResult) -> None:
        if action.what == "write_up":
            written = await self.familiar.memory_writer_scheduler.flush()
            files = [written.session_file, *written.people_files, *written.topic_files] if written is not None else []
            result.note = ", ".join(file for file in files if file) or "nothing was written"
        elif action.what == "tidy":
            result.note = await off_loop(self._tidy)
        elif action.what == "restart":
            await self._restart()
        else:
            await self._kill()

    def _tidy(self) -> str:
        """Look memory over as `familiar memory check --propose` does."""
        store, now = self.familiar.memory_store, self._world.clock.now()
        if store.audit is not None:
            store.audit.reconcile(store)
        findings = examine_memory(store, now=now)
        plan = proposal(findings, familiar_id=self.familiar.id, now=now)
        if plan is not None:
            Review(store, clock=self._world.clock).propose(plan)
        return "; ".join(f"{finding.kind}: {finding.says}" for finding in findings) or "all is well"

    # Expectations

    async def _check(self, expectation: Expectation) -> list[str]:
        since, world = self._evidence_from, self._world
        evidence = Evidence(
            replies=tuple(world.replies[since.replies :]),
            calls=tuple(world.log.calls[since.calls :]),
            answers=tuple(self._answers),
            withheld=tuple(self._withheld),
            calls_for=world.calls_for,
            root=self._root,
        )
        failed = await off_loop(check_expectation, expectation, evidence)
        for search in expectation.searches:
            failed += await self._check_search(search)
        self._evidence_from = self._mark()
        self._answers, self._withheld = [], []
        return failed

    async def _check_search(self, expected: SearchExpectation) -> list[str]:
        try:
            found = await self.search(expected.place, expected.query)
        except FamiliarError as error:
            return [f"search_{expected.kind}: {error}"]
        wrong = [word for word in expected.words if (word in found) != (expected.kind == "finds")]
        verb = "not found" if expected.kind == "finds" else "found"
        return [f"search_{expected.kind}: {word!r} is {verb} in {expected.place}" for word in wrong]

    async def search(self, key: str, query: str) -> str:
        """What the familiar finds in all its memory when somebody in the place asks."""
        familiar, setup = self.familiar, self._rehearsal.places[key]
        index = familiar.memory_index
        if index is None:
            raise FamiliarError("memory cannot be searched here")
        asker = next(iter(self._world.members_of(key)), OWNER)
        message = BufferedMessage(self._world.author(asker, key), query, self._world.clock.now())
        exchange = Exchange(
            familiar_id=familiar.id,
            channel_id=setup.channel_id,
            guild_id=setup.server_id,
            messages=(message,),
            trigger=ResponseTrigger.direct_address,
        )
        _, request = await familiar.reply_path.turns.request_for(exchange, self.place(key), seed=0)
        tool = SearchMemoryTool(index.retriever, request, familiar.stores.privacy, familiar.stores.audiences)
        return (await tool.run({"query": query})).as_text()
