"""ChatPages: reading and writing a chat, and the stream of what happens in it."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from familiar_connect.errors import HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.history.chats import Chat
from familiar_connect.platforms.web.chats import PAGE_SIZE, LineNotStored, WebChats
from familiar_connect.platforms.web.live import TOO_MANY_PAGES, format_event
from familiar_connect.platforms.web.message_fragments import MessageFragments
from familiar_connect.platforms.web.multipart import FormPart, is_multipart, read_parts
from familiar_connect.platforms.web.page_models import PageModels, name_model
from familiar_connect.platforms.web.render import (
    PageRenderer,
    answer_json,
    is_script,
    make_routes,
    read_form,
    read_number,
    redirect,
    stream_events,
)
from familiar_connect.platforms.web.shown_message import ShownMessage
from familiar_connect.slash.quick_reply import list_buttons
from familiar_connect.support.aio import off_loop
from familiar_connect.support.markdown_html import markdown_to_html
from familiar_connect.support.text import without_surrogates

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from familiar_connect.platforms.web.group_room import GroupRoom
    from familiar_connect.platforms.web.group_rooms import GroupRooms

MAX_MESSAGE_CHARS = 1_000_000
RETRY_SOON = "retry: 1000\n\n"
"""How soon a page comes back that lost its connection, in milliseconds."""
_KEY = re.compile(r"[A-Za-z0-9-]{8,64}")


class ChatPages:
    """The routes under `/chats`."""

    def __init__(
        self,
        familiar: Familiar,
        chats: WebChats,
        models: PageModels,
        renderer: PageRenderer,
        *,
        names: Mapping[str, str],
        may_listen: bool = False,
        groups: GroupRooms | None = None,
    ) -> None:
        """*names* say who serves the page; *may_listen*: what is spoken can be made out here."""
        self.familiar_id = familiar.id
        self._groups = groups
        self._names = names
        self._familiar = familiar
        self._models = models
        self._chats = chats
        self._renderer = renderer
        self._may_listen = may_listen
        self._drawn = MessageFragments(chats, renderer)

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/", self.home, "GET"),
            ("/chats", self.start, "POST"),
            ("/chats/{id:number}", self.show, "GET"),
            ("/chats/{id:number}/messages", self.list_messages, "GET"),
            ("/chats/{id:number}/messages", self.say, "POST"),
            ("/chats/{id:number}/messages/{turn:number}", self.show_message, "GET"),
            ("/chats/{id:number}/messages/{turn:number}/whole", self.show_whole, "GET"),
            ("/chats/{id:number}/sent/{key}", self.find_sent, "GET"),
            ("/chats/{id:number}/stop", self.stop, "POST"),
            ("/chats/{id:number}/events", self.stream, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def home(self, request: Request) -> Response:
        """To the latest chat."""
        return redirect(f"/chats/{(await off_loop(self._chats.current)).channel_id}")

    async def start(self, request: Request) -> Response:
        """A new chat."""
        name = (await read_form(request)).get("name", "").strip()
        chat = await off_loop(self._chats.start, name or None)
        return redirect(f"/chats/{chat.channel_id}")

    async def show(self, request: Request) -> Response:
        chat = await self.chat_of(request)
        self._models.look_for(self._familiar)
        return await self.show_with(chat, line=read_number(request, "line"))

    async def show_with(self, chat: Chat, draft: str = "", *, line: int | None = None) -> Response:
        """The page of a chat, with *draft* to be sent or changed; around *line*, or at its end."""
        async with self.open_group(chat) as room:
            if room is not None:
                await room.greet()
            return await off_loop(partial(self._page_of, chat, draft, line=line, room=room))

    @asynccontextmanager
    async def open_group(self, chat: Chat) -> AsyncIterator[GroupRoom | None]:
        """The group whose chat this is; None: it is a chat with one familiar."""
        if self._groups is None:
            yield None
        else:
            async with self._groups.use(self.familiar_id, chat) as room:
                yield room

    def _page_of(self, chat: Chat, draft: str, *, line: int | None, room: GroupRoom | None) -> Response:
        self._chats.select(chat)
        if room is None:
            self._chats.greet(chat.channel_id)
        messages, greetings = self._latest(chat)
        has_later = line is not None and bool(messages) and line < messages[0].id
        if line is not None and has_later:
            around = PAGE_SIZE // 2
            earlier = self._chats.messages(chat.channel_id, before=line)[-around:]
            messages = [*earlier, *self._chats.messages(chat.channel_id, after=line - 1)]
        return self._renderer.page(
            "chat.html",
            title=chat.name,
            here=chat,
            messages=messages,
            may_be_more=len(messages) >= PAGE_SIZE or has_later,
            has_later=has_later,
            line=line,
            is_busy=self._chats.events.reply_in(chat.channel_id).is_busy,
            draft=draft,
            line_key=secrets.token_hex(16),
            version=self._renderer.version,
            may_listen=self._may_listen,
            greetings=greetings,
            unanswered=self._chats.describe_unanswered(chat.channel_id),
            model=name_model(self._familiar, chat.channel_id),
            offer=self._models.read_offer(self._familiar),
            chat=chat.channel_id,
            own_picture=self._chats.person_pictures.url_in_chat(chat.channel_id),
            persona=self._chats.person_pictures.persona_in(chat.channel_id),
            is_sealed=self._chats.is_sealed(chat.channel_id),
            quick=("", []) if room is not None else list_buttons(self._familiar, chat.channel_id),
            **self._who_is_here(room),
        )

    def _who_is_here(self, room: GroupRoom | None) -> dict[str, Any]:
        if room is None:
            return {"group": None, "heard_by": self._familiar.name}
        person = room.find_person(room.seats[self.familiar_id]).label
        return {"group": room.describe(self.familiar_id), "heard_by": "the group", "person": person}

    def _latest(self, chat: Chat) -> tuple[list[ShownMessage], list[str]]:
        """The latest messages, and where nothing but a greeting was said yet, those that it may be exchanged for."""
        messages = self._chats.messages(chat.channel_id)
        is_begun = len(messages) != 1 or not messages[0].is_own or self._chats.is_group(chat)
        greetings = [] if is_begun else self._chats.greetings()
        if messages and messages[0].versions == 1 and (count := len([text for text in greetings if text])) > 1:
            messages = [replace(messages[0], versions=count)]  # the arrows walk them
        return messages, greetings

    async def show_message(self, request: Request) -> Response:
        """One message, as a piece of the page; nothing where it was taken back."""
        chat = await self.chat_of(request)
        found = await off_loop(self._chats.message, chat.channel_id, request.path_params["turn"])
        return await off_loop(self._renderer.page, "messages.html", here=chat, messages=found)

    async def show_whole(self, request: Request) -> Response:
        """All of a message that is too long for the page of its chat, as plain text."""
        from starlette.responses import PlainTextResponse

        chat = await self.chat_of(request)
        text = await off_loop(self._chats.whole_text, chat.channel_id, request.path_params["turn"])
        if text is None:
            raise HomeError("that line was removed")
        return PlainTextResponse(text.encode("utf-8", "replace"))

    async def list_messages(self, request: Request) -> Response:
        """Earlier or later messages, as a piece of the page."""
        chat = await self.chat_of(request)
        before, after = (read_number(request, name) for name in ("before", "after"))
        if before is None and after is None:
            found, _ = await off_loop(self._latest, chat)
        else:
            found = await off_loop(self._chats.messages, chat.channel_id, before=before, after=after)
        return await off_loop(self._renderer.page, "messages.html", here=chat, messages=found)

    async def say(self, request: Request) -> Response:
        """Hear what was written, with the files that came along. The answer names the turn it is stored as."""
        chat = await self.chat_of(request)
        text, key, parts = await _read_message(request)
        async with self.open_group(chat) as room:
            if room is not None:
                return await self._say_to_group(request, chat, room, (text, key, parts))
        _check_length(text)
        files = await off_loop(self._chats.attached_files.keep, parts)
        if not text.strip() and not files:
            raise HomeError("there is nothing to send: type something first")
        if not is_script(request):
            await self._chats.answer(chat.channel_id, text, files, key=key)
            return redirect(f"/chats/{chat.channel_id}#end")
        try:
            turn_id = await self._chats.say(chat.channel_id, text, files, key=key)
        except LineNotStored as error:
            return answer_json({"problem": str(error)}, status=503)
        return answer_json({"heard": True, "turn": turn_id}, status=202)

    async def _say_to_group(
        self, request: Request, chat: Chat, room: GroupRoom, message: tuple[str, str, list[FormPart]]
    ) -> Response:
        text, key, parts = message
        _check_length(text)
        parts = [part for part in parts if part.content]
        if not text.strip() and not parts:
            raise HomeError("nothing was written: type something first")
        try:
            turn_id = await room.say(self.familiar_id, text, parts, key=key)
        except LineNotStored as error:
            if is_script(request):
                return answer_json({"problem": str(error)}, status=503)
            raise
        if is_script(request):
            return answer_json({"heard": True, "turn": turn_id}, status=202)
        await room.wait_until_quiet()
        return redirect(f"/chats/{chat.channel_id}#end")

    async def find_sent(self, request: Request) -> Response:
        """Whether a line that a page sent is stored, and as which turn."""
        chat = await self.chat_of(request)
        return answer_json({"turn": await off_loop(self._chats.find_sent, chat.channel_id, request.path_params["key"])})

    async def stop(self, request: Request) -> Response:
        chat = await self.chat_of(request)
        async with self.open_group(chat) as room:
            was_busy = await (self._chats.stop(chat.channel_id) if room is None else room.stop())
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
            facts = {"latest": latest, "busy": is_busy, "html": html, "revises": live.revises, "speaker": live.speaker}
            if unanswered is not None:
                facts["unanswered"] = unanswered
            return RETRY_SOON + format_event("state", {**facts, **self._names})

        return stream_events(self._listen(chat, first))

    async def _listen(self, chat: Chat, first: Callable[[], str]) -> AsyncIterator[str]:
        """What happens in the chat; everybody of a group stays open as long as somebody listens."""
        async with self.open_group(chat):
            async for text in self._chats.events.listen(chat.channel_id, first, partial(self._drawn.draw, chat)):
                yield text

    async def chat_of(self, request: Request) -> Chat:
        """The chat that an address names."""
        return await off_loop(self._chats.require, request.path_params["id"])


async def _read_message(request: Request) -> tuple[str, str, list[FormPart]]:
    """What was written, what the page calls it, and the files of the form."""
    content_type = request.headers.get("content-type", "")
    if not is_multipart(content_type):
        fields = await read_form(request)
        return fields.get("text", ""), _checked_key(fields.get("key", "")), []
    parts = await off_loop(read_parts, content_type, await request.body())
    written, key = (
        next((part.content for part in parts if part.field == field), b"").decode("utf-8", "replace")
        for field in ("text", "key")
    )
    text = without_surrogates(written).replace("\r\n", "\n")
    return text, _checked_key(key), [part for part in parts if part.field == "file"]


def _check_length(text: str) -> None:
    if len(text) > MAX_MESSAGE_CHARS:
        raise HomeError(f"that is more than {MAX_MESSAGE_CHARS:,} characters; send less at once")


def _checked_key(key: str) -> str:
    """What a page calls a line of its own; empty where it could be no such key."""
    return key if _KEY.fullmatch(key) else ""
