"""The tests of this example: run them with `pytest`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from familiar_birthdays import extension

from familiar_connect.api.testing import ManualClock, start_familiar

SETTINGS = '[birthdays]\ndays = ["Ada 06-01"]\n'


def test_the_familiar_knows_whose_birthday_it_is() -> None:
    """The line is in the prompt on that day, whole, and says whose it is."""

    async def run() -> None:
        clock = ManualClock(datetime(2026, 6, 1, 12, 0, tzinfo=UTC))
        async with start_familiar(extension, replies=["Happy birthday!"], settings=SETTINGS, clock=clock) as familiar:
            assert await familiar.say("hello", person="Ada") == ["Happy birthday!"]
            block = familiar.prompt.block("birthdays.today")
            assert (block.text, block.cut) == ("Today is the birthday of Ada.", "")

    asyncio.run(run())


def test_on_other_days_it_says_nothing() -> None:
    """A block that says nothing costs nothing."""

    async def run() -> None:
        clock = ManualClock(datetime(2026, 6, 2, 12, 0, tzinfo=UTC))
        async with start_familiar(extension, settings=SETTINGS, clock=clock) as familiar:
            await familiar.say("hello", person="Ada")
            assert not familiar.prompt.has_block("birthdays.today")

    asyncio.run(run())
