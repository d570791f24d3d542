"""/quiet and /usage on Discord: silence for a while, and what the day took, by names."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from familiar_connect.support.clock import ManualClock
from tests.extensions.discord.test_commands import used, words
from tests.fakes.familiar_on_discord import familiar_on_discord


async def test_a_quiet_channel_is_heard_and_not_answered_until_its_time_is_over(tmp_path: Path) -> None:
    """After a restart too; other channels go on, and afterwards it knows what was said."""
    clock = ManualClock(datetime.now(UTC))
    async with familiar_on_discord(tmp_path, lambda messages: "Here.", arrive=False, clock=clock) as den:
        garden = den.server.world.room(den.guild, "garden")
        den.subscribe(garden)
        await den.connect()
        refused = await used(den, "quiet", may_manage=False, length="1h")
        told = await used(den, "quiet", length="1h")
        await den.disconnect()
        await den.connect()
        await den.mention("the kite is red")
        await den.wait_stored("the kite is red")
        await den.mention("and here?", room=garden)
        await den.server.until_replied(garden)
        await den.wait_until_idle()
        while_quiet = den.server.replies_in(den.room)
        clock.advance(3601)
        await den.mention("what colour?")
        await den.server.until_replied(den.room)

        assert "manage this channel" in words(refused[0])
        assert "I stay quiet here until" in words(told[0])
        assert while_quiet == []
        assert "the kite is red" in "".join(message.content for message in den.model.calls[-1])


async def test_quiet_is_ended_and_says_what_it_takes(tmp_path: Path) -> None:
    """Lengths are suggested; what is no length is answered with how."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.") as den:
        token = await den.server.autocomplete(den.room, den.ada, "quiet", "length", "1")
        offered = [each["value"] for each in (await den.server.until_answered(token))[0]["data"]["choices"]]
        wrong = await used(den, "quiet", length="a while")
        await used(den, "quiet", length="2d")
        ended = await used(den, "quiet", length="off")
        await den.mention("hello")

        assert offered == ["15m", "1h", "1d"]
        assert "/quiet 30m" in words(wrong[0])
        assert words(ended[0]) == "I can speak here again."
        assert await den.server.until_replied(den.room) == ["Here."]


async def test_usage_names_people_and_channels_to_the_owner_alone(tmp_path: Path) -> None:
    """Everyone else is told their own part."""
    async with familiar_on_discord(tmp_path, lambda messages: "Here.") as den:
        await den.mention("hello")
        await den.server.until_replied(den.room)
        await den.wait_until_idle()
        (owners,) = await used(den, "usage", who=den.server.world.owner)
        (adas,) = await used(den, "usage", may_manage=False)
        (bens,) = await used(den, "usage", may_manage=False, who=den.ben)

        assert "Ada" in words(owners)
        assert "#general" in words(owners)
        assert str(den.ada.id) not in words(owners)
        took = {row.split()[0]: row.split()[1:] for row in words(owners).splitlines() if row.startswith(("Ada", "#"))}
        assert took["#general"] == took["Ada"]
        assert took["Ada"][0] != "0"
        assert "Talking with you took" in words(adas)
        assert "took 0 tokens" not in words(adas)
        assert "0 tokens in 0 calls" in words(bens)
        assert "#general" not in words(adas)
