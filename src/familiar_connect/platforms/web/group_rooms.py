"""GroupRooms: the groups of a home that somebody looks at or that talk, each with its members open meanwhile."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from familiar_connect.familiar import Familiar
from familiar_connect.history.chats import Chat
from familiar_connect.history.types import HistoryTurn
from familiar_connect.platforms.group_talk import (
    GroupChat,
    build_roster,
    find_group_chat,
    join_group_chat,
    origin_of_line,
)
from familiar_connect.platforms.web.addresses import pages_at
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.group_place import GroupSeat
from familiar_connect.platforms.web.group_room import GroupRoom
from familiar_connect.platforms.web.home_familiars import HomeFamiliars
from familiar_connect.platforms.web.other_lines import OtherLine
from familiar_connect.support.aio import BackgroundTasks, off_loop


class GroupRooms:
    """Opens a group's room when it is wanted, and lets its members go when nobody does any more."""

    def __init__(self, home: Path, familiars: HomeFamiliars, first: Callable[[], tuple[Familiar, WebChats]]) -> None:
        """*first* is the familiar that is open whoever looks."""
        self.home = home
        self.familiars = familiars
        self._first = first
        self._open: dict[str, GroupRoom] = {}
        """By the name of the chat."""
        self._members: dict[GroupRoom, AsyncExitStack] = {}
        """Each closes what is open only because of a room."""
        self._users: Counter[GroupRoom] = Counter()
        self._lock = asyncio.Lock()
        self._background = BackgroundTasks("web-groups")

    @asynccontextmanager
    async def use(self, member: str, chat: Chat) -> AsyncIterator[GroupRoom | None]:
        """The room of the group whose chat *member* has there, open as long as this is; None: it is no group's."""
        found = await off_loop(find_group_chat, self.home, chat.name, member)
        if found is None:
            yield None
            return
        async with self._lock:
            room = await self._get(found)
            self._users[room] += 1
        try:
            yield room
        finally:
            await self._let_go(room)

    async def _get(self, chat: GroupChat) -> GroupRoom:
        known = self._open.get(chat.chat_name)
        if known is not None and known.chat == chat:
            return known
        async with AsyncExitStack() as members:
            opened = [await self._open_member(each, members) for each in chat.config.members]
            familiars = [familiar for familiar, _ in opened]
            roster = await off_loop(build_roster, chat.config, familiars)
            roots = [familiar.root for familiar in familiars]
            channels = await off_loop(join_group_chat, roots, chat.label, chat.number)
            pictures = await off_loop(lambda: [self.familiars.pictures.url_of(each.id) for each in familiars])
            seats = [
                GroupSeat(
                    familiar=familiar,
                    chats=chats,
                    channel_id=channel_id,
                    name=roster.name_of(familiar.id),
                    picture=picture,
                )
                for (familiar, chats), channel_id, picture in zip(opened, channels, pictures, strict=True)
            ]
            room = GroupRoom(chat, self.home, seats, roster, self._start)
            self._open[chat.chat_name] = room
            self._members[room] = members.pop_all()
        return room

    async def _open_member(self, id_: str, members: AsyncExitStack) -> tuple[Familiar, WebChats]:
        familiar, chats = self._first()
        if id_ == familiar.id:
            return familiar, chats
        pages = await members.enter_async_context(self.familiars.use(id_))
        return pages.familiar, pages.chats

    async def _let_go(self, room: GroupRoom) -> None:
        self._users[room] -= 1
        if self._users[room]:
            return
        del self._users[room]
        if self._open.get(room.chat.chat_name) is room:
            del self._open[room.chat.chat_name]
        await self._members.pop(room).aclose()

    def _start(self, room: GroupRoom, doing: Awaitable[None], name: str) -> None:
        """Do something in an open room, which stays open until that is done."""
        self._users[room] += 1
        self._background.start(self._finish(room, doing), name=f"{name}-{room.chat.chat_name}")

    async def _finish(self, room: GroupRoom, doing: Awaitable[None]) -> None:
        try:
            await doing
        finally:
            await self._let_go(room)

    def find_lines(self, turns: Sequence[HistoryTurn]) -> dict[int, OtherLine]:
        """For lines that another open member said: where it is at home, and which of its turns made them."""
        seats = {seat.id: seat for room in list(self._members) for seat in room.seats.values()}
        wanted: dict[str, dict[int, int]] = {}
        for turn in turns:
            origin = origin_of_line(turn)
            if origin is not None and origin[0] in seats:
                wanted.setdefault(origin[0], {})[origin[1]] = turn.id
        found: dict[int, OtherLine] = {}
        for id_, lines in wanted.items():
            told = seats[id_].chats.describe_own(seats[id_].channel_id, list(lines), pages_at(id_), seats[id_].picture)
            found |= {lines[theirs]: line for theirs, line in told.items()}
        return found

    async def aclose(self) -> None:
        """End what is talked about; what was said so far is recorded."""
        for room in list(self._members):
            await room.stop()
        await self._background.wait_until_idle()
