"""Taking part in a channel of Discord from the page: `familiar run --page` against a Discord of our own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry
from tests.fakes.browser import open_visit
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page
pytest.importorskip("discord", reason="the Discord library is an extra")

from familiar_connect.extensions.discord.demo.server import DiscordServer  # noqa: E402 - needs the library's own

GUILD, ROOM = 1001, 1003


class LiveDiscord:
    """A Discord with a room and a person, in a thread of its own."""

    def __init__(self, server: DiscordServer, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self._loop = loop
        guild = server.world.guild("Tea House", id=GUILD)
        self.room = server.world.room(guild, "lounge", id=ROOM)
        self.ada = server.world.person("ada", "Ada")

    def do(self, doing: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result(200)

    def say(self, text: str) -> None:
        """Ada says something in the room."""
        self.do(self.server.post(self.room, self.ada, text))

    def texts(self) -> list[str]:
        """What stands in the room."""
        return [str(message["content"]) for message in self.room.messages.values()]


@contextmanager
def live_discord() -> Iterator[LiveDiscord]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="discord-server", daemon=True)
    thread.start()
    server = DiscordServer()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(100)
    try:
        yield LiveDiscord(server, loop)
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(100)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(100)
        loop.close()


@pytest.fixture(scope="module")
def discord() -> Iterator[LiveDiscord]:
    with live_discord() as found:
        yield found


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_endpoint(stream_answer("Good evening, Ada.")) as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Path:
    made = tmp_path_factory.mktemp("live")
    root = make_home(made, model)
    SubscriptionRegistry(root / "subscriptions.toml").add(channel_id=ROOM, kind=SubscriptionKind.text, guild_id=GUILD)
    return made


@pytest.fixture(scope="module")
def page(home: Path, discord: LiveDiscord) -> Iterator[PageProcess]:
    """Ada has greeted, and was answered."""
    env = {"DISCORD_BOT": discord.server.token, "DISCORD_API_URL": discord.server.api_url}
    with PageProcess(home, env=env, verb=("run", "--page", "--page-port")) as running:
        running.enter()
        wait_until(lambda: "starting on Discord, Web" in running.output, "it says where it is")
        wait_until(lambda: discord.server.gateway.sessions, "the bot is connected")
        discord.say("Ember, good evening!")
        wait_until(lambda: "Good evening, Ada." in discord.texts(), "she is answered")
        yield running


def said(home: Path) -> list[tuple[str, str]]:
    store = HistoryStore(home / "familiars" / "ember" / "history.db")
    try:
        turns = store.recent(familiar_id="ember", channel_id=ROOM, limit=50)
        return [(turn.role, turn.content) for turn in turns]
    finally:
        store.close()


def test_a_channel_goes_by_its_name_and_can_be_taken_part_in(page: PageProcess) -> None:
    """On the left side and above its messages, with its server; who reads it is told whose words they are."""
    wait_until(lambda: "#lounge" in page.ask("GET", "/chats/1").body, "the left side knows it")
    body = page.ask("GET", f"/places/{ROOM}").body

    assert "<bdi>#lounge</bdi>" in body
    assert "Discord · Tea House" in body
    assert "Say as Ember in #lounge" in body
    assert "Let Ember speak now" in body


def test_words_are_posted_as_the_familiars_own_and_remembered_so(
    page: PageProcess, home: Path, discord: LiveDiscord, model: ModelServer
) -> None:
    """They stand in the channel and in the history, and the next prompt holds them as its own."""
    answer = page.post(f"/places/{ROOM}/say", text="The kettle is mine.")
    asked_before = len(model.requests)
    discord.say("Ember, whose kettle is it?")
    wait_until(lambda: len(model.requests) > asked_before, "it is asked")
    messages = model.requests[-1].payload["messages"]

    assert answer.status == 200, answer.body
    assert "The kettle is mine." in discord.texts()
    assert ("assistant", "The kettle is mine.") in said(home)
    assert any(each["role"] == "assistant" and "The kettle is mine." in str(each["content"]) for each in messages)


def test_it_speaks_when_it_is_asked_to(page: PageProcess, discord: LiveDiscord, model: ModelServer) -> None:
    """Though nobody has addressed it."""
    model.script[:] = [stream_answer("By the way, it rains.")]
    answer = page.post(f"/places/{ROOM}/speak")
    wait_until(lambda: "By the way, it rains." in discord.texts(), "it speaks")
    model.script[:] = [stream_answer("Good evening, Ada.")]

    assert answer.status == 200


@pytest.mark.parametrize("text", ["", "   ", "x" * 8_001])
def test_nothing_and_too_much_are_not_posted(page: PageProcess, discord: LiveDiscord, text: str) -> None:
    """A sentence instead."""
    before = len(discord.texts())
    answer = page.post(f"/places/{ROOM}/say", text=text)

    assert answer.status == 400
    assert "nothing to say" in answer.json()["problem"]
    assert len(discord.texts()) == before


def test_a_long_text_is_posted_in_pieces_and_stored_once(page: PageProcess, home: Path, discord: LiveDiscord) -> None:
    """As any reply of that length."""
    text = "\n\n".join(f"{number}. {'word ' * 100}".strip() for number in range(8))
    answer = page.post(f"/places/{ROOM}/say", text=text)
    stored = [content for role, content in said(home) if role == "assistant" and content.startswith("0. word")]

    assert answer.status == 200, answer.body
    assert sum("word word" in each for each in discord.texts()) > 1
    assert len(stored) == 1


def test_a_person_takes_part_in_the_browser(
    browser: Browser, page: PageProcess, discord: LiveDiscord, model: ModelServer
) -> None:
    """What is said there appears by itself; what is written here appears there; axe finds no fault."""
    from tests.platforms.web.test_browser_chat import serious_faults

    with open_visit(browser, page.address) as visit:
        tab = visit.page
        tab.locator(".places").get_by_role("link", name="#lounge").click()
        tab.locator("[data-ready]").wait_for()
        discord.say("Is anybody in?")
        tab.locator(".message.theirs .words", has_text="Is anybody in?").wait_for()
        tab.locator("#words").fill("Always.")
        tab.locator("#words").press("Enter")
        tab.locator(".message.own .words", has_text="Always.").wait_for()
        assert serious_faults(tab) == []
        assert visit.faults == []

    assert "Always." in discord.texts()


def test_without_the_platform_a_channel_is_read_only_and_says_why(tmp_path: Path) -> None:
    """And nothing is sent anywhere; its name stays known."""
    from familiar_connect.conversation.channels import ChannelLabels
    from familiar_connect.identity import Author

    root = make_home(tmp_path)
    labels = ChannelLabels(root / "channel-names.json")
    labels.register_channel_name(ROOM, "lounge")
    labels.keep(ROOM, "Tea House")
    history = HistoryStore(root / "history.db")
    history.append_turn(
        familiar_id="ember",
        channel_id=ROOM,
        role="user",
        content="Hello?",
        author=Author("discord", "42", "ada", "Ada"),
        guild_id=GUILD,
    )
    history.close()
    with PageProcess(tmp_path) as running:
        running.enter()
        body = running.ask("GET", f"/places/{ROOM}").body
        answers = [running.post(f"/places/{ROOM}/{verb}", text="Hi") for verb in ("say", "speak")]

    assert "#lounge" in body
    assert "Discord is not connected in this program" in body
    assert "composer" not in body
    assert [answer.status for answer in answers] == [400, 400]
    assert " run --page --familiar ember`" in answers[0].json()["problem"]


def test_the_page_alone_is_reason_enough_to_run(tmp_path: Path) -> None:
    """Without a platform `run` refuses, with the page it serves that."""
    make_home(tmp_path)
    alone = run_program(tmp_path, "run")
    with PageProcess(tmp_path, verb=("run", "--page", "--page-port")) as running:
        running.enter()
        status = running.ask("GET", "/chats/1").status

    assert alone.returncode == 1
    assert status == 200
