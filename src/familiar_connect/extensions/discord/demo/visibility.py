"""Which events a session hears: those its intents ask for, of channels the bot can see, without words it may not read.

A bot is told of every channel of its servers, whether it can see it or not; of threads, messages, reactions and typing
only where it can.
"""

from __future__ import annotations

from familiar_connect.extensions.discord.demo.world import Payload, Room, World

GUILD_MEMBERS, GUILD_VOICE_STATES, GUILD_PRESENCES, GUILD_MESSAGES = 1 << 1, 1 << 7, 1 << 8, 1 << 9
GUILD_EVENTS, GUILD_POLLS, DIRECT_POLLS = 1 << 16, 1 << 24, 1 << 25
GUILD_REACTIONS, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 10, 1 << 12, 1 << 15
OF_MEMBERS = frozenset({"GUILD_MEMBER_ADD", "GUILD_MEMBER_REMOVE", "GUILD_MEMBER_UPDATE"})
OF_MESSAGES = frozenset({"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK"})
OF_THREADS = frozenset({"THREAD_CREATE", "THREAD_UPDATE", "THREAD_MEMBERS_UPDATE"})
WORDS: Payload = {"content": "", "embeds": [], "attachments": [], "components": [], "poll": None}


def as_session_hears(world: World, intents: int, event: str, data: Payload) -> Payload | None:
    """*data* as a session with these intents is told of it; None: it is not told. What makes no sense goes through."""
    if event in OF_MEMBERS:
        is_own = data.get("user", {}).get("id") == str(world.bot.id)
        return data if is_own or intents & GUILD_MEMBERS else None
    if event == "PRESENCE_UPDATE":
        return data if intents & GUILD_PRESENCES else None
    if event == "VOICE_STATE_UPDATE":
        return data if intents & GUILD_VOICE_STATES else None
    if event.startswith("GUILD_SCHEDULED_EVENT_"):
        return data if intents & GUILD_EVENTS else None
    if event == "GUILD_CREATE" and "threads" in data:
        return data | {"threads": [each for each in data["threads"] if _can_see(world, each.get("id"))]}
    if event in OF_THREADS:
        was_removed = str(world.bot.id) in data.get("removed_member_ids", ())
        return data if was_removed or _can_see(world, data.get("id")) else None
    if event.startswith("MESSAGE_POLL_"):
        room = _room(world, data.get("channel_id"))
        wanted = DIRECT_POLLS if room is not None and room.guild_id is None else GUILD_POLLS
        return data if intents & wanted and _can_see(world, data.get("channel_id")) else None
    if event in OF_MESSAGES or event.startswith("MESSAGE_REACTION_"):
        return _message(world, intents, data, GUILD_REACTIONS if "REACTION" in event else GUILD_MESSAGES)
    return data


def _message(world: World, intents: int, data: Payload, wanted: int) -> Payload | None:
    room = _room(world, data.get("channel_id"))
    if room is None:
        return data
    is_direct = room.guild_id is None
    if not intents & (DIRECT_MESSAGES if is_direct else wanted) or not world.bot_may(room, 0):
        return None
    return data if intents & MESSAGE_CONTENT or is_direct else _without_words(world, data)


def _room(world: World, room_id: object) -> Room | None:
    return world.find(int(room_id)) if isinstance(room_id, str) and room_id.isdigit() else None


def _can_see(world: World, room_id: object) -> bool:
    room = _room(world, room_id)
    return room is None or world.bot_may(room, 0)


def _without_words(world: World, data: Payload) -> Payload:
    """A message without what it says, unless it is the bot's own or mentions it."""
    if "content" not in data:
        return data
    me = str(world.bot.id)
    is_for_us = data.get("author", {}).get("id") == me or any(each["id"] == me for each in data.get("mentions", ()))
    return data if is_for_us else data | WORDS
