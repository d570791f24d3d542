"""The page: what it adds to a turn with none, one and twenty pages open, and how fast it answers.

Whole turns through a familiar on disk, of which some are shown on pages that are open over HTTP in a process of their
own, and some are shown nowhere: mixed, in rounds, and told in processor time too, which a busy machine changes least;
where others keep it busy from the start, times by the clock are told and not judged. Then the first load (the chat and
every file it asks for), the glass box of a turn of 20,000 tokens, and a list of 10,000 turns, page by page; the same in
a real Chromium where there is one, with the longest task while the list is scrolled. How far it has come is told on
standard error; it takes about two minutes on a quiet machine.
Run `python -m benchmarks.web`; `--quick` for a short form, `--json` for a script; 1 where a bar is missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.conversation_script import CHARACTER
from benchmarks.fixtures import load_familiar, scripted_clients, without_warnings, write_character
from benchmarks.table import Row, percentile, run_part, spread
from benchmarks.web_browser import measure_browser, serve
from familiar_connect.chat.types import InboundMessage
from familiar_connect.commands.page_server import open_page_models
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.observe.ledger import open_ledger
from familiar_connect.observe.trace import TurnTrace
from familiar_connect.platforms.terminal.place import PLATFORM
from familiar_connect.platforms.web.access import Doorkeeper
from familiar_connect.platforms.web.app import WebParts, create_app
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.live import SAID_WAITS_S, ChatEvents
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.place import WebPlace
from familiar_connect.platforms.web.rehearsal_runs import RehearsalRuns
from familiar_connect.platforms.web.turn_pages import PANEL_S
from familiar_connect.support.http_server.checks import AsgiApp, PageAddress

PAGES = (0, 1, 20)
ROUNDS, QUICK_ROUNDS = 40, 4
TELL_EVERY = 10
PAGES_WITHIN_S = 120.0
LISTED, QUICK_LISTED = 10_000, 200
LARGE_TOKENS = 20_000
REPLY = "*nods* " + "The kettle is on, and somebody left the **door** open. " * 12
LARGE_SETTINGS = "budget_tokens = 40000\n[budget]\nrecent_history = 30000\n"
NO_LIMITS = "[limits]\nreplies_per_person_per_minute = 0\n"
MOST_ADDED_MS, MOST_LOAD_MS, MOST_LOAD_KB, MOST_PANEL_MS, MOST_LIST_MS = 2.0, 1_500.0, 250.0, 300.0, 100.0


class TimeTaken(NamedTuple):
    """How long something took, and how much work the whole process did meanwhile."""

    wall_s: float
    cpu_s: float


class UnseenPlace(WebPlace):
    """The page's place, which tells nobody."""

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        yield

    async def send(self, text: str) -> None:
        pass


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Everything: turns beside pages, then pages of many and of large turns."""
    with without_warnings("familiar_connect", "uvicorn"):
        return asyncio.run(_measure(quick=quick))


def tell(words: str) -> None:
    """How far it has come, beside what is measured."""
    print(f"  {time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


async def _measure(*, quick: bool) -> dict[str, Any]:
    listed = QUICK_LISTED if quick else LISTED
    is_busy = hasattr(os, "getloadavg") and os.getloadavg()[0] > (os.cpu_count() or 1)
    async with served_familiar("") as (familiar, client):
        found = await _measure_turns(familiar, client, QUICK_ROUNDS if quick else ROUNDS)
    found["was_busy"] = is_busy
    async with served_familiar(LARGE_SETTINGS) as (familiar, client):
        for number in range(2):
            await _take_turn(familiar, client.chats, None, is_seen=bool(number))
        found |= await _measure_pages(familiar, client, listed)
        tell("a real browser")
        return {**found, "browser": await measure_browser(client.port, client.cookie, listed, tell)}


@asynccontextmanager
async def served_familiar(settings: str) -> AsyncIterator[tuple[Familiar, PageClient]]:
    """A familiar on disk with *settings*, its page, and a client of that."""
    with tempfile.TemporaryDirectory(prefix="familiar-web-") as folder:
        root = Path(folder) / "wren"
        write_character(root, CHARACTER)
        (root / "character.toml").write_text(f"{settings}{NO_LIMITS}", encoding="utf-8")
        familiar = load_familiar(root, scripted_clients(lambda _: REPLY, lambda _: "Nothing."))
        try:
            client = PageClient(familiar, WebChats(familiar, ChatEvents(familiar.clock)))
            async with serve(client.parts, client.port):
                yield familiar, client
        finally:
            await familiar.aclose()


async def _measure_turns(familiar: Familiar, client: PageClient, rounds: int) -> dict[str, Any]:
    """What turns take that are shown on so many pages, beside turns that are shown on none, in mixed order.

    Each round has all of them, one after the other, so that the machine is as busy for each; a turn that is shown is
    compared with the one of its round that was not, and the middle of those differences is told.
    """
    order = random.Random(7)
    taken: dict[int, list[tuple[TimeTaken, TimeTaken]]] = {pages: [] for pages in PAGES}
    async with open_pages(client) as pages:
        for number in range(rounds + 1):
            for many in order.sample(PAGES, len(PAGES)):
                await pages.open(many)
                sides = [True, False]
                order.shuffle(sides)
                times = {is_seen: await _take_turn(familiar, client.chats, pages, is_seen=is_seen) for is_seen in sides}
                if number:  # the first round only warms up
                    taken[many].append((times[True], times[False]))
            if number % TELL_EVERY == 0:
                tell(f"turns beside {', '.join(map(str, PAGES))} pages: round {number} of {rounds}")
    return {f"pages_{many}": _compare(pairs) for many, pairs in taken.items()}


def _compare(pairs: Sequence[tuple[TimeTaken, TimeTaken]]) -> dict[str, Any]:
    return {
        "added_ms": percentile([(seen.wall_s - other.wall_s) * 1000 for seen, other in pairs], 0.5),
        "added_cpu_ms": percentile([(seen.cpu_s - other.cpu_s) * 1000 for seen, other in pairs], 0.5),
        "with": spread([seen.wall_s for seen, _ in pairs], 1000),
        "without": spread([other.wall_s for _, other in pairs], 1000),
        "with_cpu": spread([seen.cpu_s for seen, _ in pairs], 1000),
        "without_cpu": spread([other.cpu_s for _, other in pairs], 1000),
    }


class PagesProcess:
    """Pages that are open in a process of their own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.number = 0

    async def open(self, number: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n".encode())
        await self._expect(f"open {number}")
        self.number = number

    async def settle(self) -> None:
        """Wait until each page has everything that came of a reply."""
        if self.number:
            await self._expect("settled")

    async def _expect(self, words: str) -> None:
        assert self._process.stdout is not None
        async with asyncio.timeout(PAGES_WITHIN_S):
            line = (await self._process.stdout.readline()).decode().strip()
        assert line == words, (line, words)


@asynccontextmanager
async def open_pages(client: PageClient) -> AsyncIterator[PagesProcess]:
    words = (sys.executable, "-m", "benchmarks.web_pages", str(client.port), "=".join(client.cookie), client.at, "1")
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=os.environ
    )
    try:
        yield PagesProcess(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _take_turn(familiar: Familiar, chats: WebChats, pages: PagesProcess | None, *, is_seen: bool) -> TimeTaken:
    """One turn until its reply is out and kept, shown on every page or on none."""
    person = chats.person()
    stored = StoredMessages(familiar.history_store, familiar.id, 1, platform=PLATFORM)
    place = (WebPlace if is_seen else UnseenPlace)(1, person, stored, chats.events)
    message = InboundMessage(
        platform=PLATFORM,
        channel_id=1,
        author=person,
        text="What would you need to light the lamp of the lighthouse again?",
        timestamp=datetime.now(UTC),
        is_dm=True,
        is_mention=True,
    )
    began, cpu = time.perf_counter(), time.process_time()
    await familiar.intake.receive(message, place)
    if is_seen:
        chats.events.publish_new(1, wait_s=SAID_WAITS_S)
    await familiar.reply_path.queue.wait_until_channel_idle(1)
    took = TimeTaken(time.perf_counter() - began, time.process_time() - cpu)
    await familiar.reply_path.recorder.wait_until_idle()
    if is_seen:
        chats.events.end_reply(1)
        if pages is not None:
            await pages.settle()
    return took


class PageClient:
    """Asks the page itself, as a browser that was let in does, without a network between."""

    def __init__(self, familiar: Familiar, chats: WebChats) -> None:
        self.port = _free_port()
        self.chats = chats
        door = Doorkeeper(key=b"k" * 32, port=self.port, clock=familiar.clock)
        home = familiar.root.parent.parent
        program = OwnProgram((sys.executable, "-m", "familiar_connect", "--home", str(home)))
        self.parts = WebParts(
            familiar=familiar,
            chats=chats,
            address=PageAddress(host="127.0.0.1", port=self.port),
            door=door,
            program=program,
            rehearsals=RehearsalRuns(program, HomeFolder(home).rehearsals),
            models=open_page_models(home, lambda: [familiar]),
        )
        self.at = f"/f/{familiar.id}"
        self._app: AsgiApp = create_app(self.parts)
        self.cookie = (door.cookie_name, door.issue_cookie())

    async def get(self, path: str) -> tuple[bytes, TimeTaken]:
        """The body, and how long it took."""
        body = bytearray()
        statuses: list[int] = []
        full = path if path.startswith("/static/") else self.at + path
        name, _, query = full.partition("?")

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            body.extend(message.get("body", b""))

        scope = {
            "type": "http",
            "method": "GET",
            "path": name,
            "raw_path": name.encode(),
            "query_string": query.encode(),
            "headers": [(b"host", f"127.0.0.1:{self.port}".encode()), (b"cookie", "=".join(self.cookie).encode())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", self.port),
            "scheme": "http",
            "http_version": "1.1",
            "root_path": "",
        }
        began, cpu = time.perf_counter(), time.process_time()
        await self._app(scope, receive, send)
        took = TimeTaken(time.perf_counter() - began, time.process_time() - cpu)
        assert statuses == [200], (path, statuses, bytes(body[:200]))
        return bytes(body), took


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _measure_pages(familiar: Familiar, client: PageClient, listed: int) -> dict[str, Any]:
    page, first = await client.get("/chats/1")
    size, load_s = len(page), first.wall_s
    for path in sorted(set(re.findall(r'"(/static/[^"]+)"', page.decode()))):
        content, more = await client.get(path)
        size, load_s = size + len(content), load_s + more.wall_s
    collector = familiar.reply_path.collector
    newest = collector.recent_traces(familiar_id=familiar.id, limit=1)[0]
    tell("a large turn")
    tokens, panel = await _open_large_turn(familiar, client)
    tell(f"a list of {listed:,} turns")
    await asyncio.to_thread(_list_turns, familiar, newest, listed)
    walked: list[TimeTaken] = []
    path = "/turns"
    while path:
        body, took = await client.get(path)
        walked.append(took)
        found = re.search(r'href="[^"]*/turns(\?before=[^"]+)"', body.decode())
        path = f"/turns/rows{found[1]}" if found else ""
    return {
        "load_ms": load_s * 1000,
        "load_kb": size / 1000,
        "panel_tokens": tokens,
        "panel": spread([each.wall_s for each in panel], 1000),
        "panel_cpu": spread([each.cpu_s for each in panel], 1000),
        "listed": listed,
        "list": spread([each.wall_s for each in walked], 1000),
        "list_cpu": spread([each.cpu_s for each in walked], 1000),
    }


def _list_turns(familiar: Familiar, newest: TurnTrace, number: int) -> None:
    """So many turns that came before *newest* and are like it."""
    began = datetime.fromisoformat(newest.timestamp)
    values = [
        (f"bench-{each:06d}", when.isoformat(), when.timestamp())
        for each in range(number)
        if (when := began - timedelta(minutes=each + 1))
    ]
    with open_ledger(FamiliarFolder(familiar.root).metrics_db) as db, db:
        columns = "familiar_id, channel_id, guild_id, modality, total_duration_s, tags"
        db.executemany(
            f"INSERT INTO traces (trace_id, timestamp, at, {columns})"
            f" SELECT ?, ?, ?, {columns} FROM traces WHERE trace_id = '{newest.trace_id}'",
            values,
        )
        db.execute(
            "INSERT INTO stages SELECT made.id, place, name, start_s, duration_s, metadata FROM traces AS made, stages"
            " WHERE made.trace_id LIKE 'bench-%' AND stages.trace = (SELECT id FROM traces WHERE trace_id = ?)",
            (newest.trace_id,),
        )


async def _open_large_turn(familiar: Familiar, client: PageClient) -> tuple[int, list[TimeTaken]]:
    """A turn whose prompt holds a long past, opened several times."""
    for number in range(90):
        familiar.history_store.append_turn(
            familiar_id=familiar.id,
            channel_id=1,
            role="user" if number % 2 else "assistant",
            content=f"Line {number}. " + "The lamp of the lighthouse was out again last night. " * 26,
            author=client.chats.person() if number % 2 else None,
        )
    await _take_turn(familiar, client.chats, None, is_seen=False)
    trace = familiar.reply_path.collector.recent_traces(familiar_id=familiar.id, limit=1)[0]
    panels = []
    for _ in range(5):
        await asyncio.sleep(PANEL_S)  # a drawing is shared by pages that ask together
        panels.append(await client.get(f"/turns/{trace.trace_id}/panel"))
    shown = re.search(r"<strong>([0-9,]+)</strong>", panels[0][0].decode())
    return int(shown[1].replace(",", "")) if shown else 0, [took for _, took in panels]


def rows(found: dict[str, Any]) -> list[Row]:
    told = [row for pages in PAGES for row in _turn_rows(pages, found[f"pages_{pages}"])]
    told += _page_rows(found) + _browser_rows(found)
    return [_unjudged(row) if found["was_busy"] and "by the clock" in row.name else row for row in told]


def _unjudged(row: Row) -> Row:
    """A time by the clock beside other work says more of that work."""
    return replace(row, bar=f"{row.bar} on a quiet machine", ok=None)


def _page_rows(found: dict[str, Any]) -> list[Row]:
    limits = (
        ("first load, every file, made one after the other", found["load_ms"], "ms", MOST_LOAD_MS),
        ("first load, size without compression", found["load_kb"], "KB", MOST_LOAD_KB),
        (
            f"glass box of {found['panel_tokens']:,} tokens, processor time, p50",
            found["panel_cpu"]["p50"],
            "ms",
            MOST_PANEL_MS,
        ),
        (
            f"glass box of {found['panel_tokens']:,} tokens, by the clock, p50",
            found["panel"]["p50"],
            "ms",
            MOST_PANEL_MS,
        ),
        (f"a page of {found['listed']:,} turns, processor time, p95", found["list_cpu"]["p95"], "ms", MOST_LIST_MS),
        (f"a page of {found['listed']:,} turns, by the clock, p95", found["list"]["p95"], "ms", MOST_LIST_MS),
    )
    told = [
        Row(name=name, value=f"{value:.0f} {unit}", bar=f"< {most:,.0f} {unit}", ok=value < most)
        for name, value, unit, most in limits
    ]
    large = found["panel_tokens"]
    told.append(
        Row(name="tokens of the large turn", value=f"{large:,}", bar=f"> {LARGE_TOKENS:,}", ok=large > LARGE_TOKENS)
    )
    return told


def _turn_rows(pages: int, found: dict[str, Any]) -> list[Row]:
    kinds = (("processor time", "added_cpu_ms", "without_cpu"), ("by the clock", "added_ms", "without"))
    return [
        Row(
            name=f"added to a turn, {pages} pages open, {kind}, p50",
            value=f"{found[added]:+.2f} ms ({found[without]['p50']:.1f} ms)",
            bar=f"< {MOST_ADDED_MS:.0f} ms",
            ok=found[added] < MOST_ADDED_MS,
        )
        for kind, added, without in kinds
    ]


def _browser_rows(found: dict[str, Any]) -> list[Row]:
    seen = found["browser"]
    if seen is None:
        return [Row(name="in a browser", value="not measured", bar="a Chromium, and playwright")]
    scrolled = Row(
        name="in Chromium: turns that were scrolled",
        value=f"{seen['scrolled_rows']:,}",
        bar=f"{found['listed']:,}",
        ok=seen["scrolled_rows"] >= found["listed"],
    )
    limits = (
        ("in Chromium: first load", seen["load_ms"], "ms", MOST_LOAD_MS),
        ("in Chromium: first load, bytes on the wire", seen["load_kb"], "KB", MOST_LOAD_KB),
        (
            f"in Chromium: glass box of {found['panel_tokens']:,} tokens, key to paint, p50",
            seen["panel"]["p50"],
            "ms",
            MOST_PANEL_MS,
        ),
        (
            f"in Chromium: longest task, {seen['scrolled_rows']:,} turns scrolled, processor time",
            seen["longest_task_cpu_ms"],
            "ms",
            MOST_LIST_MS,
        ),
        (
            f"in Chromium: longest task, {seen['scrolled_rows']:,} turns scrolled, by the clock",
            seen["longest_task_ms"],
            "ms",
            MOST_LIST_MS,
        ),
    )
    return [
        scrolled,
        *(
            Row(name=name, value=f"{value:.0f} {unit}", bar=f"< {most:,.0f} {unit}", ok=value < most)
            for name, value, unit, most in limits
        ),
    ]


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="web", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
