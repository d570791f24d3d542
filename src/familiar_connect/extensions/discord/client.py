"""The Discord library as we use it: what it is told at the start, and what a bad event may not do to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from familiar_connect.api import SetupError
from familiar_connect.api.support import how_to_install
from familiar_connect.extensions.discord.errors import NO_CONTENT_INTENT, delivery_error

logger = logging.getLogger(__name__)

MAX_MESSAGES = 2_000
"""Messages the library keeps at hand, with their reactions."""
GUILD_READY_TIMEOUT_S = 2.0
ASK_WITHIN_S = 30.0


@dataclass(frozen=True)
class Application:
    """Who owns the bot, and what it may be told of."""

    owners: frozenset[int]
    """Of a team its owner alone: whoever else is in it is not the familiar's owner."""
    may_see_members: bool
    may_see_presence: bool


@contextmanager
def use_api_url(api_url: str | None) -> Iterator[None]:
    """Have the library speak to another Discord than the real one for a while."""
    try:
        import discord.utils
        from discord.http import Route
    except ModuleNotFoundError as error:
        raise SetupError(f"Discord: {how_to_install('discord')}.") from error
    discord.utils.voice_dependency_warning_emitted = True  # text needs none of it, and nobody asked for voice yet

    usual = Route.API_BASE_URL
    Route.API_BASE_URL = api_url or usual
    try:
        yield
    finally:
        Route.API_BASE_URL = usual


async def fetch_application(token: str) -> Application:
    """Log in once and see what the owner has switched on. Raises SetupError where it does not suffice."""
    import discord

    client = discord.Client(intents=discord.Intents(guilds=True))
    try:
        await client.login(token)
        info = await client.application_info()
    finally:
        await client.close()
    flags = info.flags
    if not (flags.gateway_message_content or flags.gateway_message_content_limited):
        raise SetupError(NO_CONTENT_INTENT)
    owner = info.team.owner_id if info.team is not None else info.owner.id if info.owner is not None else None
    return Application(
        owners=frozenset({owner} if owner is not None else ()),
        may_see_members=bool(flags.gateway_guild_members or flags.gateway_guild_members_limited),
        may_see_presence=bool(flags.gateway_presence or flags.gateway_presence_limited),
    )


def make_client(application: Application, *, guild_ready_timeout_s: float = GUILD_READY_TIMEOUT_S) -> Any:
    """A client that hears everything it may; sharded as Discord recommends."""
    import discord

    intents = discord.Intents.default()
    intents.message_content = True
    intents.members = application.may_see_members
    intents.presences = application.may_see_presence
    return discord.AutoShardedClient(
        intents=intents,
        max_messages=MAX_MESSAGES,
        chunk_guilds_at_startup=False,
        guild_ready_timeout=guild_ready_timeout_s,
        allowed_mentions=discord.AllowedMentions.none(),
    )


async def is_gone(client: Any, guild_id: int) -> bool:
    """Whether Discord says that we are not on a server; False where it cannot be asked now."""
    import discord

    try:
        async with asyncio.timeout(ASK_WITHIN_S):
            await client.fetch_guild(guild_id, with_counts=False)
    except (discord.NotFound, discord.Forbidden):
        return True
    except Exception as error:  # isolation: then nobody is told anything
        logger.info("a server could not be looked up", extra={"reason": str(delivery_error(error))})
    return False


class _GlobalLimit(asyncio.Event):
    """Set while Discord lets us ask at all; knows whose request found out that it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.set()
        self._found_by: asyncio.Task[Any] | None = None

    def clear(self) -> None:
        self._found_by = asyncio.current_task()
        super().clear()

    def left_by(self, task: asyncio.Task[Any] | None) -> None:
        """*task* waits no longer; the next who asks finds out how long it still takes."""
        if self._found_by is task:
            self.set()


def keep_application(message: Any) -> None:
    """Let the library keep which application a webhook's message is of.

    It drops `application_id` and keeps `application`, which webhooks do not use, so the one is put into the other.
    """
    if not isinstance(message, dict):
        return
    if message.get("webhook_id"):
        owner = message.get("application_id")
        message["application"] = {"id": str(owner)} if owner else None
    keep_application(message.get("referenced_message"))


def guard_requests(client: Any) -> None:
    """Let a request that is given up during a global rate limit cost itself only.

    The library lets one request wait for the end of the limit on behalf of all; cut off, it would leave every
    later request waiting for good.
    """
    http = client.http
    limit = http._global_over = _GlobalLimit()
    ask = http.request

    async def request(*args: Any, **kwargs: Any) -> Any:
        try:
            answer = await ask(*args, **kwargs)
            for each in answer if isinstance(answer, list) else [answer]:
                keep_application(each)
            return answer
        finally:
            limit.left_by(asyncio.current_task())

    http.request = request


def guard_voice(client: Any, api_url: str | None) -> None:
    """Let the library speak to voice servers without encryption where it speaks so to Discord itself: on this machine.

    It always puts `wss://` before the address that it is told.
    """
    if api_url is None or not api_url.startswith("http://"):
        return
    http = client.http
    connect = http.ws_connect

    async def connect_plainly(url: str, **more: Any) -> Any:
        return await connect(url.replace("wss://", "ws://", 1), **more)

    http.ws_connect = connect_plainly


def guard_events(
    client: Any,
    after: dict[str, Callable[[dict[str, Any]], None]],
    on_partial_edit: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Let an event that cannot be read cost itself only, instead of the connection.

    *after* is called with an event's data once the library has taken it in; *on_partial_edit* with that of an edit
    that names no author, which the library cannot take in.
    """
    parsers: dict[str, Callable[[Any], Any]] = client._connection.parsers

    def guard(event: str, parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def parse_safely(data: Any) -> None:
            try:
                if event == "MESSAGE_UPDATE" and "author" not in data and on_partial_edit is not None:
                    on_partial_edit(data)
                    return
                keep_application(data)
                parse(data)
                if event in after:
                    after[event](data)
            except Exception as error:  # isolation: whatever Discord sends that nobody foresaw
                logger.warning(
                    "a discord event could not be read", extra={"event": event, "error": type(error).__name__}
                )
                logger.debug("why a discord event could not be read", exc_info=error)

        return parse_safely

    client._connection.parsers = {event: guard(event, parse) for event, parse in parsers.items()}
