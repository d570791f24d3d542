"""A chat of 10,000 lines in a real Chromium, beside one of 40: first paint, and the longest task of the page.

Both chats are of one familiar, served in one run. First paint is told as the browser tells it, in turns, and the middle
of each compared. Then the long chat is scrolled up to its first line, written in, and a long reply streams into it,
while the browser notes every task of the page's main thread: by the clock, and in processor time, which a busy machine
changes least. How far it has come is told on standard error.
Run `python -m benchmarks.web_chat`; `--quick` for a short form, `--json` for a script; 1 where a bar is missed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from benchmarks.fixtures import without_warnings
from benchmarks.table import Row, percentile, run_part
from benchmarks.web import served_familiar, tell
from benchmarks.web_browser import AT, WAIT_MS, WATCH, find_driver, longest_task_cpu_ms
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.platforms.web.chats import WebChats

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

LINES, QUICK_LINES, FEW_LINES = 10_000, 600, 40
LOADS, QUICK_LOADS = 11, 3
MOST_TASK_MS, MOST_RATIO = 100.0, 1.2
SCROLL_MS = 300_000
"""It is scrolled no longer than this, however slow the machine; how far it came is told."""
PIECE_S = 0.02
STREAMED = "The lamp of the *lighthouse* was out again, and `nobody` knew **why**. " * 60
LINE = (
    "Line {number}. The lamp of the *lighthouse* was out again last night, and we went up to look.",
    'She said: "It is only the wick." Line {number}.\n\n- oil\n- matches\n- a cloth',
    "Line {number}:\n\n```python\nfor step in range({number}):\n    climb(step)  # mind the third\n```",
    "So $h = {number} \\cdot 0.2$ metres, if every step is alike.",
)
FIRST_PAINT = """() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null"""
SCROLL_UP = """(most) => new Promise((done) => {
    const log = document.querySelector(".log");
    const began = performance.now();
    let largest = 0, lowest = Infinity;
    const step = () => {
        const lines = document.querySelectorAll(".log [data-id]");
        largest = Math.max(largest, lines.length);
        lowest = Math.min(lowest, Number(lines[0].dataset.id));
        const isOver = !log.querySelector("[data-earlier]") && log.scrollTop < 10;
        if (isOver || performance.now() - began > most) { done({largest, lowest}); return; }
        log.scrollTop -= 500;
        requestAnimationFrame(step);
    };
    step();
})"""


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Everything; only that nothing was measured where there is no browser."""
    with without_warnings("familiar_connect", "uvicorn"):
        return asyncio.run(_measure(quick=quick))


async def _measure(*, quick: bool) -> dict[str, Any]:
    chromium = find_driver()
    if chromium is None:
        return {"browser": False}
    from playwright.async_api import async_playwright

    lines, loads = (QUICK_LINES, QUICK_LOADS) if quick else (LINES, LOADS)
    is_busy = hasattr(os, "getloadavg") and os.getloadavg()[0] > (os.cpu_count() or 1)
    async with served_familiar("") as (familiar, client):
        tell(f"a chat of {lines:,} lines, one of {FEW_LINES}")
        few = await asyncio.to_thread(_fill, familiar, client.chats, lines)
        async with async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            try:
                context = await browser.new_context(viewport={"width": 1280, "height": 800})
                name, value = client.cookie
                await context.add_cookies([{"name": name, "value": value, "url": f"http://127.0.0.1:{client.port}"}])
                page = await context.new_page()
                page.set_default_timeout(WAIT_MS)
                chats = [f"http://127.0.0.1:{client.port}{AT}/chats/{each}" for each in (CHANNEL_ID, few)]
                found = await _paints(page, chats, loads)
                found |= await _tasks(browser, page, client.chats)
            finally:
                await browser.close()
    return {"browser": True, "was_busy": is_busy, "lines": lines, **found}


def _fill(familiar: Familiar, chats: WebChats, lines: int) -> int:
    """Lines of every kind; the id of the chat with few."""
    few = chats.start("few").channel_id
    began = familiar.clock.now() - timedelta(days=30)
    for channel_id, count in ((CHANNEL_ID, lines), (few, FEW_LINES)):
        for number in range(count):
            familiar.history_store.append_turn(
                familiar_id=familiar.id,
                channel_id=channel_id,
                role="user" if number % 2 else "assistant",
                content=LINE[number % len(LINE)].format(number=number),
                author=chats.person() if number % 2 else None,
                timestamp=began + timedelta(seconds=number),
            )
    return few


async def _paints(page: Page, chats: Sequence[str], loads: int) -> dict[str, Any]:
    """Milliseconds to the first paint of each chat, in turns; the first time is not counted."""
    taken: list[list[float]] = [[], []]
    for number in range(loads + 1):
        for at, address in enumerate(chats):
            await page.goto(address)
            await page.locator("[data-ready]").wait_for()
            paint = await page.evaluate(FIRST_PAINT)
            if number and paint is not None:
                taken[at].append(paint)
    tell("first paints")
    return {"paint_ms": percentile(taken[0], 0.5), "few_paint_ms": percentile(taken[1], 0.5)}


async def _tasks(browser: Browser, page: Page, chats: WebChats) -> dict[str, Any]:
    """The longest task while the long chat is scrolled, written in, and answered in."""
    await page.goto(f"{page.url.rpartition('/')[0]}/{CHANNEL_ID}")
    await page.locator("[data-ready]").wait_for()
    found: dict[str, Any] = {}

    async def scroll() -> None:
        found["scrolled"] = await page.evaluate(SCROLL_UP, SCROLL_MS)

    async def write() -> None:
        await page.locator("#words").press_sequentially("We should take more oil up there next time. " * 3)

    async def stream() -> None:
        chats.events.begin_reply(CHANNEL_ID)
        for at in range(0, len(STREAMED), 20):
            chats.events.add_piece(CHANNEL_ID, STREAMED[at : at + 20])
            await asyncio.sleep(PIECE_S)
        chats.events.end_reply(CHANNEL_ID)
        await page.locator(".chat:not(.busy)").wait_for()

    todo: dict[str, Callable[[], Awaitable[None]]] = {"scrolling": scroll, "typing": write, "streaming": stream}
    for name, doing in todo.items():
        found[name] = await _watch(browser, page, doing)
        tell(f"{name}: {found[name]}")
    return found


async def _watch(browser: Browser, page: Page, doing: Callable[[], Awaitable[None]]) -> dict[str, float]:
    await page.evaluate(WATCH)
    await browser.start_tracing(page=page, categories=["toplevel"])
    try:
        await doing()
    finally:
        trace = await browser.stop_tracing()
    tasks: list[float] = await page.evaluate("window.longTasks")
    return {"clock_ms": max(tasks, default=0.0), "cpu_ms": longest_task_cpu_ms(json.loads(trace))}


def rows(found: dict[str, Any]) -> list[Row]:
    if not found["browser"]:
        return [Row(name="in a browser", value="not measured", bar="a Chromium, and playwright")]
    ratio = found["paint_ms"] / found["few_paint_ms"]
    told = [
        Row(
            name=f"first paint, {found['lines']:,} lines against {FEW_LINES}, p50",
            value=f"{ratio:.2f} ({found['paint_ms']:.0f} ms, {found['few_paint_ms']:.0f} ms)",
            bar=f"≤ {MOST_RATIO}",
            ok=ratio <= MOST_RATIO,
        ),
        Row(
            name="scrolled up to line, with so many lines in the page at most",
            value=f"{found['scrolled']['lowest']}, {found['scrolled']['largest']:,}",
            bar="1",
            ok=found["scrolled"]["lowest"] == 1,
        ),
    ]
    for name in ("scrolling", "typing", "streaming"):
        for kind, words in (("cpu_ms", "processor time"), ("clock_ms", "by the clock")):
            took = found[name][kind]
            row = Row(
                name=f"longest task while {name}, {words}",
                value=f"{took:.0f} ms",
                bar=f"< {MOST_TASK_MS:.0f} ms",
                ok=took < MOST_TASK_MS,
            )
            is_unjudged = kind == "clock_ms" and found["was_busy"]
            told.append(replace(row, bar=f"{row.bar} on a quiet machine", ok=None) if is_unjudged else row)
    return told


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="web chat", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
