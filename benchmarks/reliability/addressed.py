"""Addressed: mentions, replies and direct messages under load, faults and chatter: each answered once or told why not.

The side model would rather let everything pass, one call of the replying model in eight fails in one of four ways, one
request to Discord in five goes wrong, and others talk all the time.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.reliability.child import Plan
from benchmarks.reliability.harness import (
    TrialServer,
    answer_verdict,
    find_misheard,
    is_all_stored,
    make_home,
    make_trial_server,
    running_process,
    until,
    wait_until_answered,
)
from benchmarks.reliability.proxy import RandomFaults
from benchmarks.reliability.rows import asked_row, heard_row
from benchmarks.reliability.traffic import TrafficMessage
from benchmarks.table import Row
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import Room

ROOMS, PEOPLE = 8, 20
ASKED, PER_SECOND = 1_000, 20.0
CHATTER = 2
"""Messages that others say for each that is said to the familiar."""
FAILS_EVERY = 8
ANSWER_WITHIN_S, HANGS_S = 3.0, 5.0
SETTLE_S = 180.0
OPEN_TO_ALL = '[discord]\ndms = "everyone"'


async def measure(*, asked: int = ASKED, per_second: float = PER_SECOND, seed: int = 13) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-addressed-") as folder:
        async with DiscordServer() as server:
            stage = make_trial_server(server, rooms=ROOMS, people=PEOPLE)
            root = make_home(Path(folder), stage.rooms)
            character = root / "character.toml"
            text = character.read_text(encoding="utf-8").replace("[discord]", OPEN_TO_ALL)
            character.write_text(text, encoding="utf-8")
            OwnerConsent(Path(folder), root.name).allow_setting("discord.dms", "everyone")
            plan = Plan(
                root=str(root),
                api_url=server.api_url,
                token=server.token,
                answer_within_s=ANSWER_WITHIN_S,
                hurry=True,
                pieces=2,
                fails_every=FAILS_EVERY,
                never_joins_in=True,
            )
            async with running_process(server, "child", plan) as child:
                chance = server.faults.on_unforeseen = RandomFaults(seed, hangs_s=HANGS_S)
                kinds = await _speak(stage, asked, per_second, random.Random(seed))
                began = time.perf_counter()
                await until(lambda: is_all_stored(root, stage), within_s=SETTLE_S)
                exchanges = await wait_until_answered(stage, child, within_s=SETTLE_S)
                server.faults.on_unforeseen = None
                late_s = time.perf_counter() - began
                await child.leave()
            everywhere = [*stage.rooms, *server.world.direct.values()]
            failed = [each for each in exchanges if each["error"] and not each["sent"]]
            return {
                "kinds": kinds,
                "faults": chance.met,
                "heard": find_misheard(root, stage),
                "answers": answer_verdict(stage, exchanges),
                "failed": len(failed),
                "told": sum(len(_notices(server, room)) for room in everywhere),
                "settled_after_s": late_s,
            }


async def _speak(stage: TrialServer, asked: int, per_second: float, rng: random.Random) -> dict[str, int]:
    """Somebody speaks to the familiar, others chatter; how often in which way."""
    kinds = {"mention": 0, "reply": 0, "direct": 0}
    began = time.perf_counter()
    number = 0
    for each in range(asked):
        await asyncio.sleep(max(0.0, each / per_second - (time.perf_counter() - began)))
        for _ in range(CHATTER):
            await stage.say(_message(number, rng, is_asked=False))
            number += 1
        kinds[await _ask(stage, number, rng)] += 1
        number += 1
    return kinds


async def _ask(stage: TrialServer, number: int, rng: random.Random) -> str:
    said = _message(number, rng, is_asked=True)
    server, room, person = stage.server, stage.rooms[said.room], stage.people[said.person]
    ours = [each for each in room.messages.values() if each["author"]["id"] == str(server.world.bot.id)]
    kind = rng.choice(("mention", "reply", "direct") if ours else ("mention", "direct"))
    if kind == "direct":
        message = await server.post(server.world.direct_room(person), person, said.text)
    elif kind == "reply":
        message = await server.reply(room, person, said.text, to=ours[-1])
    else:
        message = await server.post(room, person, f"{stage.mention} {said.text}")
    stage.said[message["id"]] = said
    return kind


def _message(number: int, rng: random.Random, *, is_asked: bool) -> TrafficMessage:
    text = f"{rng.choice(('the tide', 'bread', 'fog again', 'a letter'))} [m{number:06d}]"
    return TrafficMessage(
        number=number, at_s=0.0, room=rng.randrange(ROOMS), person=rng.randrange(PEOPLE), text=text, is_asked=is_asked
    )


def _notices(server: DiscordServer, room: Room) -> list[str]:
    """Reasons that people in *room* were told."""
    ours = str(server.world.bot.id)
    posted = [each for each in room.messages.values() if each["author"]["id"] == ours]
    return [embed["description"] for each in posted for embed in each["embeds"] if "No reply" in embed["description"]]


def rows(found: dict[str, Any]) -> list[Row]:
    answers, kinds = found["answers"], found["kinds"]
    ignored = answers["neither"] + answers["answered_twice"]
    said = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return [
        heard_row(f"{said}, {sum(found['faults'].values())} faulty answers: lost, twice, out of order", found["heard"]),
        asked_row(answers, bar="each answered once or told why not", ok=not ignored),
        Row(
            name="replies that failed against reasons told",
            value=f"{found['failed']} against {found['told']}",
            bar="the same or more",
            ok=found["told"] >= found["failed"],
        ),
        Row(name="everything settled after", value=f"{found['settled_after_s']:.1f} s"),
    ]
