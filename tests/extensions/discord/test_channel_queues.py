"""What happens in one channel is dealt with in order; channels do not wait for each other."""

from __future__ import annotations

import asyncio
from functools import partial

from familiar_connect.extensions.discord.listening.channel_queues import ChannelQueues


async def test_a_channel_keeps_its_order_and_holds_up_no_other() -> None:
    """However long the first takes."""
    did: list[str] = []
    gate = asyncio.Event()

    async def step(name: str, *, wait: bool = False) -> None:
        if wait:
            await gate.wait()
        did.append(name)
        if name == "other":
            gate.set()

    async def look_back(channel_id: int) -> None:
        did.append("never")

    lanes = ChannelQueues(look_back=look_back)
    lanes.put(1, partial(step, "first", wait=True))
    lanes.put(1, partial(step, "second"))
    lanes.put(2, partial(step, "other"))
    await lanes.wait_until_idle()

    assert did == ["other", "first", "second"]


async def test_a_step_that_fails_ends_only_itself() -> None:
    """The next is done all the same."""
    did: list[str] = []

    async def bad() -> None:
        raise ValueError("no")

    async def good() -> None:
        did.append("good")

    async def look_back(channel_id: int) -> None:
        return None

    lanes = ChannelQueues(look_back=look_back)
    lanes.put(1, bad)
    lanes.put(1, good)
    await lanes.wait_until_idle()

    assert did == ["good"]


async def test_what_does_not_fit_is_looked_up_later() -> None:
    """Once, when there is room again."""
    did: list[str] = []

    async def step(name: str) -> None:
        did.append(name)

    async def look_back(channel_id: int) -> None:
        did.append(f"look back in {channel_id}")

    lanes = ChannelQueues(look_back=look_back, limit=2)
    for number in range(6):
        lanes.put(1, partial(step, str(number)))
    await lanes.wait_until_idle()

    assert did == ["0", "1", "look back in 1"]


async def test_a_full_lane_takes_in_nothing_newer_before_it_has_looked_back() -> None:
    """Looking back begins at the newest that was taken in: nothing may lie between."""
    did: list[str] = []

    async def step(name: str) -> None:
        did.append(name)
        if name == "0":
            lanes.put(1, partial(step, "newer"))

    async def look_back(channel_id: int) -> None:
        did.append(f"look back in {channel_id}")

    lanes = ChannelQueues(look_back=look_back, limit=2)
    for number in range(3):
        lanes.put(1, partial(step, str(number)))
    await lanes.wait_until_idle()

    assert did == ["0", "1", "look back in 1"]
