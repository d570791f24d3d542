"""/model at the terminal, in processes of their own: the choice is in what is asked of the server, and stays."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program


def test_a_model_chosen_in_a_chat_answers_after_a_restart_too(tmp_path: Path) -> None:
    """Until `default` gives the chat back to the familiar's own."""
    with model_endpoint(stream_answer("Hi.")) as server:
        make_home(tmp_path, server)
        first = run_program(tmp_path, "chat", "--plain", said="one\n/model other-one\ntwo\n")
        again = run_program(tmp_path, "chat", "--plain", said="three\n/model show\n/model default\nfour\n")
        usual = server.requests[0].payload["model"]

    assert [each.payload["model"] for each in server.requests] == [usual, "other-one", "other-one", usual]
    assert "other-one answers here from the next reply on." in first.stdout
    assert "other-one answers here, chosen for this channel." in again.stdout
