"""How many replies a server of models is asked for at a time, with the real library and over HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from familiar_connect.config import CharacterConfig
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.llm.request_limit import request_semaphore
from familiar_connect.llm.slots import create_llm_clients
from tests.fakes.familiar_on_discord import familiar_on_discord
from tests.fakes.model_server import ModelServer, answer_after, answer_as_asked
from tests.fakes.waiting import until


async def test_channels_are_answered_side_by_side_up_to_the_setting(tmp_path: Path) -> None:
    """Of five channels that ask at once two are at the server with `at_once = 2`; each gets its answer in the end."""
    opened = asyncio.Event()
    async with ModelServer([answer_after(opened, answer_as_asked("Hello."))]) as server:

        def settings(config: CharacterConfig) -> CharacterConfig:
            slots = {name: replace(each, model="m", base_url=server.base_url) for name, each in config.llm.items()}
            return replace(config, llm=slots | {"main_prose": replace(slots["main_prose"], at_once=2)})

        async with familiar_on_discord(tmp_path, settings=settings, arrive=False) as den:
            clients = create_llm_clients(None, den.familiar.config, trust=TrustedOrigins(tmp_path))
            den.familiar.llm_clients["main_prose"] = clients["main_prose"]
            rooms = [den.server.world.room(den.guild, f"room{number}") for number in range(5)]
            for room in rooms:
                den.subscribe(room)
            await den.connect()
            for room in rooms:
                await den.mention("hello", room=room)
            await until(lambda: server.running == 2 and request_semaphore().waiting == 3)
            asked = len(server.requests)
            opened.set()
            said = [await den.server.until_replied(room) for room in rooms]

    assert asked == 2
    assert server.most_running == 2
    assert said == [["Hello."]] * 5
