"""Talking through the page: the real program, a model endpoint of our own, and as many tabs as a test needs."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from familiar_connect.history.store import HistoryStore
from tests.fakes.model_server import (
    DONE,
    Answer,
    ModelServer,
    answer_after,
    error_answer,
    event,
    head,
    raw_answer,
    stream_answer,
)
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint, run_program

pytestmark = needs_page

HOSTILE = (
    "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)> "
    "<svg onload=alert(1)> \u202egnp.exe"
)


@contextmanager
def a_page(home: Path, *script: Answer) -> Iterator[tuple[PageProcess, ModelServer]]:
    """A page whose client is let in."""
    with model_endpoint(*script) as server:
        make_home(home, server)
        with PageProcess(home) as page:
            page.enter()
            page.ask("GET", "/chats/1")
            yield page, server


def in_two_parts(first: str, gate: asyncio.Event, second: str) -> Answer:
    """A stream that waits for *gate* in its middle."""
    return raw_answer(
        head(), event(first), then=answer_after(gate, raw_answer(event(second), event(finish="stop"), DONE))
    )


def said(home: Path) -> list[str]:
    store = HistoryStore(home / "familiars" / "ember" / "history.db")
    try:
        return [turn.content for turn in store.recent(familiar_id="ember", channel_id=1, limit=50)]
    finally:
        store.close()


def test_a_new_page_greets_and_says_what_to_do(tmp_path: Path) -> None:
    """The character's first words, as in the terminal; the field says who writes to whom."""
    with a_page(tmp_path, stream_answer("Hi")) as (page, _):
        body = page.ask("GET", "/chats/1").body
        again = page.ask("GET", "/chats/1").body

    assert body.count("What&#x27;s your name?") == again.count("What&#x27;s your name?") == 1
    assert "Write to Ember as Friend" in body


def test_a_reply_streams_to_every_tab_and_is_recorded_once(tmp_path: Path) -> None:
    """Two tabs see the message, the pieces and the end; Markdown and actions are rendered as they come."""
    gate = asyncio.Event()
    with a_page(tmp_path, in_two_parts("*smiles* The kettle ", gate, "is **on**.")) as (page, server):
        with page.events() as one, page.events() as other:
            assert one.next()[0] == other.next()[0] == "state"
            page.say("Is there tea?")
            first, _ = one.until("piece")
            assert server._server is not None
            server._server.get_loop().call_soon_threadsafe(gate.set)
            one.until("done")
            _, seen_by_other = other.until("done")
        shown = page.ask("GET", "/chats/1/messages?after=1").body

    assert first["html"].startswith("<p><em>smiles</em>")
    assert {kind for kind, _ in seen_by_other} >= {"said", "thinking", "piece"}
    assert shown.count("<em>smiles</em> The kettle is <strong>on</strong>.") == 1
    assert "Is there tea?" in shown
    assert said(tmp_path)[1:] == ["Is there tea?", "*smiles* The kettle is **on**."]


def test_stop_ends_a_reply_and_keeps_what_was_said(tmp_path: Path) -> None:
    """As Ctrl-C does in the terminal."""
    with a_page(tmp_path, in_two_parts("Once upon a time", asyncio.Event(), " never")) as (page, _):
        with page.events() as events:
            page.say("Tell me a story")
            events.until("piece")
            stopped = page.post("/chats/1/stop").json()
            events.until("done")
        idle = page.post("/chats/1/stop").json()

    assert (stopped, idle) == ({"stopped": True}, {"stopped": False})
    assert said(tmp_path)[-1] == "Once upon a time"


def test_a_tab_that_comes_late_sees_how_things_stand(tmp_path: Path) -> None:
    """Also after a lost connection: the first event tells what was said last and what is being said."""
    gate = asyncio.Event()
    with a_page(tmp_path, in_two_parts("Half of", gate, " it")) as (page, server):
        with page.events() as early:
            page.say("Go on")
            early.until("piece")
            with page.events() as late:
                kind, state = late.next()
            assert server._server is not None
            server._server.get_loop().call_soon_threadsafe(gate.set)
            early.until("done")
        with page.events() as after:
            _, ended = after.next()

    assert (kind, state["busy"], state["html"]) == ("state", True, "<p>Half of</p>\n")
    assert (ended["busy"], ended["latest"]) == (False, 3)


def test_the_page_and_the_terminal_are_doors_to_one_conversation(tmp_path: Path) -> None:
    """The same chats and the same person, by the name they gave on the page."""
    with a_page(tmp_path, stream_answer("Hello Sam!"), stream_answer("And again.")) as (page, server):
        with page.events() as events:
            page.say("My name is Sam.")
            events.until("done")
        named = page.ask("GET", "/chats/1").body
        page.end()
        run_program(tmp_path, "chat", "--plain", "--continue", said="And now?\n")
        by_terminal = str(server.requests[1].payload["messages"])

    assert "Write to Ember as Sam" in named
    assert "My name is Sam." in by_terminal
    assert "Hello Sam!" in by_terminal


def test_the_model_is_shown_the_same_whichever_door_the_words_came_through(tmp_path: Path) -> None:
    """One path: but for the clock, the prompt of the page is that of `familiar ask`."""
    with model_endpoint(stream_answer("Hi.")) as by_page:
        make_home(tmp_path / "page", by_page)
        with PageProcess(tmp_path / "page") as page:
            page.enter()
            with page.events() as events:
                page.say("Is there tea?")
                events.until("done")
    with model_endpoint(stream_answer("Hi.")) as by_ask:
        make_home(tmp_path / "ask", by_ask)
        run_program(tmp_path / "ask", "ask", "--continue", "Is there tea?")
    shown = [re.sub(r"[0-9]+", "#", str(server.requests[0].payload["messages"])) for server in (by_page, by_ask)]

    assert shown[0] == shown[1]


def test_a_new_chat_begins_anew_and_leaves_the_other_as_it_was(tmp_path: Path) -> None:
    """Named or not; a name that is taken is a sentence."""
    with a_page(tmp_path, stream_answer("Ahoy")) as (page, _):
        made = page.post("/chats", name="The lighthouse")
        path = made.headers["location"]
        shown = page.ask("GET", path).body
        taken = page.post("/chats", name="the lighthouse")
        missing = page.ask("GET", "/chats/424242")

    assert made.status == 303
    assert "The lighthouse" in shown
    assert "What&#x27;s your name?" in shown
    assert (taken.status, missing.status) == (400, 400)
    assert "already" in taken.json()["problem"]
    assert "there is no such chat" in missing.body


def test_hostile_words_and_names_do_nothing(tmp_path: Path) -> None:
    """From the person, from the model, in a chat's name and in an error."""
    with a_page(tmp_path, stream_answer(HOSTILE)) as (page, _):
        with page.events() as events:
            page.say(HOSTILE)
            _, seen = events.until("done")
        page.post("/chats", name="<script>alert(2)</script>")
        body = page.ask("GET", "/chats/1").body
    live = "".join(facts.get("html", "") for _, facts in seen)

    drawn_by_us = re.compile(
        r'<img alt="">|'
        r'<svg class="icon icon-[a-z]+" viewBox="0 0 24 24" aria-hidden="true"><path d="[^"<>]+"></path></svg>'
    )
    for shown in (drawn_by_us.sub("", part) for part in (body.partition("<body>")[2], live)):
        assert "<script" not in shown
        assert "<img" not in shown
        assert "<svg" not in shown
        assert 'href="javascript' not in shown
        assert "\u202e" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body


def test_a_line_of_a_million_characters_is_shown_plainly(tmp_path: Path) -> None:
    """Without Markdown, so that it costs nothing."""
    with a_page(tmp_path, stream_answer("Long.")) as (page, _):
        with page.events() as events:
            page.say("[" * 900_000)
            events.until("done")
        body = page.ask("GET", "/chats/1").body

    assert '<div class="plain">[[[' in body


def test_a_model_that_fails_is_told_on_the_page(tmp_path: Path) -> None:
    """With what to do; the page goes on."""
    with a_page(tmp_path, error_answer(401, "bad key")) as (page, _), page.events() as events:
        page.say("Hello")
        told, _ = events.until("notice")

    assert told["text"].startswith("No reply: ")


def test_a_slash_runs_what_it_runs_everywhere(tmp_path: Path) -> None:
    """And one that is none is told."""
    with a_page(tmp_path, stream_answer("Hi")) as (page, server), page.events() as events:
        page.say("/persona A retired sailor")
        known, _ = events.until("notice")
        page.say("/nothing")
        unknown, _ = events.until("notice")

    assert known["text"]
    assert unknown["text"] == "There is no /nothing."
    assert server.requests == []


def test_nothing_written_is_a_sentence(tmp_path: Path) -> None:
    """And is not sent."""
    with a_page(tmp_path, stream_answer("Hi")) as (page, _):
        answer = page.post("/chats/1/messages", text="  \n ")

    assert (answer.status, "nothing to send" in answer.body) == (400, True)


def test_quick_replies_are_buttons_and_the_choices_of_one_that_asks(tmp_path: Path) -> None:
    """Below the chat; a press says what a person would type, and a set that came since is there without a restart."""
    script = '/sys Rain. | /buttons labels=["In","Out"] Where? | /setvar key=at | /sys {{pipe}}!'
    replies = [{"label": "Go <b>", "message": script}, {"label": "No", "message": "/fetch x"}]
    with a_page(tmp_path, stream_answer("Hi")) as (page, _):
        before = page.ask("GET", "/chats/1").body
        folder = tmp_path / "familiars" / "ember" / "quick-replies"
        folder.mkdir()
        (folder / "Walk.json").write_text(json.dumps({"name": "Walk", "qrList": replies}), encoding="utf-8")
        shown = page.ask("GET", "/chats/1").body
        form = {"origin": page.origin, "content_type": "application/x-www-form-urlencoded"}
        page.ask("POST", "/chats/1/messages", urlencode({"text": "/qr Walk.Go <b>"}), **form)
        asked = page.ask("GET", "/chats/1").body
        page.ask("POST", "/chats/1/messages", urlencode({"text": "/qr answer 2"}), **form)
        done = page.ask("GET", "/chats/1").body

    assert "data-quick" not in before
    assert re.findall(r'value="(/qr [^"]*)"', shown) == ["/qr Walk.Go &lt;b&gt;"]
    assert re.findall(r'value="(/qr [^"]*)"', asked) == ["/qr answer 1", "/qr answer 2"]
    assert "Where?" in asked
    assert re.findall(r'value="(/qr [^"]*)"', done) == ["/qr Walk.Go &lt;b&gt;"]
    assert said(tmp_path)[-2:] == ["Rain.", "Out!"]
