"""PluralKit on our own Discord: what a member of a system writes is deleted, and a webhook says it under their name.

On Discord the two events come close together and in either order; whoever listens may hear both, and must not take
them for two people who say the same.
"""

from __future__ import annotations

from typing import Literal

from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import FakePerson, Payload, Room

APPLICATION = "466378653216014359"
"""PluralKit's own application."""
WEBHOOK = "77001"

ProxyOrder = Literal["twin first", "delete first"]


async def say_by_proxy(
    server: DiscordServer,
    room: Room,
    author: FakePerson,
    text: str,
    name: str,
    *,
    order: ProxyOrder = "twin first",
) -> tuple[Payload, Payload]:
    """*author* says *text*, and PluralKit says it again as *name*: what was written first, and its twin."""
    original = await server.post(room, author, text)
    return original, await replace_by_twin(server, room, original, name, order=order)


async def replace_by_twin(
    server: DiscordServer, room: Room, original: Payload, name: str, *, order: ProxyOrder = "twin first"
) -> Payload:
    """PluralKit takes a message away and says it as *name*: the twin."""
    if order == "delete first":
        await server.delete(room, original)
    twin = await say_by_webhook(server, room, original, name)
    if order == "twin first":
        await server.delete(room, original)
    return twin


async def say_by_webhook(server: DiscordServer, room: Room, original: Payload, name: str) -> Payload:
    """The words of *original* are said once more, by an application as *name*."""
    twin = server.world.message(
        room, server.world.bot, original["content"], webhook_id=WEBHOOK, application_id=APPLICATION
    )
    twin["author"] = {"id": WEBHOOK, "username": name, "discriminator": "0000", "avatar": None, "bot": True}
    twin["mentions"] = original["mentions"]
    await server.gateway.dispatch("MESSAGE_CREATE", server.world.event(room, twin))
    return twin
