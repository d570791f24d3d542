"""ControlPages: the buttons of a chat. Each is a form that works by itself; a script of the page asks for the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from familiar_connect.errors import HistoryError
from familiar_connect.history.chats import Chat
from familiar_connect.history.types import HistoryTurn
from familiar_connect.platforms.web.chat_pages import MAX_MESSAGE_CHARS, ChatPages
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.group_controls import GroupControls
from familiar_connect.platforms.web.page_controls import PageControls
from familiar_connect.platforms.web.render import (
    Handler,
    PageRenderer,
    answer_json,
    is_script,
    make_routes,
    read_form,
    redirect,
)
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

WAYS = {"up": -1, "down": 1}
STEPS = {"back": -1, "next": 1}


class ChatVerbs(Protocol):
    """What can be done to one chat, whether one familiar is in it or several."""

    async def regenerate(self, channel_id: int) -> None: ...
    async def continue_reply(self, channel_id: int) -> None: ...
    async def swipe(self, channel_id: int, step: int) -> None: ...
    async def undo(self, channel_id: int) -> None: ...
    async def line(self, channel_id: int, turn_id: int) -> HistoryTurn: ...
    async def edit(self, channel_id: int, turn_id: int, text: str) -> None: ...
    async def hide(self, channel_id: int, turn_id: int) -> None: ...
    async def remove(self, channel_id: int, turn_id: int) -> None: ...
    async def remove_from(self, channel_id: int, turn_id: int) -> None: ...
    async def move(self, channel_id: int, turn_id: int, step: int) -> int: ...
    async def branch(self, channel_id: int, turn_id: int) -> Chat: ...
    async def greet(self, channel_id: int, number: str) -> None: ...
    async def speak_for(self, channel_id: int) -> str: ...
    async def delete(self, chat: Chat) -> None: ...
    def start(self, channel_id: int, doing: Callable[[int], Awaitable[None]]) -> None: ...


class ControlPages:
    """What can be done to a chat and to its lines, under `/chats/ID`."""

    def __init__(self, chats: WebChats, verbs: PageControls, pages: ChatPages, renderer: PageRenderer) -> None:
        self._chats = chats
        self._verbs = verbs
        self._pages = pages
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers: tuple[tuple[str, Handler, str], ...] = (
            ("regenerate", self._making(lambda verbs: verbs.regenerate), "POST"),
            ("continue", self._making(lambda verbs: verbs.continue_reply), "POST"),
            ("swipe/{step}", self.swipe, "POST"),
            ("undo", self.undo, "POST"),
            ("impersonate", self.speak_for, "POST"),
            ("greeting", self.greet, "POST"),
            ("delete", self.delete, "POST"),
            ("messages/{turn:number}/edit", self.show_editor, "GET"),
            ("messages/{turn:number}/edit", self.edit, "POST"),
            ("messages/{turn:number}/hide", self.hide, "POST"),
            ("messages/{turn:number}/remove", self.remove, "POST"),
            ("messages/{turn:number}/remove/rest", self.remove_from, "POST"),
            ("messages/{turn:number}/move/{way}", self.move, "POST"),
            ("messages/{turn:number}/branch", self.branch, "POST"),
        )
        return make_routes(
            ((f"/chats/{{id:number}}/{path}", handler, method) for path, handler, method in handlers), self._renderer
        )

    def _making(self, find: Callable[[ChatVerbs], Callable[[int], Awaitable[None]]]) -> Handler:
        """A handler of something that takes as long as a reply: a form waits for it, a script sees it come."""

        async def handle(request: Request) -> Response:
            chat = await self._pages.chat_of(request)
            async with self._verbs_of(chat) as verbs:
                if is_script(request):
                    verbs.start(chat.channel_id, find(verbs))
                    return answer_json({"begun": True}, status=202)
                await find(verbs)(chat.channel_id)
            return back_to(chat)

        return handle

    @asynccontextmanager
    async def _verbs_of(self, chat: Chat) -> AsyncIterator[ChatVerbs]:
        """What can be done to *chat*: a group's lines are those of all its members."""
        async with self._pages.open_group(chat) as room:
            yield self._verbs if room is None else GroupControls(room, self._pages.familiar_id)

    async def swipe(self, request: Request) -> Response:
        step = STEPS.get(request.path_params["step"])
        if step is None:
            raise HistoryError("There is swipe/back and swipe/next.")
        return await self._making(lambda verbs: lambda channel_id: verbs.swipe(channel_id, step))(request)

    async def undo(self, request: Request) -> Response:
        chat = await self._pages.chat_of(request)
        async with self._verbs_of(chat) as verbs:
            await verbs.undo(chat.channel_id)
        return self._done(request, chat)

    async def speak_for(self, request: Request) -> Response:
        """A line for the person, in the field to be sent or changed."""
        chat = await self._pages.chat_of(request)
        async with self._verbs_of(chat) as verbs:
            draft = await verbs.speak_for(chat.channel_id)
        if is_script(request):
            return answer_json({"draft": draft})
        return await self._pages.show_with(chat, draft)

    async def greet(self, request: Request) -> Response:
        chat = await self._pages.chat_of(request)
        async with self._verbs_of(chat) as verbs:
            await verbs.greet(chat.channel_id, (await read_form(request)).get("number", "0"))
        return self._done(request, chat)

    async def show_editor(self, request: Request) -> Response:
        """A line to be changed: its words for a script, else a page with a form."""
        chat = await self._pages.chat_of(request)
        async with self._verbs_of(chat) as verbs:
            turn = await verbs.line(chat.channel_id, request.path_params["turn"])
        if is_script(request):
            return answer_json({"text": turn.actual_words})
        return await off_loop(self._renderer.page, "edit_line.html", title="Edit a line", here=chat, turn=turn)

    async def edit(self, request: Request) -> Response:
        chat = await self._pages.chat_of(request)
        text = (await read_form(request)).get("text", "")
        if not text.strip() or len(text) > MAX_MESSAGE_CHARS:
            raise HistoryError(f"A line has 1 to {MAX_MESSAGE_CHARS:,} characters; undo takes the last exchange back.")
        async with self._verbs_of(chat) as verbs:
            await verbs.edit(chat.channel_id, request.path_params["turn"], text)
        return self._done(request, chat)

    async def hide(self, request: Request) -> Response:
        chat = await self._pages.chat_of(request)
        async with self._verbs_of(chat) as verbs:
            await verbs.hide(chat.channel_id, request.path_params["turn"])
        return self._done(request, chat)

    async def remove(self, request: Request) -> Response:
        chat = await self._pages.chat_of(request)
        async with self._verbs_of(chat) as verbs:
            await verbs.remove(chat.channel_id, request.path_params["turn"])
        return self._done(request, chat)

    async def remove_from(self, request: Request) -> Response:
        """One line, and everything after it."""
        chat = await self._pages.chat_of(request)
        async with self._verbs_of(chat) as verbs:
            await verbs.remove_from(chat.channel_id, request.path_params["turn"])
        return self._done(request, chat)

    async def move(self, request: Request) -> Response:
        """One line up or down."""
        chat, step = await self._pages.chat_of(request), WAYS.get(request.path_params["way"])
        if step is None:
            raise HistoryError("There is move/up and move/down.")
        async with self._verbs_of(chat) as verbs:
            moved = await verbs.move(chat.channel_id, request.path_params["turn"], step)
        return answer_json({"line": moved}) if is_script(request) else back_to(chat)

    async def branch(self, request: Request) -> Response:
        """To the new chat."""
        chat = await self._pages.chat_of(request)
        async with self._verbs_of(chat) as verbs:
            made = await verbs.branch(chat.channel_id, request.path_params["turn"])
        return answer_json({"chat": made.channel_id}) if is_script(request) else back_to(made)

    async def delete(self, request: Request) -> Response:
        """Take the whole chat away, and to the latest of those that stay."""
        chat = await self._pages.chat_of(request)
        async with self._verbs_of(chat) as verbs:
            await verbs.delete(chat)
        return redirect("/")

    def _done(self, request: Request, chat: Chat) -> Response:
        return answer_json({"done": True}) if is_script(request) else back_to(chat)


def back_to(chat: Chat) -> Response:
    return redirect(f"/chats/{chat.channel_id}#end")
