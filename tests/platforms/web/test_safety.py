"""Each attack on the page, over real HTTP on loopback, against the real program."""

from __future__ import annotations

import asyncio
import http.client
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from familiar_connect.platforms.web.access import Doorkeeper
from familiar_connect.platforms.web.guard import Guard
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.http_server.checks import PageAddress, Receive, RequestRate, Scope, Send
from familiar_connect.support.http_server.server import listen_on
from tests.fakes.model_server import ModelServer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, one_sentence, run_program

pytestmark = needs_page

KEY = "sk-very-secret-0123456789"
PASSWORD = "correct horse battery"
PAGES = ("/", "/chats/1", "/chats/1/messages", "/chats/1/events")


def quiet_home(path: Path) -> None:
    """A home with a familiar whose model is never asked."""
    make_home(path, ModelServer([], base_url="http://127.0.0.1:9/v1"))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageProcess]:
    """One page for every test here; each starts as a stranger."""
    home = tmp_path_factory.mktemp("safety")
    quiet_home(home)
    (home / "secrets.env").write_text(f"OPENROUTER_API_KEY={KEY}\n")
    (home / "secrets.env").chmod(0o600)
    with PageProcess(home) as running:
        yield running


@pytest.fixture(autouse=True)
def stranger(page: PageProcess) -> None:
    page.cookie = None


def test_it_listens_on_this_computer_alone(page: PageProcess) -> None:
    """Every other address of the computer refuses the connection."""
    port = int(page.host.rpartition(":")[2])
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}

    for address in {str(each) for each in others if not str(each).startswith("127.")} | {"127.0.0.2"}:
        with socket.socket() as trying, pytest.raises(OSError, match="refused"):
            trying.connect((address, port))


@pytest.mark.parametrize("path", PAGES)
def test_a_stranger_sees_nothing(page: PageProcess, path: str) -> None:
    """No page, no fragment and no stream without the cookie; the answer says how to get in."""
    answer = page.ask("GET", path)

    assert answer.status == 401
    assert "Open the address that was printed" in answer.body
    assert "Ember" not in answer.body


def test_the_token_gives_a_cookie_that_scripts_and_other_sites_never_see(page: PageProcess) -> None:
    """HttpOnly, SameSite=Strict, and Secure behind a proxy that speaks HTTPS; the token is not needed again."""
    page.enter()
    page.cookie = None
    behind_proxy = page.ask("GET", f"/open?token={page.token}", X_Forwarded_Proto="https")
    answer = page.ask("GET", f"/open?token={page.token}")
    cookie = answer.headers["set-cookie"]
    page.cookie = cookie.split(";")[0]

    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Secure" not in cookie
    assert "; Secure" in behind_proxy.headers["set-cookie"]
    assert page.token not in cookie
    assert page.ask("GET", "/chats/1").status == 200


@pytest.mark.parametrize("token", ["", "x", "0" * 32])
def test_a_wrong_token_gives_no_cookie(page: PageProcess, token: str) -> None:
    """And says which address to open."""
    answer = page.ask("GET", f"/open?token={token}")

    assert answer.status in (403, 429)
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("cookie", ["", "x", "9999999999.abc.def", "1.2.3.4", "é", "9" * 5000])
def test_a_made_up_cookie_lets_nobody_in(page: PageProcess, cookie: str) -> None:
    """It is signed, and one that is not ours is nobody's."""
    port = page.host.rpartition(":")[2]
    page.cookie = f"familiar_{port}={cookie}".encode().decode("latin-1")

    assert page.ask("GET", "/chats/1").status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "localhost:1"]
)
def test_a_name_that_somebody_points_here_is_refused(page: PageProcess, host: str) -> None:
    """Rebinding: the browser would send the attacker's name."""
    page.enter()
    port = page.host.rpartition(":")[2]

    assert page.ask("GET", "/chats/1", host=host.format(port=port)).status == 421


def test_its_own_names_are_known(page: PageProcess) -> None:
    """localhost is the same computer: whoever comes there with the token is sent on."""
    page.enter()
    port = page.host.rpartition(":")[2]

    answer = page.ask("GET", f"/open?token={page.token}", host=f"localhost:{port}")

    assert (answer.status, answer.headers["location"].split("/open?")[0]) == (303, page.origin)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost.evil.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"},
        {},
    ],
)
@pytest.mark.parametrize("path", ["/chats", "/chats/1/messages", "/chats/1/stop"])
def test_another_site_changes_nothing(page: PageProcess, path: str, headers: dict[str, str]) -> None:
    """A form or script of another site has the cookie with it at best; that is not enough."""
    page.enter()
    answer = page.ask("POST", path, "text=hello", content_type="application/x-www-form-urlencoded", **headers)

    assert answer.status == 403


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"sec_fetch_site": "same-site", "sec_fetch_mode": "cors"}]
)
def test_another_site_reads_no_stream(page: PageProcess, headers: dict[str, str]) -> None:
    """An EventSource of another page, another port of this computer's too."""
    page.enter()

    assert page.ask("GET", "/chats/1/events", **headers).status == 403


def test_no_answer_lets_another_site_read_it(page: PageProcess) -> None:
    """No header of cross-origin sharing, whoever asks."""
    page.enter()
    answer = page.ask("GET", "/chats/1")

    assert not any(name.startswith("access-control-") for name in answer.headers)
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_there_is_no_websocket_to_take_over(page: PageProcess) -> None:
    """A handshake from anywhere is no handshake."""
    page.enter()
    answer = page.ask(
        "GET", "/chats/1/events", connection="Upgrade", upgrade="websocket", sec_websocket_version="13",
        sec_websocket_key="dGhlIHNhbXBsZSBub25jZQ==", origin="http://evil.example",
    )  # fmt: skip

    assert answer.status == 403


@pytest.mark.parametrize("path", ["/chats/1", "/nowhere", "/static/page.css", "/open", "/static/none"])
def test_every_answer_keeps_frames_and_foreign_scripts_out(page: PageProcess, path: str) -> None:
    """Strict policy: nothing inline, nothing from elsewhere, no frame around it."""
    page.enter()
    answer = page.ask("GET", path)
    policy = answer.headers["content-security-policy"]

    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= set(policy.split("; "))
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


def test_no_page_has_inline_script_or_style(page: PageProcess) -> None:
    """The policy would refuse them, so there are none."""
    page.enter()
    body = page.ask("GET", "/chats/1").body

    assert " style=" not in body
    assert " onclick=" not in body
    assert body.count("<script") == body.count('<script type="module" src="/static/')


@pytest.mark.parametrize(
    "name",
    ["../app.py", "..%2Fapp.py", "%2e%2e/app.py", "....//app.py", "/etc/passwd", "..%5Capp.py", "page.css%00.js", "."],
)
def test_no_path_leads_out_of_the_files_of_the_page(page: PageProcess, name: str) -> None:
    """Files are known by name; nothing is looked up."""
    page.enter()
    answer = page.ask("GET", f"/static/{name}")

    assert answer.status == 404
    assert "import" not in answer.body


def test_no_secret_is_in_any_answer(page: PageProcess) -> None:
    """Neither the key of a model, nor our own token or signing key."""
    page.enter()
    answers = [page.ask("GET", path) for path in PAGES[:-1]]
    answers += [page.ask("GET", "/nowhere"), page.ask("GET", "/open?token=x")]
    shown = "".join(f"{answer.headers}{answer.body}" for answer in answers)

    assert KEY not in shown
    assert page.token not in shown


@pytest.mark.parametrize(("path", "length"), [("/chats/1/undo", "3000000"), ("/chats/1/messages", "30000000")])
def test_a_body_without_end_is_cut_off(page: PageProcess, path: str, length: str) -> None:
    """More than words take, or words with pictures, is refused before it is read."""
    page.enter()
    answer = page.ask("POST", path, origin=page.origin, content_length=length)

    assert answer.status == 413


def test_text_that_is_no_http_does_no_harm(page: PageProcess) -> None:
    """The next request is answered."""
    page.enter()
    host, port = page.listens_at.split(":")
    with socket.create_connection((host, int(port))) as rude:
        rude.sendall(b"\x00\x01\x02 nonsense\r\n\r\n" * 100)

    assert page.ask("GET", "/chats/1").status == 200


async def test_a_flood_is_held_back_and_ends() -> None:
    """Past its share a client gets 429; when time has passed it is served again."""
    import uvicorn

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    clock = ManualClock(datetime(2026, 5, 1, tzinfo=UTC))
    listening = listen_on("127.0.0.1", 0)
    port = int(listening.getsockname()[1])
    door = Doorkeeper(key=b"k" * 32, port=port, clock=clock)
    rate = RequestRate(1.0, 3, clock)
    guard = Guard(app, address=PageAddress(host="127.0.0.1", port=port), door=door, rate=rate)
    server = uvicorn.Server(uvicorn.Config(guard, log_config=None, lifespan="off", ws="none"))
    serving = asyncio.create_task(server.serve(sockets=[listening]))

    def ask() -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=200)
        try:
            connection.request("GET", "/static/page.css")
            return connection.getresponse().status
        finally:
            connection.close()

    codes = [await asyncio.to_thread(ask) for _ in range(5)]
    clock.advance(2.0)
    later = [await asyncio.to_thread(ask) for _ in range(3)]
    server.should_exit = True
    await serving
    listening.close()

    assert (codes, later) == ([200, 200, 200, 429, 429], [200, 200, 429])


def test_guessing_the_token_is_held_back(tmp_path: Path) -> None:
    """After five wrong ones no other is looked at; the right one opens all the same: nobody locks its owner out."""
    quiet_home(tmp_path)
    with PageProcess(tmp_path) as page:
        codes = [page.ask("GET", f"/open?token={number}").status for number in range(6)]
        right = page.ask("GET", f"/open?token={page.token}").status

    assert codes[:5] == [403] * 5
    assert (codes[5], right) == (429, 303)


def test_other_computers_are_let_in_with_a_password_only(tmp_path: Path) -> None:
    """`--host` without one is a sentence that says where to put it."""
    quiet_home(tmp_path)
    none = run_program(tmp_path, "web", "--no-open", "--host", "0.0.0.0")
    short = run_program(tmp_path, "web", "--no-open", "--host", "0.0.0.0", env={"WEB_PASSWORD": "short"})

    assert (none.returncode, short.returncode) == (1, 1)
    assert "familiar keys set WEB_PASSWORD" in one_sentence(none)
    assert "12 characters" in one_sentence(short)


def test_the_password_opens_the_page_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    """By a form of our own; the cookie is the same kind."""
    quiet_home(tmp_path)
    with PageProcess(tmp_path, "--host", "0.0.0.0", "--name", "den.example", env={"WEB_PASSWORD": PASSWORD}) as page:
        form = {"content_type": "application/x-www-form-urlencoded", "origin": page.origin}
        shown = page.ask("GET", "/login")
        wrong = page.ask("POST", "/login", "password=wrong", **form)
        right = page.ask("POST", "/login", f"password={PASSWORD.replace(' ', '+')}", **form)
        foreign = page.ask("GET", "/login", host="evil.example")
        named = page.ask("GET", "/login", host="den.example")
        page.cookie = right.headers["set-cookie"].split(";")[0]
        inside = page.ask("GET", "/f/ember/chats/1")

    assert (shown.status, wrong.status, right.status, inside.status) == (200, 403, 303, 200)
    assert "set-cookie" not in wrong.headers
    assert (foreign.status, named.status) == (421, 200)
    assert PASSWORD not in page.output


def test_a_restart_keeps_browsers_in_and_a_new_password_turns_them_away(tmp_path: Path) -> None:
    """The signing key lies in the home, readable by its owner alone."""
    quiet_home(tmp_path)
    with PageProcess(tmp_path) as first:
        first.enter()
    port = int(first.host.rpartition(":")[2])
    with PageProcess(tmp_path, port=port) as again:
        again.cookie = first.cookie
        kept = again.ask("GET", "/f/ember/chats/1", host=first.host).status
        second = one_sentence(run_program(tmp_path, "web", "--no-open", "--port", str(port)))
    with PageProcess(tmp_path, port=port, env={"WEB_PASSWORD": PASSWORD}) as changed:
        changed.cookie = first.cookie
        turned_away = changed.ask("GET", "/f/ember/chats/1", host=first.host).status

    assert (kept, turned_away) == (200, 401)
    assert f"the page of this home is already open at http://127.0.0.1:{port};" in second
    assert (tmp_path / "cache" / "page-key").stat().st_mode & 0o077 == 0


def test_a_port_that_is_taken_is_a_sentence(tmp_path: Path) -> None:
    """With the way to another one."""
    quiet_home(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run_program(tmp_path, "web", "--no-open", "--port", str(taken.getsockname()[1]))

    assert done.returncode == 1
    assert "familiar web --port 0" in one_sentence(done)


def test_a_file_that_every_page_reads_and_that_is_broken_is_told_in_one_sentence(tmp_path: Path) -> None:
    """The page of troubles needs it too; the visitor reads a sentence, and the owner one line without a traceback."""
    quiet_home(tmp_path)
    with PageProcess(tmp_path) as page:
        page.enter()
        page.post("/chats")
        (chats,) = tmp_path.rglob("chats.toml")
        chats.write_text("[[chat\n")

        seen = page.ask("GET", "/chats/1")
        script = page.ask("GET", "/chats/1", accept="application/json")

    assert (seen.status, script.status) == (500, 400)
    assert "chats.toml" in seen.body
    assert "chats.toml" in script.json()["problem"]
    assert "Traceback" not in page.output
    assert "a request of the page failed" in page.output
