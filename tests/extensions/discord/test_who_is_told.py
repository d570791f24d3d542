"""Who is told what, through the real library: slash answers, archived threads, and direct messages with anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.audience import may_tell
from familiar_connect.extensions.discord.demo.rights import ORDINARY, VIEW_CHANNEL, Overwrite
from familiar_connect.extensions.discord.demo.world import PRIVATE_THREAD, PUBLIC_THREAD
from tests.extensions.discord.test_confidence import prompt_for
from tests.extensions.discord.test_who_can_read import client_of, until_told
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.scripted_familiar import with_dms
from tests.fakes.waiting import until


async def test_a_slash_answer_made_for_fewer_people_is_shown_to_no_one_who_was_let_in_later(tmp_path: Path) -> None:
    """The channel is hidden before and after; its new rules let in one more, who manages it and asks."""
    async with familiar_on_discord(tmp_path, lambda _: "It is plugh.", arrive=False) as den:
        world = den.server.world
        staff = world.room(den.guild, "staff", readers=frozenset({den.ada.id, world.bot.id}))
        den.subscribe(staff)
        await den.connect()
        await prompt_for(den, staff, den.ada, "the safe code is plugh")

        async def answers() -> list[str]:
            found = []
            for name, options in (("context", {}), ("lines", {}), ("hide", {"line": "1"}), ("swipe", {"version": "1"})):
                token = await den.server.command(staff, den.ben, name, options)
                found.append(str(await den.server.until_answered(token)))
            return found

        before = await answers()
        await den.server.set_readers(staff, [den.ada, den.ben])
        await until_told(den)
        after = await answers()

    assert ["plugh" in each for each in before] == [True, True, True, False]
    assert ["plugh" in each for each in after] == [False] * 4
    assert ["fewer people could read" in each for each in after] == [True] * 4
    assert not any("fewer people could read" in each for each in before)


async def test_a_prompt_with_words_of_another_hidden_channel_is_shown_to_no_one_who_got_the_role_later(
    tmp_path: Path,
) -> None:
    """The rules of the channel stay the same; its last prompt was gathered for Ada, who reads the vault, alone."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world = den.server.world
        guests = world.role(den.guild, "guests")
        den.ada.roles = (guests.id,)
        own = {world.bot.id: Overwrite(ORDINARY, 0, is_member=True), den.guild.id: Overwrite(deny=VIEW_CHANNEL)}
        vault = world.room(den.guild, "vault", readers=frozenset({den.ada.id, world.bot.id}))
        nook = world.room(den.guild, "nook", overwrites={**own, guests.id: Overwrite(allow=VIEW_CHANNEL)})
        den.subscribe(vault)
        den.subscribe(nook)
        await den.connect()
        await prompt_for(den, vault, den.ada, "the safe code is plugh")
        asked = await prompt_for(den, nook, den.ada, "what is the safe code?")

        await den.server.set_member_roles(den.guild, den.ben, guests)
        await until_told(den)
        answers = []
        for person in (den.ada, den.ben):
            token = await den.server.command(nook, person, "context", {})
            answers.append(str(await den.server.until_answered(token)))

    assert "plugh" in asked
    assert ["plugh" in each for each in answers] == [False, False]
    assert all("fewer people could read" in each for each in answers)


@pytest.mark.parametrize("is_legacy", [False, True], ids=["parent known", "parent unknown"])
async def test_an_archived_thread_is_hidden_with_the_channel_it_is_in(tmp_path: Path, is_legacy: bool) -> None:
    """Ben could read it; then it is archived and its channel closed to him. Who still can is told of it."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world, server = den.server.world, den.server
        party = world.room(den.guild, "party")
        thread = world.room(
            den.guild, "cake", kind=PUBLIC_THREAD, parent_id=party.id, thread_members={world.bot.id, den.ada.id}
        )
        nook = world.room(den.guild, "nook", overwrites={den.ben.id: Overwrite(deny=VIEW_CHANNEL, is_member=True)})
        for room in (party, thread, nook):
            den.subscribe(room)
        await den.connect()
        await until(lambda: client_of(den).get_channel(thread.id) is not None)
        await prompt_for(den, thread, den.ada, "the cake is plugh")
        open_to_all = await prompt_for(den, den.room, den.ben, "which cake is it?")
        thread.is_archived = True
        await server.update_room(thread)
        await until(lambda: client_of(den).get_channel(thread.id) is None)
        if is_legacy:
            den.familiar.history_store.database.write("UPDATE channel_parents SET parent_id = NULL")
        await server.set_overwrite(party, den.ben, deny=VIEW_CHANNEL)
        await until_told(den)
        shut_out = await prompt_for(den, den.room, den.ben, "and what was it again?")
        await prompt_for(den, nook, den.ada, "which cake was it?")
        let_in = den.familiar.history_store.channel_readers.now.get(nook.id)
        said_to = den.history(thread)[0].audience

    assert "plugh" in open_to_all
    assert "plugh" not in shut_out
    assert let_in is not None
    assert may_tell(said_to, let_in) is not is_legacy


async def _direct_prompts(den: FamiliarOnDiscord) -> list[bool]:
    """Whether Ben, then Ada, is told the word in a direct message."""
    found = []
    for person in (den.ben, den.ada):
        prompt = await prompt_for(den, den.server.world.direct_room(person), person, "what is the word?")
        found.append("plugh" in prompt)
    return found


@pytest.mark.parametrize("is_thread", [False, True], ids=["a channel that denies Ben", "a private thread"])
async def test_a_direct_message_tells_an_ordinary_member_what_they_can_read(tmp_path: Path, is_thread: bool) -> None:
    """Ada can read where it was said, Ben cannot; each asks alone."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False, settings=with_dms("everyone")) as den:
        world = den.server.world
        if is_thread:
            members = {world.bot.id, den.ada.id}
            room = world.room(den.guild, "gift", kind=PRIVATE_THREAD, parent_id=den.room.id, thread_members=members)
        else:
            denied = {den.ben.id: Overwrite(deny=VIEW_CHANNEL, is_member=True)}
            room = world.room(den.guild, "gift", overwrites=denied)
        den.subscribe(room)
        await den.connect()
        await until(lambda: client_of(den).get_channel(room.id) is not None)
        await prompt_for(den, room, den.ada, "the word is plugh")

        assert await _direct_prompts(den) == [False, True]
