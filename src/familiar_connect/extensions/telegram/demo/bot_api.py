"""BotApi: the methods of the Bot API, as far as the program calls them, with the answers Telegram gives."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from familiar_connect.extensions.telegram.demo.rate_limits import SendLimits
from familiar_connect.extensions.telegram.demo.text_rules import count_units, find_entities, why_no_text
from familiar_connect.extensions.telegram.demo.updates import MAX_GIVEN, Terminated, UpdateQueue
from familiar_connect.extensions.telegram.demo.world import ADMINISTRATORS, PRESENT, Payload, TelegramChat, User, World

MAX_KEPT = 10_000
BLOCKED = "bot was blocked by the user"
TWO_ASK = "terminated by other getUpdates request; make sure that only one bot instance is running"
HAS_WEBHOOK = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
DELETABLE_S = 48 * 3600.0
MAX_FILE = 20 * 1024 * 1024
MAX_COMMANDS, MAX_DESCRIPTION = 100, 256
_COMMAND_NAME = re.compile(r"[a-z0-9_]{1,32}")
NO_GIFTS = dict.fromkeys(
    ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
)
RIGHTS = (
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
)
_REASONS = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 409: "Conflict", 429: "Too Many Requests"}


class Refused(Exception):
    """Telegram does not do what was asked."""

    def __init__(self, code: int, says: str, **parameters: Any) -> None:
        super().__init__(f"{_REASONS[code]}: {says}")
        self.code = code
        self.parameters = parameters


@dataclass(frozen=True)
class Call:
    """A call that the client made and that was done."""

    method: str
    fields: Mapping[str, str]
    result: Any


class BotApi:
    """What one bot may do in *world*."""

    def __init__(self, world: World, updates: UpdateQueue, on_call: Callable[[Call], None]) -> None:
        self._world = world
        self._updates = updates
        self._on_call = on_call
        self.limits = SendLimits(world.now)
        self.calls: deque[Call] = deque(maxlen=MAX_KEPT)
        self.webhook_url = ""
        self.menus: dict[str, list[Payload]] = {}
        """Commands that are offered, by where."""
        self._methods: dict[str, Callable[[Mapping[str, str]], Awaitable[object]]] = {
            "getme": self._get_me,
            "getwebhookinfo": self._get_webhook_info,
            "getupdates": self._get_updates,
            "sendmessage": self._send_message,
            "sendchataction": self._send_chat_action,
            "editmessagetext": self._edit_message_text,
            "deletemessage": self._delete_message,
            "getchat": self._get_chat,
            "getchatadministrators": self._get_chat_administrators,
            "getchatmember": self._get_chat_member,
            "getfile": self._get_file,
            "setmycommands": self._set_my_commands,
        }

    async def call(self, method: str, fields: Mapping[str, str]) -> object:
        """Do it, or raise `Refused`; names of methods are taken in any case."""
        do = self._methods.get(method.lower())
        if do is None:
            raise Refused(404, "method not found")
        result = await do(fields)
        done = Call(method, dict(fields), result)
        self.calls.append(done)
        self._on_call(done)
        return result

    async def _get_me(self, fields: Mapping[str, str]) -> object:
        about = {"can_join_groups": True, "can_read_all_group_messages": not self._world.is_privacy_on}
        return self._world.bot.to_payload() | about | {"supports_inline_queries": False}

    async def _get_webhook_info(self, fields: Mapping[str, str]) -> object:
        return {"url": self.webhook_url, "has_custom_certificate": False, "pending_update_count": 0}

    async def _get_updates(self, fields: Mapping[str, str]) -> object:
        if self.webhook_url:
            raise Refused(409, HAS_WEBHOOK)
        allowed = fields.get("allowed_updates")
        try:
            return await self._updates.give(
                offset=int(fields.get("offset") or 0),
                limit=int(fields.get("limit") or MAX_GIVEN),
                timeout_s=float(fields.get("timeout") or 0),
                allowed=json.loads(allowed) if allowed else None,
            )
        except Terminated:
            raise Refused(409, TWO_ASK) from None

    # Writing

    def _writable(self, fields: Mapping[str, str]) -> TelegramChat:
        """The chat that is written to, where the bot may write there."""
        world = self._world
        chat_id = int(fields.get("chat_id") or 0)
        chat = world.chats.get(chat_id)
        if chat is None:
            raise Refused(400, "chat not found")
        if chat.moved_to is not None:
            raise Refused(400, "group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.moved_to)
        if chat.person is not None:
            if chat.person.id in world.blocked:
                raise Refused(403, BLOCKED)
            if chat.person.id not in world.started:
                raise Refused(403, "bot can't initiate conversation with a user")
        elif chat.status_of(world.bot) not in PRESENT:
            was = "kicked from" if chat.status_of(world.bot) == "kicked" else "not a member of"
            raise Refused(403, f"bot {'was ' if was.startswith('k') else 'is '}{was} the {chat.type} chat")
        elif not chat.may_bot_write:
            raise Refused(400, "not enough rights to send text messages to the chat")
        thread = int(fields.get("message_thread_id") or 0)
        if thread and thread not in chat.topics:
            raise Refused(400, "message thread not found")
        return chat

    def _readable(self, fields: Mapping[str, str]) -> TelegramChat:
        """The chat that is asked about, where the bot may know of it."""
        chat = self._world.chats.get(int(fields.get("chat_id") or 0))
        if chat is None:
            raise Refused(400, "chat not found")
        if chat.moved_to is not None:
            raise Refused(400, "group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.moved_to)
        if chat.is_group and chat.status_of(self._world.bot) not in PRESENT:
            raise Refused(403, f"bot is not a member of the {chat.type} chat")
        return chat

    def _take_turn(self, chat: TelegramChat) -> None:
        wait_s = self.limits.take(chat.id, is_group=chat.is_group)
        if wait_s is not None:
            raise Refused(429, f"retry after {wait_s}", retry_after=wait_s)

    def _answered(self, chat: TelegramChat, fields: Mapping[str, str]) -> Payload | None:
        """The message that one is to answer."""
        given = json.loads(fields.get("reply_parameters") or "{}")
        if not given:
            return None
        found = chat.find_message(int(given["message_id"]))
        if found is None and not given.get("allow_sending_without_reply"):
            raise Refused(400, "message to be replied not found")
        return found

    async def _send_message(self, fields: Mapping[str, str]) -> object:
        chat, text = self._writable(fields), fields.get("text", "")
        why_not = why_no_text(text)
        if why_not is not None:
            raise Refused(400, why_not)
        if fields.get("parse_mode"):
            raise Refused(400, "can't parse entities: this stand-in takes entities, and no parse mode")
        about = self._entities(text.strip(), fields)
        answered = self._answered(chat, fields)
        self._take_turn(chat)
        return self._post(chat, fields, answered, text=text.strip(), **about)

    def _post(self, chat: TelegramChat, fields: Mapping[str, str], answered: Payload | None, **content: Any) -> Payload:
        if answered is not None:
            content["reply_to_message"] = {name: each for name, each in answered.items() if name != "reply_to_message"}
        thread = int(fields.get("message_thread_id") or 0)
        if thread:
            content |= {"message_thread_id": thread, "is_topic_message": True}
        return self._world.new_message(chat, self._world.bot, **content)

    def _entities(self, text: str, fields: Mapping[str, str]) -> Payload:
        """What stands in a text: what the client says, and what Telegram finds by itself."""
        given: list[Payload] = json.loads(fields.get("entities") or "[]")
        for each in given:
            if each["offset"] < 0 or each["offset"] + each["length"] > count_units(text) or each["length"] <= 0:
                raise Refused(400, "can't parse entities: an entity is beyond the text")
        found = given + find_entities(text)
        return {"entities": found} if found else {}

    async def _send_chat_action(self, fields: Mapping[str, str]) -> object:
        self._writable(fields)
        return True

    def _own_message(self, fields: Mapping[str, str], verb: str) -> tuple[TelegramChat, Payload]:
        chat = self._writable({name: value for name, value in fields.items() if name != "message_thread_id"})
        found = chat.find_message(int(fields.get("message_id") or 0))
        if found is None:
            raise Refused(400, f"message to {verb} not found")
        if found["from"]["id"] != self._world.bot.id:
            raise Refused(400, f"message can't be {verb}{'ed' if verb == 'edit' else 'd'}")
        return chat, found

    async def _edit_message_text(self, fields: Mapping[str, str]) -> object:
        chat, found = self._own_message(fields, "edit")
        text = fields.get("text", "")
        why_not = why_no_text(text)
        if why_not is not None:
            raise Refused(400, why_not)
        about = self._entities(text.strip(), fields)
        if found["text"] == text.strip() and found.get("entities") == about.get("entities"):
            raise Refused(400, "message is not modified: specified new message content and reply markup are the same")
        self._take_turn(chat)
        found.pop("entities", None)
        found.update(text=text.strip(), edit_date=int(self._world.now()), **about)
        return found

    async def _delete_message(self, fields: Mapping[str, str]) -> object:
        chat, found = self._own_message(fields, "delete")
        if self._world.now() - found["date"] > DELETABLE_S:
            raise Refused(400, "message can't be deleted")
        chat.messages.remove(found)
        return True

    # Asking

    async def _get_chat(self, fields: Mapping[str, str]) -> object:
        chat = self._readable(fields)
        return chat.to_payload() | {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": NO_GIFTS}

    async def _get_chat_administrators(self, fields: Mapping[str, str]) -> object:
        chat = self._readable(fields)
        if chat.person is not None:
            raise Refused(400, "there are no administrators in the private chat")
        found = [(self._world.find_user(user_id), status) for user_id, status in chat.statuses.items()]
        return [to_member(user, status) for user, status in found if user is not None and status in ADMINISTRATORS]

    async def _get_chat_member(self, fields: Mapping[str, str]) -> object:
        chat, user = self._readable(fields), self._world.find_user(int(fields.get("user_id") or 0))
        if user is None or (user is not self._world.bot and not self._world.is_administrator(chat)):
            raise Refused(400, "member list is inaccessible")  # now and then an answer comes; nobody may count on it
        return to_member(user, chat.status_of(user))

    async def _get_file(self, fields: Mapping[str, str]) -> object:
        file_id = fields.get("file_id", "")
        data = self._world.sent_files.get(file_id)
        if data is None:
            raise Refused(400, "invalid file_id")
        if len(data) > MAX_FILE:
            raise Refused(400, "file is too big")
        about = {"file_id": file_id, "file_unique_id": unique_of(file_id), "file_size": len(data)}
        return about | {"file_path": f"files/{file_id}"}

    async def _set_my_commands(self, fields: Mapping[str, str]) -> object:
        commands: list[Payload] = json.loads(fields.get("commands") or "[]")
        if len(commands) > MAX_COMMANDS:
            raise Refused(400, "too many commands")
        for each in commands:
            if not _COMMAND_NAME.fullmatch(each["command"]) or not 1 <= len(each["description"]) <= MAX_DESCRIPTION:
                raise Refused(400, "BOT_COMMAND_INVALID")
        self.menus[json.loads(fields.get("scope") or '{"type": "default"}')["type"]] = commands
        return True


def to_member(user: User, status: str) -> Payload:
    """Somebody in a group as Telegram shows them; administrators with all their rights."""
    rights = dict.fromkeys(RIGHTS, True) | {"is_anonymous": False, "can_be_edited": False}
    more: dict[str, Payload] = {
        "creator": {"is_anonymous": False},
        "administrator": rights,
        "kicked": {"until_date": 0},
    }
    return {"user": user.to_payload(), "status": status} | more.get(status, {})


def unique_of(file_id: str) -> str:
    """What a file is called for everybody; its id is the bot's own."""
    return f"u{file_id[-12:]}"
