"""BotClient: the one door to Telegram's library: who the bot is, what was said to it, and its calls.

Updates stay with Telegram until they are confirmed, for a day, so each is handled before the next ones are asked for.
An address of Telegram's holds the bot's token: none is ever logged, and no error of the library is passed on in its
own words where it names one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from familiar_connect.api import SetupError
from familiar_connect.api.support import is_this_machine
from familiar_connect.extensions.telegram.errors import WRONG_TOKEN, delivery_error, is_conflict, is_wrong_token

if TYPE_CHECKING:  # the library is loaded when a bot is opened
    from telegram import Bot, Update, User

logger = logging.getLogger(__name__)

T = TypeVar("T")
UpdateFacts = dict[str, Any]
"""An update as Telegram says it."""

POLL_S = 25
"""How long Telegram holds a question for updates open while there are none."""
CALL_S = 20.0
PER_POLL = 100
"""The most that Telegram gives at once."""
UPDATES = ("message", "edited_message", "message_reaction", "my_chat_member", "chat_member", "callback_query")
"""What we ask to be told of. Reactions and members are told only to administrators of a group."""
RAW_UPDATES = "get_Updates"
"""Spelled so, the library gives what Telegram answered as it is: one update that it cannot read costs no other."""
CONNECTIONS = 8
ALBUM_S, ALBUM_LOOKS = 0.5, 3
"""The pictures of an album come one by one: how long, and how often, further ones are waited for."""


class BotClient:
    """One bot, by its token."""

    def __init__(self, token: str, api_url: str | None = None) -> None:
        self._token = token
        self._api_url = api_url.rstrip("/") if api_url is not None else None
        self._bot: Bot | None = None
        self._next: int | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Connected while this is open; `me` says who the bot is."""
        logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it writes addresses, which hold the token
        bot = self._bot = self._make_bot()
        try:
            await self._log_in(bot)
            yield
        finally:
            self._bot = None
            await bot.shutdown()

    @property
    def me(self) -> User:
        """Who the bot is."""
        return self._connected().bot

    @property
    def username(self) -> str:
        """What its account is called, without the @."""
        return self.me.username or ""

    def _connected(self) -> Bot:
        if self._bot is None:
            raise delivery_error(ConnectionError())
        return self._bot

    def _make_bot(self) -> Bot:
        from telegram import Bot
        from telegram.request import HTTPXRequest

        if self._api_url is None:
            return Bot(self._token)
        # No proxy stands before this machine.
        own = {"trust_env": False} if is_this_machine(self._api_url) else {}
        return Bot(
            self._token,
            base_url=f"{self._api_url}/bot",
            base_file_url=f"{self._api_url}/file/bot",
            request=HTTPXRequest(CONNECTIONS, read_timeout=CALL_S, httpx_kwargs=own),
            get_updates_request=HTTPXRequest(1, read_timeout=CALL_S, httpx_kwargs=own),
        )

    async def _log_in(self, bot: Bot) -> None:
        try:
            await bot.initialize()
            hook = await bot.get_webhook_info()
        except Exception as error:  # whatever the library raises; its words name the token
            if is_wrong_token(error):
                raise SetupError(WRONG_TOKEN) from None
            raise delivery_error(error) from None
        if hook.url:
            raise SetupError(
                "This bot hands its messages to a web address of another program, so Telegram does not give them to"
                " this one. Make a bot of its own with @BotFather, or have that program delete its webhook"
            )

    async def updates(self) -> Sequence[Update]:
        """What happened since the last call, in Telegram's order; asking again confirms it."""
        from telegram import Update

        bot = self._connected()
        found = await self._ask(POLL_S)
        for _ in range(ALBUM_LOOKS):
            if not _ends_in_album(found):
                break
            await asyncio.sleep(ALBUM_S)
            more = await self._ask(0)
            if len(more) == len(found):
                break
            found = more
        updates = []
        for each in found:
            self._next = int(each["update_id"]) + 1
            try:
                updates.append(Update.de_json(each, bot))
            except Exception as error:  # isolation: Telegram grows faster than the library
                logger.warning("an update could not be read", extra={"error": type(error).__name__})
        return updates

    async def _ask(self, timeout_s: int) -> list[UpdateFacts]:
        """What is not confirmed yet, as Telegram says it."""
        about = {"offset": self._next, "timeout": timeout_s, "limit": PER_POLL, "allowed_updates": UPDATES}
        try:
            found: list[UpdateFacts] = await self._connected().do_api_request(
                RAW_UPDATES, api_kwargs=about, read_timeout=timeout_s + CALL_S
            )
        except Exception as error:  # whatever the library raises
            if is_wrong_token(error):
                raise SetupError(WRONG_TOKEN) from None
            if is_conflict(error):
                raise
            raise delivery_error(error) from None
        return found

    async def call(self, ask: Callable[[Bot], Awaitable[T]]) -> T:
        """What Telegram answers to a call of the library's bot; `DeliveryError` where it does not do it."""
        bot = self._connected()
        try:
            return await ask(bot)
        except Exception as error:  # whatever the library raises
            raise delivery_error(error) from None


def _ends_in_album(found: Sequence[UpdateFacts]) -> bool:
    """Whether further pictures may belong to the last message."""
    return bool(found) and "media_group_id" in (found[-1].get("message") or {})
