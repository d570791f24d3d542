"""GroupControls: the buttons of a group's lines. What is done to a line is done in the history of every member."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from familiar_connect.errors import HistoryError
from familiar_connect.history.chats import Chat, list_standing_turns
from familiar_connect.history.types import HistoryTurn, TurnMark
from familiar_connect.platforms.group_lines import GroupLine, find_group_line, lines_since_person, move_group_line
from familiar_connect.platforms.web.group_place import GroupSeat
from familiar_connect.platforms.web.group_room import GroupRoom
from familiar_connect.reply.chat_controls import ChatControls, ControlDoor, ControlResult
from familiar_connect.slash.chats import delete_chat
from familiar_connect.support.aio import off_loop

NO_BRANCH = "A group's chat has no branches; a new chat of the group begins with the plus beside its members."
NO_GREETING = "Each member begins a group with words of its own: regenerate them, or edit them."


class GroupControls:
    """The verbs of one group, on the page of the member *here*."""

    def __init__(self, room: GroupRoom, here: str) -> None:
        self._room = room
        self._here = room.seats[here]

    async def regenerate(self, channel_id: int) -> None:
        """Another version of the last reply; where the last line is a person's, it is answered."""
        await self._revise(lambda controls, door: controls.regenerate(door))

    async def continue_reply(self, channel_id: int) -> None:
        """Let whoever spoke last go on."""
        await self._revise(lambda controls, door: controls.continue_reply(door), goes_on=True)

    async def swipe(self, channel_id: int, step: int) -> None:
        """The version *step* away from the one that is shown; past the last one is made."""
        await self._revise(lambda controls, door: controls.swipe(door, step=step))

    async def _revise(
        self,
        control: Callable[[ChatControls, ControlDoor], Awaitable[ControlResult | None]],
        *,
        goes_on: bool = False,
    ) -> None:
        room = self._room
        last = await self._last_line()
        if last.owner is None and room.rounds.waits_to_be_asked:
            await room.go_on()
            return
        if last.owner is None:
            await room.answer(last.turns[self._here.id].display_text)
            return
        async with room.lock:
            seat = room.seats[last.owner]
            begins_with = last.turns[seat.id].display_text if goes_on else ""
            revises = {id_: turn.id for id_, turn in last.turns.items()}
            place = await room.place(seat, revises=revises, begins_with=begins_with)
            door = ControlDoor(channel_id=seat.channel_id, speaker=await room.person_for(seat), place=place)
            try:
                await control(seat.familiar.reply_path.controls, door)
                now = await seat.familiar.reply_path.controls.find_line(seat.channel_id, last.turns[seat.id].id)
                await self._edit_elsewhere(last, now.display_text)
            finally:
                await room.end_reply(seat, revises)

    async def _last_line(self) -> GroupLine:
        lines = await self._here.familiar.reply_path.controls.lines(self._here.channel_id)
        shown = [turn for turn in lines if turn.mark is not TurnMark.hidden]
        if not shown:
            raise HistoryError("Nothing has been said here yet.")
        return await self._line_of(shown[-1])

    async def _edit_elsewhere(self, line: GroupLine, text: str) -> None:
        """Let everybody but the owner have heard *text*."""
        for id_, turn in line.turns.items():
            if id_ != line.owner and turn.display_text != text:
                await self._edit(self._room.seats[id_], turn, text)

    async def _edit(self, seat: GroupSeat, turn: HistoryTurn, text: str) -> None:
        room = self._room
        door = ControlDoor(
            channel_id=seat.channel_id, speaker=await room.person_for(seat), place=await room.place(seat)
        )
        await seat.familiar.reply_path.controls.edit_turn(door, turn, text)

    async def undo(self, channel_id: int) -> None:
        """Take back what the person said last and all that was said since."""
        lines = await self._here.familiar.reply_path.controls.lines(self._here.channel_id)
        await self.remove_from(channel_id, lines_since_person(lines)[0].id)

    async def line(self, channel_id: int, turn_id: int) -> HistoryTurn:
        """A line as it reads now."""
        return await self._here.familiar.reply_path.controls.find_line(channel_id, turn_id)

    async def edit(self, channel_id: int, turn_id: int, text: str) -> None:
        """Let a line read *text* for everybody."""
        words = text.replace("\r\n", "\n").strip()
        await self._change(turn_id, lambda seat, turn: self._edit(seat, turn, words))

    async def hide(self, channel_id: int, turn_id: int) -> None:
        """Keep a line out of every prompt of everybody, or let it back in."""
        await self.set_hidden(turn_id, is_hidden=(await self.line(channel_id, turn_id)).mark is not TurnMark.hidden)

    async def line_at(self, number: int) -> HistoryTurn:
        """The line with that number, counted from the newest, which is 1."""
        return await self._here.familiar.reply_path.controls.line(self._here.channel_id, number)

    async def set_hidden(self, turn_id: int, *, is_hidden: bool) -> None:
        """Keep a line out of every prompt of everybody, or let it back in."""

        async def change(seat: GroupSeat, turn: HistoryTurn) -> None:
            await seat.familiar.reply_path.controls.set_turn_hidden(turn, is_hidden=is_hidden)

        await self._change(turn_id, change)

    async def remove(self, channel_id: int, turn_id: int) -> None:
        """Take one line back for everybody."""
        await self._change(turn_id, lambda seat, turn: seat.familiar.reply_path.controls.remove_turn(turn))

    async def remove_from(self, channel_id: int, turn_id: int) -> None:
        """Take a line and all that was said after it back for everybody."""
        here = self._here
        first = await self.line(here.channel_id, turn_id)
        there = await off_loop(list_standing_turns, here.familiar.history_store, here.id, here.channel_id)
        gone: dict[str, list[int]] = {}
        async with self._room.lock:
            for each in there[there.index(first.id) :]:
                line = await self._line_of(await self.line(here.channel_id, each))
                for id_, turn in line.turns.items():
                    gone.setdefault(id_, []).append(turn.id)
            for id_, turns in gone.items():
                seat = self._room.seats[id_]
                await seat.familiar.reply_path.controls.remove_turns(seat.channel_id, turns)
                seat.chats.events.publish(seat.channel_id, "changed", ids=[])

    async def _change(self, turn_id: int, change: Callable[[GroupSeat, HistoryTurn], Awaitable[None]]) -> None:
        async with self._room.lock:
            line = await self._line_of(await self.line(self._here.channel_id, turn_id))
            for id_, turn in line.turns.items():
                seat = self._room.seats[id_]
                await change(seat, turn)
                seat.chats.events.publish(seat.channel_id, "changed", ids=[turn.id])

    async def _line_of(self, turn: HistoryTurn) -> GroupLine:
        """The line that is *turn* for the member whose page this is."""
        return await find_group_line(self._here, self._room.seats.values(), turn)

    async def move(self, channel_id: int, turn_id: int, step: int) -> int:
        """Let a line change places with its neighbour for everybody; the turn it is then, here."""
        async with self._room.lock:
            changed = await move_group_line(self._here, self._room.seats.values(), turn_id, step)
        for seat in self._room.seats.values():
            if seat.id in changed:
                seat.chats.events.publish(seat.channel_id, "changed", ids=changed[seat.id])
        return changed[self._here.id][0]

    async def branch(self, channel_id: int, turn_id: int) -> Chat:
        """Not of a group."""
        raise HistoryError(NO_BRANCH)

    async def delete(self, chat: Chat) -> None:
        """Take the chat away from every member; pages that show it go to another one."""
        async with self._room.lock:
            for seat in self._room.seats.values():
                own = await off_loop(seat.chats.require, seat.channel_id)
                await delete_chat(seat.familiar, own)
                stays = await off_loop(seat.chats.current)
                seat.chats.events.publish(seat.channel_id, "go", chat=stays.channel_id)

    async def greet(self, channel_id: int, number: str) -> None:
        """Not of a group."""
        raise HistoryError(NO_GREETING)

    async def speak_for(self, channel_id: int) -> str:
        """What the person might say next; nothing of it is kept."""
        room, seat = self._room, self._here
        door = ControlDoor(
            channel_id=seat.channel_id, speaker=await room.person_for(seat), place=await room.place(seat)
        )
        return await seat.familiar.reply_path.controls.speak_for(door)

    def start(self, channel_id: int, doing: Callable[[int], Awaitable[None]]) -> None:
        """Do something that takes as long as a reply does; what goes wrong is told on the pages."""
        self._room.start(doing(channel_id), "verb")
