"""The example `examples/extensions/irc`: installed, allowed, run by `familiar run`, talked to over a real ngircd."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fakes.extension_packages import install_example, run_beside
from tests.fakes.irc import PATIENCE_S, IrcClient, IrcServer, irc_server
from tests.fakes.model_server import ModelServer, stall, stream_answer
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.program_process import environment
from tests.fakes.waiting import wait_until

ROOMS = ("#answers", "#closed", "#opened", "#ops", "#long", "#again", "#killed", "#keyed sesame")
LONG = " ".join(f"straße{number}" for number in range(150))
"""A reply of many lines, with letters of two bytes."""
SETTINGS = '[irc]\nhost = "127.0.0.1"\nport = {port}\ntls = false\npause_s = 0.02\nchannels = {rooms}\n'

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ngircd is for POSIX")


@dataclass
class World:
    """A server, a model, and the familiar between them."""

    folder: Path
    site: Path
    server: IrcServer
    model: ModelServer
    stalls_at: set[str] = field(default_factory=set)
    """Words whose question the model leaves open."""
    clients: list[IrcClient] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def client(self, nick: str) -> IrcClient:
        self.clients.append(IrcClient(self.server.port, nick))
        return self.clients[-1]

    def prompts_with(self, words: str) -> list[str]:
        """Everything the model was asked whose text holds *words*."""
        texts = [json.dumps(request.payload, ensure_ascii=False) for request in list(self.model.requests)]
        return [text for text in texts if words in text]

    @contextmanager
    def program(self) -> Iterator[subprocess.Popen[bytes]]:
        """`familiar run` while this is open."""
        command = [sys.executable, "-m", "familiar_connect", "run"]
        with (self.folder / "output.txt").open("ab") as output:
            running = subprocess.Popen(
                command,
                env=environment(self.home, {"PYTHONPATH": str(self.site)}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            yield running
        finally:
            running.kill()
            running.wait(PATIENCE_S)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install_example(folder, "irc")
    return folder


@contextmanager
def make_world(folder: Path, site: Path, more: str = "") -> Iterator[World]:
    """A home whose familiar is on IRC, beside a server of its own."""
    with ExitStack() as stack:
        server = stack.enter_context(irc_server(folder))
        model = stack.enter_context(model_endpoint(stall))
        world = World(folder, site, server, model)

        async def answer(asked: ModelServer, writer: asyncio.StreamWriter) -> None:
            said = json.dumps(asked.requests[-1].payload["messages"][-1], ensure_ascii=False)
            if any(words in said for words in world.stalls_at):
                await stall(asked, writer)
            text = (
                LONG
                if "long story" in said
                else "First line\r\nQUIT :injected\nJOIN #evil\x00x"
                if "inject" in said
                else "Tea it is."
            )
            await stream_answer(text)(asked, writer)

        model.script[:] = [answer]
        settings = make_home(world.home, model) / "character.toml"
        with settings.open("a", encoding="utf-8") as file:
            file.write("\n" + SETTINGS.format(port=server.port, rooms=json.dumps(ROOMS)) + more)
        allowed = run_beside(site, world.home, "extension", "allow", "irc")
        assert allowed.returncode == 0, allowed.stderr
        yield world
        for client in world.clients:
            client.close()


@pytest.fixture(scope="module")
def world(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One that the tests share; each has a room and nicks of its own."""
    with make_world(tmp_path_factory.mktemp("irc"), site, 'owner = "boss!*@127.0.0.1"\n') as made, made.program():
        yield made


def test_it_answers_in_a_room_when_its_nick_is_said(world: World) -> None:
    """In the room, once, and not to what is said to nobody."""
    ada = world.client("ada")
    ada.join_with("#answers", "Ember")
    ada.say("#answers", "Ember: shall we have tea?")
    ada.wait_for(r":Ember!\S+ PRIVMSG #answers :Tea it is\.")

    assert len(world.prompts_with("shall we have tea")) == 1
