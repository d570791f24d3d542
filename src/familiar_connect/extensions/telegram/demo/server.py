"""TelegramServer: our own Telegram on loopback, with people who can be made to do things.

What the client did is kept; `until` waits for what is still to come.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from familiar_connect.api.stand_in import ChangeSignal
from familiar_connect.extensions.telegram.demo.bot_api import BotApi, Call, Refused, to_member
from familiar_connect.extensions.telegram.demo.faults import Faults
from familiar_connect.extensions.telegram.demo.http_server import HttpAnswer, HttpRequest, HttpServer, make_json_answer
from familiar_connect.extensions.telegram.demo.text_rules import find_entities
from familiar_connect.extensions.telegram.demo.updates import UpdateQueue
from familiar_connect.extensions.telegram.demo.world import Payload, TelegramChat, User, World

TOKEN = "700000001:AAE-demo_token_of_nobody_at_all_0000"
BOT_ID = 700_000_001
UNAUTHORIZED = {"ok": False, "error_code": 401, "description": "Unauthorized"}
_METHOD = re.compile(r"/bot([^/]+)/(\w+)")
_FILE = re.compile(r"/file/bot([^/]+)/files/([\w-]+)")
_TOKEN = re.compile(r"\d+:[\w-]{30,}")


class TelegramServer:
    """Use as an async context manager; `url` is where a client finds it."""

    def __init__(
        self,
        name: str = "Ember",
        username: str = "ember_bot",
        *,
        now: Callable[[], float] = time.time,
        first_number: int = 1,
    ) -> None:
        self._changes = ChangeSignal()
        self._on_call: Callable[[Call], None] | None = None
        self._open = AsyncExitStack()
        self._http = HttpServer(self._answer)
        self.world = World(User(BOT_ID, name, username, is_bot=True), now=now, first_number=first_number)
        self.updates = UpdateQueue(now, self._changes.notify)
        self.api = BotApi(self.world, self.updates, self._note_call)
        self.faults = Faults()
        self.token = TOKEN

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.port}"

    async def __aenter__(self) -> Self:
        await self._open.enter_async_context(self._http)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    def cut(self) -> None:
        """Every connection ends without a word."""
        self._http.cut()

    async def _answer(self, asked: HttpRequest) -> HttpAnswer | None:
        if (file := _FILE.fullmatch(asked.path)) is not None:
            return self._give_file(file)
        found = _METHOD.fullmatch(asked.path)
        if found is None or _TOKEN.fullmatch(found[1]) is None:
            return make_json_answer(404, {"ok": False, "error_code": 404, "description": "Not Found"})
        if found[1] != self.token:
            return make_json_answer(401, UNAUTHORIZED)
        fault = await self.faults.take(found[2])
        if fault is not None and not fault.is_after_effect:
            return fault.to_answer()
        answer = await self._do(found[2], asked)
        return fault.to_answer() if fault is not None else answer

    def _give_file(self, asked: re.Match[str]) -> HttpAnswer:
        data = self.world.sent_files.get(asked[2]) if asked[1] == self.token else None
        if data is None:
            return make_json_answer(404, {"ok": False, "error_code": 404, "description": "Not Found"})
        return HttpAnswer(200, data, "application/octet-stream")

    async def _do(self, method: str, asked: HttpRequest) -> HttpAnswer:
        try:
            return make_json_answer(200, {"ok": True, "result": await self.api.call(method, asked.fields)})
        except Refused as error:
            says: Payload = {"ok": False, "error_code": error.code, "description": str(error)}
            return make_json_answer(error.code, says | ({"parameters": error.parameters} if error.parameters else {}))

    # What happened

    def follow(self, on_call: Callable[[Call], None] | None) -> None:
        """Tell of each call that is done from now on."""
        self._on_call = on_call

    def _note_call(self, call: Call) -> None:
        if self._on_call is not None:
            self._on_call(call)
        self._changes.notify()

    async def until(self, condition: Callable[[], object], *, within_s: float | None = 200.0) -> None:
        """Wait until *condition* holds; looked at whenever the client has done something."""
        await self._changes.wait_until(condition, within_s=within_s)

    async def until_asked(self, *, within_s: float | None = 200.0) -> None:
        """Wait until a program asks what there is to be told, and has been told all."""
        await self.until(lambda: self.updates.is_asked, within_s=within_s)

    def list_sent(self, chat: TelegramChat | None = None) -> list[str]:
        """The words of each message that the bot sent, oldest first."""
        sent = (each.result for each in self.api.calls if each.method.lower() == "sendmessage")
        return [each["text"] for each in sent if chat is None or each["chat"]["id"] == chat.id]

    # What people do

    def say(self, sender: User, text: str, chat: TelegramChat | None = None, **more: Any) -> Payload:
        """Somebody writes, to the bot alone or in *chat*; *more* goes over the message."""
        where = chat or self.world.direct(sender)
        if where.person is not None:
            self.world.started.add(sender.id)
        found = find_entities(text)
        content: dict[str, Any] = {"text": text} | ({"entities": found} if found else {}) | more
        return self.show(self.world.new_message(where, sender, **content), where)

    def show(self, message: Payload, chat: TelegramChat) -> Payload:
        """A message stands in *chat*: the bot is told, where it may know."""
        if self.world.is_shown_to_bot(chat, message):
            self.updates.add("message", message)
        return message

    def block(self, person: User, *, is_blocked: bool = True) -> None:
        """Somebody blocks the bot, or lets it write again."""
        chat = self.world.direct(person)
        (self.world.blocked.add if is_blocked else self.world.blocked.discard)(person.id)
        old, new = ("member", "kicked") if is_blocked else ("kicked", "member")
        self.tell_own_status(chat, person, old, new)

    def tell_own_status(self, chat: TelegramChat, by: User, old: str, new: str) -> None:
        """What the bot is in a chat has changed."""
        bot = self.world.bot
        about = {"chat": chat.to_payload(), "from": by.to_payload(), "date": int(self.world.now())}
        statuses = {"old_chat_member": to_member(bot, old), "new_chat_member": to_member(bot, new)}
        self.updates.add("my_chat_member", about | statuses)
