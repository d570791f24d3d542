"""check_platform: a sound platform passes; each defect is told by the method to look at and what to do."""

from __future__ import annotations

import pytest

from familiar_connect.api import Extension, PlatformPart
from familiar_connect.api.testing import PlatformCheckFailed, PlatformFault, check_platform
from tests.fakes.wire_platform import Wire, wire_extension

LIMIT_S = 0.5
"""Long enough for a wire in memory."""


async def faults_of(defect: str) -> tuple[PlatformFault, ...]:
    wire = Wire()
    try:
        await check_platform(wire_extension(wire, defect), wire, limit_s=LIMIT_S)
    except PlatformCheckFailed as failed:
        return failed.faults
    return ()


async def test_a_sound_platform_passes_every_check() -> None:
    """Nothing is told where nothing is wrong."""
    wire = Wire()

    await check_platform(wire_extension(wire), wire)

    assert "Here I am." in wire.shown[None]
    assert "Here I am." in wire.shown["u-ada"]


@pytest.mark.parametrize(
    ("defect", "check", "method", "words"),
    [
        ("misspells a method", "start", "places", "`tell_asker`"),
        ("ends by itself", "end", "run", "until cancelled"),
        ("is set up wrong", "hear", "run", "SetupError: no key"),
        ("hears nothing", "hear", "run", "call `host.hear`"),
        ("never joins", "hear", "host.join", "before `host.hear`"),
        ("makes authors by itself", "hear", "host.author", "with `host.author`"),
        ("misses who is meant", "hear", "host.hear", "`is_mention=True`"),
        ("sends nothing", "answer", "Place.send", "did not arrive"),
        ("says a limit it has not", "split", "Place.features", "`limit`"),
        ("sends twice", "split", "Place.features", "twice"),
        ("takes the name for the person", "people", "host.author", "another name"),
        ("takes everybody for one", "people", "host.author", "two people came with one user id"),
        ("makes ids anew", "people", "host.author", "one person came with two user ids"),
        ("gives one id", "people", "host.hear", "one `message_id`"),
        ("hides the room", "readers", "Place.scene", "ReadBy.everyone"),
        ("hears no direct messages", "readers", "run", "`is_dm=True`"),
        ("forgets that it is direct", "readers", "host.hear", "without `is_dm=True`"),
        ("mixes channels", "readers", "host.hear", "room's channel"),
        ("calls a direct message a room", "readers", "Place.scene", "ReadBy.people"),
        ("names nobody", "readers", "Place.scene", "name its people"),
        ("sends direct answers to the room", "readers", "Place.send", "did not arrive there"),
        ("hides failures", "failure", "Place.send", "nothing was raised"),
        ("raises what the library raises", "failure", "Place.send", "OSError"),
        ("waits for ever", "failure", "Place.send", "waited longer"),
        ("swallows its cancellation", "end", "run", "CancelledError"),
        ("blocks the loop", "loop", "run", "`asyncio.to_thread`"),
        ("leaves a task behind", "end", "run", "left behind"),
    ],
)
async def test_a_defect_is_told_with_the_method_and_the_fix(defect: str, check: str, method: str, words: str) -> None:
    """Each check is red for what it is there for."""
    faults = await faults_of(defect)

    assert [each for each in faults if (each.check, each.method) == (check, method) and words in each.fix], faults


async def test_a_part_that_cannot_be_made_is_told() -> None:
    """Or lacks what every platform has."""

    class Empty:
        """Neither hears nor has places."""

    parts = {"fails": lambda host: 1 / 0, "empty": lambda host: Empty()}
    told = {}
    for name, create in parts.items():
        extension = Extension(name="wire", platforms=(PlatformPart(create=create),))  # type: ignore[arg-type]
        with pytest.raises(PlatformCheckFailed) as failed:
            await check_platform(extension, Wire())
        told[name] = [str(each) for each in failed.value.faults]

    assert "ZeroDivisionError" in told["fails"][0]
    assert [line.partition(":")[0] for line in told["empty"]] == ["start", "start"]
