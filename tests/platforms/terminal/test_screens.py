"""What the window shows, compared as text, at 110, 80 and 40 columns: the real program on a real terminal."""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.platforms.terminal.help import FIRST, help_text, list_slash_commands
from tests.fakes.model_server import Answer, stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are Unix's", allow_module_level=True)

from tests.fakes.terminal import TerminalSession
from tests.platforms.terminal.test_real_terminal import in_two_parts, open_gate

WIDTHS = (110, 80, 40)
REPLY = (
    "*waves her little flame* Hello! Here is **what** I know about tea:\n"
    "- green tea is light and should not be brewed with boiling water\n"
    "- black tea\n"
    "```py\n"
    "for each in tea:\n"
    "    drink(each)\n"
    "```\n"
    "Try `make tea` now, and tell me how it went, would you?"
)
SHOWN = {
    110: """\
Ember: waves her little flame Hello! Here is what I know about tea:
• green tea is light and should not be brewed with boiling water
• black tea
    for each in tea:
        drink(each)
Try make tea now, and tell me how it went, would you?""",
    40: """\
Ember: waves her little flame Hello!
Here is what I know about tea:
• green tea is light and should not be
  brewed with boiling water
• black tea
    for each in tea:
        drink(each)
Try make tea now, and tell me how it
went, would you?""",
}
SHOWN[80] = SHOWN[110]
WITHOUT_COLOUR = """\
Ember: *waves her little flame* Hello!
Here is what I know about tea:
- green tea is light and should not be
  brewed with boiling water
- black tea
    for each in tea:
        drink(each)
Try `make tea` now, and tell me how it
went, would you?"""


def in_pieces(text: str, size: int = 5) -> Answer:
    return stream_answer(*(text[at : at + size] for at in range(0, len(text), size)))


def assert_words_are_whole(screen: str, *sentences: str) -> None:
    """Each sentence stands on the screen, broken at its spaces only."""
    words = " ".join(screen.split())
    for sentence in sentences:
        assert " ".join(sentence.split()) in words, f"{sentence!r} in\n{screen}"


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_reply_is_rendered_and_broken_at_words(tmp_path: Path, columns: int) -> None:
    """Actions are italic, bold is bold, lists have bullets, code is set in; so is the greeting broken."""
    with model_endpoint(in_pieces(REPLY)) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam", columns=columns) as session:
            session.wait_for_screen("Sam:")
            session.enter("hi")
            session.wait_for_screen(SHOWN[columns])
            assert session.leave() == 0
    assert_words_are_whole(
        session.screen.everything,
        "Ember: Oh, hello! I'm Ember, the little flame in this kettle. It's good to see you, Sam!",
        "Type and press Enter. /help lists commands, Ctrl-C stops a reply, Ctrl-D leaves.",
    )
    for mark in (b"\x1b[3mwaves", b"\x1b[1mwhat\x1b[22m", b"\x1b[36mmake tea\x1b[39m"):
        assert mark in session.raw.replace(b"\r\n", b" ")


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_reply_to_one_question_is_broken_at_words_too(tmp_path: Path, columns: int) -> None:
    """`ask` in a window; a pipe gets the reply as it came."""
    reply = (
        "I've got it down to a science, and you can ask me anything about the bell, but you'll have to wait a while."
    )
    with model_endpoint(in_pieces(reply), in_pieces(reply)) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "ask", "Tell me about the bell.", columns=columns) as session:
            session.wait_end()
            session.wait_for_text("while.")
        assert run_program(tmp_path, "ask", "Tell me about the bell.").stdout == f"{reply}\n"
    assert_words_are_whole(session.screen.everything, reply)


def test_another_chat_opens_as_a_start_does(tmp_path: Path) -> None:
    """A new one with the greeting, one that was begun with its last words."""
    with model_endpoint(stream_answer("Tea it is.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam", columns=110) as session:
            session.wait_for_screen("Sam:")
            session.enter("Tea?")
            session.wait_for_screen("Ember: Tea it is.")
            session.enter("/chat new tale")
            session.wait_for_screen("A new chat, 'tale'.\nEmber: Oh, hello! I'm Ember")
            session.enter("/chat main")
            session.wait_for_screen("This is the chat 'main'.\nLast time")
            session.wait_for_screen("  Ember: Tea it is.")
            assert session.leave() == 0


@pytest.mark.parametrize("columns", [110, 80, 40])
def test_help_fits_a_screen(columns: int) -> None:
    """With the prompt below it, the most used explained; all of it is one word more."""
    shown, whole = help_text(columns), help_text(columns, about="all")
    lines = shown.splitlines()

    assert len(lines) < 24
    assert max(map(len, lines)) <= columns
    assert all(f"/{name} " in shown for name in FIRST)
    assert all(f"/{each.name}" in whole for each in list_slash_commands())
    assert "/help all" in shown


def test_help_tells_of_one_command_alone(tmp_path: Path) -> None:
    """With the slash or without; one that is not there is answered with the nearest."""
    make_home(tmp_path)
    with TerminalSession(tmp_path, "chat", "--as", "Sam", columns=80) as session:
        session.wait_for_screen("Sam:")
        for name in ("swipe", "/swipe"):
            session.enter(f"/help {name}")
        session.enter("/help swip")
        session.wait_for_screen("There is no /swip. Did you mean /swipe?")
        assert session.leave() == 0
    assert session.screen.everything.count("Show the next version of the last reply") == 2
    assert "/regenerate" not in session.screen.everything


def test_a_models_tags_are_neither_shown_nor_kept(tmp_path: Path) -> None:
    """What small models write of pages and templates goes; hearts, comparisons, blanks to fill in and code stay."""
    reply = "<rem>Hello</rem> Sam! I <3 tea, 1 < 2.<br>Dear <name>, a List<int>. Write `<b>` for bold.<|im_end|>"
    with model_endpoint(in_pieces(reply, 3)) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam", columns=80) as session:
            session.wait_for_screen("Sam:")
            session.enter("hi")
            session.wait_for_screen(
                "Ember: Hello Sam! I <3 tea, 1 < 2.\nDear <name>, a List<int>. Write <b> for bold.\n"
            )
            assert session.leave() == 0
    kept = run_program(tmp_path, "logs", "--json").stdout
    assert 'Hello Sam! I <3 tea, 1 < 2.\\nDear <name>, a List<int>. Write `<b>` for bold."' in kept
    assert "rem>" not in kept


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colour_it_is_rendered_plainly(tmp_path: Path, env: dict[str, str]) -> None:
    """The stars of actions and the backticks of code stay, the other marks go; nothing is coloured.

    Waiting is shown all the same, and a terminal that is dumb is sent nothing but lines.
    """
    is_dumb = "TERM" in env
    with model_endpoint(in_pieces(REPLY)) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam", columns=40, env=env) as session:
            session.wait_for_screen("Sam:")
            session.enter("hi")
            session.wait_for_screen(WITHOUT_COLOUR)
            assert session.leave() == 0
    assert not re.search(rb"\x1b\[[0-9;]*[13][0-9;]*m", session.raw), "a colour or a style"
    assert ("thinking…".encode() in session.raw) != is_dumb
    with TerminalSession(tmp_path, "connect", "--list", columns=40, env=env) as session:
        session.wait_end()
    assert b"\x1b[0m" not in session.raw
    assert not is_dumb or b"\x1b" not in session.raw


def test_a_window_that_changes_its_size_is_followed(tmp_path: Path) -> None:
    """Also in the middle of a reply."""
    gate = asyncio.Event()
    words = "one two three four five six seven eight nine ten eleven twelve"
    with model_endpoint(in_two_parts(f"{words}\n", gate, words)) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam", columns=80) as session:
            session.wait_for_screen("Sam:")
            session.enter("count")
            session.wait_for_screen("Ember: one two three")
            session.resize(30, 40)
            open_gate(server, gate)
            session.wait_for_screen("one two three four five six\nseven eight nine ten eleven\ntwelve")
            assert session.leave() == 0


def test_a_long_answer_scrolls_and_stays_in_the_window_s_past(tmp_path: Path) -> None:
    """Each line once and in order, however small the window."""
    lines = [f"Line {number} of the long answer." for number in range(60)]
    with model_endpoint(in_pieces("\n".join(lines), 40)) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam", columns=60, rows=12) as session:
            session.wait_for_screen("Sam:")
            session.enter("tell")
            session.wait_for_screen("\n".join(lines))
            assert session.leave() == 0
    assert session.screen.everything.count("Line 7 of") == 1


@pytest.fixture
def short_home() -> Iterator[Path]:
    """A home whose path fits into a window: one that does not is broken wherever it must be."""
    with tempfile.TemporaryDirectory(prefix="f", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize("columns", WIDTHS)
def test_help_and_connect_are_broken_at_words(short_home: Path, columns: int) -> None:
    """The help of the program and of its verbs, what `connect` says, and mistakes."""
    make_home(short_home)
    for words, sentences in (
        (
            ["help", "--all"],
            ["use Ollama, LM Studio, llama.cpp, KoboldCpp, vLLM or OpenRouter", "Talk in this terminal;"],
        ),
        (
            ["connect", "--help"],
            ["finds servers on this computer, asks, tests, saves", "what was found, for a script;"],
        ),
        (["connect", "--list"], ["No model server answers on this computer (Ollama, LM Studio, llama.cpp, KoboldCpp"]),
        (["connect", "--url", "http://127.0.0.1:9/v1", "--model", "m"], ["Nothing was written."]),
        (["chat", "--familiar", "nobody"], ["there is no familiar"]),
        (["--version"], ["prompt-toolkit", "google-re2", "onnxruntime"]),
        *([(["model", "list"], ["embedded: in use file "])] if columns == 40 else []),
        (["doctor", "--all", "--offline"], ["none: `familiar import document FILE` adds one"]),
    ):
        with TerminalSession(short_home, *words, columns=columns, rows=99) as session:
            session.wait_end()
            session.wait_for_text("\n")
        screen = session.screen.everything
        if sentences:
            assert_words_are_whole(screen, *sentences)
        if words[0] == "doctor":  # under its name; each finding goes on below itself
            findings = [line for line in screen.splitlines() if line and not line.startswith("[")]
            starts = re.compile(r"[✓!✗] \w+|  |Next: |Nothing is wrong")
            assert all(starts.match(line) or columns < 110 for line in findings), screen
        assert max(map(len, screen.splitlines())) <= columns


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("verb", ["chat", "ask", "connect"])
def test_an_example_that_is_too_long_can_still_be_pasted(tmp_path: Path, verb: str, columns: int) -> None:
    """Its lines end as a shell wants it of lines that go on, and what is quoted stays whole."""
    examples = run_program(tmp_path, verb, "--help").stdout.partition("Examples:\n")[2]
    commands = {re.split(" {2,}", line.strip())[0] for line in examples.splitlines() if line.startswith("    ")}
    with TerminalSession(tmp_path, verb, "--help", columns=columns, rows=99) as session:
        assert session.wait_end() == 0
    lines = session.text.splitlines()
    assert max(map(len, lines)) <= columns
    pasted = "\n".join(line.strip() for line in lines).replace("\\\n", "")
    assert len(commands) > 2
    assert commands <= {re.split(" {2,}", line)[0] for line in pasted.splitlines()}


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_command_in_a_hint_is_never_broken(tmp_path: Path, columns: int) -> None:
    """It begins a line of its own where it does not fit: in a chat, and in what is said of a mistake."""
    make_home(tmp_path)
    command = "python3 '/somewhere/not so near/run.py'"
    with TerminalSession(
        tmp_path, "chat", "--as", "Sam", columns=columns, env={"FAMILIAR_COMMAND": command}
    ) as session:
        session.wait_for_screen("Sam:")
        session.enter("/set")
        session.wait_for_text("lists")
        assert session.leave() == 0
    assert f"`{command} config show`" in session.text
    words = ("chat", "--familiar", "nobody")
    with TerminalSession(tmp_path, *words, columns=columns, env={"FAMILIAR_COMMAND": command}) as session:
        assert session.wait_end() == 1
        session.wait_for_text(f"`{command} init nobody`")
    if columns < len(command):
        assert f"\n`{command} init nobody`" in session.text
