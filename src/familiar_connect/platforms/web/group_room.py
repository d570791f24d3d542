"""GroupRoom: one chat of several familiars on the page. What is said is heard by all of them; who answers is drawn.

Each keeps it in a history of its own, as at the terminal, and the page shows it as the member heard it whose page it
is. A line is known to all of them by the same name, so that what is done to it is done for everybody.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.groups import change_group
from familiar_connect.conversation.groups.roster import GroupRoster
from familiar_connect.conversation.groups.rounds import GroupRounds
from familiar_connect.conversation.groups.turn_order import TurnRules
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.conversation.types import ReplyDue
from familiar_connect.errors import FamiliarError, HomeError
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.platforms.group_talk import (
    FOR_ONE_ALONE,
    GROUP_COMMANDS,
    PLATFORM,
    GroupChat,
    answer_in_group,
    find_last_heard,
    find_unanswered,
    greeting_in_group,
    name_line_of,
    name_line_of_person,
)
from familiar_connect.platforms.group_verbs import FOR_EVERYBODY
from familiar_connect.platforms.terminal.place import person_at_terminal
from familiar_connect.platforms.terminal.welcome import record_greeting
from familiar_connect.platforms.web.attached_files import SentFiles
from familiar_connect.platforms.web.chats import NO_FILES, NOT_STORED, PRIVATE, LineNotStored
from familiar_connect.platforms.web.group_place import GroupPlace, GroupSeat
from familiar_connect.platforms.web.live import SAID_WAITS_S
from familiar_connect.platforms.web.multipart import FormPart
from familiar_connect.platforms.web.place import CHANNEL_NAME
from familiar_connect.slash.registry import find_command
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import join_names

NO_ONE_SPOKE = "No one said anything. Try saying it differently."
ALL_MUTED = "Everyone is muted: let one of them speak above, or with /unmute."


@dataclass(frozen=True, kw_only=True)
class ShownMember:
    """One member of a group as a page shows it."""

    id: str
    name: str
    picture: str | None
    is_muted: bool
    is_here: bool
    path: str
    """The group on that member's own page."""


@dataclass(frozen=True, kw_only=True)
class ShownGroup:
    """A group as a page shows it."""

    label: str
    has_file: bool
    members: tuple[ShownMember, ...]


class GroupRoom:
    """Talks with several familiars for every page that shows their group."""

    def __init__(
        self,
        chat: GroupChat,
        home: Path,
        seats: Sequence[GroupSeat],
        roster: GroupRoster,
        start: Callable[[GroupRoom, Awaitable[None], str], None],
    ) -> None:
        """*start* does something in the background, and keeps the room open meanwhile."""
        self.chat = chat
        self.seats = {seat.id: seat for seat in seats}
        self.roster = roster
        self.lock = asyncio.Lock()
        """Held as long as anybody speaks or a line is changed."""
        self._home = home
        self._start = start
        config = chat.config
        rules = TurnRules(
            order=config.order, allow_self_responses=config.allow_self_responses, max_replies=config.max_replies
        )
        self.rounds = GroupRounds(roster, rules, self._let_speak, rng=random.Random())

    # Talking

    async def greet(self) -> None:
        """Let everybody say their first words where nothing was ever said."""
        async with self.lock:
            if await off_loop(self._has_begun):
                return
            for seat in self.seats.values():
                if seat.name in self.roster.silent_names:
                    continue
                person = await self.person_for(seat)
                words = await off_loop(greeting_in_group, seat.familiar, person, self.roster)
                if words:
                    said = await off_loop(record_greeting, words, seat.familiar, seat.channel_id)
                    await self._tell_others(seat, said)

    def _has_begun(self) -> bool:
        return any(
            seat.familiar.history_store.count(familiar_id=seat.id, channel_id=seat.channel_id)
            for seat in self.seats.values()
        )

    async def say(self, here: str, text: str, parts: Sequence[FormPart], *, key: str) -> int | None:
        """Have everybody hear *text*, and those answer whose turn it is; the turn it is stored as for *here*.

        None for a command. Said again under the same *key* it is the same line.
        """
        if text.startswith("/") and not parts:
            if self.seats[here].chats.is_new_command(key):
                self.start(self._use_command(here, text), "command")
            return None
        name = name_line_of_person(key) if key else None
        # The one whose page it is hears it last: once that is stored, so it is for everybody.
        order = sorted(self.seats.values(), key=lambda seat: seat.id == here)
        heard = [await self._hear(seat, text, await self._keep(seat, parts), name) for seat in order]
        for seat in order:
            seat.chats.events.publish_new(seat.channel_id, wait_s=SAID_WAITS_S)
        if heard[-1] is IntakeResult.private:
            raise HomeError(PRIVATE)
        if heard[-1] is IntakeResult.not_stored:
            raise LineNotStored(NOT_STORED)
        if heard[-1] is not IntakeResult.seen_before:
            self.rounds.cut()  # whoever speaks now finishes; then it is about the new words
            self.start(self.answer(text), "round")
        return await off_loop(self.seats[here].chats.find_sent, order[-1].channel_id, key) if key else None

    async def _keep(self, seat: GroupSeat, parts: Sequence[FormPart]) -> SentFiles:
        return await off_loop(seat.chats.attached_files.keep, parts) if parts else NO_FILES

    async def _hear(
        self,
        seat: GroupSeat,
        text: str,
        files: SentFiles = NO_FILES,
        name: str | None = None,
        author: Author | None = None,
    ) -> IntakeResult:
        message = InboundMessage(
            platform=PLATFORM,
            channel_id=seat.channel_id,
            author=author or await self.person_for(seat),
            text="\n\n".join(filter(None, (text, files.text))),
            attachments=files.pictures,
            timestamp=seat.familiar.clock.now(),
            channel_name=CHANNEL_NAME,
            message_id=name,
        )
        place = await self.place(seat)
        return await seat.familiar.intake.receive(message, place, due=ReplyDue.never)

    async def answer(self, text: str) -> None:
        """Let those speak whose turn it is after the person said *text*."""
        async with self.lock:
            self.rounds.note_person(text)
            has_spoken = await self.rounds.hold(is_from_person=True)
            if not (has_spoken or self.rounds.is_cut or self.rounds.waits_to_be_asked):
                everyone_is_muted = len(self.roster.silent_names) == len(self.seats)
                self.publish("notice", text=ALL_MUTED if everyone_is_muted else NO_ONE_SPOKE)

    async def go_on(self) -> None:
        """Let the group talk on by itself: one more round."""
        async with self.lock:
            if not await self.rounds.hold(is_from_person=False) and not self.rounds.is_cut:
                self.publish("notice", text=NO_ONE_SPOKE)

    async def let_speak(self, id_: str) -> None:
        """Let one member speak now, muted or not."""
        async with self.lock:
            if not await self.rounds.let_speak(id_, unasked=True):
                self.publish("notice", text=f"{self.roster.name_of(id_)} has nothing to say. Say something first.")

    async def _let_speak(self, id_: str, unasked: bool) -> str:
        seat = self.seats[id_]
        messages = await off_loop(find_unanswered, seat.familiar, seat.channel_id)
        if not messages and unasked:
            messages = await off_loop(find_last_heard, seat.familiar, seat.channel_id)
        if not messages:
            return ""
        said = None
        try:
            said = await answer_in_group(seat.familiar, seat.channel_id, await self.place(seat), messages)
            if said is not None:
                await self._tell_others(seat, said)
        finally:
            await self.end_reply(seat)
        return said.display_text if said is not None else ""

    async def _tell_others(self, speaker: GroupSeat, said: HistoryTurn) -> None:
        """Everybody else hears it as the words of somebody with a name."""
        name = name_line_of(speaker.id, said.id)
        for seat in self.seats.values():
            if seat is not speaker:
                await self._hear(seat, said.display_text, name=name, author=speaker.as_author)

    async def end_reply(self, speaker: GroupSeat, changed: Mapping[str, int] | None = None) -> None:
        """Tell every page that a reply is over; by member, which turn reads otherwise."""
        await speaker.chats.wait_until_kept()
        for seat in self.seats.values():
            ids = [changed[seat.id]] if changed and seat.id in changed else []
            seat.chats.events.end_reply(seat.channel_id, changed=ids)

    async def wait_until_quiet(self) -> None:
        """Wait until nobody speaks and nobody is about to."""
        await asyncio.sleep(0)  # what was just started waits for the lock first
        async with self.lock:
            pass

    async def stop(self) -> bool:
        """End the reply under way and the round with it."""
        self.rounds.cut()
        ended = [await seat.familiar.reply_path.queue.stop(seat.channel_id) for seat in self.seats.values()]
        return any(ended)

    # Who is here

    async def person_for(self, seat: GroupSeat) -> Author:
        """Who sits at the page, as that member knows them, by the name they gave anybody here."""
        return await off_loop(self.find_person, seat)

    def find_person(self, seat: GroupSeat) -> Author:
        """`person_for` for plain synchronous code."""
        names = (each.chats.own_name() for each in (seat, *self.seats.values()))
        return person_at_terminal(next(filter(None, names), None), seat.familiar)

    async def place(
        self, seat: GroupSeat, *, revises: Mapping[str, int] | None = None, begins_with: str = ""
    ) -> GroupPlace:
        """The group as that member meets it."""
        person = await self.person_for(seat)
        seats = tuple(self.seats.values())
        return GroupPlace(seats, seat, person, self.roster, revises=revises, begins_with=begins_with)

    def describe(self, here: str) -> ShownGroup:
        """The group for the page of the member *here*."""
        return ShownGroup(
            label=self.chat.label,
            has_file=self.chat.has_file,
            members=tuple(
                ShownMember(
                    id=each.id,
                    name=each.names[0],
                    picture=self.seats[each.id].picture,
                    is_muted=each.is_muted,
                    is_here=each.id == here,
                    path=f"/f/{each.id}/chats/{self.seats[each.id].channel_id}",
                )
                for each in self.roster.speakers
            ),
        )

    async def set_muted(self, id_: str, *, is_muted: bool) -> None:
        """Have a member listen only, or speak again; kept where the group has a file."""
        self.roster.set_muted(id_, is_muted=is_muted)
        muted = [each.id for each in self.roster.speakers if each.is_muted]
        if self.chat.has_file:
            await off_loop(change_group, self._home, self.chat.label, {"muted": muted})
            self.chat = replace(self.chat, config=replace(self.chat.config, muted=muted))
        self.publish("group")

    def publish(self, kind: str, **facts: str) -> None:
        """Tell every page of the group."""
        for seat in self.seats.values():
            seat.chats.events.publish(seat.channel_id, kind, **facts)

    def start(self, doing: Awaitable[None], name: str) -> None:
        """Do something as long as it takes; what goes wrong is told on the pages."""
        self._start(self, self._tell_problems(doing), name)

    async def _tell_problems(self, doing: Awaitable[None]) -> None:
        try:
            await doing
        except FamiliarError as error:
            self.publish("notice", text=str(error))

    async def _use_command(self, here: str, line: str) -> None:
        name, _, words = line[1:].strip().partition(" ")
        id_ = self.roster.find(words)
        if name in FOR_EVERYBODY:
            self.publish("notice", text=f"The buttons of a line do what /{name} does, for everybody.")
        elif name in FOR_ONE_ALONE and find_command(name) is not None:
            self.publish("notice", text=f"/{name} is for a chat with one familiar.")
        elif name not in GROUP_COMMANDS:
            await self.seats[here].chats.use_command(self.seats[here].channel_id, line)
        elif name == "speak" and not words.strip():
            await self.go_on()
        elif name == "mute" and not words.strip():
            muted = ", ".join(self.roster.silent_names)
            self.publish("notice", text=f"Only listening: {muted}." if muted else "No one is muted.")
        elif id_ is None:
            there = join_names(self.roster.names)
            self.publish("notice", text=f"No one here is called {words.strip() or 'that'}; there are {there}.")
        elif name == "speak":
            await self.let_speak(id_)
        else:
            await self.set_muted(id_, is_muted=name == "mute")
