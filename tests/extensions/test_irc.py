"""The example `examples/extensions/irc`: installed, allowed, run by `familiar run`, talked to over a real ngircd."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.fakes.extension_packages import EXAMPLES, install_example, run_beside
from tests.fakes.installed import InstalledProgram, build_archive, make_environment
from tests.fakes.irc import PATIENCE_S, IrcClient, IrcServer, irc_server
from tests.fakes.model_server import ModelServer, stall, stream_answer
from tests.fakes.program import make_home, model_endpoint, set_model
from tests.fakes.program_process import ProgramProcess, environment, start_program
from tests.fakes.waiting import wait_until

ROOMS = ("#answers", "#talk", "#opened", "#ops", "#long", "#again", "#killed", "#keyed sesame")
LONG = " ".join(f"straße{number}" for number in range(150))
"""A reply of many lines, with letters of two bytes."""
BROKEN = "First words\r\nQUIT :injected\nJOIN #evil\x00\r\n\x01VERSION\x01"
"""A reply that holds commands of IRC."""
REPLIES = {"long story": LONG, "lines of yours": BROKEN}
SETTINGS = '[irc]\nhost = "127.0.0.1"\nport = {port}\ntls = false\npause_s = 0.02\nchannels = {rooms}\n{more}\n'
OWNER = 'owner = "boss!*@127.0.0.1"'

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

    def keeper(self) -> IrcClient:
        """Whoever was first in every room, and so is its operator."""
        return self.clients[0]

    def prompts_with(self, words: str) -> list[str]:
        """Everything the model was asked whose text holds *words*."""
        texts = [json.dumps(request.payload, ensure_ascii=False) for request in list(self.model.requests)]
        return [text for text in texts if words in text]

    async def answer(self, asked: ModelServer, writer: asyncio.StreamWriter) -> None:
        """What the model says, by what it was asked last."""
        said = json.dumps(asked.requests[-1].payload["messages"][-1], ensure_ascii=False)
        if any(words in said for words in self.stalls_at):
            await stall(asked, writer)
        reply = next((reply for words, reply in REPLIES.items() if words in said), "Tea it is.")
        await stream_answer(reply)(asked, writer)

    @contextmanager
    def program(self) -> Iterator[ProgramProcess | subprocess.Popen[bytes]]:
        """`familiar run` while this is open."""
        facts = environment(self.home, {"PYTHONPATH": str(self.site)})
        with (self.folder / "output.txt").open("ab") as output, Path(os.devnull).open("rb") as nothing:
            streams = (nothing.fileno(), output.fileno(), output.fileno())
            running = start_program(["run"], streams, facts)
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


def write_settings(home: Path, model: ModelServer, section: str) -> None:
    """A home with *section* in its settings, where replies come without the pauses of somebody typing."""
    settings = make_home(home, model) / "character.toml"
    usual, typing = settings.read_text(encoding="utf-8"), "[typing_simulation]\n"
    assert usual.count(typing) == 1
    settings.write_text(f"{usual.replace(typing, f'{typing}enabled = false{chr(10)}')}\n{section}", encoding="utf-8")


@contextmanager
def make_world(folder: Path, site: Path) -> Iterator[World]:
    """A home whose familiar is on IRC, beside a server of its own. The rooms are there, and have an operator."""
    with irc_server(folder) as server, model_endpoint(stall) as model:
        world = World(folder, site, server, model)
        model.script[:] = [world.answer]
        write_settings(world.home, model, SETTINGS.format(port=server.port, rooms=json.dumps(ROOMS), more=OWNER))
        allowed = run_beside(site, world.home, "extension", "allow", "irc")
        assert allowed.returncode == 0, allowed.stderr
        keeper = world.client("keeper")
        for room in ROOMS:
            keeper.send(f"JOIN {room.split()[0]}")
        keeper.send("MODE #keyed +k sesame")
        keeper.settle()
        try:
            yield world
        finally:
            for client in world.clients:
                client.close()


@pytest.fixture(scope="module")
def world(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One that the tests share; each has a room and nicks of its own."""
    with make_world(tmp_path_factory.mktemp("irc"), site) as made, made.program():
        yield made


def test_it_answers_in_a_room_when_its_nick_is_said(world: World) -> None:
    """In the room, once; also in one that has a key."""
    ada = world.client("ada")
    for room in ("#answers", "#keyed sesame"):
        ada.join_with(room, "Ember")
        name = room.split()[0]
        ada.say(name, f"Ember: shall we have tea in {name}?")
        ada.wait_for(rf":Ember!\S+ PRIVMSG {name} :Tea it is\.")

    said = [line.split()[2] for line in ada.settle() if line.startswith(":Ember!") and "PRIVMSG" in line]
    assert said == ["#answers", "#keyed"]


def test_a_direct_message_is_answered_in_private_and_is_no_news_to_a_room(world: World) -> None:
    """The secret is in the next prompt of the two, and in none of a room's, whoever asks there."""
    bea, cy = world.client("bea"), world.client("cy")
    bea.join_with("#talk", "Ember")
    cy.join_with("#talk", "Ember")
    bea.say("Ember", "I hid the lantern under the stairs")
    bea.wait_for(r":Ember!\S+ PRIVMSG bea :Tea it is\.")
    bea.say("Ember", "do you recall it between us")
    bea.wait_for(r":Ember!\S+ PRIVMSG bea :Tea it is\.", count=2)
    bea.say("#talk", "Ember: do you recall it in the room")
    cy.wait_for(r":Ember!\S+ PRIVMSG #talk :Tea it is\.")
    cy.say("Ember", "do you recall it with me")
    cy.wait_for(r":Ember!\S+ PRIVMSG cy :Tea it is\.")

    between, room, other = (
        world.prompts_with(f"do you recall it {words}")[0] for words in ("between us", "in the room", "with me")
    )
    assert "lantern" in between
    assert "lantern" not in room
    assert "lantern" not in other
    assert not [line for line in cy.settle() if "lantern" in line]


def test_what_was_said_while_a_room_was_closed_is_not_told_once_it_is_open(world: World) -> None:
    """The room's modes are followed while the program runs; what was said in the open stays known."""
    dan = world.client("dan")
    dan.join_with("#opened", "Ember")
    keeper = world.keeper()
    for mode, words in (("-i", "the open fact: larks"), ("+i", "the closed fact: owls"), ("-i", "now tell all")):
        keeper.send(f"MODE #opened {mode}")
        keeper.settle()
        answers = len([line for line in dan.lines if "PRIVMSG #opened :Tea" in line])
        dan.say("#opened", f"Ember: {words}")
        dan.wait_for(r":Ember!\S+ PRIVMSG #opened :Tea it is\.", count=answers + 1)

    told, closed = world.prompts_with("now tell all")[0], world.prompts_with("closed fact")[0]
    assert "larks" in closed
    assert "larks" in told
    assert "owls" not in told


def test_commands_of_a_room_are_for_its_operators(world: World) -> None:
    """The answer goes to whoever asked, as a notice; becoming an operator is enough, ceasing to be one, too."""
    eve, keeper = world.client("eve"), world.keeper()
    eve.join_with("#ops", "Ember")
    eve.say("#ops", "Ember: good morning")
    eve.wait_for(r":Ember!\S+ PRIVMSG #ops ")
    eve.say("#ops", "!Ember reset")
    refused = eve.wait_for(r":Ember!\S+ NOTICE eve ")
    keeper.say("#ops", "Ember: /reset")
    allowed = keeper.wait_for(r":Ember!\S+ NOTICE keeper ")
    keeper.send("MODE #ops +o eve")
    eve.wait_for(r"MODE #ops \+o eve")
    eve.say("#ops", "!ember reset undo")
    became = eve.wait_for(r":Ember!\S+ NOTICE eve ", count=2)
    eve.say("#ops", "!Ember chat")
    chats = eve.wait_for(r":Ember!\S+ NOTICE eve ", count=3)
    eve.say("#ops", "!Ember memory")
    owners = eve.wait_for(r":Ember!\S+ NOTICE eve ", count=4)
    eve.say("#ops", "!Ember subscribe-text")
    elsewhere = eve.wait_for(r":Ember!\S+ NOTICE eve ", count=5)

    assert "need the right to manage this channel" in refused
    assert "starts over" in allowed
    assert "need the right" not in became
    assert "every channel" in chats  # not the list of the owner's own
    assert "Only my operator" in owners
    assert "There is no /subscribe-text here." in elsewhere
    assert len([line for line in keeper.settle() if " #ops :" in line and ":Ember!" in line]) == 1  # good morning


def test_the_owner_is_known_by_the_mask_in_the_settings(world: World) -> None:
    """Not by a nick that anybody can take: the server tells where a line comes from."""
    boss, fay = world.client("boss"), world.client("fay")
    boss.join_with("#answers", "Ember")
    boss.say("Ember", "/ignore")
    known = boss.wait_for(r":Ember!\S+ NOTICE boss ")
    fay.say("Ember", "/ignore")
    stranger = fay.wait_for(r":Ember!\S+ NOTICE fay ")

    assert "operator" not in known
    assert "Only my operator" in stranger


def test_a_long_reply_comes_whole_in_lines_that_fit(world: World) -> None:
    """512 bytes with all that the server adds, cut between words; each word is there, in its order."""
    gus = world.client("gus")
    gus.join_with("#long", "Ember")
    gus.say("#long", "Ember: a long story, please")
    gus.wait_for(r"PRIVMSG #long :.*straße149")
    lines = [line for line in gus.settle() if "PRIVMSG #long" in line and line.startswith(":Ember!")]

    assert max(len(line.encode()) + 2 for line in lines) <= 512
    assert " ".join(line.partition(" :")[2] for line in lines) == LONG


def test_no_reply_can_become_a_command(world: World) -> None:
    """Lines of a reply are lines of talk, whatever they hold."""
    hal = world.client("hal")
    hal.say("Ember", "what would these lines of yours do?")
    hal.wait_for(r":Ember!\S+ PRIVMSG hal :JOIN #evil")
    hal.say("Ember", "are you still here?")
    hal.wait_for(r":Ember!\S+ PRIVMSG hal :Tea it is\.")
    hal.send("WHOIS Ember")
    hal.wait_for(r" 318 hal Ember ")

    assert [line for line in hal.lines if ":Ember!" in line and "PRIVMSG hal :QUIT :injected" in line]
    assert not [line for line in hal.lines if "#evil" in line and "PRIVMSG hal" not in line]
    assert not [line for line in hal.lines if "\x01" in line]


def test_somebody_who_changes_their_nick_stays_who_they_are(world: World) -> None:
    """And is answered under the new one."""
    ivy = world.client("ivy")
    ivy.join_with("#talk", "Ember")
    ivy.say("Ember", "my key is a brass one")
    ivy.wait_for(r"PRIVMSG ivy :Tea it is\.")
    ivy.send("NICK ivy_away")
    ivy.wait_for(r"NICK :?ivy_away")
    ivy.say("Ember", "what was my key made of")
    ivy.wait_for(r"PRIVMSG ivy_away :Tea it is\.")

    assert "brass" in world.prompts_with("what was my key made of")[0]


def test_a_server_that_restarts_is_joined_again(site: Path, tmp_path: Path) -> None:
    """Also where somebody has taken the nick meanwhile: then the familiar has one like it."""
    with make_world(tmp_path, site) as world, world.program():
        world.client("jan").join_with("#again", "Ember")
        world.server.stop()
        world.server.start()
        thief = world.client("Ember")
        kim = world.client("kim")
        kim.join_with("#again", "Ember_1")
        kim.say("#again", "Ember_1: are you back?")
        kim.wait_for(r":Ember_1!\S+ PRIVMSG #again :Tea it is\.")

        assert not [line for line in thief.settle() if "PRIVMSG" in line]


def test_whoever_was_heard_before_the_program_died_is_answered_once_after_it_starts_again(
    site: Path, tmp_path: Path
) -> None:
    """In the room and in the direct message, each by one answer."""
    with make_world(tmp_path, site) as world:
        lea = world.client("lea")
        world.stalls_at |= {"what is for dinner", "what is for breakfast"}
        with world.program() as running:
            lea.join_with("#killed", "Ember")
            lea.say("#killed", "Ember: what is for dinner?")
            lea.say("Ember", "what is for breakfast?")
            asked = ("for dinner", "for breakfast")
            wait_until(lambda: all(map(world.prompts_with, asked)), "both were asked", within_s=PATIENCE_S)
            running.kill()
            running.wait(PATIENCE_S)
        world.stalls_at.clear()
        lea.wait_for(r":Ember!\S+ QUIT")
        with world.program():
            for target in ("#killed", "lea"):
                lea.wait_for(rf":Ember!\S+ PRIVMSG {target} :Tea it is\.")
            lea.say("#killed", "Ember: anything else?")
            lea.wait_for(r":Ember!\S+ PRIVMSG #killed :Tea it is\.", count=2)
            said = [line for line in lea.settle() if line.startswith(":Ember!") and "Tea it is." in line]

    assert sorted(line.split()[2] for line in said) == ["#killed", "#killed", "lea"]


@pytest.mark.parametrize("target", ["#again", "mia"])
def test_a_reminder_comes_where_it_was_asked_for(target: str, site: Path, tmp_path: Path) -> None:
    """In the room, or in the direct message once its person is there; what fell due meanwhile comes late, and once."""
    with make_world(tmp_path, site) as world:
        mia = world.client("mia")
        with world.program() as running:
            mia.join_with("#again", "Ember")
            mia.say("#again" if target == "#again" else "Ember", "!Ember remind in 20 minutes water the fern")
            taken = mia.wait_for(r":Ember!\S+ NOTICE mia ")
            running.kill()
            running.wait(PATIENCE_S)
        mia.wait_for(r":Ember!\S+ QUIT")
        with closing(sqlite3.connect(find_history(world.home))) as history, history:
            history.execute("UPDATE reminders SET due_at = ?", (make_past(hours=1),))
        with world.program():
            mia.wait_for(r":Ember!\S+ JOIN :#again", count=2)
            if target == "mia":
                mia.say("Ember", "hello")
            wait_until(lambda: world.prompts_with("water the fern"), "the model was told", within_s=PATIENCE_S)
            mia.say("#again", "Ember: anything else?")
            mia.wait_for(r":Ember!\S+ PRIVMSG #again :.*Tea it is\.", count=2 if target == "#again" else 1)
            mia.wait_for(rf":Ember!\S+ PRIVMSG {target} :.*Tea it is\.", count=2)
            said = [line for line in mia.settle() if line.startswith(":Ember!") and "Tea it is." in line]

    assert "I will remind you here on " in taken
    assert [line.split()[2] for line in said].count(target) == 2  # the reminder, and an answer
    assert len(world.prompts_with("remind mia now")) == 1


def make_past(*, hours: int) -> str:
    """A moment so many hours ago, as the history writes it."""
    return (datetime.now(UTC) - timedelta(hours=hours)).isoformat()


def find_history(home: Path) -> Path:
    """The database of the home's one familiar."""
    (found,) = home.rglob("history.db")
    return found


def test_doctor_tells_whether_the_server_answers(site: Path, tmp_path: Path) -> None:
    """By one sentence, from the extension's own check."""
    settings = make_home(tmp_path / "home") / "character.toml"
    with settings.open("a", encoding="utf-8") as file:
        file.write('\n[irc]\nhost = "127.0.0.1"\nport = 1\n')
    run_beside(site, tmp_path / "home", "extension", "allow", "irc")
    with model_endpoint(stream_answer("Yes.")) as model:  # doctor asks it, too, and the embedded one takes seconds
        set_model(settings, model)
        told = run_beside(site, tmp_path / "home", "doctor", "--all").stdout

    assert "irc: 127.0.0.1 does not answer on port 1" in " ".join(told.split())


def test_both_packages_installed_in_an_empty_environment_talk_over_irc(tmp_path: Path) -> None:
    """As for a person: two wheels, what they ask for, `extension allow`, `[irc]`, and `familiar run`."""
    pytest.importorskip("hatchling", reason="the build system is not installed here")
    ours = build_archive("wheel", tmp_path)
    theirs = build_archive("wheel", tmp_path, EXAMPLES / "irc")
    installed = InstalledProgram(make_environment(tmp_path / "env", ours, beside=[theirs]))
    with irc_server(tmp_path) as server, model_endpoint(stream_answer("Tea it is.")) as model:
        write_settings(tmp_path / "data", model, SETTINGS.format(port=server.port, rooms='["#answers"]', more=""))
        allowed = installed.run(tmp_path, "extension", "allow", "irc")
        assert allowed.returncode == 0, allowed.stderr
        ada = IrcClient(server.port, "ada")
        try:
            with installed.serve(tmp_path, "run"):
                ada.join_with("#answers", "Ember")
                ada.say("#answers", "Ember: shall we have tea?")
                ada.wait_for(r":Ember!\S+ PRIVMSG #answers :Tea it is\.")
        finally:
            ada.close()
