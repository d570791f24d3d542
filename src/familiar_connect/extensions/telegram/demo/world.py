"""World: who is on our Telegram, which chats there are, who is in them and what was said there."""

from __future__ import annotations

import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Payload = dict[str, Any]
MAX_KEPT = 5_000
"""Messages of a chat that can be replied to, edited and reacted to."""
_FIRST_STRANGER = 50_000
ADMINISTRATORS = ("creator", "administrator")
PRESENT = (*ADMINISTRATORS, "member")


@dataclass(eq=False)
class User:
    """Somebody with an account."""

    id: int
    first_name: str
    username: str | None = None
    is_bot: bool = False

    def to_payload(self) -> Payload:
        named = {"username": self.username} if self.username else {}
        return {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name} | named


@dataclass(eq=False)
class TelegramChat:
    """A direct chat with the bot, a group or a supergroup."""

    id: int
    type: str
    title: str = ""
    username: str | None = None
    """With one, everybody on Telegram can find it and read along."""
    is_forum: bool = False
    person: User | None = None
    """Of a direct chat."""
    statuses: dict[int, str] = field(default_factory=dict)
    """Members by user id: creator, administrator, member, left or kicked."""
    messages: deque[Payload] = field(default_factory=lambda: deque(maxlen=MAX_KEPT))
    topics: dict[int, str] = field(default_factory=dict)
    """Names of topics by the message that each began with."""
    moved_to: int | None = None
    """What a group is now that became a supergroup."""
    may_bot_write: bool = True
    numbers: Iterator[int] = field(default_factory=count)
    """Where the ids of its messages come from."""

    @property
    def is_group(self) -> bool:
        return self.type in ("group", "supergroup")

    def to_payload(self) -> Payload:
        found: Payload = {"id": self.id, "type": self.type}
        if self.person is not None:
            found |= {"first_name": self.person.first_name}
        found |= {"title": self.title} if self.title else {}
        username = self.username or (self.person.username if self.person is not None else None)
        found |= {"username": username} if username else {}
        return found | ({"is_forum": True} if self.is_forum else {})

    def find_message(self, message_id: int) -> Payload | None:
        return next((each for each in reversed(self.messages) if each["message_id"] == message_id), None)

    def status_of(self, user: User) -> str:
        return self.statuses.get(user.id, "left")


class World:
    """Everybody and everything, as the server knows it; one bot is looked at."""

    def __init__(self, bot: User, *, now: Callable[[], float] = time.time, first_number: int = 1) -> None:
        """*first_number* is that of the first message; ids that were given are never given again."""
        self._first_number = first_number
        self.bot = bot
        self.now = now
        self.users: dict[str, User] = {}
        """By user name."""
        self.chats: dict[int, TelegramChat] = {}
        self.started: set[int] = set()
        """Who has started the bot, and so may be written to."""
        self.blocked: set[int] = set()
        """Who has blocked it."""
        self.sent_files: dict[str, bytes] = {}
        """By id."""
        self.is_privacy_on = True
        """Whether the bot is in privacy mode."""
        self._account_numbers = count(first_number)

    def user(
        self, name: str, user_id: int | None = None, first_name: str | None = None, *, is_bot: bool = False
    ) -> User:
        """Somebody by their user name; whoever is new has the same id whenever they come."""
        key = name.lower()
        if key not in self.users:
            made = user_id or _FIRST_STRANGER + zlib.crc32(key.encode())
            self.users[key] = User(made, first_name or name.capitalize(), key, is_bot)
        return self.users[key]

    def find_user(self, user_id: int) -> User | None:
        return next((each for each in (*self.users.values(), self.bot) if each.id == user_id), None)

    def direct(self, user: User) -> TelegramChat:
        """The chat of somebody with the bot."""
        if user.id not in self.chats:
            self.chats[user.id] = TelegramChat(user.id, "private", person=user, numbers=self._account_numbers)
        return self.chats[user.id]

    def group(self, chat_id: int, title: str, *, username: str | None = None, is_forum: bool = False) -> TelegramChat:
        """A group; a supergroup where its id begins with -100, as Telegram's do."""
        is_super = str(chat_id).startswith("-100")
        kind = "supergroup" if is_super else "group"
        chat = TelegramChat(
            chat_id,
            kind,
            title,
            username,
            is_forum,
            numbers=count(self._first_number) if is_super else self._account_numbers,
        )
        self.chats[chat_id] = chat
        return chat

    def new_message(self, chat: TelegramChat, sender: User, **content: Any) -> Payload:
        """Something said in *chat*, or that happened there."""
        message = {
            "message_id": next(chat.numbers),
            "from": sender.to_payload(),
            "chat": chat.to_payload(),
            "date": int(self.now()),
            **content,
        }
        chat.messages.append(message)
        return message

    def set_privacy(self, *, is_on: bool) -> None:
        """Let the bot be in privacy mode or not, as @BotFather does."""
        self.is_privacy_on = is_on

    def is_administrator(self, chat: TelegramChat) -> bool:
        """Whether the bot is one."""
        return chat.status_of(self.bot) in ADMINISTRATORS

    def is_shown_to_bot(self, chat: TelegramChat, message: Payload) -> bool:
        """Whether the bot gets to see it."""
        sender = message["from"]
        if chat.person is not None:
            return chat.person.id not in self.blocked
        if chat.status_of(self.bot) not in PRESENT or (sender["is_bot"] and "sender_chat" not in message):
            return False
        if not self.is_privacy_on or self.is_administrator(chat) or _is_service(message):
            return True
        text = str(message.get("text") or message.get("caption") or "")
        answered = message.get("reply_to_message") or {}
        own = f"@{self.bot.username}".lower()
        return (
            (text.startswith("/") and ("@" not in text.split()[0] or own in text.split()[0].lower()))
            or own in text.lower()
            or (answered.get("from") or {}).get("id") == self.bot.id
        )


SERVICE = (
    "new_chat_members",
    "left_chat_member",
    "migrate_to_chat_id",
    "migrate_from_chat_id",
    "forum_topic_created",
    "new_chat_title",
    "pinned_message",
)


def _is_service(message: Payload) -> bool:
    return any(name in message for name in SERVICE)
