"""What people said, and keys, stay out of the logs; keys stay out of every file."""

from __future__ import annotations

import io
import json
import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.bot import load_familiar
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.load import write_default_model
from familiar_connect.config.secrets import Secrets
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.identity import Author
from familiar_connect.support.log import ROOT, set_up_logging
from tests.fakes.model_server import ModelServer, answer_as_asked, error_answer, stream_answer
from tests.fakes.place import RecordingPlace
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.scripted_familiar import ANA, NOON, scripted_familiar
from tests.fakes.waiting import files_holding

KEY = "sk-fake-0123456789abcdefSECRET"
SAM = Author("terminal", "sam", None, "Sam")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything the program would print with -v."""
    stream = io.StringIO()
    handler = set_up_logging(1, stream=stream)
    yield stream
    logging.getLogger(ROOT).removeHandler(handler)
    logging.getLogger(ROOT).setLevel(logging.NOTSET)


async def test_what_people_said_never_stands_in_a_log_line(tmp_path: Path, log: io.StringIO) -> None:
    """A line says why it speaks and one tells of the turn, with numbers only."""
    async with scripted_familiar(tmp_path, ["The walrus agrees."]) as house:
        await house.talk("I love kumquats")
        await house.talk("beep", author=ANA, is_bot=True)

    # A loaded machine may add that something was slow.
    lines = [line for line in log.getvalue().splitlines() if "blocked the event loop" not in line]
    assert len(lines) == 2
    assert " speaks " in lines[0]
    assert " turn " in lines[1]
    assert "kumquats" not in log.getvalue()
    assert "walrus" not in log.getvalue()
    assert "Ana" not in log.getvalue()


def test_v_says_why_it_spoke_or_stayed_silent(tmp_path: Path) -> None:
    """In the rehearsal of an hour; without a word of what was said."""
    script = {
        "familiar": {"name": "Ember", "settings": 'decide_with = "rules"\n'},
        "people": {"ada": {"name": "Ada"}, "bo": {"name": "Bo"}},
        "places": {"tea": {"kind": "text", "server": "Tea House", "name": "lounge"}},
        "models": {"main_prose": {"say": ["Hello!"], "otherwise": "Mm."}},
        "steps": [
            {"at": "2026-03-01T08:00:00+00:00", "in": "tea", "by": "bo", "say": "Hm, hello?", "mention": True},
            {"after": "1h", "in": "tea", "by": "ada", "say": "I bought kumquats."},
            {"after": "1h", "in": "tea", "by": "bo", "say": "Nice, Ada."},
        ],
    }
    file = tmp_path / "hour.json"
    file.write_text(json.dumps(script), encoding="utf-8")
    told = run_program(tmp_path / "home", "-v", "rehearse", str(file)).stderr

    assert re.search(r" speaks .*trigger=direct_address why=\"they wait for an answer\"", told), told
    assert re.search(r" stays silent .*trigger=lull why=\"nobody asked\"", told), told
    assert "kumquats" not in told


@pytest.mark.parametrize(
    "answer", [stream_answer("Hello", " Sam."), error_answer(401, f"bad key {KEY}")], ids=["works", "refused"]
)
async def test_a_key_is_in_its_own_file_and_nowhere_else(tmp_path: Path, log: io.StringIO, answer: object) -> None:
    """Neither when it works nor when the endpoint throws it back."""
    root = make_starter(tmp_path, "ember")
    Secrets(tmp_path).put("MY_KEY", KEY)
    place = RecordingPlace(streams=True)
    async with ModelServer([answer]) as server:  # type: ignore[list-item]
        write_default_model(root / "character.toml", model="m", base_url=server.base_url, api_key_env="MY_KEY")
        TrustedOrigins(tmp_path).add(server.base_url, "MY_KEY")
        familiar, embedded = load_familiar(root, home=tmp_path)
        message = InboundMessage(platform="terminal", channel_id=1, author=SAM, text="hi", timestamp=NOON)
        await familiar.intake.receive(message, place)
        await familiar.reply_path.queue.wait_until_channel_idle(1)
        await familiar.aclose()

    assert embedded is None
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in log.getvalue() + "".join(place.notices)
    assert files_holding(tmp_path, KEY) == ["secrets.env"]


@pytest.mark.parametrize("words", [("chat", "--plain"), ("ask", "Hello?")])
def test_no_log_line_stands_in_a_chat(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A model that cannot be reached is told in a sentence; the lines about it are in the program's own log."""
    root = make_home(tmp_path, ModelServer([], base_url="http://127.0.0.1:9/v1"))
    with (root / "character.toml").open("a", encoding="utf-8") as settings:
        settings.write("first_token_s = 1\n")  # a server that only comes up is waited for so long, not for minutes
    said = "Hello?\n/undo 9\n/quit\n" if words[0] == "chat" else ""
    done = run_program(tmp_path, *words, said=said)
    kept = run_program(tmp_path, "logs", "--program").stdout

    assert not re.search(r"WARNING|ERROR|INFO|familiar_connect\.", done.stdout + done.stderr), done.stderr
    assert " WARNING familiar_connect." in kept


@pytest.mark.parametrize("words", [("chat", "--plain"), ("ask", "Hello?"), ("ask", "--json", "Hello?")])
def test_warnings_that_went_to_the_log_are_counted_in_one_line_behind_the_talk(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """On standard error, never among the replies; a talk that logged nothing ends without it."""
    said = "Hello?\n/quit\n" if words[0] == "chat" else ""
    with model_endpoint(answer_as_asked("Good evening.")) as server:
        root = make_home(tmp_path, server)
        quiet = run_program(tmp_path, *words, said=said)
        with closing(sqlite3.connect(root / "history.db")) as database:
            database.execute("CREATE TRIGGER theirs AFTER INSERT ON turns BEGIN DELETE FROM turns; END")
        warned = run_program(tmp_path, *words, said=said)
        kept = run_program(tmp_path, "logs", "--program").stdout.splitlines()

    assert "logged" not in quiet.stdout + quiet.stderr, kept
    count = sum(" WARNING " in line for line in kept)
    what = "1 warning was logged" if count == 1 else f"{count} warnings were logged"
    assert count >= 1
    assert warned.stderr.splitlines()[-1].startswith(f"{what}: `familiar logs --program` shows ")
    assert "logged" not in warned.stdout


def test_a_home_that_takes_no_log_keeps_it_out_of_the_chat_all_the_same(tmp_path: Path) -> None:
    """One sentence says that none is kept."""
    make_starter(tmp_path, "ember")
    (tmp_path / "cache").write_text("no folder", encoding="utf-8")
    done = run_program(tmp_path, "chat", "--plain", said="/undo 9\n/quit\n")

    assert "this run keeps no log" in done.stderr
    assert "WARNING" not in done.stdout + done.stderr
