"""TelegramDemo: several people and a familiar on a Telegram of our own, from one terminal.

The familiar goes through the real Telegram library, as it would with a token; only the Telegram is ours.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from familiar_connect.api import PlatformHost
from familiar_connect.extensions.telegram.adapter import EVERYONE, TelegramPlatform
from familiar_connect.extensions.telegram.client import BotClient
from familiar_connect.extensions.telegram.demo.bot_api import Call
from familiar_connect.extensions.telegram.demo.deeds import Deeds
from familiar_connect.extensions.telegram.demo.pictures import draw_picture
from familiar_connect.extensions.telegram.demo.server import TelegramServer
from familiar_connect.extensions.telegram.demo.world import PRESENT, Payload, TelegramChat, User

YOU = "you"
RESIDENTS = {"you": 501, "ada": 502, "ben": 503, "cy": 504}
"""Who is known at each start; you are the owner, and Ada is an administrator of every group."""
KITCHEN, MARKET, TRIP, BIG_KITCHEN = -4001, -100_400_2, -100_400_3, -100_400_4
PACKING = "packing"
DIRECT = "dm"
ANSWERED_WITHIN_S, BACK_WITHIN_S = 2.0, 60.0
EPOCH = 1_750_000_000
"""So that ids of messages, which the familiar remembers, are others at each start."""
_IN_ROOM = re.compile(r"#([a-z][\w/-]*)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)
_SAID_BY = re.compile(r"([a-z0-9_]{2,32}):(?!//)\s*(.*)", re.IGNORECASE | re.DOTALL)

FORMS = {
    "hello {name}": "you write it in the group #kitchen, and it answers, as it is named",
    "ada: hello @{name}": "Ada writes it, who is an administrator; any name will do. @{name} mentions it",
    "ada: > really?": "she replies to what it said last; `ada: +👍` reacts to it, `ada: ~really!` edits her last line",
    "ada: !picture look": "she sends a picture; `!album two of them`, `!sticker 🐙`, `!forward It rains`",
    "#dm hello": "a direct chat; `#dm ada: hello` is hers. Also #market, which all can read, #trip and #trip/packing",
    "/persona": "a command; `ada: /privacy full` is hers",
    "/upgrade": "what befalls a group: it becomes a supergroup; also /kick, /add, /ban ben, /join cy, /privacymode on",
    "ada: /block": "she blocks the bot in her direct chat; also /unblock",
    "/drop": "trouble: every connection is cut",
}
"""What can be typed, and what that does."""


class TelegramDemo:
    """What is typed becomes something that somebody does, and what the familiar does becomes a line."""

    def __init__(self, host: PlatformHost, say: Callable[[str], None]) -> None:
        self._host = host
        self._say = say
        username = f"{re.sub(r'[^a-z0-9]', '_', host.familiar_id.lower())}_bot"
        self._server = TelegramServer(host.name, username, first_number=int(time.time()) - EPOCH)
        self._deeds = Deeds(self._server)
        world = self._server.world
        for name, user_id in RESIDENTS.items():
            world.user(name, user_id)
        world.set_privacy(is_on=False)
        self._rooms = {
            "kitchen": self._make_group(KITCHEN, "Kitchen"),
            "market": self._make_group(MARKET, "Market", username="the_market"),
            "trip": self._make_group(TRIP, "Trip", is_forum=True),
        }
        self._packing = self._deeds.add_topic(world.user(YOU), self._rooms["trip"], PACKING)
        self._room_name = "kitchen"
        self._newest: dict[str, str] = {}
        self._asked: set[int] = set()
        """Commands whose answer is still to come, by the chat."""
        self._server.follow(self._show)

    def _make_group(
        self, chat_id: int, title: str, *, username: str | None = None, is_forum: bool = False
    ) -> TelegramChat:
        world = self._server.world
        chat = world.group(chat_id, title, username=username, is_forum=is_forum)
        statuses = {"you": "creator", "ada": "administrator", "ben": "member"}
        chat.statuses |= {world.user(name).id: status for name, status in statuses.items()}
        return chat

    @property
    def forms(self) -> Mapping[str, str]:
        return FORMS

    @property
    def channels(self) -> Mapping[str, int | None]:
        return {str(chat_id): None for chat_id in (KITCHEN, MARKET, TRIP)}

    @property
    def room(self) -> str:
        return f"#{self._room_name}"

    @property
    def newest(self) -> Mapping[str, str]:
        return self._newest

    async def run(self) -> None:
        async with self._server as server:
            client = BotClient(server.token, server.url)
            self._host.hear_dms(EVERYONE)
            await TelegramPlatform(self._host, client, owner=str(RESIDENTS[YOU]), dms=EVERYONE).run()

    async def wait_until_ready(self) -> None:
        """It is there, and you have added it to each group."""
        await self._server.until_asked(within_s=None)
        for chat in self._rooms.values():
            self._deeds.add_bot(self._server.world.user(YOU), chat)
        await self._all_told()

    async def wait_until_answered(self) -> None:
        with suppress(TimeoutError):  # who asks too often, or is ignored, is not answered
            await self._server.until(lambda: not self._asked, within_s=ANSWERED_WITHIN_S)
        self._asked.clear()
        await self._all_told()

    async def _all_told(self) -> None:
        newest = self._server.updates.newest_id
        with suppress(TimeoutError):
            await self._server.until(lambda: self._server.updates.confirmed >= newest, within_s=BACK_WITHIN_S)

    # What people do

    async def take(self, line: str) -> None:
        found = _IN_ROOM.fullmatch(line)
        if found is not None:
            if not self._enter(found[1].lower()) or not found[2]:
                return
            line = found[2]
        said = _SAID_BY.fullmatch(line)
        person, words = self._server.world.user(YOU), line
        if said is not None:
            person, words = self._server.world.user(said[1]), said[2].strip()
        if not words:
            self._say(f"Say what {person.first_name} says: `{person.username}: hello`.")
        elif not await self._happens(person, words):
            self._write(person, words)

    def _enter(self, name: str) -> bool:
        if name not in (DIRECT, f"trip/{PACKING}", *self._rooms):
            self._say(f"There is no #{name}. There are #dm, #kitchen, #market, #trip and #trip/{PACKING}.")
            return False
        self._room_name = name
        return True

    def _chat(self, person: User) -> TelegramChat:
        if self._room_name == DIRECT:
            return self._server.world.direct(person)
        return self._rooms[self._room_name.partition("/")[0]]

    async def _happens(self, person: User, words: str) -> bool:
        """Something that is no message; False: it is one."""
        name, _, rest = words.partition(" ")
        world, chat = self._server.world, self._chat(person)
        other = world.user(rest.strip().lstrip("@")) if rest.strip() else person
        acts: dict[str, Callable[[], object]] = {
            "/block": lambda: self._server.block(person),
            "/unblock": lambda: self._server.block(person, is_blocked=False),
            "/kick": lambda: self._deeds.remove_bot(person, chat),
            "/add": lambda: self._deeds.add_bot(person, chat),
            "/ban": lambda: self._deeds.leave(other, chat, by=person),
            "/join": lambda: self._deeds.join(other, chat),
            "/privacymode": lambda: world.set_privacy(is_on=rest.strip() != "off"),
        }
        if name == "/drop":
            self._server.cut()
            self._say("(Every connection is cut.)")
            await self._server.until_asked(within_s=BACK_WITHIN_S)
        elif name == "/upgrade":
            self._rooms["kitchen"] = self._deeds.upgrade(person, self._rooms["kitchen"], BIG_KITCHEN)
            self._say("(Kitchen is a supergroup now, with another id.)")
        elif name in acts:
            acts[name]()
        else:
            return self._touch(person, words, chat)
        await self._all_told()
        return True

    def _touch(self, person: User, words: str, chat: TelegramChat) -> bool:
        """A reaction or an edit; False: it is a message."""
        if words.startswith("+"):
            last = self._last(chat, self._server.world.bot)
            if last is not None:
                self._deeds.react(person, chat, last["message_id"], words[1:].strip()[:4])
        elif words.startswith("~"):
            last = self._last(chat, person)
            if last is not None:
                self._deeds.edit(chat, last["message_id"], words[1:].strip())
        else:
            return False
        return True

    def _last(self, chat: TelegramChat, by: User) -> Payload | None:
        found = next((each for each in reversed(chat.messages) if each["from"]["id"] == by.id), None)
        if found is None:
            self._say(f"{by.first_name} has said nothing here yet.")
        return found

    def _write(self, person: User, words: str) -> None:
        chat, world = self._chat(person), self._server.world
        words = re.sub(f"@{re.escape(self._host.name)}", f"@{world.bot.username}", words, flags=re.IGNORECASE)
        kind, _, rest = words.partition(" ")
        if kind == "!picture":
            message = self._deeds.photo(person, draw_picture(), chat, rest)
        elif kind == "!album":
            message = self._deeds.album(person, [draw_picture(1), draw_picture(2)], chat, rest)[0]
        elif kind == "!sticker":
            message = self._deeds.sticker(person, draw_picture(3), chat, rest or "🙂", "Kettles")
        elif kind == "!forward":
            origin = {"type": "hidden_user", "sender_user_name": "Somebody"}
            message = self._deeds.forward(person, rest, chat, origin)
        elif words.startswith(">"):
            last = self._last(chat, world.bot)
            if last is None:
                return
            message = self._deeds.reply(person, words[1:].strip(), last, chat)
        elif "/" in self._room_name:
            message = self._deeds.say_in_topic(person, words, chat, self._packing)
        else:
            message = self._server.say(person, words, chat)
        if words.startswith("/"):
            self._asked.add(chat.id)
        elif world.is_shown_to_bot(chat, message):
            self._note_newest(chat, message)
        else:
            is_in = chat.person is not None or chat.status_of(world.bot) in PRESENT
            why = "it is in privacy mode, or was blocked" if is_in else "it is not in the group"
            self._say(f"(Telegram does not show that to {self._host.name}: {why}.)")

    def _note_newest(self, chat: TelegramChat, message: Payload) -> None:
        group = KITCHEN if chat is self._rooms["kitchen"] else chat.id
        thread = message.get("message_thread_id")
        channel = f"{group}/{thread}" if thread else str(group)
        self._newest[channel] = f"{chat.id}:{message['message_id']}"

    # What the familiar does

    def _show(self, call: Call) -> None:
        name = call.method.lower()
        if name not in ("sendmessage", "editmessagetext", "deletemessage"):
            return
        chat = self._server.world.chats[int(call.fields["chat_id"])]
        self._asked.discard(chat.id)
        where = f"to {chat.person.first_name} alone" if chat.person is not None else f"in {chat.title}"
        if name == "deletemessage":
            self._say(f"({self._host.name} deleted a message {where}.)")
            return
        topic = chat.topics.get(call.result.get("message_thread_id", 0))
        where += f", {topic}" if topic else ""
        answered = call.result.get("reply_to_message")
        where += f", in reply to {answered['from']['first_name']}" if answered else ""
        edited = " now reads" if name == "editmessagetext" else ""
        self._say(f"{self._host.name} ({where}){edited}: {call.result['text']}")
