"""The first question behind the other doors: `chat --plain`, the page, voice, and Discord after a restart.

What was told is told in one process, which ends; each question is then put to a process that was just started, in a
chat or a room where nothing of it was said. What counts is the same everywhere: whether the fact stands among what was
recalled in the prompt that the model's endpoint was sent.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from benchmarks.first_question.trial import TRIES, WHO, Endpoint, Fact, recalled, run_program, was_starved
from benchmarks.reliability.harness import history, make_home, until
from benchmarks.reliability.program import running_program
from familiar_connect.extensions.discord.demo.server import DiscordServer
from tests.fakes.page import PageProcess
from tests.fakes.program import run_program as run_forked

COLD = {"PYTHONHASHSEED": "0"}
"""A variable that is read before the program is: so a process is started anew, not forked from a loaded one."""
WITHIN_S = 300.0
BY_RULES = 'decide_with = "rules"\n'

Ask = Callable[[Path, Fact], Awaitable[None]]


async def ask_at_home(door: str, told: Path, facts: Sequence[Fact], endpoint: Endpoint, folder: Path) -> list[Fact]:
    """Those of *facts* that the first question of a new process does not find behind *door*.

    *told* is a home where they were told; each is asked for in a copy of it.
    """
    missed = []
    for fact in facts:
        for _ in range(TRIES):
            home = folder / "asked"
            shutil.rmtree(home, ignore_errors=True)
            shutil.copytree(told, home)
            endpoint.prompts.clear()
            await HOME_DOORS[door](home, fact)
            if (found := is_found(fact, endpoint)) or not was_starved(home):
                break
        if not found:
            missed.append(fact)
    return missed


def is_found(fact: Fact, endpoint: Endpoint) -> bool:
    """Whether the fact was recalled for the last message that was answered."""
    return bool(endpoint.prompts) and fact.told in recalled(endpoint.prompts[-1])


async def ask_in_chat(home: Path, fact: Fact) -> None:
    """In a new conversation of `familiar chat --plain`."""
    said = f"{fact.asked}\n"
    await asyncio.to_thread(run_program, home, "chat", "--new", "--plain", "--as", WHO, said=said)


async def ask_on_page(home: Path, fact: Fact) -> None:
    """In a new chat of the page."""
    await asyncio.to_thread(_ask_on_page, home, fact)


def _ask_on_page(home: Path, fact: Fact) -> None:
    with PageProcess(home, env=COLD) as page:
        page.enter()
        chat = int(page.post("/chats", name="Another evening").headers["location"].rpartition("/")[2])
        with page.events(chat) as events:
            page.say(fact.asked, chat)
            events.until("done")


async def ask_by_voice(home: Path, fact: Fact) -> None:
    """As a recording that `familiar voice` listens to; it is spoken by the voice that comes along.

    To speak it is no question yet, so that process need not be a new one.
    """
    question = str(home / "question.wav")
    await asyncio.to_thread(run_forked, home, "voice", "--say", fact.asked, "--out", question)
    await asyncio.to_thread(run_program, home, "voice", "--wav", question, "--as", WHO)


HOME_DOORS: dict[str, Ask] = {"chat --plain": ask_in_chat, "page": ask_on_page, "voice": ask_by_voice}


async def ask_on_discord(facts: Sequence[Fact], lines: Sequence[str], endpoint: Endpoint, home: Path) -> list[Fact]:
    """Those of *facts* that a restarted `familiar run` does not find: told in one room, asked for in another."""
    missed = []
    async with DiscordServer() as server:
        guild = server.world.guild("Harbour")
        person = server.world.person("ada")
        room, other = server.world.room(guild, "lamps"), server.world.room(guild, "wicks")
        root = make_home(home, [room, other], settings=BY_RULES)
        slot = {"model": "test-model", "base_url": endpoint.base_url}
        with (root / "character.toml").open("a", encoding="utf-8") as settings:
            settings.write("\n[llm.main_prose]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in slot.items()))

        def is_heard() -> bool:
            return sum(row.role == "user" for row in history(root)) >= len(lines)

        async with running_program(home, server, is_forked=True) as program:  # only who asks must be new
            for line in lines:
                await server.post(room, person, line)
            await _demand(until(is_heard, within_s=WITHIN_S), "what was told is stored")
            await program.leave()
        for fact in facts:
            for _ in range(TRIES):
                endpoint.prompts.clear()
                async with running_program(home, server) as program:
                    await server.post(other, person, f"<@{server.world.bot.id}> {fact.asked}")
                    await _demand(until(lambda: endpoint.prompts, within_s=WITHIN_S), "the model is asked")
                    await program.leave()
                if (found := is_found(fact, endpoint)) or not was_starved(home):
                    break
            if not found:
                missed.append(fact)
    return missed


async def _demand(condition: Awaitable[bool], what: str) -> None:
    if not await condition:
        raise RuntimeError(f"after {WITHIN_S:.0f} s it is not so that {what}")
