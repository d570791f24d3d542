"""What is taken back on Discord is taken out of everything, through the library itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.extensions.discord.adapter import BAN_REACHES_BACK
from familiar_connect.history.types import DELETED
from familiar_connect.llm.types import Message
from familiar_connect.rehearsal.models import echo_memory
from tests.fakes.familiar_on_discord import familiar_on_discord
from tests.fakes.waiting import until


def careless(messages: Sequence[Message]) -> str:
    """Writes up everything; repeats a word in its answers."""
    prompt = "\n\n".join(message.content for message in messages if message.role == "user")
    if "<transcript>" in prompt and "canonical slug" in prompt:
        return echo_memory(prompt)
    return "So XYZZY it is." if "XYZZY" in messages[-1].content else "Mm."


def files_with(root: Path, word: str) -> list[str]:
    """Files of the familiar that hold *word*, but for its history."""
    found = []
    for path in sorted(root.rglob("*")):
        with suppress(FileNotFoundError, IsADirectoryError):  # a file that was being written has its name by now
            if not path.name.startswith("history.db") and word.encode() in path.read_bytes():
                found.append(path.relative_to(root).as_posix())
    return found


async def take_back(den: Any, how: str, said: Any, other: Any) -> None:
    """Let Discord tell that a message is gone, or reads otherwise."""
    if how == "delete":
        await den.server.delete(den.room, said)
    elif how == "bulk":
        await den.server.delete(den.room, said, other)
    elif how == "edit":
        await den.server.edit(den.room, said, "I am allergic to PLUGH, it gives me hives")
    else:
        event = {"guild_id": str(den.guild.id), "user": den.ada.payload()}
        await den.server.gateway.dispatch("GUILD_BAN_ADD", event)


@pytest.mark.parametrize("how", ["delete", "bulk", "edit", "ban"])
async def test_what_discord_takes_back_leaves_files_traces_and_answers(tmp_path: Path, how: str) -> None:
    """After a write-up; also where the familiar itself repeated it."""
    async with familiar_on_discord(tmp_path, careless) as den:
        said = await den.mention("I am allergic to XYZZY, it gives me hives")
        await den.server.until_replied(den.room)
        other = await den.mention("a line of no account")
        await den.server.until_replied(den.room, 2)
        await den.wait_until_idle()
        await den.familiar.memory_writer_scheduler.flush()
        root = den.familiar.root
        assert any(name.startswith("memory/") for name in files_with(root, "XYZZY"))

        await take_back(den, how, said, other)
        await until(lambda: not any("XYZZY" in words for _, words in den.roles_and_texts()))
        await until(lambda: files_with(root, "XYZZY") == [])
        words = [words for _, words in den.roles_and_texts()]
        assert DELETED in words
        assert ("I am allergic to PLUGH, it gives me hives" in words) is (how == "edit")


def test_a_ban_reaches_back_a_week() -> None:
    """As far as Discord itself may delete with one."""
    assert timedelta(days=7) == BAN_REACHES_BACK


async def test_a_reply_that_quotes_a_deleted_message_shows_nothing_of_it(tmp_path: Path) -> None:
    """Neither the one that was heard before the deletion, nor one that still brings the words along."""
    async with familiar_on_discord(tmp_path, lambda _: "Mm.") as den:
        said = await den.server.post(den.room, den.ada, "the word is XYZZY for the kettle")
        await den.wait_stored("XYZZY")
        await den.server.reply(den.room, den.ben, f"<@{den.server.world.bot.id}> is that so?", said)
        await den.server.until_replied(den.room)
        assert any("XYZZY" in message.content for message in den.model.calls[-1])
        await den.server.delete(den.room, said)
        await until(lambda: not any("XYZZY" in words for _, words in den.roles_and_texts()))
        await den.server.reply(den.room, den.ben, f"<@{den.server.world.bot.id}> what did they say?", said)
        await den.server.until_replied(den.room, 2)
        await den.wait_until_idle()
        quoted = [turn.facts or "" for turn in den.history()]

        assert not any("XYZZY" in message.content for message in den.model.calls[-1])
        assert not any("XYZZY" in facts for facts in quoted)
        await until(lambda: files_with(den.familiar.root, "XYZZY") == [])
