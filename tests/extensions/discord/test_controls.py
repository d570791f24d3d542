"""The controls of a roleplay on Discord: through slash commands, shown in the messages that stand there."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config import CharacterConfig
from familiar_connect.config.character import change_section
from familiar_connect.extensions.discord.demo.world import Room
from familiar_connect.slash.registry import MAY_NOT_CONTROL
from tests.extensions.discord.test_commands import LATER, used, words
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord


def shown(den: FamiliarOnDiscord, room: Room | None = None) -> list[str]:
    """Our own messages as they stand in the channel."""
    me = str(den.server.world.bot.id)
    return [each["content"] for each in (room or den.room).messages.values() if each["author"]["id"] == me]


async def asked(den: FamiliarOnDiscord, text: str, replies: int) -> None:
    await den.mention(text)
    await den.server.until_replied(den.room, replies)
    await den.wait_until_idle()


async def use(den: FamiliarOnDiscord, name: str, **how: str) -> str:
    """Ada uses a command; the words of its answer, whether it comes at once or later."""
    token = await den.server.command(den.room, den.ada, name, how, may_manage=True)
    answers = await den.server.until_answered(token)
    if answers[0]["type"] == LATER:
        answers = await den.server.until_answered(token, 2)
    return words(answers[-1])


async def test_a_reply_is_made_anew_and_swiped_in_its_own_message(tmp_path: Path) -> None:
    """The message is changed, not said twice; the history has the version that is shown."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Coffee.")) as den:
        await asked(den, "What?", 1)

        assert await use(den, "regenerate") == "Version 2 of 2."
        assert shown(den) == ["Coffee."]
        assert await use(den, "swipe", version="back") == "Version 1 of 2."
        assert shown(den) == ["Tea."]
        assert den.roles_and_texts() == [("user", "What?"), ("assistant", "Tea.")]


async def test_an_undone_exchange_takes_our_message_away(tmp_path: Path) -> None:
    """What the person said stays theirs, and is in no prompt any more."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Rain.")) as den:
        await asked(den, "Do you like ska?", 1)

        answer = await use(den, "undo")
        assert "Do you like ska?" in answer
        assert "What people wrote still stands in this channel." in answer
        assert (shown(den), den.roles_and_texts()) == ([], [])
        await asked(den, "Weather?", 2)
        assert "ska" not in "".join(message.content for message in den.model.calls[-1])


async def test_lines_are_changed_continued_and_hidden(tmp_path: Path) -> None:
    """A long continuation takes another message."""
    async with familiar_on_discord(tmp_path, ("Once upon a time", "x " * 1500)) as den:
        await asked(den, "Tell me.", 1)

        assert "It reads now" in await use(den, "edit", line="1", text="Once, long ago,")
        assert shown(den) == ["Once, long ago,"]
        assert await use(den, "continue") == "It went on."
        assert [text[:20] for text in shown(den)] == ["Once, long ago, x x ", "x x x x x x x x x x "]
        assert await use(den, "edit", line="1", text="The end.") != ""
        assert shown(den) == ["The end."]
        assert "Hidden" in await use(den, "hide", line="2")
        assert [text for _, text in den.roles_and_texts()] == ["The end."]


async def test_controls_are_for_those_the_owner_allows(tmp_path: Path) -> None:
    """Managers of the channel unless everyone may."""

    def for_everyone(config: CharacterConfig) -> CharacterConfig:
        return change_section(config, "discord", controls="everyone")

    async with familiar_on_discord(tmp_path, ("Tea.",)) as den:
        await asked(den, "What?", 1)
        refused = await used(den, "undo", who=den.ben, may_manage=False)
        assert words(refused[-1]) == MAY_NOT_CONTROL.format(section="discord")
        assert shown(den) == ["Tea."]
    async with familiar_on_discord(tmp_path, (), settings=for_everyone) as den:
        assert "Nothing has been said here yet" in words((await used(den, "undo", who=den.ben, may_manage=False))[-1])
