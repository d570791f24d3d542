"""Further personas on Discord: each with its own name, picture and character, answered when replied to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from familiar_connect.config import CharacterConfig
from familiar_connect.config.character import Alter
from familiar_connect.extensions.discord.demo.rights import MANAGE_WEBHOOKS
from familiar_connect.extensions.discord.demo.world import PUBLIC_THREAD, Payload, Room
from tests.extensions.discord.test_controls import use
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord

PICTURE = "https://example.org/moss.png"


def with_moss(config: CharacterConfig) -> CharacterConfig:
    return replace(config, alters=[Alter(name="Moss", aliases=("mossy",), picture=PICTURE)])


def told(den: FamiliarOnDiscord, room: Room | None = None) -> list[tuple[str, str]]:
    """Under which name each message of ours stands in the channel, and what it says."""
    me = str(den.server.world.bot.id)
    messages = [each for each in (room or den.room).messages.values() if each.get("application_id", me) == me]
    ours = [each for each in messages if each.get("webhook_id") or each["author"]["id"] == me]
    return [(each["author"]["username"], each["content"]) for each in ours]


async def ask(den: FamiliarOnDiscord, text: str, replies: int, room: Room | None = None) -> None:
    await den.mention(text, room=room)
    await den.server.until_replied(room or den.room, replies)
    await den.wait_until_idle(room)


def last_post(den: FamiliarOnDiscord) -> Payload:
    return den.server.facts_of("posted")[-1]


async def test_a_persona_speaks_through_a_webhook_and_is_answered_when_replied_to(tmp_path: Path) -> None:
    """One webhook is made and used again; who replies to Moss is answered by Moss, though nobody is named."""
    async with familiar_on_discord(tmp_path, ("Damp.", "Warm.", "Mossy indeed."), settings=with_moss) as den:
        store = den.familiar.memory_store
        store.write_file("self/alters/Moss.md", "Moss is an old, slow forest spirit.", source="test")
        await ask(den, "how are you, Moss?", 1)
        prompt = "\n".join(message.content for message in den.model.calls[-1])
        assert "old, slow forest spirit" in prompt
        assert "Ember is" not in prompt
        assert last_post(den)["asked"]["avatar_url"] == PICTURE
        await ask(den, "and you, Ember?", 2)
        assert "old, slow forest spirit" not in "\n".join(message.content for message in den.model.calls[-1])

        first = next(each for each in den.room.messages.values() if each["content"] == "Damp.")
        await den.server.reply(den.room, den.ada, "really?", first)
        await den.server.until_replied(den.room, 3)
        await den.wait_until_idle()

        bot = den.server.world.bot.username
        assert told(den) == [("Moss", "Damp."), (bot, "Warm."), ("Moss", "Mossy indeed.")]
        assert len(den.server.facts_of("webhook")) == 1
        assert [turn.content for turn in den.history() if turn.role == "assistant"] == [
            "Damp.",
            "Warm.",
            "Mossy indeed.",
        ]


async def test_a_persona_speaks_in_a_thread_and_what_it_said_can_be_made_anew(tmp_path: Path) -> None:
    """Through the webhook of the channel that the thread is in; its message is changed and taken back there."""
    async with familiar_on_discord(tmp_path, ("Damp.", "Wet."), settings=with_moss) as den:
        thread = den.server.world.room(den.guild, "mosses", kind=PUBLIC_THREAD, parent_id=den.room.id)
        await den.server.gateway.dispatch("THREAD_CREATE", thread.payload())
        await ask(den, "Moss?", 1, room=thread)
        assert told(den, thread) == [("Moss", "Damp.")]

    async with familiar_on_discord(tmp_path / "b", ("Damp.", "Wet."), settings=with_moss) as den:
        await ask(den, "Moss?", 1)
        assert await use(den, "regenerate") == "Version 2 of 2."
        assert told(den) == [("Moss", "Wet.")]
        await use(den, "undo")
        assert told(den) == []


async def test_without_the_right_a_persona_speaks_under_the_bots_name_and_the_owner_is_told(tmp_path: Path) -> None:
    """Nobody is left without an answer."""
    async with familiar_on_discord(tmp_path, ("Damp.",), settings=with_moss) as den:
        den.room.denied |= MANAGE_WEBHOOKS
        await ask(den, "Moss?", 1)

        assert told(den) == [(den.server.world.bot.username, "Damp.")]
        owner = den.server.world.direct_room(den.server.world.owner)
        assert any("right to manage webhooks" in each["content"] for each in owner.messages.values())
