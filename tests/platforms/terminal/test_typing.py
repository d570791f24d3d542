"""Typing at the real program on a real terminal: completion, slips, several lines, and nothing in the way."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are Unix's", allow_module_level=True)

from tests.fakes.terminal import TerminalSession
from tests.platforms.terminal.test_real_terminal import in_two_parts, open_gate, said_by_the_familiar

HELP_AT_40 = """\
/name       what I call you
/persona    who you are to me"""
CLEAR = "\x15"
PASS = "state=written"
"""A line of the log that tells of a memory pass ends so, about."""
SEARCH, LINE_END = "\x12", "\x05"
NEW_LINE = "\x1b\r"


def test_tab_completes_and_a_slip_is_met_with_what_was_meant(tmp_path: Path) -> None:
    """Commands, files of memory, names; and /help begins with what people use and hides what is refused here."""
    with model_endpoint(stream_answer("Hello.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Samantha", columns=40) as session:
            session.wait_for_screen("Samantha:")
            session.type("/mem\t")
            session.wait_for_screen("Samantha: /memory")
            session.type("name\t")
            session.wait_for_screen("Samantha: /memory self/name.md")
            session.type("\r")
            session.wait_for_screen("self/name.md\nEmber\n")
            session.type("/chat m\t")
            session.wait_for_screen("Samantha: /chat main")
            session.type(f"{CLEAR}/remind \t")
            session.wait_for_screen("cancel")
            session.type(CLEAR)
            session.enter("/memroy")
            session.wait_for_screen("There is no /memroy. Did you mean\n/memory?")
            session.enter("/clear")
            session.wait_for_screen("There is no /clear. /reset starts the\nchat over.")
            session.enter("help")
            session.wait_for_screen(HELP_AT_40)
            session.wait_for_screen("NAME one.\nSamantha:")
            session.enter("/preset use Nothing")
            session.enter("hi")
            session.wait_for_screen("Ember: Hello.")
            session.type("for Sama\t")
            session.wait_for_screen("Samantha: for Samantha")
            session.type(CLEAR + "quit\r")
            assert session.wait_end() == 0
    for refused in ("/reward", "/punish", "/subscribe-text", "/remember-me-everywhere"):
        assert refused not in session.screen.everything


def test_a_message_may_have_several_lines(tmp_path: Path) -> None:
    """Alt-Enter, a backslash, three quotes, or pasted: Enter alone sends."""
    with model_endpoint(*(stream_answer(f"Answer {number}.") for number in range(4))) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam", columns=80) as session:
            for number, keys in enumerate(
                (f"one{NEW_LINE}two\r", "one\\\rtwo\r", '"""one\rtwo"""\r', "\x1b[200~one\ntwo\x1b[201~\r")
            ):
                session.wait_for_text("Sam: ", times=number + 1)
                session.type(keys)
                session.wait_for_screen(f"Ember: Answer {number}.")
            assert "Sam: one\n     two\nEmber: Answer 0." in session.screen.everything
            assert session.leave() == 0
        said = [str(request.payload["messages"][-1]["content"]) for request in server.requests]
    assert all(each.endswith("one\n> two") for each in said), said


def test_a_line_found_by_ctrl_r_is_sent_edited_or_given_up(tmp_path: Path) -> None:
    """As in a shell: Enter sends it, Ctrl-E, Right, Tab and Esc take it to be edited, Ctrl-C leaves the search."""
    with model_endpoint(*(stream_answer(f"Answer {number}.") for number in range(7))) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam", columns=80) as session:
            session.wait_for_screen("Sam:")
            session.enter("turn the light on")
            session.wait_for_screen("Answer 0.\nSam:")
            session.type(f"{SEARCH}light")
            session.wait_for_screen("I-search backward: light")
            session.type("\r")
            session.wait_for_screen("Sam: turn the light on\nEmber: Answer 1.\nSam:")
            line = "turn the light on"
            for number, key in enumerate(("", "\x1b[C", "\t", "\x1b"), 2):
                session.type(f"{SEARCH}light{key}{LINE_END}!\r")
                line += "!"
                session.wait_for_screen(f"Sam: {line}\nEmber: Answer {number}.\nSam:")
            session.type(f"{SEARCH}light")
            session.ctrl_c()
            session.type(f"{SEARCH}\r{SEARCH}\x07never mind\r")
            session.wait_for_screen("Sam: never mind\nEmber: Answer 6.")
            assert session.leave() == 0
        assert len(server.requests) == 7, "neither a search that was left nor an empty one says anything"


def test_a_notice_stands_above_what_is_being_typed(tmp_path: Path) -> None:
    """A line of the log, here, that comes while somebody types; the line stays whole and can be sent."""
    with model_endpoint(stream_answer("Hello."), stream_answer("I see.")) as server:
        settings = make_home(tmp_path, server) / "character.toml"
        text = settings.read_text(encoding="utf-8")
        settings.write_text(text.replace("[memory_writer]", "[memory_writer]\nidle_timeout = 6"), encoding="utf-8")
        with TerminalSession(tmp_path, "-v", "chat", "--as", "Sam", columns=80) as session:
            session.wait_for_screen("Sam:")
            session.enter("I like tea very much")
            session.wait_for_screen("Ember: Hello.")
            session.wait_for_text("Sam: ", times=2)
            passes = session.text.count(PASS)
            session.type("but coffee is")
            session.wait_for_text(PASS, times=passes + 1)
            session.wait_for_screen("\nSam: but coffee is")
            session.type(" better\r")
            session.wait_for_screen("Ember: I see.")
            assert session.leave() == 0
    before, after = session.screen.everything.split("Sam: but coffee is better\n")
    assert before.count(PASS) > passes
    assert before.endswith("\n")
    assert "but coffee is" not in before + after
    assert 'speaks channel_id=1 trigger=direct_address why="in a direct message' in " ".join(before.split())


def test_ctrl_d_in_a_reply_leaves_after_it(tmp_path: Path) -> None:
    """The reply is said to its end and recorded; what else was typed meanwhile is not lost either."""
    gate = asyncio.Event()
    with model_endpoint(in_two_parts("Far away ", gate, "a bell rang."), stream_answer("Bye.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam") as session:
            session.wait_for_screen("Sam:")
            session.enter("Tell me a story")
            session.wait_for_screen("Ember: Far away")
            session.type("thank you\r\x04")
            open_gate(server, gate)
            assert session.wait_end() == 0
            assert session.settings_now == session.settings_before
    assert "Ember: Far away a bell rang.\nSam: thank you\nEmber: Bye." in session.screen.everything
    assert said_by_the_familiar(tmp_path)[-2:] == ["Far away a bell rang.", "Bye."]
