"""In a real browser, a page on another port of this computer gets nothing of ours; its owner notices nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.fakes.browser import Visit
from tests.fakes.page import PageProcess, needs_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page


@contextmanager
def other_server(page_html: str) -> Iterator[tuple[int, list[str]]]:
    """A server on another port of 127.0.0.1, and the cookies that browsers sent it."""
    cookies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.append(self.headers.get("cookie", ""))
            body = page_html.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, cookies
    finally:
        server.shutdown()
        server.server_close()
        thread.join(100)


TRIES = """
<img id="picture"><iframe id="frame"></iframe><script>
const base = "http://127.0.0.1:PORT", found = [];
const seen = (what) => found.push(what);
const tries = [
  fetch(base + "/chats/1", {credentials: "include"}).then((r) => r.text()).then(seen, () => 0),
  fetch(base + "/chats", {method: "POST", credentials: "include", mode: "no-cors"}).catch(() => 0),
  new Promise((done) => { const s = new EventSource(base + "/chats/1/events", {withCredentials: true});
    s.onmessage = () => seen("event"); s.onerror = () => { s.close(); done(); }; }),
  new Promise((done) => { const w = new WebSocket("ws://127.0.0.1:PORT/chats/1/events");
    w.onopen = () => seen("socket"); w.onerror = done; }),
  new Promise((done) => { const i = document.getElementById("picture");
    i.onload = () => { seen("picture"); done(); }; i.onerror = done; i.src = base + "/picture"; }),
];
Promise.all(tries).then(() => { document.title = "tried:" + JSON.stringify(found); });
</script>
"""


def test_in_a_browser_another_port_gets_no_cookie_and_can_read_and_do_nothing(
    browser: Browser, running: PageProcess
) -> None:
    """While a reload, a second tab and a bookmark still find their owner let in."""
    chats = running.ask("GET", "/chats/1").body.count("/chats/")
    port = running.listens_at.split(":")[1]
    with ExitStack() as stack:
        context = browser.new_context()
        stack.callback(context.close)
        visit = Visit(context)
        visit.page.goto(f"http://{running.listens_at}/open?token={running.token}")
        visit.page.wait_for_url("**/chats/*")
        bookmark = visit.page.url
        other, cookies = stack.enter_context(other_server(TRIES.replace("PORT", port)))
        tab = context.new_page()
        tab.goto(f"http://127.0.0.1:{other}/")
        tab.wait_for_function("document.title.startsWith('tried:')")
        assert tab.title() == "tried:[]"
        assert cookies
        assert not any("familiar_" in cookie for cookie in cookies)

        assert bookmark.startswith(running.origin)
        for where in (visit.page, context.new_page()):
            answer = where.goto(bookmark)
            assert answer is not None
            assert answer.status == 200
        reloaded = visit.page.reload()
        assert reloaded is not None
        assert reloaded.status == 200
    assert running.ask("GET", "/chats/1").body.count("/chats/") == chats
