"""The demonstration of Twitch as a newcomer meets it: the program as a process, its streams, and a signal."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("twitchAPI", reason="the Twitch library is an extra")

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.program_process import PROGRAM, environment

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
SAID = """\
ada: hello @Ember
ada: > and you?
ben: !ember privacy full
cy: /whisper ember_bot psst
cy: /ban ada
/slow 5
ben: first
ben: second
"""


def test_the_demo_of_twitch_answers_without_a_token(tmp_path: Path) -> None:
    """A line, a reply in Twitch's form, a command, and what the chat does not take; each is shown as it is."""
    with model_endpoint(stream_answer("Good evening, Ada."), stream_answer("Warm and well.")) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "run", "--demo-twitch", said=SAID)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Ember is starting on Twitch.")
    assert "This is a small local stand-in for Twitch." in done.stdout
    assert "Good evening, Ada." in done.stdout
    assert "Ember (to Ben): You share nothing with me (privacy: full)" in done.stdout
    assert "(Cy is not a moderator, so that was not done.)" in done.stdout
    assert "(Nobody is shown that: You will be able to talk again in 5 seconds. [msg_slowmode])" in done.stdout
    asked = " ".join(str(request.payload["messages"]) for request in server.requests)
    assert "psst" not in asked, "the familiar takes no whispers"
    assert "live stream on Twitch" in asked


@POSIX
def test_the_demo_of_twitch_ends_by_a_signal_while_it_listens(tmp_path: Path) -> None:
    """Nothing hangs: not the server of ours, not the sessions of the library."""
    with model_endpoint(stream_answer("Good evening, Ada.")) as server:
        make_home(tmp_path, server)
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*PROGRAM, "run", "--demo-twitch"],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            env=environment(tmp_path),
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("ada: Ember, hello!\n")
        process.stdin.flush()
        seen = next(line for line in process.stdout if "Good evening, Ada." in line)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=400)

    assert seen.strip().endswith(": Good evening, Ada.")
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


def test_the_tour_of_twitch_shows_memory_and_a_connection_that_comes_back(tmp_path: Path) -> None:
    """Across a restart, through what a moderator took back; and nothing is logged between the lines."""
    answers = [stream_answer(f"Answer {number}.") for number in range(20)]
    with model_endpoint(*answers) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "run", "--demo-twitch", "--tour")
    asked = [str(request.payload["messages"]) for request in server.requests]

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "(The familiar is back.)" in done.stdout
    cat = next(each for each in asked if "what is my cat called?" in each)
    assert "My cat is called Pickle" in cat
    assert "buy my coins" not in cat
    assert "still there?" in asked[-1]
