"""What people do on our Telegram besides writing: edits, reactions, pictures, forwards, and what becomes of groups."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import Any

from familiar_connect.extensions.telegram.demo.bot_api import to_member, unique_of
from familiar_connect.extensions.telegram.demo.server import TelegramServer
from familiar_connect.extensions.telegram.demo.text_rules import find_entities
from familiar_connect.extensions.telegram.demo.world import ADMINISTRATORS, PRESENT, Payload, TelegramChat, User

ANONYMOUS = User(1_087_968_824, "Group", "GroupAnonymousBot", is_bot=True)
"""Who is shown as the writer of what an administrator writes as the group."""


class Deeds:
    """People of *server* at work."""

    def __init__(self, server: TelegramServer) -> None:
        self._server = server
        self._albums = count(13_000)

    # Messages

    def edit(self, chat: TelegramChat, message_id: int, text: str) -> None:
        """Somebody changes what they wrote: it comes again, whole."""
        message = chat.find_message(message_id)
        if message is not None:
            message.update(text=text, edit_date=int(self._server.world.now()), entities=find_entities(text))
            if self._server.world.is_shown_to_bot(chat, message):
                self._server.updates.add("edited_message", dict(message))

    def delete(self, chat: TelegramChat, message_id: int) -> None:
        """Nobody tells a bot."""
        message = chat.find_message(message_id)
        if message is not None:
            chat.messages.remove(message)

    def react(self, who: User, chat: TelegramChat, message_id: int, *emoji: str) -> None:
        """Told to administrators alone, and in a direct chat."""
        if chat.is_group and not self._server.world.is_administrator(chat):
            return
        new = [{"type": "emoji", "emoji": each} for each in emoji]
        about = {"chat": chat.to_payload(), "message_id": message_id, "user": who.to_payload()}
        date = int(self._server.world.now())
        self._server.updates.add("message_reaction", about | {"date": date, "old_reaction": [], "new_reaction": new})

    def reply(self, sender: User, text: str, to: Payload, chat: TelegramChat, **more: Any) -> Payload:
        answered = {name: each for name, each in to.items() if name != "reply_to_message"}
        return self._server.say(sender, text, chat, reply_to_message=answered, **more)

    def forward(self, sender: User, text: str, chat: TelegramChat, origin: Payload) -> Payload:
        about = {"date": int(self._server.world.now()) - 3600} | origin
        return self._server.say(sender, text, chat, forward_origin=about)

    def write_as_group(self, text: str, chat: TelegramChat) -> Payload:
        """An administrator writes without being named."""
        return self._server.say(ANONYMOUS, text, chat, sender_chat=chat.to_payload())

    # Files

    def keep_file(self, data: bytes) -> Payload:
        """A file that was sent, as messages name it."""
        file_id = f"AgAC{hashlib.sha256(data).hexdigest()[:40]}"
        self._server.world.sent_files[file_id] = data
        return {"file_id": file_id, "file_unique_id": unique_of(file_id), "file_size": len(data)}

    def photo(self, sender: User, data: bytes, chat: TelegramChat, caption: str = "", **more: Any) -> Payload:
        """A picture comes in several sizes; the last is the largest."""
        small = self.keep_file(data[:64]) | {"width": 90, "height": 60}
        sizes = [small, self.keep_file(data) | {"width": 1280, "height": 853}]
        words = {"caption": caption} if caption else {}
        return self._show(sender, chat, photo=sizes, **words, **more)

    def album(self, sender: User, pictures: list[bytes], chat: TelegramChat, caption: str = "") -> list[Payload]:
        group = str(next(self._albums))
        return [
            self.photo(sender, data, chat, caption if place == 0 else "", media_group_id=group)
            for place, data in enumerate(pictures)
        ]

    def voice(self, sender: User, data: bytes, chat: TelegramChat, seconds: int = 3) -> Payload:
        note = self.keep_file(data) | {"duration": seconds, "mime_type": "audio/ogg"}
        return self._show(sender, chat, voice=note)

    def sticker(self, sender: User, data: bytes, chat: TelegramChat, emoji: str, set_name: str) -> Payload:
        about = {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False}
        return self._show(sender, chat, sticker=self.keep_file(data) | about | {"emoji": emoji, "set_name": set_name})

    def _show(self, sender: User, chat: TelegramChat, **content: Any) -> Payload:
        if chat.person is not None:
            self._server.world.started.add(sender.id)
        return self._server.show(self._server.world.new_message(chat, sender, **content), chat)

    # Groups

    def add_bot(self, by: User, chat: TelegramChat, *, status: str = "member") -> None:
        bot, was = self._server.world.bot, chat.status_of(self._server.world.bot)
        chat.statuses[bot.id] = status
        self._server.tell_own_status(chat, by, was, status)
        if was not in PRESENT:
            self._show(by, chat, new_chat_members=[bot.to_payload()])

    def remove_bot(self, by: User, chat: TelegramChat) -> None:
        bot, was = self._server.world.bot, chat.status_of(self._server.world.bot)
        chat.statuses[bot.id] = "kicked"
        self._server.tell_own_status(chat, by, was, "kicked")

    def join(self, who: User, chat: TelegramChat) -> None:
        self._set_status(who, chat, "member")
        self._show(who, chat, new_chat_members=[who.to_payload()])

    def leave(self, who: User, chat: TelegramChat, *, by: User | None = None) -> None:
        """Somebody goes, or is banned by somebody."""
        self._set_status(who, chat, "kicked" if by is not None else "left")
        self._show(by or who, chat, left_chat_member=who.to_payload())

    def promote(self, who: User, chat: TelegramChat) -> None:
        self._set_status(who, chat, "administrator")

    def _set_status(self, who: User, chat: TelegramChat, status: str) -> None:
        was, world = chat.status_of(who), self._server.world
        chat.statuses[who.id] = status
        if chat.status_of(world.bot) in ADMINISTRATORS:
            about = {"chat": chat.to_payload(), "from": who.to_payload(), "date": int(world.now())}
            members = {"old_chat_member": to_member(who, was), "new_chat_member": to_member(who, status)}
            self._server.updates.add("chat_member", about | members)

    def add_topic(self, by: User, chat: TelegramChat, name: str) -> int:
        """The id of a topic is that of the message that it begins with."""
        message = self._server.world.new_message(
            chat, by, is_topic_message=True, forum_topic_created={"name": name, "icon_color": 7322096}
        )
        message["message_thread_id"] = message["message_id"]
        chat.topics[message["message_id"]] = name
        self._server.show(message, chat)
        return int(message["message_id"])

    def say_in_topic(self, sender: User, text: str, chat: TelegramChat, thread: int) -> Payload:
        """Every message of a topic seems to answer the one that it began with."""
        about: dict[str, Any] = {"message_thread_id": thread, "is_topic_message": True}
        first = chat.find_message(thread)
        if first is not None:
            about["reply_to_message"] = first
        return self._server.say(sender, text, chat, **about)

    def upgrade(self, by: User, chat: TelegramChat, new_id: int) -> TelegramChat:
        """A group becomes a supergroup: another id, and messages counted from the first."""
        world = self._server.world
        new = world.group(new_id, chat.title)
        new.statuses = chat.statuses
        self._show(by, chat, migrate_to_chat_id=new_id)
        self._show(by, new, migrate_from_chat_id=chat.id)
        chat.moved_to = new_id
        return new
