"""Orders to a familiar through the program as a process: rehearsed, and typed at the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

EXAMPLES = Path(__file__).parents[2] / "examples" / "rehearse"


@pytest.mark.parametrize("name", ["marks_set"])
def test_the_example_holds(tmp_path: Path, name: str) -> None:
    """As an owner would rehearse it."""
    done = run_program(tmp_path, "rehearse", str(EXAMPLES / f"{name}.json"), "--scripted")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout


def test_a_chat_at_the_terminal_is_begun_anew(tmp_path: Path) -> None:
    """What was said is not sent any more, until that is taken back."""
    with model_endpoint(*(stream_answer(text) for text in ("One.", "Two.", "Three."))) as server:
        make_home(tmp_path, server)
        said = "I like ska.\n/reset\nHello?\n/reset undo\nWell?\n"
        done = run_program(tmp_path, "chat", "--plain", said=said)

    assert "begins anew" in done.stdout
    sent = [str(request.payload["messages"]) for request in server.requests]
    assert ["I like ska." in each for each in sent] == [True, False, True]
