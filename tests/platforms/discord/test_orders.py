"""Orders on Discord through the real library: marks, reminders, help and what is known of whom."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.slash.registry import MAY_NOT_CONTROL
from tests.fakes.familiar_on_discord import familiar_on_discord
from tests.platforms.discord.test_commands import is_private, used, words
from tests.platforms.discord.test_controls import asked, use


async def test_a_chat_is_begun_anew_and_back_again(tmp_path: Path) -> None:
    """To the asker alone, by who may manage the channel; nothing that stands in the channel changes."""
    async with familiar_on_discord(tmp_path, ("Aye.", "Hm.", "Oh.")) as den:
        await asked(den, "My boat is called Pickle.", 1)
        refused = await used(den, "reset", who=den.ben, may_manage=False)
        assert words(refused[-1]) == MAY_NOT_CONTROL
        answer = (await used(den, "reset"))[-1]
        assert is_private(answer)
        assert "begins anew" in words(answer)

        await asked(den, "Good morning.", 2)
        assert "Pickle" not in "".join(message.content for message in den.model.calls[-1])
        den.familiar.reply_path.collector.flush()
        trace = den.familiar.reply_path.collector.last_trace("ember")
        assert trace is not None
        assert "begun_anew" in trace.tags, "`/context` and `familiar inspect` show it"
        assert "shown to me again" in await use(den, "reset", choice="undo")
        await asked(den, "Well?", 3)
        assert "Pickle" in "".join(message.content for message in den.model.calls[-1])


async def test_a_chat_is_compacted_to_a_summary(tmp_path: Path) -> None:
    """What was said is told in a few words from the next reply on."""
    async with familiar_on_discord(tmp_path, ("Aye.", "Hm.", "Oh.")) as den:
        await asked(den, "We decided to meet at the lake tomorrow at 9.", 1)
        assert "We decided to meet at the lake" in await use(den, "compact")

        await asked(den, "And now?", 2)
        prompt = "".join(message.content for message in den.model.calls[-1])
        assert "Summary of what was said before: " in prompt
        assert "Aye." not in prompt
