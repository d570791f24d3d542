"""Following: what happens comes as events and as signed posts, as far as the person of the key may hear it."""

from __future__ import annotations

import hashlib
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from familiar_connect.extensions.serve.watching import SIGNATURE, sign
from tests.extensions.serve.test_endpoint import say, user
from tests.fakes.endpoint import WAIT_S, Endpoint, started
from tests.fakes.page import EventStream
from tests.fakes.waiting import wait_until

pytestmark = pytest.mark.process


@contextmanager
def listen_for_events(url: str, key: str, **headers: str) -> Iterator[tuple[int, EventStream]]:
    at = urlsplit(url)
    connection = http.client.HTTPConnection(at.netloc, timeout=WAIT_S)
    try:
        connection.request("GET", at.path, headers={"Authorization": f"Bearer {key}", **headers})
        answer = connection.getresponse()
        if answer.status == 200:
            answer.readline()  # nothing that happens from here on is missed
        yield answer.status, EventStream(answer)
    finally:
        connection.close()


def test_a_follower_hears_what_its_person_may_hear_and_goes_on_where_it_was(endpoint: Endpoint) -> None:
    """What others said in their direct chats never comes; a key without --watch gets nothing."""
    mine = endpoint.add_key("mine", "Mo", may_watch=True)
    other, blind = endpoint.add_key("other", "Nell"), endpoint.add_key("blind", "Mo")

    with started(endpoint.home, "watch", "--port", "0", until=r"(http://\S+/events)") as url:
        with listen_for_events(url, blind) as (refused, _):
            pass
        with listen_for_events(url, mine) as (_, events):
            say(endpoint, other, user("This is between Nell and the familiar."))
            say(endpoint, mine, user("Good morning from Mo."))
            (heard, first), (spoke, second) = events.next(), events.next()
        back = {"Last-Event-ID": f"ember:{first['turn']}"}
        with listen_for_events(url, mine, **back) as (_, events):
            _, again = events.next()

    assert refused == 403
    assert (heard, first["text"], first["who"]) == ("heard", "Good morning from Mo.", "Mo")
    assert (spoke, str(second["text"])[:13]) == ("spoke", "This is reply")
    assert again == second


def test_posts_are_signed_with_the_fingerprint_of_the_key(endpoint: Endpoint) -> None:
    """Whoever has the key can tell that a post is ours."""
    key = endpoint.add_key("hooked", "Vi", may_watch=True)
    posted: list[tuple[str, bytes]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append((self.headers[SIGNATURE], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing on the terminal."""

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        hook = f"http://127.0.0.1:{server.server_port}/hook"
        with started(endpoint.home, "watch", "--webhook", hook, "--key", "hooked", until=r"Posting what (happens)"):

            def is_posted() -> bool:
                say(endpoint, key, user("Hello from Vi."))
                return bool(posted)

            wait_until(is_posted, "an event is posted")
        server.shutdown()

    signature, body = posted[0]
    at = json.loads(body)["at"]
    secret = hashlib.sha256(key.encode()).hexdigest()
    assert signature == f"t={at},v1={sign(secret, at, body)}"
    assert json.loads(body)["familiar"] == "ember"
