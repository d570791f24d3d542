"""ChatHost: the chats of a platform as a program meets them that keeps their lines itself.

Such a program sends all it shows with each request. What reads otherwise there reads so here, what is gone there is
taken back here, and nothing is ever lost: lines get versions and marks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from familiar_connect.chat.place import Place, fetch_scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.conversation.place_readers import find_audience
from familiar_connect.conversation.types import ReplyDue
from familiar_connect.errors import HistoryError, SetupError
from familiar_connect.familiar import Familiar
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.reply.chat_controls import ChatControls, ControlDoor
from familiar_connect.support.aio import off_loop

SCENE_LIMIT_S = 1.0


@dataclass(frozen=True, kw_only=True)
class KeptLine:
    """One line of a chat as people see it."""

    id: int
    is_own: bool
    """Said by the familiar."""
    text: str


@dataclass(frozen=True, kw_only=True)
class ChatDoor:
    """Which chat, who speaks in it, and where what is said there goes."""

    channel: str
    speaker: Author
    place: Place
    is_dm: bool


class ChatHost:
    """What a platform may do with the lines of its channels."""

    def __init__(self, familiar: Familiar, platform: str, number: Callable[[str], Awaitable[int]]) -> None:
        self._familiar = familiar
        self._platform = platform
        self._number = number

    async def lines(self, channel: str, limit: int = 200) -> list[KeptLine]:
        """The newest lines, oldest first; 200 at most."""
        turns = await self._controls.lines(await self._number(channel), limit)
        return [KeptLine(id=turn.id, is_own=turn.role == "assistant", text=turn.content) for turn in turns]

    async def names(self, start: str, limit: int) -> list[str]:
        """The names of channels that begin with *start*, the one made last at the end."""
        keys = self._familiar.history_store.channel_keys
        return await off_loop(keys.ids_from, self._platform, start, limit)

    async def edit(self, door: ChatDoor, line_id: int, text: str) -> None:
        """Let a line read *text*; what it read before is kept as its version."""
        control = await self._open(door)
        turn = await self._controls.find_line(control.channel_id, line_id)
        await self._controls.edit_turn(control, turn, text)

    async def remove(self, channel: str, line_ids: Sequence[int]) -> None:
        """Take lines back: they are in no prompt any more."""
        await self._controls.remove_turns(await self._number(channel), line_ids)

    async def take_in(self, door: ChatDoor, text: str, *, is_own: bool) -> None:
        """A line that was said where nobody heard it: it is stored and not answered. *is_own*: by the familiar."""
        message = await self._message(door, text)
        if is_own:
            await self._store_own(message, door.place)
        else:
            await self._familiar.intake.receive(message, door.place, due=ReplyDue.never)

    async def say(self, door: ChatDoor, text: str, message_id: str | None = None) -> bool:
        """Somebody says *text*; returns when it is answered. False: it was not taken, or nobody is to answer it."""
        message = replace(await self._message(door, text), message_id=message_id)
        heard = await self._familiar.intake.receive(message, door.place)
        if heard is not IntakeResult.answering:
            return False
        await self._familiar.reply_path.queue.wait_until_channel_idle(message.channel_id)
        return True

    async def answer_again(self, door: ChatDoor) -> None:
        """Make another version of the last reply, or answer who was left without one; a sentence where it fails."""
        await self._controls.regenerate(await self._open(door))

    async def go_on(self, door: ChatDoor) -> None:
        """Go on with the last reply; a sentence where that is impossible."""
        await self._controls.continue_reply(await self._open(door))

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """*texts* as vectors of length one, by the embedder that searches memory here."""
        await self._familiar.index.wait_until_loaded()
        index = self._familiar.memory_index
        if index is None:
            raise SetupError("memory is not searched here, so there is no embedder: `familiar doctor` says why")
        rows = await off_loop(index.model.embed, list(texts))
        return [[float(number) for number in row] for row in rows]

    async def stop(self, channel: str) -> None:
        """End the reply under way; what was said of it stays."""
        await self._familiar.reply_path.queue.stop(await self._number(channel))

    @property
    def _controls(self) -> ChatControls:
        return self._familiar.reply_path.controls

    async def _open(self, door: ChatDoor) -> ControlDoor:
        return ControlDoor(channel_id=await self._number(door.channel), speaker=door.speaker, place=door.place)

    async def _message(self, door: ChatDoor, text: str) -> InboundMessage:
        return InboundMessage(
            platform=self._platform,
            channel_id=await self._number(door.channel),
            author=door.speaker,
            text=text,
            timestamp=self._familiar.clock.now(),
            is_dm=door.is_dm,
            wants_answer=True,
            channel_name=door.channel,
        )

    async def _store_own(self, message: InboundMessage, place: Place) -> HistoryTurn:
        familiar = self._familiar
        scene = await fetch_scene(place, limit_s=SCENE_LIMIT_S)
        readers, history = familiar.reply_path.readers, familiar.history_store
        audience = await off_loop(find_audience, readers, history, familiar.id, message, scene)
        if not message.text.strip():
            raise HistoryError("an empty line is none")
        append = partial(
            history.append_turn,
            familiar_id=familiar.id,
            channel_id=message.channel_id,
            role="assistant",
            content=message.text,
            timestamp=message.timestamp,
            audience=audience,
        )
        return await off_loop(append)
