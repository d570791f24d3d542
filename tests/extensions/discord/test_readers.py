"""Who can read a channel, as the real library tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from familiar_connect.chat.scene import Scene
from familiar_connect.extensions.discord.demo.world import PRIVATE_THREAD, PUBLIC_THREAD, Room
from familiar_connect.extensions.discord.place import DiscordPlace
from familiar_connect.extensions.discord.scene import SceneCache
from familiar_connect.extensions.platforms import make_host
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.waiting import until


def client_of(den: FamiliarOnDiscord) -> Any:
    assert den.platform is not None
    return den.platform._client


async def scene_in(den: FamiliarOnDiscord, room: Room) -> Scene:
    client = client_of(den)
    channel = client.get_channel(room.id) or await client.fetch_channel(room.id)
    host = make_host(den.familiar, "discord")
    return await DiscordPlace(lambda: client, channel, host, SceneCache(host.clock)).scene()


async def test_a_direct_message_tells_whom_it_is_with_and_where_they_are(tmp_path: Path) -> None:
    """Servers and hidden channels of the person, as they are now."""
    async with familiar_on_discord(tmp_path) as den:
        world = den.server.world
        staff = world.room(den.guild, "staff", readers=frozenset({den.ada.id, world.bot.id}))
        await den.server.gateway.dispatch("CHANNEL_CREATE", staff.payload())
        with_ada, with_ben = world.direct_room(den.ada), world.direct_room(den.ben)

        ada, ben = await scene_in(den, with_ada), await scene_in(den, with_ben)

        assert ada.reader_keys == {f"discord:{den.ada.id}"}
        assert (ada.reader_server_ids, ada.reader_channel_ids) == (frozenset({den.guild.id}), frozenset({staff.id}))
        assert (ben.reader_server_ids, ben.reader_channel_ids) == (frozenset({den.guild.id}), frozenset())

        await den.server.remove_member(den.guild, den.ada)
        await until(lambda: client_of(den).get_guild(den.guild.id).get_member(den.ada.id) is None)

        gone = await scene_in(den, with_ada)
        assert (gone.reader_server_ids, gone.reader_channel_ids) == (frozenset(), frozenset())


async def test_a_channel_tells_whether_everybody_on_its_server_can_see_it(tmp_path: Path) -> None:
    """Hidden channels, threads in them, and private threads."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        world = den.server.world
        staff = world.room(den.guild, "staff", readers=frozenset({den.ada.id, world.bot.id}))
        rooms = {
            "open": den.room,
            "staff": staff,
            "thread": world.room(den.guild, "plans", kind=PUBLIC_THREAD, parent_id=den.room.id),
            "thread in staff": world.room(den.guild, "wages", kind=PUBLIC_THREAD, parent_id=staff.id),
            "private thread": world.room(
                den.guild, "party", kind=PRIVATE_THREAD, parent_id=den.room.id, thread_members={world.bot.id}
            ),
        }
        await den.connect()

        hidden = {name for name, room in rooms.items() if (await scene_in(den, room)).is_hidden}

        assert hidden == {"staff", "thread in staff", "private thread"}
