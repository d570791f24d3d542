"""PageControls: what the person at the page does to a chat besides talking: another version, undo, edit, branch, ….

The controls are those of every door; here they are given the page's place, and the pages are told what changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from itertools import chain, count
from typing import TYPE_CHECKING

from familiar_connect.errors import FamiliarError
from familiar_connect.history.chats import MAX_NAME_CHARS, Chat
from familiar_connect.history.types import HistoryTurn, TurnMark
from familiar_connect.reply.chat_controls import ControlDoor, ControlResult
from familiar_connect.slash.chats import branch_chat, delete_chat, take_back_from
from familiar_connect.slash.command import SlashContext, run_command
from familiar_connect.slash.greeting import GREETING
from familiar_connect.slash.roleplay import move_line
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from familiar_connect.familiar import Familiar
    from familiar_connect.platforms.web.chats import WebChats


class PageControls:
    """The verbs of one familiar's chats, for every page that is open."""

    def __init__(self, familiar: Familiar, chats: WebChats) -> None:
        self._familiar = familiar
        self._chats = chats
        self._controls = familiar.reply_path.controls

    async def regenerate(self, channel_id: int) -> None:
        """Another version of the last reply, or a reply where there is none yet."""
        await self._make(channel_id, self._controls.regenerate)

    async def continue_reply(self, channel_id: int) -> None:
        """Let the familiar go on with its last reply."""
        await self._make(channel_id, self._controls.continue_reply, goes_on=True)

    async def swipe(self, channel_id: int, step: int) -> None:
        """The version *step* away from the one that is shown; past the last one is made.

        Where the chat has only begun the other greetings come first.
        """
        if step > 0 and (number := await self._next_greeting(channel_id)) is not None:
            await self.greet(channel_id, str(number))
            return
        await self._make(channel_id, lambda door: self._controls.swipe(door, step=step))

    async def _next_greeting(self, channel_id: int) -> int | None:
        """The number of the greeting behind the one that the chat begins with, before they are versions of it."""
        lines = await self._controls.lines(channel_id, 2)
        if len(lines) != 1 or lines[0].role != "assistant":
            return None
        shown = await off_loop(self._chats.message, channel_id, lines[0].id)
        greetings = await off_loop(self._chats.greetings)
        if not shown or shown[0].versions > 1 or lines[0].content not in greetings:
            return None
        here = greetings.index(lines[0].content)
        return next((number for number, text in enumerate(greetings) if text and number > here), None)

    async def _make(
        self,
        channel_id: int,
        control: Callable[[ControlDoor], Awaitable[ControlResult | None]],
        *,
        goes_on: bool = False,
    ) -> None:
        """Let a control have its way with the last reply, shown where that stands as it is made."""
        await self._familiar.reply_path.queue.wait_until_channel_idle(channel_id)
        last = next(iter((await self._controls.lines(channel_id))[-1:]), None)
        revised = last if last is not None and last.role == "assistant" else None
        door = await self._door(channel_id, revised, goes_on=goes_on)
        try:
            await control(door)
        finally:
            await self._chats.end_reply(channel_id, changed=[revised.id] if revised is not None else [])

    async def undo(self, channel_id: int) -> None:
        """Take the last exchange back."""
        gone = await self._controls.undo(await self._door(channel_id))
        self._chats.events.publish(channel_id, "changed", ids=[turn.id for turn in gone])

    async def line(self, channel_id: int, turn_id: int) -> HistoryTurn:
        """A line as it reads now."""
        return await self._controls.find_line(channel_id, turn_id)

    async def edit(self, channel_id: int, turn_id: int, text: str) -> None:
        """Let a line read *text*."""
        turn = await self.line(channel_id, turn_id)
        await self._controls.edit_turn(await self._door(channel_id), turn, text.replace("\r\n", "\n").strip())
        self._chats.events.publish(channel_id, "changed", ids=[turn_id])

    async def hide(self, channel_id: int, turn_id: int) -> None:
        """Keep a line out of every prompt, or let it back in where it is hidden."""
        turn = await self.line(channel_id, turn_id)
        await self._controls.set_turn_hidden(turn, is_hidden=turn.mark is not TurnMark.hidden)
        self._chats.events.publish(channel_id, "changed", ids=[turn_id])

    async def remove(self, channel_id: int, turn_id: int) -> None:
        """Take one line back, wherever it stands."""
        turn = await self.line(channel_id, turn_id)
        await self._controls.remove_turn(turn)
        self._chats.events.publish(channel_id, "changed", ids=[turn_id])

    async def remove_from(self, channel_id: int, turn_id: int) -> None:
        """Take a line back with all that was said after it."""
        await take_back_from(self._familiar, channel_id, turn_id)
        self._chats.events.publish(channel_id, "changed", ids=[])

    async def move(self, channel_id: int, turn_id: int, step: int) -> int:
        """Let a line change places with its neighbour; the turn it is then."""
        changed = await move_line(self._familiar, channel_id, turn_id, step)
        self._chats.events.publish(channel_id, "changed", ids=changed)
        return changed[0]

    async def branch(self, channel_id: int, turn_id: int) -> Chat:
        """Another chat, which begins with this one's lines up to that one."""
        turn = await self.line(channel_id, turn_id)
        return await off_loop(self._branch, channel_id, turn.id)

    def _branch(self, channel_id: int, turn_id: int) -> Chat:
        there = self._chats.all()
        here = next((each.name for each in there if each.channel_id == channel_id), "chat")
        name = choose_branch_name(here, {each.name.casefold() for each in there})
        return branch_chat(self._familiar, channel_id, turn_id, name)[0]

    async def speak_for(self, channel_id: int) -> str:
        """What the person might say next; nothing of it is kept."""
        return await self._controls.speak_for(await self._door(channel_id))

    async def delete(self, chat: Chat) -> None:
        """Take the chat away; pages that show it go to another one."""
        await delete_chat(self._familiar, chat)
        stays = await off_loop(self._chats.current)
        self._chats.events.publish(chat.channel_id, "go", chat=stays.channel_id)

    async def greet(self, channel_id: int, number: str) -> None:
        """Begin the chat with another of the character's greetings."""
        door = await self._door(channel_id)
        context = SlashContext(
            channel_id=channel_id, author=door.speaker, is_operator=True, words=number, answers_at=door.place
        )
        await run_command(GREETING, context, self._familiar)
        first = (await self._controls.lines(channel_id, 1))[0]
        self._chats.events.publish(channel_id, "changed", ids=[first.id])

    async def _door(self, channel_id: int, revised: HistoryTurn | None = None, *, goes_on: bool = False) -> ControlDoor:
        person = await off_loop(self._chats.person)
        place = self._chats.place(channel_id, person, revised=revised, goes_on=goes_on)
        return ControlDoor(channel_id=channel_id, speaker=person, place=place)

    def start(self, channel_id: int, doing: Callable[[int], Awaitable[None]]) -> None:
        """Do something that takes as long as a reply does; what goes wrong is told on the pages."""
        self._chats.start_task(self._tell_problems(channel_id, doing(channel_id)), name=f"verb-{channel_id}")

    async def _tell_problems(self, channel_id: int, doing: Awaitable[None]) -> None:
        try:
            await doing
        except FamiliarError as error:
            self._chats.events.publish(channel_id, "notice", text=str(error))


def choose_branch_name(parent: str, taken: Collection[str]) -> str:
    """What a chat that goes another way than *parent* is called; none of *taken*, which are folded."""
    root = f"Branch of {parent}"[: MAX_NAME_CHARS - len(" 99999")].rstrip()
    names = chain((root,), (f"{root} {number}" for number in count(2)))
    return next(name for name in names if name.casefold() not in taken)
