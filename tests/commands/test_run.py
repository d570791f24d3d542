"""`familiar run` as its owner meets it: real processes, real signals."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import pytest

from familiar_connect.bot import Bot
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.program_process import environment, start_program
from tests.fakes.scripted_familiar import ScriptedFamiliar, scripted_familiar
from tests.fakes.terminal import TerminalSession

STAND_IN = """
import asyncio, sys
from familiar_connect import cli
from familiar_connect.bot import Bot
from familiar_connect.commands import run
from familiar_connect.errors import SetupError

class Door:
    id = "discord"
    places = ()
    async def run(self):
        how = {how!r}
        if how == "wrong":
            raise SetupError("the token is wrong: make a new one")
        print("up", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            print("down", flush=True)
            if how == "stuck":
                await asyncio.Event().wait()

run._bot = lambda familiar, home, has_page: Bot(familiar, [Door()], {{"twitch": "no channel"}}, run._tell)
sys.argv = ["familiar", "run"]
cli.end_program(cli.main())
"""
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


class Started:
    """The real verb, with one platform of ours."""

    def __init__(self, home: Path, how: str = "well") -> None:
        make_home(home)
        (hears, writes), (hears_errors, writes_errors) = os.pipe(), os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        streams = (nothing, writes, writes_errors)
        self._process = start_program([], streams, environment(home), code=STAND_IN.format(how=how))
        for descriptor in streams:
            os.close(descriptor)
        self._out, self._err = (os.fdopen(end, encoding="utf-8") for end in (hears, hears_errors))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing goes on when a test has failed."""
        self._process.kill()
        self._out.close()
        self._err.close()

    def read_until(self, line: str) -> list[str]:
        lines: list[str] = []
        while not lines or lines[-1] != line:
            text = self._out.readline()
            assert text, self._err.read()
            lines.append(text.strip())
        return lines

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        """Its exit code when it has ended, and the rest of what it said."""
        with self:
            return self._process.wait(400), self._out.read(), self._err.read()


def test_without_any_platform_it_says_what_to_do(tmp_path: Path) -> None:
    """One sentence, naming the token and its file; exit code 1."""
    make_home(tmp_path)
    done = run_program(tmp_path, "run", env={"DISCORD_BOT": ""})

    assert done.returncode == 1
    assert "no DISCORD_BOT" in one_sentence(done)
    assert str(tmp_path / "secrets.env") in one_sentence(done)


def test_without_the_familiar_it_says_so(tmp_path: Path) -> None:
    """A folder that is not there."""
    make_home(tmp_path)
    done = run_program(tmp_path, "run", "--familiar", "nobody")

    assert done.returncode == 1
    assert "nobody" in one_sentence(done)


def test_settings_that_are_wrong_are_named(tmp_path: Path) -> None:
    """File and key."""
    (make_home(tmp_path) / "character.toml").write_text("[twitch]\nchannel = 3\n")
    done = run_program(tmp_path, "run")

    assert done.returncode == 1
    assert "[twitch] channel" in one_sentence(done)


def test_a_slot_without_its_key_is_named(tmp_path: Path) -> None:
    """Before anything is started."""
    (make_home(tmp_path) / "character.toml").write_text('[llm.default]\nmodel = "openai/gpt"\n')
    done = run_program(tmp_path, "run", env={"DISCORD_BOT": "x"})

    assert done.returncode == 3
    assert "no OPENROUTER_API_KEY" in one_sentence(done)


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_it_ends_well(tmp_path: Path, number: signal.Signals) -> None:
    """It says what runs and what does not, lets the platforms go, and leaves with 0."""
    process = Started(tmp_path)
    lines = process.read_until("up")
    process.send_signal(number)
    code, out, err = process.end()

    assert lines[:2] == ["Ember is starting on Discord. Ctrl-C stops.", "Twitch: no channel."]
    assert (code, out.strip()) == (0, "down"), err
    assert "Stopping" in err
    assert "Traceback" not in err


@POSIX
def test_told_twice_it_leaves_at_once(tmp_path: Path) -> None:
    """Even where a platform does not let go."""
    process = Started(tmp_path, "stuck")
    process.read_until("up")
    process.send_signal(signal.SIGTERM)
    process.read_until("down")
    process.send_signal(signal.SIGTERM)
    code, _, _ = process.end()

    assert code == 128 + signal.SIGTERM


def test_when_every_platform_is_set_up_wrong_it_ends_with_1(tmp_path: Path) -> None:
    """After the sentence that says why."""
    code, _, err = Started(tmp_path, "wrong").end()

    assert code == 1
    assert err.strip().splitlines()[-1] == "discord stays off: the token is wrong: make a new one"


def test_the_demo_answers_without_a_token_or_a_familiar(tmp_path: Path) -> None:
    """A newcomer's first look: what is typed is said on a Discord of ours, and the reply is shown."""
    with model_endpoint(stream_answer("Good evening, Ada.")) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "run", "--demo-discord", said="ada: Ember, hello!\n")

    assert done.returncode == 0, done.stderr
    assert "Good evening, Ada." in done.stdout


def test_the_demo_leaves_the_familiar_as_it_was(tmp_path: Path) -> None:
    """A copy of it as it is now takes part and stays to be looked at, as it is told; the next demo begins anew."""
    with model_endpoint(*(stream_answer("Good evening.") for _ in range(3))) as server:
        root = make_home(tmp_path, server)
        run_program(tmp_path, "chat", "--plain", said="I had soup.\n")
        before = run_program(tmp_path, "logs", "--json").stdout
        (root / "memory" / "self" / "scenario.md").write_text("A lighthouse at night.\n", encoding="utf-8")
        first = run_program(tmp_path, "--home", str(tmp_path), "run", "--demo-discord", said="ada: Ember, hello!\n")
        second = run_program(tmp_path, "run", "--demo-discord", said="ben: Ember, good night!\n")
    hints = [line.strip().split(": ", 1)[1].strip("`") for line in first.stdout.splitlines() if " --home " in line]
    looked = [run_program(tmp_path, *shlex.split(hint)[1:]) for hint in hints if hint.endswith(("logs", "inspect"))]

    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert "That was a copy of Ember; Ember itself heard nothing of it." in first.stdout
    assert run_program(tmp_path, "logs", "--json").stdout == before
    assert [path.name for path in (tmp_path / "familiars").iterdir()] == ["ember"]
    assert "A lighthouse at night." in str(server.requests[-1].payload)
    assert [each.returncode for each in looked] == [0, 0]
    trial = run_program(tmp_path, "--home", str(tmp_path / "trial"), "logs").stdout
    assert "#general  Ben: Ember, good night!" in trial
    assert "I had soup." in trial
    assert "Ember, hello!" not in trial


def test_the_tour_shows_memory_across_a_restart(tmp_path: Path) -> None:
    """What Ada said is known in another channel after it; what was said alone is not told to Ben. The log is apart."""
    with model_endpoint(stream_answer("Good evening.")) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "--home", str(tmp_path), "run", "--demo-discord", "--tour")

    asked = [str(request.payload["messages"]) for request in server.requests]
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "loaded again from its files" in done.stdout
    assert "Ember, what is my cat called?" in asked[-2]
    assert "My cat is called Pickle" in asked[-2]
    assert "what do I get for my birthday?" in asked[-1]
    assert any("red kite" in each for each in asked[:-2])
    assert "kite" not in asked[-2] + asked[-1]
    assert f"--home {tmp_path} run --demo-discord --familiar ember" in done.stdout
    if find_spec("hibari") is None:  # voice is an extra, which the tour says
        assert "— The voice channel is left out: " in done.stdout
    else:
        assert re.search(
            r"\(Ember heard Ada: .+\)\n\(Ember speaks…\)\nEmber \(aloud, [\d.]+ s\): Good evening\.", done.stdout
        )


def test_the_tour_is_of_the_demonstration(tmp_path: Path) -> None:
    """Nobody lets invented people speak on a real server."""
    done = run_program(tmp_path, "run", "--tour")

    assert done.returncode == 2
    assert "run --demo-discord --tour" in done.stderr


def test_the_demo_at_a_terminal(tmp_path: Path) -> None:
    """A mention in another channel is answered there, above the line that is typed; Ctrl-D ends it."""
    with model_endpoint(stream_answer("Good evening, Ada.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "run", "--demo-discord") as terminal:
            terminal.wait_for_text("Ctrl-D ends it.")
            terminal.enter("#garden ada: hello @Ember")
            terminal.type("and half a li")
            terminal.wait_for_screen("[#garden] (Ember is typing…)\n")
            terminal.wait_for_screen("[#garden] Ember: Good evening, Ada.\n#general > and half a li")
            terminal.type("\x03#garden\r")
            terminal.wait_for_screen("(You are in #garden now.)\n#garden >")
            terminal.type("\x04")
            code = terminal.wait_end()

    assert code == 0
    assert "WARNING" not in terminal.text


class Door:
    """A platform that knows what had been said when it was told to go."""

    id = "discord"
    places = ()

    def __init__(self, house: ScriptedFamiliar) -> None:
        self._house = house
        self.said_by_then: list[str] | None = None

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.said_by_then = list(self._house.place.sent)


async def test_a_reply_under_way_is_said_before_it_leaves(tmp_path: Path) -> None:
    """The platform stays until then."""
    async with scripted_familiar(tmp_path) as house:
        door, leaving = Door(house), asyncio.Event()
        thinking = house.model.pause_after(0)
        running = asyncio.create_task(Bot(house.familiar, [door], {}, print).run_until(leaving))
        await house.receive("hello")
        await thinking.reached.wait()
        leaving.set()
        thinking.resume.set()
        code = await running

        assert code == 0
        assert door.said_by_then == ["Hello, Ana."]


async def test_a_reply_that_takes_too_long_does_not_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was asked is in the history; nothing is recorded as said."""
    monkeypatch.setattr("familiar_connect.bot.FINISH_REPLIES_S", 0.05)
    async with scripted_familiar(tmp_path) as house:
        door, leaving = Door(house), asyncio.Event()
        thinking = house.model.pause_after(0)
        running = asyncio.create_task(Bot(house.familiar, [door], {}, print).run_until(leaving))
        await house.receive("hello")
        await thinking.reached.wait()
        leaving.set()
        code = await running

        assert code == 0
        assert door.said_by_then == []
        assert house.roles_and_texts() == [("user", "hello")]


def test_the_discord_token_goes_to_another_address_only_by_the_homes_word(tmp_path: Path) -> None:
    """Not because a variable of the environment, or a file in the familiar's folder, names one."""
    root = make_home(tmp_path)
    named = "DISCORD_API_URL=https://elsewhere.example/api\n"
    (root / "secrets.env").write_text(named, encoding="utf-8")
    from_environment = {"DISCORD_BOT": "x", "DISCORD_API_URL": "https://elsewhere.example/api"}
    done = run_program(tmp_path, "run", env=from_environment)
    plain = run_program(tmp_path, "run", env={"DISCORD_BOT": "x", "DISCORD_API_URL": "http://elsewhere.example/api"})

    assert (done.returncode, plain.returncode) == (1, 1)
    assert "would send the bot's token to https://elsewhere.example" in one_sentence(done)
    assert f"put that line into {tmp_path / 'secrets.env'}" in one_sentence(done)
    assert "over plain http://; use https://" in one_sentence(plain)
