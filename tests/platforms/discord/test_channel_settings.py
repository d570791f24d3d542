"""A channel's settings on Discord: they count from the next reply on, and the conversation goes on."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.mode_instructions import SHIPPED_NOTES
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
