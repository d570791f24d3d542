"""PlatformHost: what a stranger's platform may say of the familiar's owner."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.secrets import Secrets
from familiar_connect.conversation.live_places import LivePlaces
from familiar_connect.conversation.owner import OwnerContact
from familiar_connect.extensions.create import PartMaker
from familiar_connect.extensions.host import PlatformHost
from familiar_connect.extensions.load import ExtensionFault, LoadedExtension
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.parts import Extension, PlatformPart
from familiar_connect.extensions.platforms import create_platforms
from familiar_connect.identity import Author
from familiar_connect.support.clock import ManualClock
from tests.fakes.scripted_familiar import scripted_familiar


def test_a_platform_says_who_the_owner_is_on_it_and_nowhere_else() -> None:
    """Somebody of another network may have the id that the owner has on this one."""
    owner = OwnerContact()
    intake = SimpleNamespace(hear_dms_of=lambda platform, whose: None)
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


async def test_what_a_platform_renews_is_kept_and_no_other_secret(tmp_path: Path) -> None:
    """A file that cannot be written ends nothing: the new one is in use already."""
    root = make_starter(tmp_path, "ember")
    renewing = Renewing()
    part = PlatformPart(create=renewing.create, secrets=("TEA_TOKEN",))
    loaded = [LoadedExtension(name="tea", extension=Extension(name="tea", platforms=(part,)))]
    async with scripted_familiar(tmp_path) as house:
        familiar, secrets = house.familiar, Secrets(tmp_path, environ={})
        maker = PartMaker(root=root, config=familiar.config, secrets=secrets, clock=familiar.clock)
        create_platforms(loaded, maker, familiar, lambda sentence: None)
        assert renewing.host is not None
        await renewing.host.keep_secret("TEA_TOKEN", "new")
        with pytest.raises(ExtensionFault, match="OPENROUTER_API_KEY"):
            await renewing.host.keep_secret("OPENROUTER_API_KEY", "mine")

        assert (secrets.get("TEA_TOKEN"), secrets.get("OPENROUTER_API_KEY")) == ("new", None)
        assert str(renewing.host.wrong_setting("room", "is closed")) == f"{root}/character.toml: [tea] room: is closed"


class Renewing:
    """A platform that keeps its host for a test to look at."""

    places = ()

    def __init__(self) -> None:
        self.host: PlatformHost | None = None

    def create(self, host: PlatformHost) -> Renewing:
        self.host = host
        return self

    async def run(self) -> None:
        """Nothing to hear."""
