"""TerminalGroupControls: the lines of a group at the terminal, changed in the history of every member."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from familiar_connect.errors import HistoryError
from familiar_connect.history.types import HistoryTurn, TurnMark
from familiar_connect.platforms.group_lines import GroupLine, find_group_line, lines_since_person, move_group_line
from familiar_connect.platforms.terminal.group_member import GroupMember
from familiar_connect.reply.chat_controls import ChatControls, ControlDoor, ControlResult

NOTHING_SAID = "Nothing has been said here yet."


class TerminalGroupControls:
    """The controls of one group, its lines counted as the member *here* has them."""

    def __init__(
        self, members: Mapping[str, GroupMember], here: GroupMember, *, answer: Callable[[], Awaitable[object]]
    ) -> None:
        """*answer* has the group answer what was said last."""
        self._members = members
        self._here = here
        self._answer = answer

    async def regenerate(self, channel_id: int) -> None:
        """Another version of the last reply; where the last line is the person's, it is answered."""
        await self._revise(lambda controls, door: controls.regenerate(door))

    async def continue_reply(self, channel_id: int) -> None:
        """Let whoever spoke last go on."""
        await self._revise(lambda controls, door: controls.continue_reply(door))

    async def swipe(self, channel_id: int, step: int) -> None:
        """The version *step* away from the one that is shown; past the last one is made."""
        await self._revise(lambda controls, door: controls.swipe(door, step=step))

    async def _revise(self, control: Callable[[ChatControls, ControlDoor], Awaitable[ControlResult | None]]) -> None:
        lines = await self._controls_of(self._here).lines(self._here.channel_id)
        shown = [turn for turn in lines if turn.mark is not TurnMark.hidden]
        if not shown:
            raise HistoryError(NOTHING_SAID)
        last = await self._line_of(shown[-1])
        if last.owner is None:
            await self._answer()
            return
        member = self._members[last.owner]
        controls, door = self._controls_of(member), self._door_of(member)
        result = await control(controls, door)
        if result is not None and not result.is_shown:
            await controls.show(door, result.turn)
        member.place.end()
        now = await controls.find_line(member.channel_id, last.turns[member.id].id)
        for id_, turn in last.turns.items():
            if id_ != last.owner and turn.display_text != now.display_text:
                await self._edit(self._members[id_], turn, now.display_text)

    async def undo(self, channel_id: int) -> None:
        """Take back what the person said last and all that was said since."""
        lines = await self._controls_of(self._here).lines(self._here.channel_id)
        for turn in reversed(lines_since_person(lines)):
            await self.remove(channel_id, turn.id)

    async def line_at(self, number: int) -> HistoryTurn:
        """The line with that number, counted from the newest, which is 1."""
        return await self._controls_of(self._here).line(self._here.channel_id, number)

    async def edit(self, channel_id: int, turn_id: int, text: str) -> None:
        """Let a line read *text* for everybody."""
        await self._change(turn_id, lambda member, turn: self._edit(member, turn, text))

    async def set_hidden(self, turn_id: int, *, is_hidden: bool) -> None:
        """Keep a line out of every prompt of everybody, or let it back in."""

        async def change(member: GroupMember, turn: HistoryTurn) -> None:
            await self._controls_of(member).set_turn_hidden(turn, is_hidden=is_hidden)

        await self._change(turn_id, change)

    async def remove(self, channel_id: int, turn_id: int) -> None:
        """Take one line back for everybody."""
        await self._change(turn_id, lambda member, turn: self._controls_of(member).remove_turn(turn))

    async def move(self, channel_id: int, turn_id: int, step: int) -> int:
        """Let a line change places with its neighbour for everybody; the turn it is then."""
        changed = await move_group_line(self._here, self._members.values(), turn_id, step)
        await self._look_again()
        return changed[self._here.id][0]

    async def _change(self, turn_id: int, change: Callable[[GroupMember, HistoryTurn], Awaitable[None]]) -> None:
        turn = await self._controls_of(self._here).find_line(self._here.channel_id, turn_id)
        for id_, each in (await self._line_of(turn)).turns.items():
            await change(self._members[id_], each)
        await self._look_again()

    async def _look_again(self) -> None:
        """Whoever has not spoken since answers what stands there now."""
        for member in self._members.values():
            await member.look_again()

    async def _line_of(self, turn: HistoryTurn) -> GroupLine:
        return await find_group_line(self._here, self._members.values(), turn)

    async def _edit(self, member: GroupMember, turn: HistoryTurn, text: str) -> None:
        await self._controls_of(member).edit_turn(self._door_of(member), turn, text)

    def _door_of(self, member: GroupMember) -> ControlDoor:
        return ControlDoor(channel_id=member.channel_id, speaker=member.user, place=member.place)

    def _controls_of(self, member: GroupMember) -> ChatControls:
        return member.familiar.reply_path.controls
