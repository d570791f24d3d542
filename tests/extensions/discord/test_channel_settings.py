"""A channel's settings on Discord: they count from the next reply on, and the conversation goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from familiar_connect.config import CharacterConfig
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.mode_instructions import SHIPPED_NOTES
from familiar_connect.llm.types import Capabilities
from familiar_connect.tools.types import SHORT_TERM_NOTE
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.scripted_familiar import NO_TYPING_DELAY


def shown(den: FamiliarOnDiscord, call: int) -> str:
    return "\n".join(message.content for message in den.model.calls[call])


def note_of(mode: ChannelMode) -> str:
    return SHIPPED_NOTES[mode].replace("{{char}}", "Ember")


async def test_mode_and_notes_count_without_a_restart_and_the_dialogue_stays(tmp_path: Path) -> None:
    """By a command and by hand; what each mode means is told, and so is the topic."""
    chat, story = ChannelMode.text_conversation_rp, ChannelMode.full_rp
    async with familiar_on_discord(tmp_path, ["One.", "Two.", "Three."]) as den:
        await den.mention("the password is PLUGH")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        await den.server.until_answered(await den.server.command(den.room, den.ada, "channel-full-rp"))
        await den.mention("second")
        await den.server.until_replied(den.room, 2)
        await den.wait_until_idle()
        file = den.familiar.root / "channels" / f"{den.room.id}.toml"
        file.write_text(f'{NO_TYPING_DELAY[: NO_TYPING_DELAY.index("[")]}author_note = "Rain."\n', encoding="utf-8")
        await den.mention("third")
        await den.server.until(lambda: "Three." in den.server.replies_in(den.room))

        assert note_of(chat) in shown(den, 0)
        assert note_of(story) in shown(den, 1)
        assert note_of(chat) not in shown(den, 1)
        assert "PLUGH" in shown(den, 1)
        assert note_of(chat) in shown(den, 2)
        assert "Rain." in shown(den, 2)
        assert "PLUGH" in shown(den, 2)
        assert 'The topic of #general: "Anything goes".' in shown(den, 0)


def channel_file(den: FamiliarOnDiscord, settings: str) -> None:
    file = den.familiar.root / "channels" / f"{den.room.id}.toml"
    file.write_text(f"{settings}\n{NO_TYPING_DELAY}", encoding="utf-8")


def with_note_tool(config: CharacterConfig) -> CharacterConfig:
    return replace(config, tools=[SHORT_TERM_NOTE])


async def test_b67_a_nudge_asks_for_a_summary_every_five_turns(tmp_path: Path) -> None:
    """B67: one line before the last two turns, after what is kept; fresh, that stands no further back."""
    capabilities = Capabilities(tools=True)
    async with familiar_on_discord(
        tmp_path, lambda messages: "Hm.", capabilities=capabilities, settings=with_note_tool
    ) as den:
        channel_file(den, 'short_term_reminder = "nudge"\nshort_term_depth = 6')
        for number in range(6):
            await den.mention(f"question {number}")
            await den.server.until_replied(den.room, number + 1)
            await den.wait_until_idle()
        nudged = den.model.calls[5]
        at = next(index for index, message in enumerate(nudged) if "time to call `short_term_note`" in message.content)
        kept = nudged[at - 1].content

        assert "time to call" not in shown(den, 4)
        assert "if it is worth it" not in shown(den, 5).lower()  # the hint of B65
        turns = [message.role for message in nudged[at + 1 :] if not message.content.startswith("[System: ")]
        assert turns == ["assistant", "user"]
        assert kept.startswith("[System: The last words of this conversation:")
        assert len(kept.splitlines()) == 1 + 6


async def test_b67_nothing_stands_in_for_a_summary_where_it_is_to_supersede(tmp_path: Path) -> None:
    """B67: the last lines are no summary there."""
    async with familiar_on_discord(tmp_path, lambda messages: "Hm.") as den:
        channel_file(den, 'short_term_reminder = "nudge"\nshort_term_render = "supersede"')
        for number in range(2):
            await den.mention(f"question {number}")
            await den.server.until_replied(den.room, number + 1)
            await den.wait_until_idle()

        assert "The last words of this conversation" not in shown(den, 1)


async def test_b94_a_heavy_humanizer_shows_samples_as_people_type(tmp_path: Path) -> None:
    """B94: both sides, from the next reply on; off, they are shown as they are written."""
    async with familiar_on_discord(tmp_path, lambda messages: "Hm.") as den:
        samples = "<START>\n{{user}}: I do not like tea.\n{{char}}: It is fine. I am going to drink yours.\n"
        (den.familiar.root / "memory" / "self" / "mes_example.md").write_text(samples, encoding="utf-8")
        for number, setting in enumerate(("off", "heavy")):
            channel_file(den, f'humanizer = "{setting}"')
            await den.mention(f"question {number}")
            await den.server.until_replied(den.room, number + 1)
            await den.wait_until_idle()

        assert "I do not like tea." in shown(den, 0)
        assert "It is fine. I am going to drink yours." in shown(den, 0)
        assert "i don't like tea" in shown(den, 1)
        assert "it's fine. i'm gonna drink yours" in shown(den, 1)
        assert "I do not like tea." not in shown(den, 1)
