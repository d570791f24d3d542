"""Limits and /ignore on Discord, through the real library."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from familiar_connect.config import CharacterConfig
from familiar_connect.config.limits import PlaceLimits, RoleLimits
from familiar_connect.extensions.discord.demo.occasions import Occasions
from familiar_connect.extensions.discord.demo.world import FakePerson, Room
from familiar_connect.slash.command import MAY_NOT_MANAGE, NOT_THE_OPERATOR
from familiar_connect.support.clock import ManualClock
from tests.extensions.discord.test_commands import used, words
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.scripted_familiar import NO_TYPING_DELAY, ChangeSettings


def with_limits(**limits: Any) -> ChangeSettings:
    def change(config: CharacterConfig) -> CharacterConfig:
        return replace(config, limits=replace(config.limits, **limits))

    return change


REGULAR = 777


def role_limits(config: CharacterConfig) -> CharacterConfig:
    roles = {
        "guest": RoleLimits(replies_per_person_per_hour=1, tokens_per_person_per_day=5_000),
        f"{REGULAR}": RoleLimits(replies_per_person_per_hour=0),
    }
    return with_limits(replies_per_person_per_hour=2, roles=roles)(config)


def notices_in(den: FamiliarOnDiscord, room: Room) -> list[str]:
    """What was said in a frame of its own, by the program and not by the familiar."""
    posted = [facts["message"] for facts in den.server.facts_of("posted") if facts["room"] == room.id]
    return [embed["description"] for message in posted for embed in message["embeds"]]


async def command_answer(den: FamiliarOnDiscord, name: str, **how: Any) -> str:
    who = how.pop("who", den.server.world.owner)
    token = await den.server.command(den.room, who, name, how)
    return str((await den.server.until_answered(token))[0]["data"]["content"])


async def test_a_stranger_over_the_rate_is_told_once_in_the_channel(tmp_path: Path) -> None:
    """Further messages are stored and cost no call; somebody else is answered."""
    settings = with_limits(replies_per_person_per_minute=1)
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", settings=settings) as den:
        await den.mention("one")
        await den.server.until_replied(den.room)
        for text in ("two", "three"):
            await den.mention(text)
            await den.wait_stored(text)
        await den.server.until(lambda: notices_in(den, den.room))
        await den.mention("and me?", who=den.ben)
        await den.server.until_replied(den.room, 3)
        await den.wait_until_idle()

        assert len(den.model.calls) == 2
        assert len(notices_in(den, den.room)) == 1
        assert "at most once a minute" in notices_in(den, den.room)[0]


async def test_the_days_cap_is_told_to_the_owner_by_direct_message(tmp_path: Path) -> None:
    """With the setting that holds it; whoever asks is told politely, once."""
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", settings=with_limits(tokens_per_day=10)) as den:
        await den.mention("one")
        await den.server.until_replied(den.room)
        owners = den.server.world.direct_room(den.server.world.owner)
        told = await den.server.until_replied(owners)
        for text in ("two", "three"):
            await den.mention(text)
            await den.wait_stored(text)
        await den.server.until(lambda: notices_in(den, den.room))
        await den.wait_until_idle()

        assert "[limits] tokens_per_day" in told[0]
        assert len(den.server.replies_in(owners)) == 1
        assert len(den.model.calls) == 1
        assert ["tomorrow" in notice for notice in notices_in(den, den.room)] == [True]


async def test_the_owner_picks_somebody_to_ignore_and_takes_it_back_by_name(tmp_path: Path) -> None:
    """Nobody else may; what an ignored person says stays in the history."""
    async with familiar_on_discord(tmp_path, lambda _: "Hello.") as den:
        refused = await command_answer(den, "ignore", who=den.ada, person=den.ben.id)
        done = await command_answer(den, "ignore", person=den.ben.id)
        await den.mention("hello?", who=den.ben)
        await den.wait_stored("hello?")
        await den.wait_until_idle()
        asked = len(den.model.calls)
        listed = await command_answer(den, "ignore")
        back = await command_answer(den, "unignore", person="ben")
        await den.mention("and now?", who=den.ben)
        await den.server.until_replied(den.room)

        assert refused == NOT_THE_OPERATOR
        assert f"discord:{den.ben.id}" in done
        assert f"discord:{den.ben.id}" in listed
        assert "again" in back
        assert asked == 0
        assert len(den.model.calls) == 1


async def answered(
    den: FamiliarOnDiscord, text: str, *, who: FakePerson | None = None, room: Room | None = None
) -> bool:
    """Somebody mentions the familiar; whether a model was asked for a reply."""
    before = len(den.model.calls)
    await den.mention(text, who=who, room=room)
    await den.wait_stored(text, room=room)
    await den.wait_until_idle(room)
    return len(den.model.calls) > before


async def test_a_manager_limits_a_channel_and_whoever_is_refused_there_is_told_once(tmp_path: Path) -> None:
    """Other channels go on, the owner is answered all the same and reads in /usage who was not; the file says it."""
    clock = ManualClock(datetime.now(UTC))
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", arrive=False, clock=clock) as den:
        garden = den.server.world.room(den.guild, "garden")
        den.subscribe(garden)
        await den.connect()
        refused = words((await used(den, "limits", who=den.ben, may_manage=False, replies=1))[0])
        told = words((await used(den, "limits", replies=1))[0])
        heard = [await answered(den, text, who=who) for text, who in (("one", den.ada), ("two", den.ben))]
        again = await answered(den, "three", who=den.ben)
        elsewhere = await answered(den, "and here?", who=den.ben, room=garden)
        owners = await answered(den, "and me?", who=den.server.world.owner)
        usage = await command_answer(den, "usage")
        clock.advance(2 * 3600)
        later = await answered(den, "four", who=den.ben)

        assert refused == MAY_NOT_MANAGE
        assert told == "I answer in this channel at most once an hour; my owner has no limit."
        assert (heard, again, elsewhere, owners, later) == ([True, False], False, True, True, True)
        assert [each for each in notices_in(den, den.room) if "at most once an hour in this channel" in each] != []
        assert len(notices_in(den, den.room)) == 1
        assert f"replies_per_hour in channels/{den.room.id}.toml" in usage
        assert "replies_per_hour = 1" in (den.familiar.root / "channels" / f"{den.room.id}.toml").read_text()


async def test_the_tokens_of_a_channel_are_counted_over_a_restart(tmp_path: Path) -> None:
    """A thread counts with its channel; what other channels use does not."""
    async with familiar_on_discord(tmp_path, lambda _: "Hello.") as den:
        file = den.familiar.root / "channels" / f"{den.room.id}.toml"
        file.write_text(f"tokens_per_day = 10\n{NO_TYPING_DELAY}", encoding="utf-8")
        first, room_id = await answered(den, "one"), den.room.id
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", arrive=False) as den:
        same = den.server.world.room(den.guild, "general", id=room_id)
        await den.connect()
        then = await answered(den, "two", room=same)
        start = await den.server.post(same, den.ben, "aside")
        thread = await Occasions(den.server).start_thread(same, start, "aside")
        aside = await answered(den, "three", room=thread)
        elsewhere = await answered(den, "four")

        assert (first, then, aside, elsewhere) == (True, False, False, True)
        assert "used up today's limit in this channel" in notices_in(den, same)[0]


async def test_replies_of_the_last_hour_are_counted_over_a_restart(tmp_path: Path) -> None:
    """Those of a channel and those of a person; an hour later there is an answer again."""
    clock = ManualClock(datetime.now(UTC))
    settings = with_limits(replies_per_person_per_hour=1)
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", clock=clock, settings=settings) as den:
        file = den.familiar.root / "channels" / f"{den.room.id}.toml"
        file.write_text(f"replies_per_hour = 2\n{NO_TYPING_DELAY}", encoding="utf-8")
        first = [await answered(den, text, who=who) for text, who in (("1", den.ada), ("2", den.ben))]
        room_id, ada_id = den.room.id, den.ada.id
    clock.advance(20 * 60)
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", arrive=False, clock=clock, settings=settings) as den:
        same = den.server.world.room(den.guild, "general", id=room_id)
        ada, cy = FakePerson(ada_id, "same ada", "Ada"), den.server.world.person("cy")
        den.server.world.people[ada_id] = den.guild.people[ada_id] = ada
        await den.connect()
        in_channel = await answered(den, "3", who=cy, room=same)
        of_person = await answered(den, "4", who=ada)
        others = await answered(den, "5", who=cy)
        clock.advance(41 * 60)
        later = await answered(den, "6", who=ada, room=same)

        assert (first, in_channel, of_person, others, later) == ([True, True], False, False, True, True)
        assert "at most 2 times an hour in this channel" in notices_in(den, same)[0]


async def test_no_more_replies_come_in_any_hour_than_its_limit_says(tmp_path: Path) -> None:
    """Those of the first minutes count until they are an hour old."""
    clock = ManualClock(datetime.now(UTC))
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", clock=clock) as den:
        told = words((await used(den, "limits", replies=4))[0])
        heard = []
        for number in range(12):
            heard.append(await answered(den, f"no. {number}"))
            clock.advance(5 * 60)
        clock.advance(60)
        after = await answered(den, "at last")

        assert told == "I answer in this channel at most 4 times an hour; my owner has no limit."
        assert sum(heard) == 4
        assert after


async def test_who_manages_a_channel_cannot_lift_what_its_owner_wrote(tmp_path: Path) -> None:
    """They can set less and take that back; the owner can change it, and what the owner sets counts from then on."""
    async with familiar_on_discord(tmp_path, lambda _: "Hello.") as den:
        file = den.familiar.root / "channels" / f"{den.room.id}.toml"
        file.write_text(f"# mine\nreplies_per_hour = 20\n{NO_TYPING_DELAY}", encoding="utf-8")
        owner = den.server.world.owner
        more = words((await used(den, "limits", replies=60))[0])
        lifted = words((await used(den, "limits", replies=0))[0])
        less = words((await used(den, "limits", replies=5, tokens=900))[0])
        with_less = file.read_text()
        off = words((await used(den, "limits", replies=0, tokens=0))[0])
        again = words((await used(den, "limits", replies=5))[0])
        owners = words((await used(den, "limits", replies=30, who=owner))[0])
        ended = words((await used(den, "limits", replies=0, tokens=0, who=owner))[0])

        assert more == lifted
        assert more.startswith("I answer in this channel at most 20 times an hour; my owner has no limit. My owner set")
        assert "at most 5 times an hour and for at most 900 tokens a day" in less
        assert "# mine\nreplies_per_hour = 20" in with_less
        assert "[limits_by_managers]\nreplies_per_hour = 5" in with_less
        assert "20 times" in off
        assert "only my owner" in off
        assert "5 times" in again
        assert owners == "I answer in this channel at most 30 times an hour; my owner has no limit."
        assert ended == "This channel has no limit of its own."
        assert "limits" not in file.read_text()


async def test_a_file_of_its_own_takes_no_thread_out_of_its_channels_limit(tmp_path: Path) -> None:
    """Whoever manages the channel can make such a file by a command, such as that for the mode."""
    async with familiar_on_discord(tmp_path, lambda _: "Hello.") as den:
        file = den.familiar.root / "channels" / f"{den.room.id}.toml"
        file.write_text(f"replies_per_hour = 1\n{NO_TYPING_DELAY}", encoding="utf-8")
        start = await den.server.post(den.room, den.ben, "aside")
        thread = await Occasions(den.server).start_thread(den.room, start, "aside")
        first = await answered(den, "one", room=thread)
        await used(den, "channel-full-rp", room=thread)
        then = await answered(den, "two", room=thread)
        above = await answered(den, "three")

        assert (den.familiar.root / "channels" / f"{thread.id}.toml").exists()
        assert (first, then, above) == (True, False, False)


async def test_a_server_named_in_the_settings_has_one_limit_for_all_its_channels(tmp_path: Path) -> None:
    """Another server is not bound by it."""
    limits = with_limits(servers={"the burrow": PlaceLimits(replies_per_hour=1)})
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", settings=limits, arrive=False) as den:
        garden = den.server.world.room(den.guild, "garden")
        island = den.server.world.room(den.server.world.guild("The Island"), "beach")
        den.subscribe(garden)
        den.subscribe(island)
        await den.connect()
        heard = [await answered(den, text, room=room) for text, room in (("1", den.room), ("2", garden), ("3", island))]

        assert heard == [True, False, True]
        assert "at most once an hour on this server" in notices_in(den, garden)[0]


async def test_a_role_gets_what_its_table_says_by_name_or_id(tmp_path: Path) -> None:
    """Of two roles the more generous counts, from the next message on; whoever has none gets what everyone gets."""
    async with familiar_on_discord(tmp_path, lambda _: "Hello.", arrive=False, settings=role_limits) as den:
        guest = den.server.world.role(den.guild, "Guest")
        regular = den.server.world.role(den.guild, "Regular", id=REGULAR)
        den.ada.roles = (guest.id,)
        await den.connect()
        guests = [await answered(den, f"guest {number}") for number in range(3)]
        told = words((await used(den, "usage", may_manage=False))[0])
        await den.server.set_member_roles(den.guild, den.ada, guest, regular)
        regulars = [await answered(den, f"regular {number}") for number in range(3)]
        others = [await answered(den, f"other {number}", who=den.ben) for number in range(3)]

        assert guests == [True, False, False]
        assert regulars == [True, True, True]
        assert others == [True, True, False]
        assert "one person at most once an hour" in notices_in(den, den.room)[0]
        assert "5,000 tokens are the most" in told
