"""PlatformHost: what a stranger's platform may say of the familiar's owner."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from familiar_connect.conversation.live_places import LivePlaces
from familiar_connect.conversation.owner import OwnerContact
from familiar_connect.extensions.host import PlatformHost
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.identity import Author
from familiar_connect.support.clock import ManualClock


def test_a_platform_says_who_the_owner_is_on_it_and_nowhere_else() -> None:
    """Somebody of another network may have the id that the owner has on this one."""
    owner = OwnerContact()
    intake = SimpleNamespace(hear_every_dm_of=lambda platform: None)
    familiar: Any = SimpleNamespace(owner=owner, live_places=LivePlaces(), intake=intake)
    part = PartContext(settings=None, clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)), folder=Path("x"))
    host = PlatformHost(familiar, "irc", part, lambda sentence: None)

    async def find_channel(channel: str) -> None:
        return None

    with host.connect(find_channel, is_owner=lambda author: author.user_id == "ada"):
        here = owner.is_owner(host.author("ada", "Ada"))
        elsewhere = owner.is_owner(Author("discord", "ada", "ada", "Ada"))

    assert (here, elsewhere) == (True, False)
    assert not owner.is_owner(host.author("ada", "Ada"))
