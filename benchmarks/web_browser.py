"""The page in a real Chromium: first load, the glass box of a large turn, and a list of turns that is scrolled."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from benchmarks.table import spread
from familiar_connect.platforms.web.app import WebParts
from familiar_connect.platforms.web.server import WebPlatform
from familiar_connect.platforms.web.turn_pages import PANEL_S
from familiar_connect.support.http_server.server import listen_on
from tools.browser import find_browser

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

AT = "/f/wren"
"""Where the pages of the measured familiar begin."""
OPENED = 7
"""How often the glass box is opened; the first time is not counted."""
WAIT_MS = 60_000
LONGEST_S = 180.0
SCROLL_MS = 120_000
"""The list is scrolled no longer than this, however slow the machine; how far it came is told."""
LOAD = """() => {
    const [visit] = performance.getEntriesByType("navigation");
    const files = performance.getEntriesByType("resource").filter((each) => each.name.includes("/static/"));
    const sizes = [visit, ...files].map((each) => each.transferSize);
    return {ms: visit.loadEventEnd, bytes: sizes.reduce((sum, size) => sum + size, 0)};
}"""
OPEN_TURN = """(key) => new Promise((done) => {
    const body = document.querySelector("#glass .glass-body");
    const before = body.querySelector(".panel")?.dataset.turn;
    const began = performance.now();
    const seen = new MutationObserver(() => {
        const panel = body.querySelector(".panel");
        if (!panel?.querySelector(".block") || panel.dataset.turn === before) return;
        seen.disconnect();
        requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
    });
    seen.observe(body, {childList: true});
    document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
})"""
WATCH = """() => {
    window.longTasks = [];
    new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((each) => each.duration)))
        .observe({type: "longtask"});
}"""
SCROLL = """([chunks, most]) => new Promise((done) => {
    const main = document.querySelector("main");
    const list = document.querySelector(".turn-list");
    const began = performance.now();
    const step = () => {
        const there = list.querySelectorAll(".chunk").length;
        const isOver = there >= chunks || !list.querySelector(".earlier") || performance.now() - began > most;
        if (isOver) { done(list.querySelectorAll("tbody tr").length); return; }
        main.scrollTop += 700;
        requestAnimationFrame(step);
    };
    step();
})"""


def find_driver() -> str | None:
    """The Chromium that can be driven here; None: there is none, or nothing to drive it with."""
    return find_browser() if find_spec("playwright") is not None else None


async def measure_browser(
    port: int, cookie: tuple[str, str], listed: int, tell: Callable[[str], None]
) -> dict[str, Any] | None:
    """What a browser takes on the page that is served at *port*; None where there is none."""
    chromium = find_driver()
    if chromium is None:
        return None
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            loads = [await _load(await _enter(await browser.new_context(), port, cookie), port) for _ in range(3)]
            context = await _enter(await browser.new_context(viewport={"width": 1600, "height": 1000}), port, cookie)
            page = await context.new_page()
            page.set_default_timeout(WAIT_MS)
            tell("the glass box in it")
            panel = await _open_panels(page, port)
            tell(f"{listed:,} turns scrolled in it")
            scrolled = await _scroll(browser, page, port, listed)
        finally:
            await browser.close()
    best = min(loads, key=lambda each: each["ms"])
    return {"load_ms": best["ms"], "load_kb": best["bytes"] / 1000, "panel": spread(panel), **scrolled}


@asynccontextmanager
async def serve(parts: WebParts, port: int) -> AsyncIterator[None]:
    """The page at *port*, as long as this is open."""
    with listen_on("127.0.0.1", port) as listening:
        serving = asyncio.ensure_future(WebPlatform(parts, listening).run())
        try:
            yield
        finally:
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving


async def _enter(context: BrowserContext, port: int, cookie: tuple[str, str]) -> BrowserContext:
    name, value = cookie
    await context.add_cookies([{"name": name, "value": value, "url": f"http://127.0.0.1:{port}"}])
    return context


async def _load(context: BrowserContext, port: int) -> dict[str, float]:
    page = await context.new_page()
    page.set_default_timeout(WAIT_MS)
    await page.goto(f"http://127.0.0.1:{port}{AT}/chats/1")
    await page.locator("[data-ready]").wait_for()
    found: dict[str, float] = await page.evaluate(LOAD)
    await context.close()
    return found


async def _open_panels(page: Page, port: int) -> list[float]:
    """Milliseconds from the key to the painted blocks; the large turn is the latest of its chat."""
    await page.goto(f"http://127.0.0.1:{port}{AT}/chats/1")
    await page.locator("#glass .block").first.wait_for()
    await page.evaluate("document.activeElement.blur()")
    took: list[float] = []
    for _ in range(OPENED):
        await _run(page, OPEN_TURN, "[")
        await asyncio.sleep(PANEL_S)  # a drawing is shared by pages that ask together
        took.append(await _run(page, OPEN_TURN, "]"))
    return took[1:]


async def _run(page: Page, script: str, given: object) -> Any:
    """What *script* comes to; one that does not end is an error."""
    async with asyncio.timeout(LONGEST_S):
        return await page.evaluate(script, given)


async def _scroll(browser: Browser, page: Page, port: int, listed: int) -> dict[str, Any]:
    """Scroll until every turn is there or the time is up: the longest task by the clock, and in processor time."""
    await page.goto(f"http://127.0.0.1:{port}{AT}/turns")
    await page.locator(".turn-list .chunk").first.wait_for()
    await page.wait_for_load_state("networkidle")
    await page.evaluate(WATCH)
    await browser.start_tracing(page=page, categories=["toplevel"])
    try:
        rows = await _run(page, SCROLL, [listed // 50, SCROLL_MS])
    finally:
        trace = await browser.stop_tracing()
    tasks: list[float] = await page.evaluate("window.longTasks")
    return {
        "scrolled_rows": rows,
        "long_tasks": len(tasks),
        "longest_task_ms": max(tasks, default=0.0),
        "longest_task_cpu_ms": longest_task_cpu_ms(json.loads(trace)),
    }


def longest_task_cpu_ms(trace: dict[str, Any]) -> float:
    """The most processor time that one task of a page's main thread took."""
    events = trace["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    return max((event.get("tdur", 0) / 1000 for event in events if (event["pid"], event["tid"]) in mains), default=0.0)
