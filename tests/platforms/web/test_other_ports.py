"""Another server on this computer, which the owner opens too, gets nothing of the page."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from familiar_connect.platforms.web.access import host_name_of
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home

pytestmark = needs_page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageProcess]:
    home = tmp_path_factory.mktemp("home")
    make_home(home)
    with PageProcess(home) as running:
        running.enter()
        yield running


def test_a_browser_is_sent_to_a_name_that_nobody_can_guess(page: PageProcess) -> None:
    """The printed address gives no cookie itself; the one it leads to does."""
    stranger = page.ask("GET", "/", host=page.listens_at)
    answer = page.ask("GET", f"/open?token={page.token}", host=page.listens_at)

    assert (answer.status, "set-cookie" in answer.headers) == (303, False)
    assert page.host.split(":")[0].endswith(".localhost")
    assert len(page.host.split(".")[0]) > len("familiar-") + 20
    assert page.host not in str(stranger.headers) + stranger.body


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec_fetch_site": "none", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"},
        {"sec_fetch_site": "same-origin", "sec_fetch_dest": "image"},
        {"accept": "text/event-stream"},
        {"origin": "http://{}"},
    ],
    ids=["program", "navigation", "image", "events", "form"],
)
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_cookie_is_worth_nothing_under_a_name_that_others_share(
    page: PageProcess, name: str, headers: dict[str, str]
) -> None:
    """Whoever caught it from a browser at 127.0.0.1 could say whatever a browser says; it is not let in."""
    host = f"{name}:{page.listens_at.split(':')[1]}"
    given = {key: value.format(host) for key, value in headers.items()}
    method, path = ("POST", "/chats") if "origin" in headers else ("GET", "/chats/1/events")

    assert page.ask(method, path, host=host, **given).status == 401


def test_the_name_outlives_a_restart_and_is_another_for_another_home() -> None:
    """It follows from the key that signs the cookies, so bookmarks hold."""
    assert host_name_of(b"a" * 32) == host_name_of(b"a" * 32) != host_name_of(b"b" * 32)


def test_with_a_plain_address_the_page_stays_where_it_was_opened(tmp_path: Path) -> None:
    """For a browser that finds no name under .localhost; the owner asked for it."""
    make_home(tmp_path)
    with PageProcess(tmp_path, "--plain-address") as plain:
        plain.enter()

        assert (plain.host.split(":")[0], plain.ask("GET", "/chats/1").status) == ("127.0.0.1", 200)


def test_hundreds_of_connections_without_a_request_do_not_shut_the_owner_out(page: PageProcess) -> None:
    """Half of them send nothing, half a piece of a request; whoever waits longest makes room."""
    host, port = page.listens_at.split(":")
    with ExitStack() as stack:
        for number in range(300):
            held = stack.enter_context(socket.create_connection((host, int(port)), timeout=200))
            if number % 2:
                held.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")

        assert [page.ask("GET", "/chats/1").status for _ in range(20)] == [200] * 20
