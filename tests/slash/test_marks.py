"""/reset and /compact."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.history.dialogue_starts import StartKind
from familiar_connect.identity import PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.slash.command import SlashContext, run_command
from familiar_connect.slash.registry import find_command
from tests.fakes.scripted_familiar import ANA, BEN, CHANNEL, ScriptedFamiliar, scripted_familiar


async def use(house: ScriptedFamiliar, name: str, words: str = "") -> str:
    found = find_command(name)
    assert found is not None
    context = SlashContext(channel_id=CHANNEL, author=ANA, is_operator=True, words=words)
    return (await run_command(found, context, house.familiar)).text


def last_prompt(house: ScriptedFamiliar) -> str:
    return "\n".join(message.content for message in house.model.calls[-1])


async def test_a_small_model_compacts_with_peoples_own_words(tmp_path: Path) -> None:
    """Nobody is asked, and nothing is invented."""
    async with scripted_familiar(tmp_path, ("Hm.", "Ah.", "Oh.")) as house:
        await house.talk("We decided to meet at the lake tomorrow at 9.")
        await house.talk("Right?")
        told = await use(house, "compact")
        await house.talk("And now?")

        assert "Ana said: We decided to meet at the lake tomorrow at 9." in told
        assert "Summary of what was said before: Ana said: We decided" in last_prompt(house)
        assert "Right?" not in last_prompt(house)


async def test_what_cannot_be_done_is_said_in_a_sentence(tmp_path: Path) -> None:
    """Nothing said yet, nothing to take back, words that mean nothing, a model that fails."""
    async with scripted_familiar(tmp_path, ("Hm.", "Ah.", "Oh.")) as house:
        assert await use(house, "reset") == "Nothing has been said here yet."
        assert "too little" in await use(house, "compact")
        assert "nothing to revert" in await use(house, "reset", "undo")
        assert await use(house, "reset", "please") == "Say /reset alone, or /reset undo."
        await house.talk("One.")
        house.familiar.llm_clients["history_summary"] = ScriptedModel([RuntimeError("down")])
        assert "nothing was changed" in await use(house, "compact")
        assert house.familiar.history_store.dialogue_starts.newest("ember", CHANNEL) is None


async def test_a_reset_takes_no_regenerating_back_over_it(tmp_path: Path) -> None:
    """The controls see what the model sees."""
    async with scripted_familiar(tmp_path, ("Hm.", "Ah.")) as house:
        await house.talk("One.")
        await use(house, "reset")
        found = find_command("undo")
        assert found is not None
        context = SlashContext(channel_id=CHANNEL, author=ANA, is_operator=True, answers_at=house.place)
        assert (await run_command(found, context, house.familiar)).text == "Nothing has been said here yet."


async def test_who_goes_private_is_in_the_summary_no_more(tmp_path: Path) -> None:
    """From the next prompt on; a summary that is made then is made without them."""
    async with scripted_familiar(tmp_path, ("Hm.", "Ah.", "Oh.")) as house:
        await house.talk("We decided that Ben is allergic to nuts.", author=BEN)
        await house.talk("We decided to meet tomorrow at 9.")
        assert "nuts" in await use(house, "compact")
        house.familiar.stores.privacy.set(BEN, PrivacyLevel.FULL)
        await house.talk("And now?")
        assert "nuts" not in last_prompt(house)

        assert "nuts" not in await use(house, "compact")
        mark = house.familiar.history_store.dialogue_starts.newest("ember", CHANNEL)
        assert mark is not None
        assert mark.kind is StartKind.compact
