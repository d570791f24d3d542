"""The demonstration of a platform: its extension brings it, and `familiar run` offers whichever there are."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.api import InboundMessage, Place, PlaceFeatures, PlatformHost, ReadBy, Scene
from familiar_connect.api.stand_in import DemoPart, TourStep
from familiar_connect.config.built_in import BUILT_IN, BUILT_IN_PLATFORMS, has_demo
from familiar_connect.extensions.load import find_platform
from familiar_connect.platforms.terminal.demonstration import Demonstration, TourReader
from familiar_connect.platforms.terminal.line_input import PipeReader
from tests.fakes.scripted_familiar import NO_TYPING_DELAY, scripted_familiar
from tests.test_imports import run_python

STREAM = 4001
HELP = "from familiar_connect.cli import cli\ncli.main(['run', '--help'], standalone_mode=False)\n"
OF_EXTENSIONS = "print('LOADED', *sorted(name for name in sys.modules if '.extensions.' in name))"


class TinyPlace(Place):
    """A chat whose lines are shown."""

    features = PlaceFeatures(limit=500)

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    async def send(self, text: str) -> None:
        self._show(f"\x1b[2Jit: {text}")

    async def notice(self, text: str) -> None:
        self._show(f"({text})")

    async def recent(self, limit: int) -> list[InboundMessage]:
        return []

    async def scene(self) -> Scene:
        return PlatformHost.scene("stream", read_by=ReadBy.everyone)


class TinyDemo:
    """One chat, and one person who writes what is typed."""

    forms = {"hello {name}": "you say it"}
    channels = {str(STREAM): None}
    room = "stream"

    def __init__(self, host: PlatformHost, say: Callable[[str], None]) -> None:
        self._host = host
        self._place = TinyPlace(say)
        self.newest: dict[str, str] = {}

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def wait_until_ready(self) -> None:
        """It is there at once."""

    async def take(self, line: str) -> None:
        message_id = f"m{len(line)}"
        you = self._host.author("1", "You")
        await self._host.hear(str(STREAM), you, line, self._place, message_id=message_id, is_mention=True)
        self.newest[str(STREAM)] = message_id

    async def wait_until_answered(self) -> None:
        """Nobody asks anything else."""


def list_tour() -> list[list[TourStep]]:
    return [[TourStep("Somebody greets {name}.", ("hello {name}",))]]


async def test_any_platform_can_be_demonstrated_with_what_its_extension_brings(tmp_path: Path) -> None:
    """The core knows nothing of it: it types, waits until all is answered, and shows lines a terminal can bear."""
    part = replace(find_platform("twitch"), demo=DemoPart(create=TinyDemo, tour=list_tour))
    said: list[str] = []
    async with scripted_familiar(tmp_path, ["Good evening."], subscribed=False) as house:
        house.familiar.root.joinpath("channels", f"{STREAM}.toml").write_text(NO_TYPING_DELAY, encoding="utf-8")
        reader = PipeReader(io.StringIO("hello Ember\n"))
        await Demonstration(house.familiar, "twitch", part, reader=reader, say=said.append).run()

    assert said[0].startswith("This is a small local stand-in for Twitch. A copy of Ember is here")
    assert "hello Ember" in said[0]
    assert said[-1] == "[2Jit: Good evening."


async def test_a_tour_calls_the_familiar_by_its_name(tmp_path: Path) -> None:
    """In what a step shows and in its lines; then there is nothing more to say."""
    shown: list[str] = []
    reader = TourReader(list_tour()[0], "Wren", shown.append)

    assert [await reader.line(), await reader.line()] == ["hello Wren", None]
    assert shown == ["\n— Somebody greets Wren."]


@pytest.mark.parametrize("name", BUILT_IN_PLATFORMS)
def test_a_platform_has_a_demonstration_where_its_package_has_one(name: str) -> None:
    """So that the command line knows it without loading the extension."""
    assert has_demo(name) == (find_platform(name).demo is not None)


@pytest.mark.process
def test_the_help_of_run_loads_no_extension() -> None:
    """What switches a platform on lies in `secrets`, what is set in `settings`, names of verbs in `verbs`: no more."""
    done = run_python(f"import sys\n{HELP}{OF_EXTENSIONS}")
    shown, _, loaded = done.stdout.rpartition("LOADED")

    assert done.returncode == 0, done.stderr
    assert "--demo-discord" in shown
    assert "--demo-twitch" in shown
    assert {name.split(".")[-1] for name in loaded.split()} <= {*BUILT_IN, "secrets", "settings", "verbs"}


@pytest.mark.process
def test_run_offers_a_demonstration_for_each_platform_that_has_one() -> None:
    """A further one needs no line of the command."""
    done = run_python(
        f"from familiar_connect.config import built_in\nbuilt_in.has_demo = lambda name: name == 'twitch'\n{HELP}"
    )
    shown = " ".join(done.stdout.split())

    assert done.returncode == 0, done.stderr
    assert "--demo-twitch Talk with a copy of it on a small local Twitch; no token, no network." in shown
    assert "With --demo-twitch: people speak by themselves" in shown
    assert "--demo-discord" not in shown
