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


async def test_no_side_call_goes_before_a_person_and_one_under_way_makes_room(tmp_path: Path) -> None:
    """Memory that is due waits behind everybody who asked, later too; one that is being written ends for a mention."""
    opened, ended = asyncio.Event(), asyncio.Event()
    hello = answer_as_asked("Hello.")
    script = [hello, answer_after(opened, hello), answer_after(opened, hello), hello, answer_after(ended, hello), hello]
    async with ModelServer(script) as server:

        def settings(config: CharacterConfig) -> CharacterConfig:
            slots = {name: replace(each, model=name, base_url=server.base_url) for name, each in config.llm.items()}
            return replace(config, llm=slots | {"main_prose": replace(slots["main_prose"], at_once=2)})

        async with familiar_on_discord(tmp_path, settings=settings, arrive=False) as den:
            clients = create_llm_clients(None, den.familiar.config, trust=TrustedOrigins(tmp_path))
            for slot in ("main_prose", "memory_writer"):
                den.familiar.llm_clients[slot] = clients[slot]
            rooms = [den.server.world.room(den.guild, f"room{number}") for number in range(4)]
            for room in rooms:
                den.subscribe(room)
            await den.connect()
            write_up = den.familiar.memory_writer_scheduler.flush
            async with asyncio.TaskGroup() as group:
                await den.mention("my dog is called Biscuit", room=rooms[0])
                await den.server.until_replied(rooms[0])
                for room in rooms[1:3]:
                    await den.mention("hello", room=room)
                await until(lambda: server.running == 2)
                group.create_task(write_up())
                await until(lambda: request_semaphore().waiting == 1)
                await den.mention("and I?", room=rooms[3])
                await until(lambda: request_semaphore().waiting == 2)
                opened.set()
                await den.server.until_replied(rooms[3])
                await until(lambda: len(server.requests) == 5)
                await den.mention("quick!", room=rooms[0])
                await den.server.until_replied(rooms[0], 2)
                ended.set()
                await until(lambda: len(server.requests) >= 7)
        asked = [request.payload["model"] for request in server.requests[:7]]

    assert asked == ["main_prose"] * 4 + ["memory_writer", "main_prose", "memory_writer"]
    assert server.left.is_set()
