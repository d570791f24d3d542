"""The tests of this example: run them with `pytest`."""

from __future__ import annotations

import asyncio

from familiar_parrot import extension

from familiar_connect.api.testing import start_familiar


def test_the_parrot_says_again_what_it_was_told() -> None:
    """Loud, where the settings ask for the loud one."""

    async def run() -> None:
        settings = '[llm.main_prose]\nmodel = "extension:parrot/loud"\n'
        async with start_familiar(extension, settings=settings) as familiar:
            assert await familiar.say("polly wants a cracker") == ["POLLY WANTS A CRACKER"]

    asyncio.run(run())
