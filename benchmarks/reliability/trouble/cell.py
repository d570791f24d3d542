"""One door in one trouble: a question before, one meanwhile, one after, and what became of each."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.reliability.door_kills.campaign import READY_S, Life, Runner, last_piece
from benchmarks.reliability.door_kills.doors import Door
from benchmarks.reliability.trouble.means import PROC, Trouble

ANSWER_S = 90.0
TROUBLE_ANSWER_S = 8.0
"""How long whoever asks in the middle of a trouble is watched for a word."""
STAY_S = 2.0
"""How long the program is left alone with the trouble."""
CPU_S = 0.7
"""Seconds of processor that it may take in that time: a loop without a pause takes all of them."""
BEFORE, MEANWHILE, AFTER, AGAIN = range(4)
"""The questions' numbers; the last is asked after a restart, where one was needed."""
_ANSWER = re.compile(r"I heard \[m\d+\], part \d|^Ember speaks through")
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\)|^\s+\+ Exception Group Traceback", re.MULTILINE)


@dataclass
class Cell:
    """The talk and its verdict."""

    door: Door
    trouble: Trouble
    runner: Runner
    facts: dict[str, Any] = field(default_factory=dict)
    life: Life | None = None
    shown_last: str = ""

    async def run(self) -> dict[str, Any]:
        self.facts |= {"door": self.door.name, "trouble": self.trouble.name, "restarts": 0}
        try:
            await (self._ask_each_alone() if self.door.ends_itself else self._talk())
        finally:
            await self._leave()
        self._judge()
        return self.facts

    async def _begin(self, number: int, **more: Any) -> Life:
        asked = self.door.begin(number)
        self.life = await self.runner.begin({**asked, **self.trouble.request(), "untouched": True, **more})
        return self.life

    async def _leave(self) -> None:
        if self.life is not None:
            await (self.life.end if self.life.is_over else self.life.leave(ends_itself=self.door.ends_itself))
        self.life = None

    async def _talk(self) -> None:
        life = await self._begin(BEFORE)
        await life.wait(self.door.is_ready, READY_S)
        self.door.listen()
        self.facts["before"] = await self._ask(BEFORE, ANSWER_S)
        told_before = self._owner()
        self.trouble.begin(life.pid)
        self.facts["meanwhile"] = await self._ask(MEANWHILE, TROUBLE_ANSWER_S, words_do=True)
        began = _cpu_seconds(life.pid)
        await asyncio.sleep(STAY_S)
        self.facts["cpu_s"] = round(_cpu_seconds(life.pid) - began, 2) if not life.is_over else 0.0
        self.facts["owner"] = _news(self._owner(), told_before)
        if last_piece(MEANWHILE) in "\n".join((await self.door.look()).said):
            self.facts["meanwhile"] = "answered"
        if not (life.is_over and self.trouble.limits()):  # limits go with who had them
            self.trouble.end(life.pid)
        self.facts["after"] = "the program ended" if life.is_over else await self._ask(AFTER, ANSWER_S)
        self.shown_last = (await self.door.shown())[-4000:]
        await life.wait(self._is_settled, TROUBLE_ANSWER_S)
        if self.facts["after"] != "answered" or not await self._is_settled():
            await self._restart()

    async def _restart(self) -> None:
        await self._leave()
        self.facts["restarts"] = 1
        life = await self._begin(AGAIN)
        await life.wait(self.door.is_ready, READY_S)
        self.door.listen()
        self.facts["again"] = await self._ask(AGAIN, ANSWER_S)
        await life.wait(self._is_settled, TROUBLE_ANSWER_S)

    async def _ask_each_alone(self) -> None:
        """Each question a process of its own; limits are its from the beginning."""
        limits = self.trouble.limits()
        self.facts["before"] = await self._live(BEFORE)
        told_before = self._owner()
        if not limits:
            self.trouble.begin(0)
        self.facts["meanwhile"] = await self._live(MEANWHILE, limits=limits)
        self.facts["owner"] = _news(self._owner(), told_before)
        if not limits:
            self.trouble.end(0)
        self.facts["after"] = await self._live(AFTER)

    async def _live(self, number: int, **more: Any) -> str:
        before = await self.door.shown()
        life = await self._begin(number, **more)
        await life.wait(_never, ANSWER_S)
        if not life.is_over:
            self.facts["cpu_s"] = _cpu_seconds(life.pid)
        await self._leave()
        return await self._outcome(number, before)

    async def _ask(self, number: int, within_s: float, *, words_do: bool = False) -> str:
        """Ask and look until there is an answer, or a word where *words_do*."""
        assert self.life is not None
        before = await self.door.shown()
        asking = asyncio.create_task(self.door.ask(number), name="asking")
        enough = ("answered", "told") if words_do else ("answered",)
        await self.life.wait(partial(self._has_outcome, number, before, enough), within_s)
        if not asking.done():
            asking.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await asking
        return await self._outcome(number, before)

    async def _has_outcome(self, number: int, before: str, enough: tuple[str, ...]) -> bool:
        return await self._outcome(number, before) in enough

    async def _outcome(self, number: int, before: str) -> str:
        seen = await self.door.look()
        if any(last_piece(number) in text for text in seen.said):
            return "answered"
        return "told" if number in seen.told or _news(await self.door.shown(), before) else "silent"

    async def _is_settled(self) -> bool:
        """Whether the question of the trouble needs nothing more: answered, told, or never taken."""
        if self.facts["meanwhile"] == "silent":
            seen = await self.door.look()
            if any(last_piece(MEANWHILE) in text for text in seen.said):
                self.facts["meanwhile"] = "answered late"
            elif MEANWHILE in seen.told:
                self.facts["meanwhile"] = "told late"
        return self.facts["meanwhile"] != "silent" or (not self.door.hears_later and not self._heard(MEANWHILE))

    def _owner(self) -> str:
        """All that the program said on its streams and in its log."""
        found = (self.door.folder / name for name in ("output", "errors"))
        streams = "".join(each.read_text(encoding="utf-8", errors="replace") for each in found if each.exists())
        return f"{streams}\n{self._logs()}"

    def _heard(self, number: int) -> bool:
        return self.door.is_heard(number)

    def _judge(self) -> None:
        facts, trouble = self.facts, self.trouble
        faults = []
        if facts["before"] != "answered":
            faults.append(f"before it: {facts['before']}")
        good = "answered" if not trouble.is_told else ("answered", "told", "answered late", "told late")
        was_taken = self._heard(MEANWHILE) or self.door.hears_later
        if facts["meanwhile"] not in good and (was_taken or facts["meanwhile"] != "silent"):
            faults.append(f"meanwhile: {facts['meanwhile']}, though taken")
        elif facts["meanwhile"] == "silent" and not self.door.hangs_up:
            faults.append("meanwhile: silent")
        if facts["meanwhile"].startswith("answered") and not self._heard(MEANWHILE):
            faults.append("meanwhile: answered and not kept")
        if "answered" not in (facts["after"], facts.get("again")):
            faults.append(f"after it: {facts['after']}")
        elif facts["after"] != "answered" and trouble.name != "short memory":
            faults.append(f"after it: {facts['after']}, and only a restart helped")
        about_it = [line for line in facts["owner"] if re.search(trouble.named_as, line, re.IGNORECASE)]
        if trouble.is_told and not facts["owner"] and facts["meanwhile"] != "answered":
            faults.append("the owner was not told")
        asked = [number for number, name in ((BEFORE, "before"), (AFTER, "after")) if facts[name] == "answered"]
        lost = [number for number in asked if not self._heard(number)]
        if lost:
            faults.append(f"lost: {lost}")
        kept = self.door.answers_kept()
        faults += [f"the answer to {number} was not kept" for number in asked if last_piece(number) not in kept]
        if self.broken():
            faults.append(f"the history is broken: {self.broken()}")
        if _TRACEBACK.search(self._owner()):
            faults.append("a traceback")
        if facts.get("cpu_s", 0.0) > CPU_S:
            faults.append(f"{facts['cpu_s']} s of processor in {STAY_S} s")
        facts["faults"] = faults
        facts["said"] = next(iter(about_it or facts["owner"]), "")[:300]
        facts["streams"] = self._owner()[-6000:]
        facts["asker"] = self.shown_last

    def _logs(self) -> str:
        found = self.door.home.rglob("*.log")
        return "".join(each.read_text(encoding="utf-8", errors="replace") for each in found)

    def broken(self) -> str:
        with closing(sqlite3.connect(f"file:{self.door.root / 'history.db'}?mode=ro", uri=True)) as database:
            found = "; ".join(row[0] for row in database.execute("PRAGMA integrity_check"))
        return "" if found == "ok" else found


async def _never() -> bool:
    return False


def _news(now: str, before: str) -> list[str]:
    """Sentences that came since: neither an answer nor the line with which the program begins."""
    added = Counter(now.splitlines()) - Counter(before.splitlines())
    return [line for line in added if len(line.split()) > 3 and not _ANSWER.search(line)]


def _cpu_seconds(pid: int) -> float:
    try:
        fields = (PROC / str(pid) / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
