"""start_familiar: what an author of an extension starts in a test. Say something, read the reply and the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.extensions.host import PlatformHost, ReadBy
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.parts import Extension
from familiar_connect.extensions.testing.trial_familiar import Replies, TrialFamiliar, open_trial_familiar
from familiar_connect.identity import ChannelKey
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.replay_store import ReplayStore
from familiar_connect.reply.inspection.turn_view import view_turn
from familiar_connect.slash.registry import BUILT_IN_COMMANDS
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock

PLATFORM = "test"
REPLY_LIMIT_S = 60.0
"""How long a reply may take; a part that never comes back is told as a failed test."""


@dataclass(frozen=True, kw_only=True)
class ShownBlock:
    """One block of a prompt, or one that there was no room for."""

    source: str
    """Who brought it: EXTENSION.PROVIDER for an extension's."""
    layer: str
    """Whose budget paid for it."""
    text: str
    """What the model was shown; empty where the block was cut."""
    tokens: int
    cut: str = ""
    """Why it was cut or shortened, in words; empty: it stands there whole."""
    cut_text: str = ""
    """What was left out of it."""


@dataclass(frozen=True, kw_only=True)
class LastPrompt:
    """What the model was asked for the last reply."""

    blocks: tuple[ShownBlock, ...] = ()
    """In their order; those that were cut stand at the end."""
    text: str = ""
    """The whole prompt, as `familiar inspect --prompt` shows it."""

    def block(self, source: str) -> ShownBlock:
        """The block that *source* brought; an AssertionError says which others there are."""
        found = next((each for each in self.blocks if each.source == source), None)
        if found is None:
            known = ", ".join(dict.fromkeys(each.source for each in self.blocks)) or "none"
            raise AssertionError(f"no block of {source!r} was in the last prompt; there were: {known}")
        return found

    def has_block(self, source: str) -> bool:
        """Whether the model was shown anything of *source*."""
        return any(each.source == source and each.text for each in self.blocks)


@dataclass
class RecordedPlace(Place):
    """A room or a direct message that keeps what was sent."""

    host: PlatformHost
    channel: str
    read_by: ReadBy
    people: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    features = PlaceFeatures(limit=2_000)

    async def send(self, text: str) -> None:
        self.sent.append(text)

    async def notice(self, text: str) -> None:
        self.notices.append(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self.host.recent(self.channel, limit)

    async def scene(self) -> Scene:
        here = [self.host.author(name.casefold(), name) for name in self.people]
        return self.host.scene(self.channel, read_by=self.read_by, people=here)


class ScriptedFamiliar:
    """A familiar whose model says what the test wrote. It lives until `start_familiar` ends."""

    def __init__(self, trial: TrialFamiliar, host: PlatformHost) -> None:
        self._trial = trial
        self._host = host
        self._places: dict[str, RecordedPlace] = {}
        self.prompt = LastPrompt()
        """What the model was asked last."""

    @property
    def troubles(self) -> Sequence[str]:
        """What of the extension was left out and why, a sentence each, as `familiar doctor` tells it."""
        return tuple(self._trial.familiar.added.troubles)

    async def say(
        self, text: str, *, person: str = "Ada", room: str = "den", is_dm: bool = False, read_by: ReadBy | None = None
    ) -> list[str]:
        """*person* says *text* to the familiar; the messages it answers with, and what people are told beside.

        With *is_dm* it is said between the two of them; *read_by* says who else reads the room.
        """
        place = await self._find_place(person, room, is_dm=is_dm, read_by=read_by)
        already, told = len(place.sent), len(place.notices)
        author = self._host.author(person.casefold(), person)
        async with asyncio.timeout(REPLY_LIMIT_S):
            await self._host.hear(place.channel, author, text, place, is_mention=not is_dm, is_dm=is_dm)
            await self._wait_until_idle(place)
            self.prompt = await off_loop(self._read_prompt)
        return [*place.sent[already:], *place.notices[told:]]

    async def use_command(
        self, line: str, *, person: str = "Ada", room: str = "den", may_manage: bool = False
    ) -> str | None:
        """*person* uses a slash command, such as "lamp switch"; its answer, None where there is no such one."""
        place = await self._find_place(person, room, is_dm=False, read_by=None)
        author = self._host.author(person.casefold(), person)
        async with asyncio.timeout(REPLY_LIMIT_S):
            return await self._host.use_command(place.channel, author, line, place, may_manage=may_manage)

    async def _find_place(self, person: str, room: str, *, is_dm: bool, read_by: ReadBy | None) -> RecordedPlace:
        channel = person.casefold() if is_dm else room
        place = self._places.get(channel)
        if place is None:
            readers = ReadBy.people if is_dm else read_by or ReadBy.everyone
            place = self._places[channel] = RecordedPlace(self._host, channel, readers)
            await self._host.join(channel, place, is_dm=is_dm)
        if read_by is not None and not is_dm:
            place.read_by = read_by
        if person not in place.people:
            place.people.append(person)
        return place

    async def _wait_until_idle(self, place: RecordedPlace) -> None:
        familiar = self._trial.familiar
        keys = familiar.history_store.channel_keys
        number = await off_loop(keys.number_of, ChannelKey(PLATFORM, place.channel))
        await familiar.intake.wait_until_idle()
        await familiar.reply_path.queue.wait_until_channel_idle(number)
        await familiar.reply_path.recorder.wait_until_idle()

    def _read_prompt(self) -> LastPrompt:
        familiar = self._trial.familiar
        ledger = familiar.metrics_collector
        trace = ledger.last_trace(familiar.id) if isinstance(ledger, SQLiteCollector) else None
        if trace is None:
            return LastPrompt()
        record = ReplayStore(FamiliarFolder(familiar.root).traces).load(trace.trace_id)
        page = familiar.last_context_cache.get(channel_id=trace.channel_id)
        view = view_turn(trace, record, page)
        blocks = [
            ShownBlock(
                source=each.source,
                layer=each.layer,
                text=each.text or "",
                tokens=each.tokens,
                cut=each.fate if each.is_cut or each.is_shortened else "",
                cut_text=each.cut_text,
            )
            for each in view.blocks
        ]
        return LastPrompt(blocks=tuple(blocks), text=view.prompt or "")


@asynccontextmanager
async def start_familiar(
    *extensions: Extension,
    replies: Replies = ("Hello.",),
    settings: str = "",
    secrets: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[ScriptedFamiliar]:
    """A familiar with *extensions*, in a home of its own; its model says *replies*, one after the other.

    *settings* is text of character.toml, *secrets* what `familiar keys set` would keep. A model that is asked more
    often than there are replies fails. Other networks and other models are never asked.
    """
    opening = open_trial_familiar(extensions, replies, settings=settings, secrets=secrets, clock=clock)
    async with opening as trial:
        familiar = trial.familiar
        part = PartContext(settings=None, clock=familiar.clock, folder=familiar.root)
        host = PlatformHost(familiar, PLATFORM, part, lambda sentence: None, commands=BUILT_IN_COMMANDS)
        try:
            yield ScriptedFamiliar(trial, host)
        finally:
            await host.aclose()
