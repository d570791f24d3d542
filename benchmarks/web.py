"""The page: what it adds to a turn with none, one and twenty pages open, and how fast it answers.

Whole turns through a familiar on disk, one after the other at a place that shows nobody and at the page's; then the
first load (the chat and every file it asks for), the glass box of a turn of 20,000 tokens, and a list of 10,000 turns,
page by page; the same in a real Chromium where there is one, with the longest task while the list is scrolled.
Run `python -m benchmarks.web`; `--quick` for a short form, `--json` for a script.
"""

from __future__ import annotations

import asyncio
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
from typing import Any

from benchmarks.conversation_script import CHARACTER
from benchmarks.fixtures import load_familiar, scripted_clients, without_warnings, write_character
from benchmarks.table import Row, run_part, spread
from benchmarks.web_browser import measure_browser
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.folders import HomeFolder
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.platforms.terminal.person import PLATFORM
from familiar_connect.platforms.web.access import Doorkeeper, PageAddress
from familiar_connect.platforms.web.app import WebParts, create_app
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.guard import AsgiApp
from familiar_connect.platforms.web.live import ChatEvents
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.place import WebPlace
from familiar_connect.platforms.web.rehearsal_runs import RehearsalRuns

PAGES = (0, 1, 20)
TURNS, QUICK_TURNS = 60, 8
LISTED, QUICK_LISTED = 10_000, 200
LARGE_TOKENS = 20_000
REPLY = "*nods* " + "The kettle is on, and somebody left the **door** open. " * 12
SETTINGS = "budget_tokens = 40000\n[budget]\nrecent_history = 30000\n[limits]\nreplies_per_person_per_minute = 0\n"
MOST_ADDED_MS, MOST_LOAD_MS, MOST_LOAD_KB, MOST_PANEL_MS, MOST_LIST_MS = 2.0, 1_500.0, 500.0, 300.0, 100.0


class UnseenPlace(WebPlace):
    """The page's place, which tells nobody."""

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        yield

    async def send(self, text: str) -> None:
        pass


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Everything, on one familiar."""
    with without_warnings("familiar_connect"):
        return asyncio.run(_measure(quick=quick))


async def _measure(*, quick: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-web-") as folder:
        root = Path(folder) / "wren"
        write_character(root, CHARACTER)
        (root / "character.toml").write_text(SETTINGS, encoding="utf-8")
        familiar = load_familiar(root, scripted_clients(lambda _: REPLY, lambda _: "Nothing."))
        try:
            chats = WebChats(familiar, ChatEvents(familiar.clock))
            found = await _measure_turns(familiar, chats, QUICK_TURNS if quick else TURNS)
            client = PageClient(familiar, chats)
            listed = QUICK_LISTED if quick else LISTED
            found |= await _measure_pages(familiar, client, listed)
            return {**found, "browser": await measure_browser(client.parts, client.port, client.cookie, listed)}
        finally:
            await familiar.aclose()


async def _measure_turns(familiar: Familiar, chats: WebChats, turns: int) -> dict[str, Any]:
    """How long a turn takes at either place, in turns, so that the machine is as busy for both."""
    found: dict[str, Any] = {}
    for pages in PAGES:
        tabs = [asyncio.ensure_future(_read_events(chats.events)) for _ in range(pages)]
        await asyncio.sleep(0)
        took: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(2 * turns):
            is_seen = turn % 2 == 0
            took[is_seen].append(await _take_turn(familiar, chats, is_seen=is_seen))
        for tab in tabs:
            tab.cancel()
        await asyncio.gather(*tabs, return_exceptions=True)
        with_page, without = spread(took[True], 1000), spread(took[False], 1000)
        found[f"pages_{pages}"] = {"with": with_page, "without": without, "added_ms": with_page["p50"] - without["p50"]}
    return found


async def _read_events(events: ChatEvents) -> None:
    async for _ in events.listen(1, lambda: ""):
        pass


async def _take_turn(familiar: Familiar, chats: WebChats, *, is_seen: bool) -> float:
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
    began = time.perf_counter()
    await familiar.intake.receive(message, place)
    await familiar.reply_path.queue.wait_until_channel_idle(1)
    took = time.perf_counter() - began
    await familiar.reply_path.recorder.wait_until_idle()
    chats.events.end_reply(1)
    return took


class PageClient:
    """Asks the page itself, as a browser that was let in does, without a network between."""

    def __init__(self, familiar: Familiar, chats: WebChats) -> None:
        self.port = _free_port()
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
        )
        self._app: AsgiApp = create_app(self.parts)
        self.cookie = (door.cookie_name, door.issue_cookie())

    async def get(self, path: str) -> tuple[bytes, float]:
        """The body, and how long it took."""
        body = bytearray()
        statuses: list[int] = []
        name, _, query = path.partition("?")

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
        began = time.perf_counter()
        await self._app(scope, receive, send)
        assert statuses == [200], (path, statuses, bytes(body[:200]))
        return bytes(body), time.perf_counter() - began


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _measure_pages(familiar: Familiar, client: PageClient, listed: int) -> dict[str, Any]:
    page, took = await client.get("/chats/1")
    size = len(page)
    for path in sorted(set(re.findall(r'"(/static/[^"]+)"', page.decode()))):
        content, more = await client.get(path)
        size, took = size + len(content), took + more
    collector = familiar.reply_path.collector
    newest = collector.recent_traces(familiar_id=familiar.id, limit=1)[0]
    tokens, panel = await _open_large_turn(familiar, client)
    for number in range(listed):
        when = datetime.fromisoformat(newest.timestamp) - timedelta(minutes=number + 1)
        collector.record(replace(newest, trace_id=f"bench-{number:06d}", timestamp=when.isoformat()))
    collector.flush()
    walked: list[float] = []
    path = "/turns"
    while path and len(walked) < 200:
        body, seconds = await client.get(path)
        walked.append(seconds)
        found = re.search(r'href="(/turns\?before=[^"]+)"', body.decode())
        path = found[1] if found else ""
    return {
        "load_ms": took * 1000,
        "load_kb": size / 1000,
        "panel_tokens": tokens,
        "panel": spread(panel, 1000),
        "listed": listed,
        "list": spread(walked, 1000),
    }


async def _open_large_turn(familiar: Familiar, client: PageClient) -> tuple[int, list[float]]:
    """A turn whose prompt holds a long past, opened several times."""
    for number in range(90):
        familiar.history_store.append_turn(
            familiar_id=familiar.id,
            channel_id=1,
            role="user" if number % 2 else "assistant",
            content=f"Line {number}. " + "The lamp of the lighthouse was out again last night. " * 26,
            author=WebChats(familiar, ChatEvents(familiar.clock)).person() if number % 2 else None,
        )
    chats = WebChats(familiar, ChatEvents(familiar.clock))
    await _take_turn(familiar, chats, is_seen=False)
    trace = familiar.reply_path.collector.recent_traces(familiar_id=familiar.id, limit=1)[0]
    panels = [await client.get(f"/turns/{trace.trace_id}/panel") for _ in range(5)]
    shown = re.search(r"<strong>([0-9,]+)</strong>", panels[0][0].decode())
    return int(shown[1].replace(",", "")) if shown else 0, [seconds for _, seconds in panels]


def rows(found: dict[str, Any]) -> list[Row]:
    told = [
        Row(
            name=f"added to a turn, {pages} pages open, p50",
            value=f"{found[f'pages_{pages}']['added_ms']:+.2f} ms ({found[f'pages_{pages}']['without']['p50']:.1f} ms)",
            bar=f"< {MOST_ADDED_MS:.0f} ms",
            ok=found[f"pages_{pages}"]["added_ms"] < MOST_ADDED_MS,
        )
        for pages in PAGES
    ]
    limits = (
        ("first load, every file, made one after the other", found["load_ms"], "ms", MOST_LOAD_MS),
        ("first load, size without compression", found["load_kb"], "KB", MOST_LOAD_KB),
        (f"glass box of {found['panel_tokens']:,} tokens, p50", found["panel"]["p50"], "ms", MOST_PANEL_MS),
        (f"a page of {found['listed']:,} turns, p95", found["list"]["p95"], "ms", MOST_LIST_MS),
    )
    told += [
        Row(name=name, value=f"{value:.0f} {unit}", bar=f"< {most:,.0f} {unit}", ok=value < most)
        for name, value, unit, most in limits
    ]
    large = found["panel_tokens"]
    told.append(
        Row(name="tokens of the large turn", value=f"{large:,}", bar=f"> {LARGE_TOKENS:,}", ok=large > LARGE_TOKENS)
    )
    return told + _browser_rows(found)


def _browser_rows(found: dict[str, Any]) -> list[Row]:
    seen = found["browser"]
    if seen is None:
        return [Row(name="in a browser", value="not measured", bar="a Chromium, and playwright")]
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
            f"in Chromium: longest task, {seen['scrolled_rows']:,} turns scrolled",
            seen["longest_task_ms"],
            "ms",
            MOST_LIST_MS,
        ),
    )
    return [
        Row(name=name, value=f"{value:.0f} {unit}", bar=f"< {most:,.0f} {unit}", ok=value < most)
        for name, value, unit, most in limits
    ]


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="web", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
