"""PlatformHost: what a stranger's platform may say of the owner, and how the familiar reaches people on it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.chat.scene import Scene
from familiar_connect.config import CharacterConfig
from familiar_connect.config.secrets import Secrets
from familiar_connect.extensions.create import PartMaker
from familiar_connect.extensions.host import PlatformHost, ReadBy
from familiar_connect.extensions.load import ExtensionFault, LoadedExtension
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.parts import Extension, PlatformPart
from familiar_connect.extensions.platforms import create_platforms
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.slash.registry import BUILT_IN_COMMANDS
from familiar_connect.slash.remind import NOT_HERE
from familiar_connect.support.clock import ManualClock
from tests.fakes.place import RecordingPlace
from tests.fakes.scripted_familiar import scripted_familiar


def make_host(familiar: Familiar, platform: str = "tea", **more: Any) -> PlatformHost:
    part = PartContext(settings=None, clock=familiar.clock, folder=familiar.root / "tea")
    return PlatformHost(familiar, platform, part, lambda sentence: None, commands=BUILT_IN_COMMANDS, **more)


async def find_nothing(channel: str) -> None:
    """For a network that has no channels."""


async def test_a_platform_says_who_the_owner_is_on_it_and_nowhere_else(tmp_path: Path) -> None:
    """Somebody of another network may have the id that the owner has on this one."""
    async with scripted_familiar(tmp_path) as house:
        owner, host = house.familiar.owner, make_host(house.familiar)

        with host.connect(find_nothing, is_owner=lambda author: author.user_id == "ada"):
            here = owner.is_owner(host.author("ada", "Ada"))
            elsewhere = owner.is_owner(Author("elsewhere", "ada", "ada", "Ada"))

        assert (here, elsewhere) == (True, False)
        assert not owner.is_owner(host.author("ada", "Ada"))


async def test_what_the_owner_should_know_goes_through_the_platform_that_reaches_them(tmp_path: Path) -> None:
    """While it is connected; afterwards nobody is told."""
    async with scripted_familiar(tmp_path) as house:
        told: list[str] = []
        host, other = make_host(house.familiar), make_host(house.familiar, "coffee")

        async def write(sentence: str) -> None:
            told.append(sentence)

        with host.connect(find_nothing, tell_owner=write):
            await other.write_to_owner("The kettle is dry.")
        await other.write_to_owner("Nobody is there.")

        assert told == ["The kettle is dry."]


@dataclass
class DirectRecordingPlace(RecordingPlace):
    """A direct message with somebody."""

    async def scene(self) -> Scene:
        return PlatformHost.scene("Ada", read_by=ReadBy.people)


@pytest.mark.parametrize("channel", ["#den", "u-ada"])
async def test_a_reminder_reaches_a_strangers_platform(channel: str, tmp_path: Path) -> None:
    """Where it was asked for, room or direct message, once the platform is there again; while it is away it is refused.

    One that is due while the platform is away is told late, and once.
    """
    clock = ManualClock(datetime(2026, 3, 1, 8, 0, tzinfo=UTC))
    async with scripted_familiar(tmp_path, ("Your kettle!",), clock=clock, settings=without_typing) as house:
        host, looked_for = make_host(house.familiar), []
        place = RecordingPlace() if channel == "#den" else DirectRecordingPlace()
        ada = host.author("u-ada", "Ada")

        async def find(name: str) -> RecordingPlace:
            looked_for.append(name)
            return place

        refused = await host.use_command(channel, ada, "remind in 20 minutes take the kettle off", place)
        with host.connect(find):
            taken = await host.use_command(channel, ada, "remind in 20 minutes take the kettle off", place)
        clock.advance(3600)
        with host.connect(find):
            await place.until_sent(1)
            await house.familiar.reply_path.reminders.wait_until_idle()
        with host.connect(find):
            await house.familiar.reply_path.reminders.wait_until_idle()

        assert refused == NOT_HERE
        assert taken is not None
        assert "2026-03-01 at 08:20 (UTC): take the kettle off" in taken
        assert (place.sent, looked_for) == (["Your kettle!"], [channel])
        prompt = "".join(message.content for message in house.model.calls[-1])
        assert "remind Ada now" in prompt
        assert "this was due 40 minutes ago; say that it comes late" in prompt


async def test_a_reminder_that_is_due_waits_until_its_room_is_joined(tmp_path: Path) -> None:
    """A platform connects before it is in its rooms; what is due is told as soon as it is, and not minutes later."""
    clock = ManualClock(datetime(2026, 3, 1, 8, 0, tzinfo=UTC))
    async with scripted_familiar(tmp_path, ("Your kettle!",), clock=clock, settings=without_typing) as house:
        host, place, rooms = make_host(house.familiar), RecordingPlace(), dict[str, RecordingPlace]()
        looked = asyncio.Event()

        async def find(name: str) -> RecordingPlace | None:
            looked.set()
            return rooms.get(name)

        with host.connect(find):
            await host.use_command("#den", host.author("u-ada", "Ada"), "remind in 20 minutes tea", place)
        clock.advance(1200)
        with host.connect(find):
            await looked.wait()
            rooms["#den"] = place
            await host.join("#den", place)
            await place.until_sent(1)

        assert place.sent == ["Your kettle!"]


async def test_a_channel_keeps_its_number_only_for_a_part_that_says_so(tmp_path: Path) -> None:
    """A network's own large number stays what it is, in both directions and without a row for it."""
    async with scripted_familiar(tmp_path) as house:
        named = make_host(house.familiar)
        assert await named.number_of("#den") == await named.number_of("#den") != await named.number_of("4711")
        assert await named.number_of("4711") != 4711
        host, place, number = make_host(house.familiar, keeps_numbers=True), RecordingPlace(), 123456789012345678
        looked_for = []

        async def find(name: str) -> RecordingPlace:
            looked_for.append(name)
            return place

        await host.join(str(number), place)
        with host.connect(find):
            found = await house.familiar.live_places.find("tea", number)

        assert number in {each.channel_id for each in host.servers.list_subscriptions()}
        assert (found, looked_for) == (place, [str(number)])
        assert house.familiar.history_store.channel_keys.key_of(number) is None


def without_typing(config: CharacterConfig) -> CharacterConfig:
    """Nobody pretends to type."""
    return replace(config, typing_simulation_overrides={"enabled": False})


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
