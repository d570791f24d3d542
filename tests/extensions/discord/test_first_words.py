"""The first minute on Discord: hello on a new server, one line where it does not listen, and what its owner is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from familiar_connect.config import CharacterConfig
from familiar_connect.config.character import change_section
from familiar_connect.extensions.discord.demo.rights import MANAGE_MESSAGES, SEND_MESSAGES, VIEW_CHANNEL
from familiar_connect.extensions.discord.demo.world import DISCORD_EPOCH_MS
from familiar_connect.extensions.discord.first_words import NOT_HERE, ONLY_OWNER
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.clock import ManualClock
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord


def without_hello(config: CharacterConfig) -> CharacterConfig:
    return change_section(config, "discord", hello=False)


async def settle(den: FamiliarOnDiscord) -> None:
    """Wait until something said after all else is answered."""
    before = len(den.server.replies_in(den.room))
    await den.mention("are you there?")
    await den.server.until_replied(den.room, before + 1)
    await den.wait_until_idle()


async def test_a_new_server_is_greeted_once_where_everybody_reads(tmp_path: Path) -> None:
    """In a channel where it may write and which is hidden from nobody, with what to do next; not after a restart."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.") as den:
        world = den.server.world
        warren = world.guild("The Warren")
        rules = world.room(warren, "rules", denied=SEND_MESSAGES)
        council = world.room(warren, "council", readers=frozenset({world.bot.id, den.ada.id}))
        hall = world.room(warren, "hall")
        await den.server.join_guild(warren)
        hello = await den.server.until_replied(hall)
        await den.disconnect()
        await den.connect()
        await settle(den)

        assert "I am Ember" in hello[0]
        assert "/setup" in hello[0]
        assert [len(den.server.replies_in(room)) for room in (rules, council, hall)] == [0, 0, 1]


async def test_a_server_joined_while_the_program_was_away_is_greeted(tmp_path: Path) -> None:
    """The guide lets people open the link before they start the program."""
    async with familiar_on_discord(tmp_path, arrive=False) as den:
        warren = den.server.world.guild("The Warren")
        warren.joined[den.server.world.bot.id] = datetime.now(UTC).isoformat()
        den.server.world.room(warren, "lobby")
        news = den.server.world.room(warren, "news")
        warren.system_room_id = news.id
        await den.connect()

        assert "I am Ember" in (await den.server.until_replied(news))[0]


async def test_where_it_may_write_nowhere_its_owner_is_told(tmp_path: Path) -> None:
    """Instead of nobody."""
    async with familiar_on_discord(tmp_path) as den:
        warren = den.server.world.guild("The Warren")
        den.server.world.room(warren, "rules", denied=SEND_MESSAGES)
        await den.server.join_guild(warren)
        told = await den.server.until_replied(den.server.world.direct_room(den.server.world.owner))

        assert "The Warren" in told[0]
        assert "Send Messages" in told[0]


async def test_a_mention_where_it_does_not_listen_gets_one_line_a_day(tmp_path: Path) -> None:
    """In each channel; the model is not asked, and talk that is not for it gets nothing."""
    clock = ManualClock(datetime.now(UTC))
    async with familiar_on_discord(tmp_path, lambda messages: "Here.", arrive=False, clock=clock) as den:
        lobby = den.server.world.room(den.guild, "lobby")
        await den.connect()
        await den.server.post(lobby, den.ada, "hello all")
        first = await den.mention("hello", room=lobby)
        await den.server.until_replied(lobby)
        await den.mention("hello?", room=lobby, who=den.ben)
        await settle(den)
        today = den.server.replies_in(lobby)
        clock.advance(timedelta(days=1).total_seconds())
        await den.mention("and today?", room=lobby)
        await den.server.until_replied(lobby, 2)

        assert today == [NOT_HERE]
        line = next(each["asked"] for each in den.server.facts_of("posted") if each["room"] == lobby.id)
        assert line["message_reference"]["message_id"] == int(first["id"])
        assert len(den.model.calls) == 1


async def test_a_strangers_direct_message_gets_one_line(tmp_path: Path) -> None:
    """Where only the owner's are answered."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.") as den:
        direct = den.server.world.direct_room(den.ada)
        await den.server.post(direct, den.ada, "hi")
        await den.server.until_replied(direct)
        await den.server.post(direct, den.ada, "hi?")
        await settle(den)

        assert den.server.replies_in(direct) == [ONLY_OWNER]


async def test_one_setting_turns_hello_and_lines_off(tmp_path: Path) -> None:
    """`hello = false` under [discord]."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.", arrive=False, settings=without_hello) as den:
        world = den.server.world
        lobby, direct = world.room(den.guild, "lobby"), world.direct_room(den.ada)
        await den.connect()
        warren = world.guild("The Warren")
        hall = world.room(warren, "hall")
        await den.server.join_guild(warren)
        await den.mention("hello", room=lobby)
        await den.server.post(direct, den.ada, "hi")
        await settle(den)

        assert [den.server.replies_in(room) for room in (hall, lobby, direct)] == [[], [], []]


async def test_who_is_not_heard_gets_no_line(tmp_path: Path) -> None:
    """Neither those with full privacy nor those its owner ignores."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.", arrive=False) as den:
        lobby = den.server.world.room(den.guild, "lobby")
        await den.connect()
        token = await den.server.command(lobby, den.ada, "privacy", {"level": "full"})
        await den.server.until_answered(token)
        token = await den.server.command(lobby, den.server.world.owner, "ignore", {"person": den.ben.id})
        await den.server.until_answered(token)
        await den.mention("hello", room=lobby)
        await den.mention("hello", room=lobby, who=den.ben)
        before = len(den.server.replies_in(den.room))
        await den.mention("are you there?", who=den.server.world.owner)
        await den.server.until_replied(den.room, before + 1)

        assert den.server.replies_in(lobby) == []


async def test_the_owner_is_told_when_it_is_thrown_out(tmp_path: Path) -> None:
    """With the name of the server and the way back; also when that was while the program was away, once."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.") as den:
        world = den.server.world
        owners = world.direct_room(world.owner)
        warren = world.guild("The Warren")
        hall = world.room(warren, "hall")
        den.familiar.subscriptions.add(channel_id=hall.id, kind=SubscriptionKind.text, guild_id=warren.id)
        await den.server.join_guild(warren)
        await den.server.remove_guild(warren)
        told = await den.server.until_replied(owners)
        den.familiar.subscriptions.add(channel_id=77, kind=SubscriptionKind.text, guild_id=7)
        await den.disconnect()
        await den.connect()
        later = await den.server.until_replied(owners, 2)
        await den.disconnect()
        await den.connect()
        await settle(den)

        assert "no longer on the server The Warren" in told[0]
        assert "familiar discord invite" in told[0]
        assert "its id is 7" in later[1]
        assert len(den.server.replies_in(owners)) == 2


async def test_a_server_whose_shard_comes_late_is_not_taken_for_gone(tmp_path: Path) -> None:
    """Discord is asked first: what we do not know yet is no reason to tell the owner anything."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.", arrive=False) as den:
        world = den.server.world
        warren = world.guild("The Warren")
        hall = world.room(warren, "hall")
        den.familiar.subscriptions.add(channel_id=hall.id, kind=SubscriptionKind.text, guild_id=warren.id)
        den.familiar.subscriptions.add(channel_id=77, kind=SubscriptionKind.text, guild_id=7)
        den.server.gateway.late_guilds.add(warren.id)
        await den.connect()
        owners = world.direct_room(world.owner)
        await den.server.until_replied(owners)
        await settle(den)

        assert ["its id is 7" in each for each in den.server.replies_in(owners)] == [True]


async def test_the_owner_is_told_when_a_channel_is_closed_to_it(tmp_path: Path) -> None:
    """Once, however often the server changes after that; and when the channel is deleted."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.", arrive=False) as den:
        world = den.server.world
        owners = world.direct_room(world.owner)
        garden = world.room(den.guild, "garden")
        den.subscribe(garden)
        await den.connect()
        await den.server.set_overwrite(garden, world.bot, deny=SEND_MESSAGES)
        told = await den.server.until_replied(owners)
        await den.server.set_overwrite(garden, world.bot, deny=SEND_MESSAGES | VIEW_CHANNEL)
        await den.server.set_role(den.guild, None, den.guild.everyone_may & ~MANAGE_MESSAGES)
        await den.server.remove_room(den.guild, garden)
        gone = await den.server.until_replied(owners, 2)

        assert "#garden on The Burrow" in told[0]
        assert "lack the right" in told[0]
        assert "was deleted" in gone[1]


async def test_talk_of_several_days_shows_the_day(tmp_path: Path) -> None:
    """In the dialogue that the model is given: the first message of another day says which."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.") as den:
        two_days_ago = datetime.now(UTC) - timedelta(days=2)
        old_id = (int(two_days_ago.timestamp() * 1000) - DISCORD_EPOCH_MS) << 22
        await den.server.post(den.room, den.ben, "the kite is red", id=str(old_id), timestamp=two_days_ago.isoformat())
        await den.wait_stored("the kite is red")
        await settle(den)

        zone = ZoneInfo(den.familiar.config.display_tz)
        prompt = "\n".join(message.content for message in den.model.calls[-1])
        assert f"[{two_days_ago.astimezone(zone):%H:%M}] Ben: the kite is red" in prompt
        assert f"[{datetime.now(zone):%A, %Y-%m-%d}, " in prompt
