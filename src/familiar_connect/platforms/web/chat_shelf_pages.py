"""ChatShelfPages: looking after chats: their names, folders and pins, what was said in them, and a file of one.

A chat is found again by its name, by words that were said in it, or by a day.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from familiar_connect.errors import HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.history.chats import MAX_NAME_CHARS, Chat
from familiar_connect.history.line_search import find_first_line_since, find_lines_with
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.text import one_line, truncate_chars

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MOST_FOUND = 100
MAX_WORDS, MAX_QUERY_CHARS = 8, 200
SHOWN_CHARS, BEFORE_CHARS = 240, 60
MAX_EXPORT_BYTES = 500_000_000
NO_SEAL = "a chat of a group cannot be sealed: every member keeps it in a memory of its own"
KEEPS_ITS_NAME = "a chat of a group keeps its name, because every member finds it by that; a folder can be changed"
FORMS = {"jsonl": "application/jsonl", "md": "text/markdown; charset=utf-8"}


@dataclass(frozen=True, kw_only=True)
class FoundLine:
    """A line that holds what was looked for."""

    chat: Chat
    turn_id: int
    who: str
    time: str
    before: str
    found: str
    after: str


class ChatShelfPages:
    """The routes `/chats`, `/search` and `/chats/ID/about`."""

    def __init__(self, familiar: Familiar, chats: WebChats, program: OwnProgram, renderer: PageRenderer) -> None:
        self._familiar = familiar
        self._chats = chats
        self._program = program
        self._renderer = renderer
        self._zone = ZoneInfo(familiar.config.display_tz)

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/search", self.search, "GET"),
            ("/chats/{id:number}/about", self.show, "GET"),
            ("/chats/{id:number}/about", self.change, "POST"),
            ("/chats/{id:number}/seal", self.seal, "POST"),
            ("/chats/{id:number}/day", self.go_to_day, "GET"),
            ("/chats/{id:number}/export", self.export, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def search(self, request: Request) -> Response:
        """Lines of every chat, or of one, that hold all the words; the newest first. Without words every chat."""
        wanted = one_line(request.query_params.get("q", "")[:MAX_QUERY_CHARS]).strip()
        only = request.query_params.get("chat", "")
        return await off_loop(self._search, wanted, only)

    def _search(self, wanted: str, only: str) -> Response:
        every = self._chats.all()
        among = [each for each in every if str(each.channel_id) == only] or every
        words = wanted.split()[:MAX_WORDS]
        names = {each.channel_id: each for each in among}
        database, whose = self._familiar.history_store.database, self._familiar.id
        turns = find_lines_with(database, whose, names, words, limit=MOST_FOUND + 1) if words else []
        hits = [
            FoundLine(
                chat=names[turn.channel_id],
                turn_id=turn.id,
                who=turn.author.label if turn.author is not None else self._familiar.name,
                time=turn.timestamp.astimezone(self._zone).strftime("%Y-%m-%d %H:%M"),
                **cut_around(one_line(turn.display_text), words[0]),
            )
            for turn in turns[:MOST_FOUND]
        ]
        return self._renderer.page(
            "search.html",
            title="Search",
            wanted=wanted,
            only=among[0] if len(among) == 1 and len(every) > 1 else None,
            hits=hits,
            has_more=len(turns) > MOST_FOUND,
            named=[
                each for each in every if not wanted or wanted.casefold() in f"{each.name} {each.folder}".casefold()
            ],
        )

    async def show(self, request: Request) -> Response:
        return await off_loop(self._show, request.path_params["id"], "")

    def _show(self, channel_id: int, problem: str) -> Response:
        chat = self._chats.require(channel_id)
        return self._renderer.page(
            "chat_about.html",
            status=400 if problem else 200,
            title=chat.name,
            here=chat,
            problem=problem,
            folders=sorted({each.folder for each in self._chats.all() if each.folder}),
            longest=MAX_NAME_CHARS,
            is_group=self._chats.is_group(chat),
            is_sealed=self._chats.is_sealed(channel_id),
            lines=self._familiar.history_store.count(familiar_id=self._familiar.id, channel_id=channel_id),
            today=self._familiar.clock.now().astimezone(self._zone).strftime("%Y-%m-%d"),
        )

    async def change(self, request: Request) -> Response:
        """Its name, its folder, and whether it is pinned."""
        fields = await read_form(request)
        return await off_loop(self._change, request.path_params["id"], fields)

    def _change(self, channel_id: int, fields: dict[str, str]) -> Response:
        chat = self._chats.require(channel_id)
        name = fields.get("name", chat.name)
        if name.strip() != chat.name and self._chats.is_group(chat):
            return self._show(channel_id, KEEPS_ITS_NAME)
        try:
            self._familiar.stores.chats.change(
                chat,
                name=name,
                folder=fields.get("folder", ""),
                is_pinned=fields.get("pinned") == "1",
            )
        except HomeError as error:
            return self._show(channel_id, str(error))
        return redirect(f"/chats/{channel_id}")

    async def seal(self, request: Request) -> Response:
        """Keep a chat apart from all others, or let it go back among them."""
        fields = await read_form(request)
        return await off_loop(self._seal, request.path_params["id"], fields.get("sealed") == "1")

    def _seal(self, channel_id: int, is_sealed: bool) -> Response:
        chat = self._chats.require(channel_id)
        if self._chats.is_group(chat):
            return self._show(channel_id, NO_SEAL)
        self._chats.seal(channel_id, is_sealed=is_sealed)
        return redirect(f"/chats/{channel_id}")

    async def go_to_day(self, request: Request) -> Response:
        """To the first line that was said on a day, or after it."""
        return await off_loop(self._go_to_day, request.path_params["id"], request.query_params.get("date", ""))

    def _go_to_day(self, channel_id: int, day: str) -> Response:
        chat = self._chats.require(channel_id)
        try:
            moment = datetime.combine(date.fromisoformat(day), time(), tzinfo=self._zone)
        except (ValueError, OverflowError) as error:
            raise HomeError("that is not a day; write it as 2026-03-14") from error
        database = self._familiar.history_store.database
        found = find_first_line_since(database, self._familiar.id, chat.channel_id, moment)
        if found is None:
            raise HomeError(f"nothing was said in {chat.name} on that day or later")
        return redirect(f"/chats/{chat.channel_id}?line={found}#line-{found}")

    async def export(self, request: Request) -> Response:
        """The chat as a file: for SillyTavern, or to be read."""
        from starlette.responses import Response

        form = request.query_params.get("form", "jsonl")
        if form not in FORMS:
            raise HomeError("a chat is saved as jsonl or md")
        chat = await off_loop(self._chats.require, request.path_params["id"])
        with tempfile.TemporaryDirectory(prefix="familiar-export-") as folder:
            target = Path(folder) / f"chat.{form}"
            words = ("export", "chat", "--familiar", self._familiar.id, f"--chat={chat.name}", "-o", str(target))
            await self._program.read_json(*words)
            content = await off_loop(load_bytes, target, MAX_EXPORT_BYTES)
        headers = {"content-disposition": f'attachment; filename="chat-{chat.channel_id}.{form}"'}
        return Response(content, media_type=FORMS[form], headers=headers)


def cut_around(text: str, word: str) -> dict[str, str]:
    """A piece of *text* around the first place of *word*: before it, itself, and after."""
    at = text.casefold().find(word.casefold())
    if at < 0 or len(text.casefold()) != len(text):
        return {"before": truncate_chars(text, SHOWN_CHARS), "found": "", "after": ""}
    start = max(0, at - BEFORE_CHARS)
    end = at + len(word)
    return {
        "before": ("…" if start else "") + text[start:at],
        "found": text[at:end],
        "after": truncate_chars(text[end:], SHOWN_CHARS),
    }
