"""Whole prompts of a channel on Discord in each of its modes, with the texts that ship and the channel's topic.

Set UPDATE_GOLDEN=1 to write them anew; then look at the difference.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from familiar_connect.config.types import ChannelMode
from familiar_connect.extensions.discord.demo.world import DISCORD_EPOCH_MS
from familiar_connect.llm.types import Message
from familiar_connect.support.clock import ManualClock
from tests.fakes.familiar_on_discord import familiar_on_discord
from tests.fakes.scripted_familiar import NOON

PROMPTS = Path(__file__).parent.parent.parent / "prompts"
RULE = "-" * 24
AT_NOON = (int(NOON.timestamp() * 1000) - DISCORD_EPOCH_MS) << 22
"""An id that Discord would give a message said then."""
MODES = {
    ChannelMode.text_conversation_rp: "channel-text-conversation-rp",
    ChannelMode.full_rp: "channel-full-rp",
    ChannelMode.imitate_voice: "channel-imitate-voice",
}


def readable(messages: list[Message]) -> str:
    return "".join(f"{RULE} {m.role}{f' ({m.name})' if m.name else ''}\n{m.content}\n" for m in messages)


async def test_each_mode_is_told_with_the_topic_and_the_dialogue_stays(tmp_path: Path) -> None:
    """One conversation that goes through all modes: each prompt has all that was said in the modes before."""
    found: dict[str, str] = {}
    async with familiar_on_discord(tmp_path, lambda messages: "Hm.", clock=ManualClock(NOON)) as den:
        for number, (mode, command) in enumerate(MODES.items()):
            await den.server.until_answered(await den.server.command(den.room, den.ada, command))
            text = f"<@{den.server.world.bot.id}> This is question {number + 1}."
            await den.server.post(den.room, den.ada, text, id=str(AT_NOON + number))
            await den.server.until_replied(den.room, number + 1)
            await den.wait_until_idle()
            found[mode.value] = readable(den.model.calls[number])

    changes: list[str] = []
    for name, now in found.items():
        golden = PROMPTS / f"discord.{name}.txt"
        if os.environ.get("UPDATE_GOLDEN") == "1":
            golden.write_text(now, encoding="utf-8")
        before = golden.read_text(encoding="utf-8")
        changes += difflib.unified_diff(before.splitlines(), now.splitlines(), golden.name, "now", lineterm="")
    assert not changes, "\n".join(changes)
