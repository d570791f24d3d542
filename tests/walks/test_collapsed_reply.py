"""A model that collapses, as its owner meets it: another reply comes, and the glass box says what happened."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

TALE = "I am a small fire sprite, and I live in a tea kettle by the sea."


def test_the_chat_goes_on_after_a_reply_that_collapsed(tmp_path: Path) -> None:
    """A row of signs is neither shown nor kept, and the model is asked the same again at a higher temperature."""
    answers = (stream_answer(TALE), stream_answer("||", "|||||"), stream_answer("Good night!"))
    with model_endpoint(*answers) as server:
        settings = make_home(tmp_path, server) / "character.toml"
        settings.write_text(settings.read_text(encoding="utf-8") + "temperature = 0.5\n", encoding="utf-8")
        done = run_program(tmp_path, "chat", "--plain", said="Who are you?\nI am off to bed.\n")
        replies = [each.payload for each in server.requests if each.payload.get("stream")]
    shown = " ".join(run_program(tmp_path, "inspect").stdout.split())

    assert done.returncode == 0, done.stderr
    assert done.stdout.count(TALE) == 1
    assert "Good night!" in done.stdout
    assert "||" not in done.stdout
    assert [each["temperature"] for each in replies] == [0.5, 0.5, 0.8]
    assert replies[1]["messages"] == replies[2]["messages"]
    assert "because it wrote signs instead of words" in shown
