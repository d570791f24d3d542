"""The demonstration of Telegram as a newcomer meets it: the program as a process and its streams."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("telegram", reason="the Telegram library is an extra")

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

SAID = """\
#dm The password of the cellar is swordfish.
!wait
ada: What is the password?
!wait
ben: /block
ben: hello
/drop
ada: Still there?
"""


def test_the_demo_of_telegram_answers_each_person_alone(tmp_path: Path) -> None:
    """Without a token, through the real library; what you say to it stays with you, and it comes back by itself."""
    answers = (stream_answer(f"Answer {number}.") for number in range(1, 6))
    with model_endpoint(*answers) as server:
        make_home(tmp_path, server)
        done = run_program(tmp_path, "run", "--demo-telegram", said=SAID)

    assert done.returncode == 0, done.stderr
    assert "This is a small local stand-in for Telegram." in done.stdout
    assert "Ember (to You alone): Answer 1." in done.stdout
    assert "Ember (to Ada alone): Answer 2." in done.stdout
    assert "Ember (to Ada alone): Answer 3." in done.stdout
    asked = [str(request.payload["messages"]) for request in server.requests]
    assert "swordfish" in asked[0]
    assert [each for each in asked[1:] if "swordfish" in each] == []
    assert "700000001:" not in done.stdout + done.stderr, "the token stands nowhere"
