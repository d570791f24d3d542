"""FirstWords: what the program says by itself: hello to a new server, one line where it does not listen.

Its owner is told when it is thrown out or shut out. What was said is written down: a restart says nothing twice.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from familiar_connect.api import InboundMessage, PlatformHost
from familiar_connect.api.servers import IntakeResult, SubscriptionKind
from familiar_connect.api.support import KeyedLocks, atomic_write, load_bytes, off_loop
from familiar_connect.extensions.discord.errors import delivery_error
from familiar_connect.extensions.discord.guild_rules import may_reply

logger = logging.getLogger(__name__)

FILE_NAME = "first_words.json"
HELLO_WITHIN = timedelta(days=1)
"""A server that we came to longer ago knows us, though nobody wrote down that we said hello."""
MAX_LINES_A_DAY = 500
MAX_SERVERS = 5_000
MAX_FILE = 4_000_000
SEND_WITHIN_S = 30.0

HELLO = (
    "Hello, I am {name}. I do not listen anywhere on this server yet. Anyone who may manage a channel can use"
    " `/setup` to choose where I listen; after that, mention me or say my name. `/privacy` shows what I keep about"
    " you, `/help` what else I can do."
)
NOT_HERE = "I do not listen in this channel. Anyone who may manage it can use `/setup` here; after that I answer."
ONLY_OWNER = "I answer direct messages only from my owner. You can talk to me on a server, in a channel where I listen."
NO_DIRECT = "I do not answer direct messages. You can talk to me on a server, in a channel where I listen."
NO_ROOM = (
    "I was added to the server {server}, but I may not write in any channel there. Give my role View Channels and Send"
    " Messages in one of them, then use `/setup` there."
)
THROWN_OUT = (
    "I am no longer on the server {server}: someone removed me, or the server was deleted. I keep what I remember;"
    " `familiar discord invite` prints the link that lets me back in."
)
GONE_MEANWHILE = (
    "I am no longer on a server where I listened (its id is {server}): someone removed me while I was away, or the"
    " server was deleted. `familiar discord invite` prints the link that lets me back in."
)
SHUT_OUT = (
    "I listen in #{channel} on {server}, but {reason}. Edit Channel → Permissions gives my role View Channel and Send"
    " Messages; `/unsubscribe-text` ends the listening."
)
DELETED = "#{channel} on {server} was deleted, so I no longer listen there."


class FirstWords:
    """What was said where, in a file of the familiar's own folder."""

    def __init__(
        self,
        host: PlatformHost,
        *,
        why_closed: Callable[[Any], Awaitable[str | None]],
        is_here: Callable[[int], bool],
        is_gone: Callable[[int], Awaitable[bool]],
    ) -> None:
        """*why_closed* says why nothing can be written in a channel; *is_here* whether we know a server.

        *is_gone* asks Discord whether we are no longer on it.
        """
        self._host = host
        self._is_here = is_here
        self._is_gone = is_gone
        self._why_closed = why_closed
        self._file = host.folder / FILE_NAME
        self._locks = KeyedLocks()
        self._kept: dict[str, dict[str, str]] | None = None

    # Hello

    async def greet(self, guild: Any) -> None:
        """Say hello on a server that we came to just now, once."""
        came = guild.me.joined_at if guild is not None and guild.me is not None else None
        if came is None or self._host.clock.now() - came > HELLO_WITHIN:
            return
        if not self._host.settings.hello or self._listens_on(guild.id):
            return
        if not await self._note("servers", str(guild.id), came.isoformat()):
            return
        channel = _find_room(guild)
        if channel is None:
            await self._tell_owner(NO_ROOM.format(server=guild.name))
            return
        await self._send(channel, HELLO.format(name=self._host.name))

    def _listens_on(self, guild_id: int) -> bool:
        return any(each.guild_id == guild_id for each in self._host.servers.list_subscriptions())

    # Where it does not listen

    async def explain(self, message: Any, inbound: InboundMessage, heard: IntakeResult) -> None:
        """Whoever spoke to us where nobody listens is told so, once a day in each channel."""
        is_for_us = inbound.is_mention or inbound.is_reply_to_us or inbound.is_dm
        if not self._host.settings.hello or heard is not IntakeResult.not_subscribed or not is_for_us:
            return
        if await off_loop(self._host.is_ignored, inbound.author):
            return
        direct = NO_DIRECT if self._host.settings.dms == "off" else ONLY_OWNER
        today = self._host.clock.now().date().isoformat()
        if await self._note("lines", str(inbound.channel_id), today):
            can_reply = not inbound.is_dm and may_reply(message.channel)
            answered = {"reference": message.to_reference(fail_if_not_exists=False)} if can_reply else {}
            await self._send(message.channel, direct if inbound.is_dm else NOT_HERE, **answered)

    # What its owner is told

    async def on_removed(self, guild: Any) -> None:
        """We were thrown out of a server."""
        await self._forget("servers", str(guild.id))
        await self._tell_gone(guild.id, THROWN_OUT.format(server=guild.name))

    async def look_for_gone(self) -> None:
        """Tell of servers that we listened on and are not on any more.

        One that we do not know yet may come with the next shard, so Discord is asked.
        """
        listened = {each.guild_id for each in self._listened() if each.guild_id is not None}
        for guild_id in sorted(listened):
            if self._is_here(guild_id) or not await self._is_gone(guild_id):
                continue
            await self._tell_gone(guild_id, GONE_MEANWHILE.format(server=guild_id))

    async def _tell_gone(self, guild_id: int, sentence: str) -> None:
        """Tell the owner, unless they were; one who cannot be reached is told at the next start.

        It may have been the only server that we shared with them.
        """
        if not await self._is_noted("gone", str(guild_id), "told") and await self._tell_owner(sentence):
            await self._note("gone", str(guild_id), "told")

    async def look_for_closed(self, guild: Any) -> None:
        """Tell of channels that we listen to and that were closed to us; once, until they are open again."""
        await self._forget("gone", str(guild.id), only_if=lambda: self._is_here(guild.id))
        for known in self._listened():
            channel = guild.get_channel(known.channel_id)
            if channel is None:
                continue
            reason = await self._why_closed(channel)
            if not self._is_here(guild.id):
                return
            if reason is None:
                await self._forget("closed", str(channel.id))
            elif await self._note("closed", str(channel.id), "told"):
                says = reason.replace("the bot lacks", "I lack").replace("the bot is", "I am")
                await self._tell_owner(SHUT_OUT.format(channel=channel.name, server=guild.name, reason=says))

    async def on_deleted(self, channel: Any) -> None:
        """A channel is gone for good."""
        if any(each.channel_id == channel.id for each in self._listened()):
            await self._tell_owner(DELETED.format(channel=channel.name, server=channel.guild.name))

    def _listened(self) -> list[Any]:
        return [each for each in self._host.servers.list_subscriptions() if each.kind is SubscriptionKind.text]

    async def _tell_owner(self, sentence: str) -> bool:
        """Write to the owner; where that fails it is said where the program runs. Whether it was written."""
        try:
            await self._host.write_to_owner(sentence)
        except Exception as error:  # isolation: the owner may be out of reach
            logger.warning("the owner could not be told", extra={"reason": str(delivery_error(error))})
            self._host.tell_owner(sentence)
            return False
        return True

    @staticmethod
    async def _send(channel: Any, text: str, **more: Any) -> None:
        import discord

        try:
            async with asyncio.timeout(SEND_WITHIN_S):
                await channel.send(text, allowed_mentions=discord.AllowedMentions.none(), **more)
        except Exception as error:  # isolation: a courtesy is never worth more
            logger.warning("first words could not be said", extra={"reason": str(delivery_error(error))})

    # What was said before

    async def _note(self, kind: str, key: str, value: str) -> bool:
        """Write down that something was said; False: it was before, or too much was today."""
        async with self._locks.lock("file"):
            kept = await self._load()
            known = kept.setdefault(kind, {})
            if known.get(key) == value:
                return False
            if kind == "lines":
                known = kept[kind] = {each: day for each, day in known.items() if day == value}
                if len(known) >= MAX_LINES_A_DAY:
                    return False
            known[key] = value
            for each in list(known)[:-MAX_SERVERS]:
                del known[each]
            await self._save(kept)
            return True

    async def _is_noted(self, kind: str, key: str, value: str) -> bool:
        async with self._locks.lock("file"):
            return (await self._load()).get(kind, {}).get(key) == value

    async def _forget(self, kind: str, key: str, only_if: Callable[[], bool] = lambda: True) -> None:
        async with self._locks.lock("file"):
            kept = await self._load()
            if only_if() and kept.get(kind, {}).pop(key, None) is not None:
                await self._save(kept)

    async def _load(self) -> dict[str, dict[str, str]]:
        if self._kept is None:
            self._kept = await off_loop(_read, self._file)
        return self._kept

    async def _save(self, kept: dict[str, dict[str, str]]) -> None:
        try:
            await off_loop(atomic_write, self._file, json.dumps(kept))
        except OSError as error:  # it may be said again after a restart
            logger.warning("what was said first is not kept", extra={"error": type(error).__name__})


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        found = json.loads(load_bytes(path, MAX_FILE))
    except (OSError, ValueError):  # the owner may have been at it: then it is said once more
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(kind): {str(key): str(value) for key, value in known.items()}
        for kind, known in found.items()
        if isinstance(known, dict)
    }


def _find_room(guild: Any) -> Any | None:
    """Where everybody reads and we may write: the server's own channel for news, else the topmost one."""
    system = [guild.system_channel] if guild.system_channel is not None else []
    rooms = [*system, *sorted(guild.text_channels, key=lambda each: (each.position, each.id))]
    writable = [each for each in rooms if _may_write(each, guild.me)]
    open_to_all = [each for each in writable if each.permissions_for(guild.default_role).view_channel]
    return next(iter([*open_to_all, *writable]), None)


def _may_write(channel: Any, me: Any) -> bool:
    rights = channel.permissions_for(me)
    return bool(rights.view_channel and rights.send_messages)
