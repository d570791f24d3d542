"""What every test on Discord may rely on."""

from __future__ import annotations

import pytest

discord = pytest.importorskip("discord", reason="the Discord library is an extra")


@pytest.fixture(autouse=True)
def shards_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library waits five seconds between two beginnings, as Discord asks; our own Discord does not."""

    async def at_once(self: object, shard_id: int, *, initial: bool = False) -> None:
        return None

    monkeypatch.setattr(discord.AutoShardedClient, "before_identify_hook", at_once)
