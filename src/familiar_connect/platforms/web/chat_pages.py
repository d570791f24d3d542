"""ChatPages: reading and writing a chat, and the stream of what happens in it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from familiar_connect.errors import HomeError
from familiar_connect.history.chats import Chat
from familiar_connect.platforms.web.chats import PAGE_SIZE, WebChats
from familiar_connect.platforms.web.drawn_messages import DrawnMessages
from familiar_connect.platforms.web.live import TOO_MANY_PAGES, format_event
from familiar_connect.platforms.web.multipart import FormPart, is_multipart, read_parts
from familiar_connect.platforms.web.render import (
    PageRenderer,
    answer_json,
    is_script,
    make_routes,
    read_form,
    redirect,
    stream_events,
)
from familiar_connect.support.aio import off_loop
from familiar_connect.support.markdown_html import markdown_to_html
from familiar_connect.support.text import without_surrogates

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_MESSAGE_CHARS = 1_000_000


class ChatPages:
    """The routes under `/chats`."""

    def __init__(self, chats: WebChats, renderer: PageRenderer, *, may_listen: bool = False) -> None:
        """*may_listen*: what is spoken can be made out here."""
        self._chats = chats
        self._renderer = renderer
        self._may_listen = may_listen
        self._drawn = DrawnMessages(chats, renderer)

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/", self.home, "GET"),
            ("/chats", self.start, "POST"),
            ("/chats/{id:number}", self.show, "GET"),
            ("/chats/{id:number}/messages", self.list_messages, "GET"),
            ("/chats/{id:number}/messages", self.say, "POST"),
            ("/chats/{id:number}/messages/{turn:number}", self.show_message, "GET"),
            ("/chats/{id:number}/stop", self.stop, "POST"),
            ("/chats/{id:number}/events", self.stream, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def home(self, request: Request) -> Response:
        """To the chat of last time."""
        return redirect(f"/chats/{(await off_loop(self._chats.current)).channel_id}")

    async def start(self, request: Request) -> Response:
        """A new chat."""
        name = (await read_form(request)).get("name", "").strip()
        chat = await off_loop(self._chats.start, name or None)
        return redirect(f"/chats/{chat.channel_id}")

    async def show(self, request: Request) -> Response:
        chat = await self.chat_of(request)
        return await off_loop(self.page_of, chat)

    def page_of(self, chat: Chat, draft: str = "") -> Response:
        """The page of a chat, with *draft* to be sent or changed."""
        self._chats.select(chat)
        self._chats.greet(chat.channel_id)
        messages = self._chats.messages(chat.channel_id)
        greetings = self._chats.greetings() if len(messages) == 1 and messages[0].is_own else []
        if messages and messages[0].versions == 1 and (count := len([text for text in greetings if text])) > 1:
            messages = [replace(messages[0], versions=count)]  # the arrows walk them
        return self._renderer.page(
            "chat.html",
            title=chat.name,
            here=chat,
            messages=messages,
            may_be_more=len(messages) == PAGE_SIZE,
            is_busy=self._chats.events.reply_in(chat.channel_id).is_busy,
            draft=draft,
            may_listen=self._may_listen,
            greetings=greetings,
            unanswered=self._chats.describe_unanswered(chat.channel_id),
        )

    async def show_message(self, request: Request) -> Response:
        """One message, as a piece of the page; nothing where it was taken back."""
        chat = await self.chat_of(request)
        found = await off_loop(self._chats.message, chat.channel_id, request.path_params["turn"])
        return await off_loop(self._renderer.page, "messages.html", here=chat, messages=found)

    async def list_messages(self, request: Request) -> Response:
        """Earlier or later messages, as a piece of the page."""
        chat = await self.chat_of(request)
        before, after = (read_number(request, name) for name in ("before", "after"))
        found = await off_loop(self._chats.messages, chat.channel_id, before=before, after=after)
        return await off_loop(self._renderer.page, "messages.html", here=chat, messages=found)

    async def say(self, request: Request) -> Response:
        """Hear what was written, with the files that came along."""
        chat = await self.chat_of(request)
        text, parts = await _read_message(request)
        if len(text) > MAX_MESSAGE_CHARS:
            raise HomeError(f"that is more than {MAX_MESSAGE_CHARS:,} characters; send less at once")
        files = await off_loop(self._chats.attached_files.keep, parts)
        if not text.strip() and not files:
            raise HomeError("nothing was written: type something first")
        if is_script(request):
            await self._chats.say(chat.channel_id, text, files)
            return answer_json({"heard": True}, status=202)
        await self._chats.answer(chat.channel_id, text, files)
        return redirect(f"/chats/{chat.channel_id}#end")

    async def stop(self, request: Request) -> Response:
        chat = await self.chat_of(request)
        was_busy = await self._chats.stop(chat.channel_id)
        return answer_json({"stopped": was_busy}) if is_script(request) else redirect(f"/chats/{chat.channel_id}#end")

    async def stream(self, request: Request) -> Response:
        """What happens in the chat, as server-sent events. The first says how things stand, so none is missed."""
        chat = await self.chat_of(request)
        events = self._chats.events
        if events.is_full:
            return answer_json({"problem": TOO_MANY_PAGES}, status=503)
        latest = await off_loop(self._chats.latest_id, chat.channel_id)
        self._drawn.begin(chat.channel_id, latest)
        live = events.reply_in(chat.channel_id)
        html = await off_loop(markdown_to_html, live.text) if live.text else ""
        unanswered = await off_loop(self._chats.describe_unanswered, chat.channel_id)

        def first() -> str:
            is_busy = events.reply_in(chat.channel_id).is_busy
            facts = {"latest": latest, "busy": is_busy, "html": html, "revises": live.revises}
            if unanswered is not None:
                facts["unanswered"] = unanswered
            return format_event("state", facts)

        return stream_events(events.listen(chat.channel_id, first, partial(self._drawn.draw, chat)))

    async def chat_of(self, request: Request) -> Chat:
        """The chat that an address names."""
        return await off_loop(self._chats.require, request.path_params["id"])


async def _read_message(request: Request) -> tuple[str, list[FormPart]]:
    """What was written, and the files of the form."""
    content_type = request.headers.get("content-type", "")
    if not is_multipart(content_type):
        return (await read_form(request)).get("text", ""), []
    parts = await off_loop(read_parts, content_type, await request.body())
    written = next((part.content for part in parts if part.field == "text"), b"")
    text = without_surrogates(written.decode("utf-8", "replace")).replace("\r\n", "\n")
    return text, [part for part in parts if part.field == "file"]


def read_number(request: Request, name: str) -> int | None:
    """A number of the address's query; None where it is none that could name a turn."""
    value = request.query_params.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
