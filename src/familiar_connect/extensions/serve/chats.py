"""ServedChats: the chats that other programs have with one familiar: which one is meant, and a request in it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from familiar_connect.api import Author, PlatformHost
from familiar_connect.api.answering import ChatDoor, KeptLine
from familiar_connect.api.support import KeyedLocks, LruCache, truncate_chars
from familiar_connect.extensions.serve.chat_request import ChatRequest, RefusedRequest
from familiar_connect.extensions.serve.keys import AccessKey, KeyAudience, plain_id
from familiar_connect.extensions.serve.place import ServedPlace
from familiar_connect.extensions.serve.reconcile import Reconciliation, ShownLine, choose_start, reconcile

logger = logging.getLogger(__name__)

MAX_CHATS = 500
MAX_SEARCHED = 50
"""Chats of one person that are looked through where a program does not say which it means."""
ID_CHARS = 16
CHARS_PER_TOKEN = 4
NOT_HERE = "That cannot be used from here."


@dataclass
class ChatState:
    """What is known of a chat's program since this one was started."""

    start: int | None = None
    """Our line that its first one was last time."""
    keeps_lines: bool = False
    """Whether it was seen to send more than its newest line."""
    marks: set[str] = field(default_factory=set)
    """Short marks of the lines it showed."""


class ServedChats:
    """The chats of one familiar."""

    def __init__(self, host: PlatformHost, *, note_tokens: int) -> None:
        """*note_tokens*: how much of what a program tells a model is shown."""
        self._host = host
        self._note_chars = note_tokens * CHARS_PER_TOKEN
        self._locks = KeyedLocks()
        self._states: LruCache[str, ChatState] = LruCache(MAX_CHATS)
        self._keeping: LruCache[str, bool] = LruCache(MAX_CHATS)
        """Keys whose programs were seen to send more than the newest line of a chat."""
        self._listed: LruCache[str, list[str]] = LruCache(MAX_CHATS)
        """The chats of each person, the latest last."""

    def speaker(self, request: ChatRequest, key: AccessKey) -> Author:
        """Who speaks: the key's person, else whoever the program names."""
        if key.person:
            return self._host.author(key.person_id, key.person)
        named = request.person
        if named is None:
            raise RefusedRequest(
                f"the key {key.name} is for several people: say who speaks with `user`, or make a key with --person"
            )
        name = request.person_name or named
        return self._host.author(f"{plain_id(key.name)}.{plain_id(named) or 'someone'}", name)

    async def answer(self, request: ChatRequest, key: AccessKey) -> tuple[ServedPlace, asyncio.Task[None]]:
        """Where the reply comes in pieces, and the work on it."""
        speaker = self.speaker(request, key)
        owner = speaker.user_id if key.audience is KeyAudience.private else f"room-{plain_id(key.name)}"
        chat = await self._find_chat(owner, request)
        channel = f"{owner}/{chat}"
        note = truncate_chars(request.note, self._note_chars) if request.note else ""
        place = ServedPlace(channel, speaker, key.audience.read_by, self._host.recent, note=note, tools=request.tools)
        door = ChatDoor(channel=channel, speaker=speaker, place=place, is_dm=key.audience is KeyAudience.private)
        work = self._carry_out(request, door, place, key.name)
        return place, asyncio.create_task(work, name=f"served {channel}")

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """*texts* as vectors of the familiar's embedder."""
        return await self._host.chats.embed(texts)

    async def stop(self, place: ServedPlace) -> None:
        """Nobody waits for the answer any more; what was said of it stays."""
        await self._host.chats.stop(place.channel)

    async def _carry_out(self, request: ChatRequest, door: ChatDoor, place: ServedPlace, program: str) -> None:
        try:
            async with self._locks.lock(door.channel):
                await self._settle_and_answer(request, door, program)
        finally:
            place.end()

    async def _settle_and_answer(self, request: ChatRequest, door: ChatDoor, program: str) -> None:
        chats = self._host.chats
        if not door.is_dm:
            await self._host.join(door.channel, door.place)
        if self._is_command(request.lines[-1]):
            await self._use_command(request.lines[-1].text, door)
            return
        request = replace(request, lines=self._without_commands(request.lines))
        state = self._state(door.channel)
        ours = await chats.lines(door.channel)
        todo = reconcile(
            ours,
            request.lines,
            start=state.start,
            keeps_lines=state.keeps_lines,
            keeps_elsewhere=self._keeping.get(program) is not None,
        )
        await self._settle(todo, door)
        if todo.then == "say":
            if not await chats.say(door, request.lines[-1].text):
                await door.place.notice("That was not taken: a limit, a privacy level or the list of ignored people.")
        elif todo.then == "again":
            await chats.answer_again(door)
        else:
            await chats.go_on(door)
        await self._note_shown(door.channel, request, todo, ours)
        if len(request.lines) > 1:
            self._keeping.put(program, True)

    # Commands

    def _is_command(self, line: ShownLine) -> bool:
        """Whether a line uses one of the familiar's commands, such as /help; it is no talk then."""
        words = line.text.split(maxsplit=1)
        is_one = bool(words) and words[0].startswith("/") and not line.is_own
        return is_one and self._host.commands.find(words[0][1:].lower()) is not None

    async def _use_command(self, line: str, door: ChatDoor) -> None:
        told = await self._host.use_command(door.channel, door.speaker, line, door.place, others_read=not door.is_dm)
        await door.place.send(told or NOT_HERE)

    def _without_commands(self, lines: Sequence[ShownLine]) -> tuple[ShownLine, ...]:
        """*lines* without commands and what was told to each, which were never said."""
        kept: list[ShownLine] = []
        is_told = False
        for line in lines:
            is_told = (is_told and line.is_own) or self._is_command(line)
            if not is_told:
                kept.append(line)
        return tuple(kept)

    async def _settle(self, todo: Reconciliation, door: ChatDoor) -> None:
        """Let our lines read as the program shows them."""
        chats = self._host.chats
        for line_id, text in todo.edits:
            await chats.edit(door, line_id, text)
        if todo.removed:
            await chats.remove(door.channel, todo.removed)
        for line in todo.added:
            await chats.take_in(door, line.text, is_own=line.is_own)

    async def _note_shown(
        self, channel: str, request: ChatRequest, todo: Reconciliation, before: Sequence[KeptLine]
    ) -> None:
        state = self._state(channel)
        now = await self._host.chats.lines(channel)
        known = {line.id for line in before}
        first_new = next((line.id for line in now if line.id not in known), None)
        state.start = choose_start(todo, state.start, first_new)
        state.keeps_lines = state.keeps_lines or len(request.lines) > 1
        held = [ShownLine(line.is_own, line.text) for line in now if line.is_own]
        # Also as it was shown: a program that had a line gone on with may keep the rest as a line of its own.
        state.marks = {_mark(line) for line in (*held, *request.lines) if line.is_own}

    # Which chat

    async def _find_chat(self, owner: str, request: ChatRequest) -> str:
        """The chat that the request names, else the one whose replies it shows, else a new one."""
        if request.chat is not None:
            within = f"{request.person or ''}/{request.chat}"
            return hashlib.sha256(within.encode()).hexdigest()[:ID_CHARS]
        listed = await self._list_chats(owner)
        shown = {_mark(line) for line in request.lines if line.is_own}
        best, most = None, 0
        for chat in reversed(listed[-MAX_SEARCHED:]):
            common = len(shown & (await self._known_state(f"{owner}/{chat}")).marks)
            if common > most:
                best, most = chat, common
        if best is None and len(request.lines) == 1 and listed:
            best = listed[-1] if await self._is_asked_again(f"{owner}/{listed[-1]}", request.lines[0]) else None
        if best is None:
            best = secrets.token_hex(ID_CHARS // 2)
        self._listed.put(owner, [*(each for each in listed if each != best), best][-MAX_SEARCHED:])
        return best

    async def _is_asked_again(self, channel: str, line: ShownLine) -> bool:
        """Whether the chat holds nothing but that line and what was answered to it."""
        ours = await self._host.chats.lines(channel)
        spoken = [ShownLine(False, each.text) for each in ours if not each.is_own]
        return len(spoken) == 1 and spoken[0].key == line.key

    async def _list_chats(self, owner: str) -> list[str]:
        listed = self._listed.get(owner)
        if listed is None:
            names = await self._host.chats.names(f"{owner}/", MAX_SEARCHED)
            listed = [name.removeprefix(f"{owner}/") for name in names]
            self._listed.put(owner, listed)
        return listed

    async def _known_state(self, channel: str) -> ChatState:
        """What is known of a chat; after a start, what it holds."""
        state = self._states.get(channel)
        if state is None:
            state = self._state(channel)
            lines = await self._host.chats.lines(channel)
            state.marks = {_mark(ShownLine(line.is_own, line.text)) for line in lines if line.is_own}
        return state

    def _state(self, channel: str) -> ChatState:
        state = self._states.get(channel)
        if state is None:
            state = ChatState()
            self._states.put(channel, state)
        return state


def _mark(line: ShownLine) -> str:
    return hashlib.sha256(repr(line.key).encode()).hexdigest()[:ID_CHARS]
