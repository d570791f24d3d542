"""ChatCommands: slash commands as Telegram has them: a menu, and lines such as `/remind@ember_bot tomorrow tea`.

A name on Telegram has no hyphen. In a group everybody reads the answer, so it leaves out what was said elsewhere.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

from familiar_connect.api import Author, DeliveryError, PlatformHost
from familiar_connect.api.messages import pack_reply
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.telegram.client import BotClient
from familiar_connect.extensions.telegram.noted import Noted
from familiar_connect.extensions.telegram.place import LIMIT, TelegramPlace

logger = logging.getLogger(__name__)

START = "start"
MAX_ANSWER_PIECES = 5
MAX_IN_MENU = 100
MAX_DESCRIPTION = 256
PAUSE_S = 3.0
"""Between two commands of one person who administers nothing."""
MAX_PAUSED = 1_000
_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,32})(?:@(\w+))?(?:\s+(.*))?", re.DOTALL)
_IN_MENU = re.compile(r"[a-z0-9_]{1,32}")


@dataclass(frozen=True)
class TypedCommand:
    """A line that begins with a command."""

    name: str
    to: str | None
    """The bot that it is for, where the line says so."""
    words: str


@dataclass(frozen=True)
class MenuEntry:
    """A command as Telegram offers it."""

    name: str
    says: str
    is_for_managers: bool


def parse_command(text: str) -> TypedCommand | None:
    """The command that a line is; None: it is none."""
    found = _COMMAND.fullmatch(text.strip())
    return TypedCommand(found[1].lower(), found[2], found[3] or "") if found is not None else None


class ChatCommands:
    """The commands of one familiar."""

    def __init__(self, host: PlatformHost, client: BotClient, noted: Noted) -> None:
        self._host = host
        self._client = client
        self._noted = noted
        self._used_at: LruCache[str, float] = LruCache(MAX_PAUSED)

    def name_of(self, typed: TypedCommand) -> str | None:
        """What we call the command; None: there is none of that name."""
        for name in (typed.name, typed.name.replace("_", "-")):
            if name == START or self._host.commands.find(name) is not None:
                return name
        return None

    async def answer(self, typed: TypedCommand, author: Author, place: TelegramPlace, number: int) -> None:
        """Do what a line asks for, and answer it."""
        is_group = not place.spot.is_direct
        may_manage = is_group and await self._noted.groups.is_administrator(place.spot.chat_id, author.user_id)
        if not may_manage and not self._may_use_now(author):
            return
        line = f"{self.name_of(typed) or typed.name} {typed.words}"
        answer = await self._host.use_command(
            place.spot.channel, author, line, place, may_manage=may_manage, others_read=is_group
        )
        answer = f"There is no /{typed.name} here; /help lists what there is." if answer is None else answer
        pieces = pack_reply(self._as_typed_here(answer), limit=LIMIT)
        if len(pieces) > MAX_ANSWER_PIECES:
            pieces = [*pieces[:MAX_ANSWER_PIECES], "… and more."]
        try:
            for piece in pieces:
                await place.post_text(piece, number if is_group else None)
        except DeliveryError as error:
            logger.warning("a command could not be answered", extra={"reason": str(error)})

    def _may_use_now(self, author: Author) -> bool:
        """Nobody whom the owner ignores, and nobody twice within moments."""
        if self._host.is_ignored(author):
            return False
        now, last = self._host.clock.monotonic(), self._used_at.get(author.user_id)
        self._used_at.put(author.user_id, now)
        return last is None or now - last >= PAUSE_S

    def _as_typed_here(self, text: str) -> str:
        """*text* with names of commands as Telegram takes them."""
        names = [each.name for each in self._host.commands.list_all() if "-" in each.name]
        for name in sorted(names, key=len, reverse=True):
            text = re.sub(rf"/{re.escape(name)}\b", f"/{name.replace('-', '_')}", text)
        return text

    async def show_menu(self) -> None:
        """Tell Telegram which commands there are, so that it offers them to whoever types a slash."""
        from telegram import BotCommand, BotCommandScopeAllGroupChats, BotCommandScopeAllPrivateChats

        everywhere = [each for each in self._list() if not each.is_for_managers]
        people = [BotCommand(each.name, each.says) for each in everywhere[:MAX_IN_MENU]]
        group = [BotCommand(each.name, each.says) for each in self._list()[:MAX_IN_MENU]]
        try:
            await self._client.call(lambda bot: bot.set_my_commands(people, scope=BotCommandScopeAllPrivateChats()))
            await self._client.call(lambda bot: bot.set_my_commands(group, scope=BotCommandScopeAllGroupChats()))
        except DeliveryError as error:
            logger.warning("the menu of commands could not be set", extra={"reason": str(error)})

    def _list(self) -> list[MenuEntry]:
        """Commands for people, as Telegram names them; those of servers and of the owner are typed."""
        return [
            MenuEntry(name, each.description[:MAX_DESCRIPTION], each.needs_manage or each.is_control)
            for each in self._host.commands.list_all()
            if not (each.operator_only or each.channels_only or each.servers_only or each.needs_chats)
            and not each.needs_voice
            and _IN_MENU.fullmatch(name := each.name.replace("-", "_"))
        ]
