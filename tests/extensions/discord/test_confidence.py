"""A confidence kept, through the real library: direct messages, hidden channels and other servers."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config import CharacterConfig, load_character_config
from familiar_connect.config.character import change_section
from familiar_connect.extensions.discord.demo.world import FakePerson, Room
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord


def open_to_everybody(config: CharacterConfig) -> CharacterConfig:
    return change_section(config, "discord", dms="everyone")


async def prompt_for(den: FamiliarOnDiscord, room: Room, who: FakePerson, text: str) -> str:
    """Everything the model was shown for the reply to *text*."""
    before, replies = len(den.model.calls), len(den.server.replies_in(room))
    if room.with_person is None:
        await den.mention(text, who=who, room=room)
    else:
        await den.server.post(room, who, text)
    await den.server.until_replied(room, replies + 1)
    await den.wait_until_idle(room)
    return str(den.model.calls[before:])


async def test_the_owners_direct_message_stays_out_of_public_prompts(tmp_path: Path) -> None:
    """What was tried first: a password told in a direct message, then a question in an open channel."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.") as den:
        world = den.server.world
        direct = world.direct_room(world.owner)
        await prompt_for(den, direct, world.owner, "my password is swordfish")

        public = await prompt_for(den, den.room, den.ada, "what is new, and what is the password?")
        again = await prompt_for(den, direct, world.owner, "what is my password?")

    assert "swordfish" not in public
    assert "swordfish" in again


async def test_a_hidden_channel_and_another_server_keep_their_talk(tmp_path: Path) -> None:
    """And a channel that is hidden later takes its old talk along."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world = den.server.world
        staff = world.room(den.guild, "staff", readers=frozenset({den.ada.id, world.bot.id}))
        garden = world.room(den.guild, "garden")
        harbour = world.guild("Harbour")
        hall = world.room(harbour, "hall")
        for room in (staff, garden, hall):
            den.subscribe(room)
        await den.connect()
        await prompt_for(den, staff, den.ada, "the safe code is plugh")
        await prompt_for(den, hall, den.ada, "the word here is xyzzy")
        await prompt_for(den, garden, den.ada, "the roses are called frobozz")
        open_prompt = await prompt_for(den, den.room, den.ben, "what are the safe code, the word and the roses?")
        await den.server.set_readers(garden, [den.ada])
        later = await prompt_for(den, den.room, den.ben, "and what are the roses called?")

    assert [word in open_prompt for word in ("plugh", "xyzzy", "frobozz")] == [False, False, True]
    assert "frobozz" not in later.split("what are the safe code")[0]


async def test_who_may_write_directly_is_answered_from_their_own_confidence(tmp_path: Path) -> None:
    """Each direct message hears its own talk and the talk of servers its person is on."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        config = den.familiar.root / "character.toml"
        assert load_character_config(config).built_in.discord.dms == "owner"
        await den.connect()
        world = den.server.world
        await prompt_for(den, den.room, den.ada, "the kettle is called Brassy")
        direct = world.direct_room(world.owner)
        await prompt_for(den, direct, world.owner, "hello")
        owner = await prompt_for(den, direct, world.owner, "what is the kettle called?")

    assert "Brassy" in owner


async def test_somebody_is_told_in_a_direct_message_what_their_server_heard(tmp_path: Path) -> None:
    """Theirs came in through the gateway, which does not say whom it is with; another server's talk is not told."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False, settings=open_to_everybody) as den:
        world = den.server.world
        elsewhere = world.guild("Harbour")
        del elsewhere.people[den.ada.id]
        quay = world.room(elsewhere, "quay")
        den.subscribe(quay)
        await den.connect()
        direct = world.direct_room(den.ada)
        await prompt_for(den, den.room, den.ben, "the kettle is called Brassy")
        await prompt_for(den, quay, den.ben, "the harbour cat is called Rusty")
        await prompt_for(den, direct, den.ada, "hello")
        kettle = await prompt_for(den, direct, den.ada, "what is the kettle called?")
        cat = await prompt_for(den, direct, den.ada, "what is the harbour cat called?")

    assert ("Brassy" in kettle, "Rusty" in cat) == (True, False)


async def test_memory_is_shown_to_those_who_can_read_the_channel_now(tmp_path: Path) -> None:
    """A channel that was hidden when it was last heard and is open now shows nothing of what was said in it."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.", arrive=False) as den:
        world = den.server.world
        staff = world.room(den.guild, "staff", readers=frozenset({den.ada.id, world.bot.id, world.owner.id}))
        den.subscribe(staff)
        await den.connect()
        await prompt_for(den, staff, den.ada, "the safe code is plugh")
        audience = f"channel:discord:{staff.id}:{den.guild.id}"
        den.familiar.memory_store.write_file(
            "topics/safe.md", f"---\naudience: {audience}\n---\n- The code is plugh.\n"
        )

        async def answers(name: str, **how: str) -> str:
            token = await den.server.command(staff, world.owner, name, how)
            return str(await den.server.until_answered(token, 1))

        hidden = [await answers("memory", file="topics/safe.md"), await answers("context")]
        await den.server.set_readers(staff, None)
        opened = [await answers("memory", file="topics/safe.md"), await answers("context")]

    assert ["plugh" in answer for answer in (*hidden, *opened)] == [True, True, False, False]
    assert "fewer people could read this channel" in opened[1]
    assert "fewer people could read this channel" not in hidden[1]
