"""Webhooks on our own Discord: who may make one, how many, under which names they speak, and with which secret."""

from __future__ import annotations

from typing import Any

from familiar_connect.extensions.discord.demo.message_rules import (
    ApiRefusal,
    why_content_refused,
    why_message_refused,
    why_name_refused,
)
from familiar_connect.extensions.discord.demo.rights import MANAGE_WEBHOOKS
from familiar_connect.extensions.discord.demo.world import Payload, Room, World

MOST = 15
"""Webhooks of one channel."""
UNKNOWN_CHANNEL, UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK, TOO_MANY, INVALID_TOKEN = 10003, 10008, 10015, 30007, 50027
MISSING_PERMISSION, THREAD_ARCHIVED = 50013, 50083


class Webhooks:
    """Every webhook there is, by id."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.known: dict[str, Payload] = {}

    def list_in(self, room: Room) -> ApiRefusal | list[Payload]:
        if not self._world.bot_may(room, MANAGE_WEBHOOKS):
            return ApiRefusal(403, MISSING_PERMISSION, "Missing Permissions")
        return [each for each in self.known.values() if each["channel_id"] == str(room.id)]

    def make(self, room: Room, name: str) -> ApiRefusal | Payload:
        there = self.list_in(room)
        if isinstance(there, ApiRefusal):
            return there
        refused = why_name_refused(name)
        if refused is not None:
            return refused
        if len(there) >= MOST:
            return ApiRefusal(400, TOO_MANY, f"Maximum number of webhooks reached ({MOST})")
        made: Payload = {
            "id": str(self._world.new_id()),
            "type": 1,
            "name": name,
            "avatar": None,
            "channel_id": str(room.id),
            "guild_id": str(room.guild_id),
            "application_id": str(self._world.bot.id),
            "user": self._world.bot.payload(),
        }
        made["token"] = f"secret-{made['id']}"
        self.known[made["id"]] = made
        return made

    def find(self, hook_id: str, token: str) -> ApiRefusal | Payload:
        """The webhook of that id, for whoever knows its secret; one goes with its channel."""
        found = self.known.get(hook_id)
        if found is None or self._world.find(int(found["channel_id"])) is None:
            return ApiRefusal(404, UNKNOWN_WEBHOOK, "Unknown Webhook")
        return found if found["token"] == token else ApiRefusal(401, INVALID_TOKEN, "Invalid Webhook Token")

    def room_of(self, hook: Payload, thread_id: str | None) -> ApiRefusal | Room:
        """Where it posts: its channel, or a thread of that."""
        room = self._world.find(int(thread_id or hook["channel_id"]))
        if room is None or (thread_id and str(room.parent_id) != hook["channel_id"]):
            return ApiRefusal(404, UNKNOWN_CHANNEL, "Unknown Channel")
        return room

    def say(self, hook: Payload, room: Room, said: Payload) -> ApiRefusal | Payload:
        """Post *said* in *room*; the message."""
        refused = why_message_refused(said)
        name = said.get("username") or hook["name"]
        refused = refused or why_name_refused(name)
        if refused is not None:
            return refused
        if room.is_archived and room.is_locked:
            return ApiRefusal(400, THREAD_ARCHIVED, "Thread is archived")
        more: dict[str, Any] = {"webhook_id": hook["id"], "application_id": hook["application_id"]}
        message = self._world.message(
            room, self._world.bot, said.get("content") or "", embeds=said.get("embeds") or [], **more
        )
        author = {"id": hook["id"], "username": name, "discriminator": "0000"}
        message["author"] = author | {"avatar": None, "bot": True}
        return message

    def find_message(self, hook: Payload, thread_id: str | None, message_id: str) -> ApiRefusal | tuple[Room, Payload]:
        """A message that this webhook posted, and its room."""
        room = self.room_of(hook, thread_id)
        if isinstance(room, ApiRefusal):
            return room
        message = room.messages.get(int(message_id))
        if message is None or message.get("webhook_id") != hook["id"]:
            return ApiRefusal(404, UNKNOWN_MESSAGE, "Unknown Message")
        return room, message

    @staticmethod
    def edit(message: Payload, said: Payload) -> ApiRefusal | None:
        refused = why_content_refused(said)
        if refused is None:
            message["content"] = said.get("content", message["content"])
            message["edited_timestamp"] = message["timestamp"]
        return refused
