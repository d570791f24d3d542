"""check_setup: logs in as the bot would and tells what its owner still has to mend: token, intents, permissions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from familiar_connect.api import SetupError
from familiar_connect.api.checks import Finding
from familiar_connect.api.support import cancel_and_wait
from familiar_connect.extensions.discord.client import Application, fetch_application, make_client, use_api_url
from familiar_connect.extensions.discord.errors import PORTAL, translate_errors
from familiar_connect.extensions.discord.setup.invite import (
    INTENTS,
    PERMISSIONS,
    WITH_VOICE,
    BotPermission,
    list_permissions,
)

WITHIN_S = 20.0
"""How long Discord may take for all of it."""
MAX_SERVERS = 20
"""Servers whose missing permissions are told one by one."""
_FIX = "Edit Channel → Permissions gives it to the bot's role"
_VIEW = next(each for each in PERMISSIONS if each.attribute == "view_channel")


async def check_setup(
    token: str,
    *,
    api_url: str | None = None,
    subscribed: Sequence[int] = (),
    voice_channels: Sequence[int] = (),
    has_alters: bool = False,
    has_voice: bool = False,
    within_s: float = WITHIN_S,
    guild_ready_timeout_s: float = 1.0,
) -> list[Finding]:
    """Log in with the real library, look at every server and at the *subscribed* and *voice_channels*, and leave.

    What voice channels take is looked at on every server where the bot *has_voice*.

    What the owner must mend first is raised as `SetupError`, a Discord out of reach as `DeliveryError`.
    """
    try:
        async with asyncio.timeout(within_s):
            with use_api_url(api_url), translate_errors():
                application = await fetch_application(token)
                client = make_client(application, guild_ready_timeout_s=guild_ready_timeout_s)
                try:
                    await _until_ready(client, token)
                    needed = list_permissions(has_alters=has_alters)
                    found = list(_findings(client, application, [*needed, *(WITH_VOICE if has_voice else ())]))
                    for channel_id in subscribed:
                        found += _channel(client.get_channel(channel_id), channel_id, needed)
                    for channel_id in voice_channels:
                        found += _voice_channel(client.get_channel(channel_id), channel_id)
                    return found
                finally:
                    await client.close()
    except TimeoutError:
        raise SetupError(
            f"Discord did not answer within {within_s:g} seconds: look at the connection, or at discordstatus.com"
        ) from None


async def _until_ready(client: Any, token: str) -> None:
    """Connect and wait until the servers are there; a connection that ends before tells why."""
    running = asyncio.create_task(client.start(token), name="discord-check")
    ready = asyncio.create_task(client.wait_until_ready(), name="discord-check-ready")
    try:
        await asyncio.wait({running, ready}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
    finally:
        await cancel_and_wait(ready)
        if not running.done():
            await client.close()
            await cancel_and_wait(running)


def _findings(client: Any, application: Application, needed: Sequence[BotPermission]) -> Iterator[Finding]:
    servers = list(client.guilds)
    there = f"{len(servers)} server{'' if len(servers) == 1 else 's'}"
    yield Finding("ok", f"the token is {client.user.name}'s, Message Content Intent is on, {there}")
    is_on = {INTENTS[1].title: application.may_see_members, INTENTS[2].title: application.may_see_presence}
    for intent in INTENTS:
        if not is_on.get(intent.title, True):
            where = f"switch it on at {PORTAL} → your application → Bot"
            yield Finding("warn", f"{intent.title} is off, so it does not know {intent.reason}: {where}")
    if not servers:
        yield Finding("warn", "the bot is on no server: open the link of `familiar discord invite`")
    for server in servers[:MAX_SERVERS]:
        lacking = _lacking(server.me.guild_permissions, needed)
        if lacking:
            option = " --voice" if set(lacking) & set(WITH_VOICE) else ""
            fix = f"open the link of `familiar discord invite{option}` again, or change the bot's role"
            yield Finding("warn", f"on {server.name!r} the bot lacks {_list(lacking)}: {fix}")


def _channel(channel: Any, channel_id: int, needed: Sequence[BotPermission]) -> Iterator[Finding]:
    """A channel it is to listen in; nothing is said of one where all is well."""
    if channel is None:
        fix = "let it see the channel, or use /unsubscribe-text"
        yield Finding("warn", f"channel {channel_id} is gone, archived or hidden from the bot: {fix}")
        return
    lacking = _lacking(channel.permissions_for(channel.guild.me), needed)
    is_thread = getattr(channel, "parent", None) is not None
    unneeded = {"send_messages" if is_thread else "send_messages_in_threads"}
    lacking = [each for each in lacking if each.attribute not in unneeded]
    if lacking:
        must = {"view_channel", "send_messages_in_threads" if is_thread else "send_messages"}
        state: Literal["warn", "bad"] = "bad" if must & {each.attribute for each in lacking} else "warn"
        yield Finding(state, f"in #{channel.name} on {channel.guild.name!r} the bot lacks {_list(lacking)}: {_FIX}")


def _voice_channel(channel: Any, channel_id: int) -> Iterator[Finding]:
    """A voice channel it was asked into; without any of the three it cannot talk there."""
    if channel is None:
        fix = "let it see the channel, or use /unsubscribe-voice"
        yield Finding("warn", f"voice channel {channel_id} is gone or hidden from the bot: {fix}")
        return
    lacking = _lacking(channel.permissions_for(channel.guild.me), [_VIEW, *WITH_VOICE])
    if lacking:
        says = f"in the voice channel {channel.name!r} on {channel.guild.name!r} the bot lacks {_list(lacking)}: {_FIX}"
        yield Finding("bad", says)


def _lacking(rights: Any, needed: Sequence[BotPermission]) -> list[BotPermission]:
    return [each for each in needed if not getattr(rights, each.attribute)]


def _list(lacking: Sequence[BotPermission]) -> str:
    return ", ".join(f"{each.title} ({each.reason})" for each in lacking)
