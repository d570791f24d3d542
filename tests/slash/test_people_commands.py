"""Commands people use for themselves: privacy, rewards, and who the familiar is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from familiar_connect.chat.scene import ChannelContext, ChannelKind
from familiar_connect.identity import PrivacyLevel
from familiar_connect.memory.conditioning import MAX_REASON
from familiar_connect.privacy import PrivacyRegistry
from familiar_connect.slash.command import SlashContext, SlashPlace, SlashReply, run_command
from familiar_connect.slash.registry import find_command
from tests.fakes.scripted_familiar import ANA, CHANNEL, ScriptedFamiliar, scripted_familiar

GUILD = 7
IN_A_SERVER = SlashPlace(channel=ChannelContext("den", ChannelKind.text), guild_id=GUILD)


async def ask(
    house: ScriptedFamiliar, name: str, words: str = "", *, place: SlashPlace | None = IN_A_SERVER
) -> SlashReply:
    found = find_command(name)
    assert found is not None
    context = SlashContext(channel_id=CHANNEL, author=ANA, is_operator=False, words=words, place=place)
    return await run_command(found, context, house.familiar)


async def test_privacy_is_shown_chosen_and_kept(tmp_path: Path) -> None:
    """Each level says what it means; another word changes nothing."""
    async with scripted_familiar(tmp_path) as house:
        shown = await ask(house, "privacy")
        chosen = await ask(house, "privacy", "FULL")
        wrong = await ask(house, "privacy", "secret")
        kept = (house.familiar.root / "privacy.toml").read_text(encoding="utf-8")

        assert all(level.value in shown.text for level in PrivacyLevel)
        assert "I do not hear you at all" in chosen.text
        assert "no such level" in wrong.text
        assert house.familiar.stores.privacy.get(ANA) is PrivacyLevel.FULL
        assert "full" in kept


async def test_a_reward_is_counted_per_reason(tmp_path: Path) -> None:
    """The same reason in other letters is the same; without one it is kept, and nobody learns from it."""
    async with scripted_familiar(tmp_path) as house:
        await ask(house, "reward", "pat being kind")
        twice = await ask(house, "reward", "pat  Being   KIND ")
        bare = await ask(house, "reward", "hug")
        await ask(house, "punish", "bonk being rude")
        kept = house.familiar.stores.conditioning
        good = kept.groups("reward", server_id=GUILD, persona="Ember")
        bad = kept.groups("punish", server_id=GUILD, persona="Ember")
        elsewhere = await ask(house, "reward", "pat being kind", place=None)

        assert "2 times" in twice.text
        assert "works on a server only" in elsewhere.text
        assert "without a reason" in bare.text
        assert [(group.action, group.times, [who.label for who in group.people]) for group in good] == [
            ("pat", 2, ["Ana"])
        ]
        assert [group.reason for group in bad] == ["being rude"]


async def test_what_cannot_be_a_reward_is_said(tmp_path: Path) -> None:
    """An unknown action, a reason too long, a person who is not to be kept."""
    async with scripted_familiar(tmp_path) as house:
        unknown = await ask(house, "reward", "bite hard")
        long = await ask(house, "reward", f"pat {'x' * (MAX_REASON + 1)}")
        await ask(house, "privacy", "full")
        private = await ask(house, "reward", "pat kindness")

        assert "one of: praise, pat, hug, treat" in unknown.text
        assert str(MAX_REASON) in long.text
        assert "privacy" in private.text


async def test_the_persona_introduces_itself(tmp_path: Path) -> None:
    """In the words of its card, or by name alone."""
    async with scripted_familiar(tmp_path) as house:
        told = await ask(house, "persona")
        (house.familiar.root / "memory" / "self" / "description.md").unlink()
        bare = await ask(house, "persona")

        assert told.text.startswith("I am Ember")
        assert len(told.text) > len(bare.text)
        assert "No one has described me" in bare.text


async def test_privacy_tells_whether_the_owner_reads_direct_messages(tmp_path: Path) -> None:
    """`owner_hears_all` is never a secret from those it concerns."""
    async with scripted_familiar(tmp_path, []) as house:
        kept = await ask(house, "privacy")
    async with scripted_familiar(tmp_path, [], settings=lambda config: replace(config, owner_hears_all=True)) as house:
        shared = await ask(house, "privacy")

    assert "I tell no one else" in kept.text
    assert "My owner can read along" in shared.text


async def test_a_person_may_be_remembered_on_every_server_and_take_it_back(tmp_path: Path) -> None:
    """Their own words follow them; the wish is kept beside their privacy."""
    async with scripted_familiar(tmp_path, []) as house:
        privacy = house.familiar.stores.privacy
        wished = await ask(house, "remember-me-everywhere")
        known = privacy.everywhere_keys()
        kept = PrivacyRegistry(house.familiar.root / "privacy.toml").everywhere_keys()
        taken_back = await ask(house, "remember-me-everywhere", "off")
        wrong = await ask(house, "remember-me-everywhere", "perhaps")
        later = privacy.everywhere_keys()

    assert "on other servers" in wished.text
    assert known == kept == {ANA.canonical_key}
    assert "stays on that server" in taken_back.text
    assert wrong.text == "Say on or off."
    assert later == frozenset()
