"""Several familiars at one terminal, as a process: who speaks, and what each model is shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.history.chats import ChatRegistry
from familiar_connect.platforms.group_talk import open_group_chat
from tests.fakes.model_server import ModelServer, stall, stream_answer
from tests.fakes.program import model_endpoint, run_program
from tests.fakes.waiting import wait_until


def make_group_home(home: Path, server: ModelServer) -> None:
    """Wren and Ember, whose replies come from *server*, and the group `hearth` in list order."""
    for name in ("wren", "ember"):
        settings = make_starter(home, name, name=name.title()) / "character.toml"
        slot = f'\n[llm.main_prose]\nmodel = "test-model"\nbase_url = "{server.base_url}"\n'
        settings.write_text(settings.read_text(encoding="utf-8") + slot, encoding="utf-8")
    (home / "groups").mkdir()
    (home / "groups" / "hearth.toml").write_text('members = ["wren", "ember"]\norder = "list"\n', encoding="utf-8")


def dialogue(payload: Any) -> list[tuple[str, str]]:
    """Role and words of what was said since the samples, without clocks and notes of ours."""
    said = [(each["role"], str(each["content"])) for each in payload["messages"]]
    # Samples that were late on a loaded machine are missing, and so is the line behind them.
    start = next((at for at, (_, text) in enumerate(said) if "A new scene starts here" in text), 1)
    shown = [(role, text.split("\n")[-1]) for role, text in said[start:]]
    shown = [(role, text[8:] if role == "user" else text) for role, text in shown if "[System:" not in text]
    return [(role, text) for role, text in shown if text]


def test_two_familiars_take_turns_and_each_hears_the_other_by_name(tmp_path: Path) -> None:
    """No prompt has another's words as the familiar's own; `inspect` shows what was sent, and a later run goes on."""
    with model_endpoint(
        stream_answer("The rain", " is loud."), stream_answer("Ember: I like it.\nWren: No!"), stream_answer("Mm.")
    ) as server:
        make_group_home(tmp_path, server)
        done = run_program(tmp_path, "chat", "--group", "hearth", "--as", "Sam", said="Good evening!\n")

        assert (done.returncode, done.stdout) == (0, "Wren: The rain is loud.\nEmber: I like it.\n"), done.stderr
        wren, ember = (request.payload for request in server.requests)
        assert dialogue(wren) == [("user", "Sam: Good evening!")]
        assert dialogue(ember) == [("user", "Sam: Good evening!"), ("user", "Wren: The rain is loud.")]
        assert "Wren is in a group chat with" in wren["messages"][0]["content"]
        assert "You are Ember, a tiny fire spirit" in ember["messages"][0]["content"]

        shown = run_program(tmp_path, "inspect", "--familiar", "ember")
        assert shown.returncode == 0, shown.stderr
        assert "Wren: The rain is loud." in shown.stdout

        run_program(tmp_path, "chat", "--group", "hearth", said="/mute ember\nAnd now?\n")
        assert len(server.requests) == 3
        assert dialogue(server.requests[2].payload)[1:] == [
            ("assistant", "The rain is loud."),
            ("user", "Ember: I like it."),
            ("user", "Sam: And now?"),
        ]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are Unix's")
def test_on_a_terminal_everybody_greets_and_ctrl_c_ends_the_round(tmp_path: Path) -> None:
    """Each under its name; who had not begun yet stays silent, and the group is steered by commands."""
    from tests.fakes.terminal import TerminalSession

    with model_endpoint(stall, stream_answer("Here I am.")) as server:
        make_group_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--group", "hearth", "--as", "Sam") as session:
            session.wait_for_text("Sam: ")
            assert session.text.index("Wren: Hello! I'm Wren.") < session.text.index("Ember: Oh, hello!")
            assert session.text.count("It's good to see you, Sam!") == 2
            assert "your name" not in session.text
            assert "Wren and Ember speak through test-model at " in session.text.replace("\n", " ")
            assert session.text.count("through") == 1

            session.enter("Good evening!")
            wait_until(lambda: bool(server.requests), "a request")
            session.ctrl_c()
            session.wait_for_text("(stopped; Ctrl-C again to leave)")
            assert len(server.requests) == 1

            session.enter("/mute wren")
            session.wait_for_text("Wren only listens.")
            session.enter("And you?")
            session.wait_for_text("Ember: Here I am.")
            assert session.leave() == 0
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--with", "wren"], "a group has two familiars or more: --with ONE --with ANOTHER"),
        (["--with", "wren", "--with", "nobody"], "there is no familiar called 'nobody'"),
        (["--with", "wren", "--with", "embr"], "there is no familiar called 'embr'; did you mean 'ember'?"),
        (["--group", "nowhere"], "there is no group called 'nowhere'"),
        (["--with", "wren", "--with", "ember", "--chat", "x"], "--chat names a chat with one familiar"),
    ],
)
def test_a_group_that_cannot_be_is_said_in_a_sentence(tmp_path: Path, words: list[str], sentence: str) -> None:
    """With what to do; nothing is made."""
    from click.testing import CliRunner

    from familiar_connect.cli import cli

    for name in ("wren", "ember"):
        make_starter(tmp_path, name, name=name.title())
    done = CliRunner().invoke(cli, ["--home", str(tmp_path), "chat", *words], input="hi\n")

    assert done.exit_code != 0
    assert sentence in done.output + str(done.exception)
    assert not (tmp_path / "groups").exists()


def test_each_member_has_a_chat_for_the_group_beside_its_own(tmp_path: Path) -> None:
    """The same one every time, until a new one is asked for; the chat of last time stays that."""
    roots = [make_starter(tmp_path, name, name=name.title()) for name in ("wren", "ember")]

    first = open_group_chat(roots, "hearth")
    assert open_group_chat(roots, "hearth") == first
    second = open_group_chat(roots, "hearth", is_new=True)
    assert open_group_chat(roots, "hearth") == second != first
    chats = ChatRegistry(FamiliarFolder(roots[0])).all(1)
    assert [chat.name for chat in chats] == ["main", "group hearth", "group hearth 2"]
    assert chats[0].is_current
