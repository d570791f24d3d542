"""The terminal as a platform, with a script for a person."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from collections import deque
from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.errors import ModelError
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author, PrivacyLevel
from familiar_connect.llm.scripted import Answer, ScriptedModel
from familiar_connect.llm.types import Message
from familiar_connect.platforms.terminal.adapter import TerminalPlatform
from familiar_connect.platforms.terminal.line_input import Interrupted
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.platforms.terminal.welcome import describe_model, greet, warm_up
from tests.fakes.scripted_familiar import model_slots

SAM = Author("terminal", "sam", "sam", "Sam")


class Person:
    """Types these lines; None is the end, an exception is Ctrl-C."""

    def __init__(self, *lines: str | Interrupted | None) -> None:
        self._lines = deque(lines)
        self.prompts: list[str] = []

    async def line(self) -> str | None:
        line = self._lines.popleft() if self._lines else None
        if isinstance(line, Interrupted):
            raise line
        return line

    def set_prompt(self, prompt: str) -> None:
        self.prompts.append(prompt)

    def drop_waiting(self) -> bool:
        return False

    def set_draft(self, text: str) -> None:
        self.prompts.append(f"draft: {text}")

    def close(self) -> None: ...


class Chat:
    """A familiar at a terminal, and what was printed."""

    def __init__(self, home: Path, *replies: Answer, plain: bool = True) -> None:
        root = home / "familiars" / "ember"
        self.model = ScriptedModel(replies)
        self.familiar = Familiar.load_from_disk(
            root if root.exists() else make_starter(home, "ember"), llm_clients=model_slots(self.model)
        )
        self.out, self.aside = io.StringIO(), io.StringIO()
        self.screen = Screen(self.out, self.aside, plain=plain)

    def platform(self, *lines: str | Interrupted | None) -> TerminalPlatform:
        return TerminalPlatform(self.familiar, user=SAM, screen=self.screen, reader=Person(*lines))

    async def run(self, *lines: str | Interrupted | None) -> int:
        platform = self.platform(*lines)
        try:
            await platform.run()
        finally:
            await self.familiar.aclose()
        return platform.exit_code


async def test_each_line_is_answered_in_its_turn(tmp_path: Path) -> None:
    """Blank lines are passed over."""
    chat = Chat(tmp_path, "One.", "Two.")

    assert await chat.run("a", "  ", "b") == 0
    assert chat.out.getvalue() == "One.\nTwo.\n"


async def test_leaving_by_word(tmp_path: Path) -> None:
    """What follows is not heard."""
    for word in ("/quit", "/exit", "/q", "/QUIT"):
        chat = Chat(tmp_path)
        assert await chat.run(word, "never said") == 0
        assert chat.model.calls == []


async def test_help_is_shown_without_a_slash_and_in_capitals(tmp_path: Path) -> None:
    """Where somebody types, the model is asked only by what holds more than the word; a pipe says what it says."""
    chat = Chat(tmp_path, "Of course.", plain=False)
    assert await chat.run("help", " ? ", "/Help", "/HELP Undo", "help me", "Exit", "never said") == 0
    assert chat.out.getvalue().count("  /regenerate ") == 3
    assert chat.out.getvalue().count("Remove the last exchange.") == 4
    assert len(chat.model.calls) == 1
    pipe = Chat(tmp_path, "Of course.")
    assert await pipe.run("help") == 0
    assert len(pipe.model.calls) == 1


@pytest.mark.parametrize("reply", ["", " \n ", "Ember:"], ids=["nothing", "blanks", "its name alone"])
async def test_a_reply_without_a_word_is_told_and_fails_the_run(tmp_path: Path, reply: str) -> None:
    """A script sees by the exit code that it has no answer."""
    chat = Chat(tmp_path, reply)

    assert await chat.run("hello") == 1
    assert chat.aside.getvalue().strip()


async def test_ctrl_c_at_the_prompt_twice_leaves(tmp_path: Path) -> None:
    """Once is answered with how to leave."""
    chat = Chat(tmp_path)

    assert await chat.run(Interrupted(), Interrupted(), "never said") == 0
    assert chat.aside.getvalue().count("Ctrl-C again") == 1
    assert chat.model.calls == []


async def test_a_line_between_two_ctrl_c_begins_anew(tmp_path: Path) -> None:
    """Only two in a row leave."""
    chat = Chat(tmp_path, "Hello.")

    assert await chat.run(Interrupted(), "hi", Interrupted(), "/help", Interrupted(), Interrupted(), "never") == 0
    assert len(chat.model.calls) == 1


async def test_a_model_that_fails_is_told_and_makes_the_exit_code_1(tmp_path: Path) -> None:
    """Also when a later line is answered."""
    chat = Chat(tmp_path, ModelError("nobody listens"), "Hello.")

    assert await chat.run("one", "two") == 1
    assert "No reply: nobody listens" in chat.aside.getvalue()
    assert chat.out.getvalue() == "Hello.\n"


async def test_a_model_that_says_nothing_is_told(tmp_path: Path) -> None:
    """Nobody waits at an empty line; what happened is named, and what may help."""
    chat = Chat(tmp_path, "   ", "")

    assert await chat.run("hi") == 1
    assert "No reply: 'scripted' answered with nothing: ask again" in chat.aside.getvalue()


async def test_forget_me_names_the_command_that_erases_the_person(tmp_path: Path) -> None:
    """Ready to type: their key and the familiar stand in it."""
    chat = Chat(tmp_path)

    assert await chat.run("/forget-me") == 0
    command = f"memory forget {SAM.canonical_key} --familiar {chat.familiar.id}` shows what I keep about you"
    assert command in chat.out.getvalue()


async def test_someone_with_full_privacy_is_told_that_they_were_not_heard(tmp_path: Path) -> None:
    """No model is asked and nothing is stored."""
    chat = Chat(tmp_path)
    chat.familiar.stores.privacy.set(SAM, PrivacyLevel.FULL)

    assert await chat.run("my secret") == 0
    assert "I did not hear that" in chat.aside.getvalue()
    assert chat.model.calls == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_while_waiting_for_a_pipe_leaves_well(tmp_path: Path, number: signal.Signals) -> None:
    """The handlers are as before afterwards."""
    before = signal.getsignal(number)
    chat = Chat(tmp_path)
    platform = chat.platform()
    waiting = asyncio.Event()

    async def wait_for_ever() -> str | None:
        waiting.set()
        await asyncio.Event().wait()
        return None

    platform._reader.line = wait_for_ever  # type: ignore[method-assign]
    running = asyncio.create_task(platform.run())
    await waiting.wait()
    os.kill(os.getpid(), number)
    await asyncio.wait_for(running, 100)
    await chat.familiar.aclose()

    assert platform.exit_code == 0
    assert signal.getsignal(number) is before


async def test_told_to_stop_in_a_reply_it_records_what_was_said(tmp_path: Path) -> None:
    """On a pipe a first Ctrl-C ends the reply, SIGTERM ends everything."""
    chat = Chat(tmp_path, "one two three four", "Next.")
    pause = chat.model.pause_after(2)
    running = asyncio.create_task(chat.platform("tell", "and then?").run())
    await pause.reached.wait()
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.wait_for(running, 100)
    turns = chat.familiar.history_store.recent(familiar_id="ember", channel_id=CHANNEL_ID, limit=9)
    await chat.familiar.aclose()

    said = [turn.content for turn in turns if turn.role == "assistant"]
    assert "one two three four".startswith(said[0])
    assert said[0] != "one two three four"
    assert said[1:] == ["Next."]


async def test_greeting_happens_once_and_only_where_someone_sees_it(tmp_path: Path) -> None:
    """What is recorded as said was said."""
    pipe = Chat(tmp_path, plain=True)
    await greet(pipe.familiar, pipe.screen)
    assert pipe.familiar.history_store.count(familiar_id="ember") == 0
    await pipe.familiar.aclose()
    greeting = "Ember: Oh, hello! I'm Ember, the little flame in this kettle. What's your name?\n"
    for is_first in (True, False):
        chat = Chat(tmp_path, plain=False)
        await greet(chat.familiar, chat.screen)
        shown = chat.out.getvalue()
        assert shown == greeting if is_first else shown.startswith("Last time, ") and shown.endswith(f"  {greeting}")
        assert chat.familiar.history_store.count(familiar_id="ember") == 1
        await chat.familiar.aclose()


async def test_a_character_without_first_words_says_none(tmp_path: Path) -> None:
    """Nothing is made up for it."""
    chat = Chat(tmp_path, plain=False)
    (chat.familiar.root / "memory" / "self" / "first_mes.md").unlink()
    await greet(chat.familiar, chat.screen)

    assert chat.out.getvalue() == ""
    await chat.familiar.aclose()


async def test_warming_up_shows_a_model_the_start_of_the_next_prompt(tmp_path: Path) -> None:
    """And one that cannot use it, or fails, is no trouble."""
    chat = Chat(tmp_path)
    await warm_up(chat.familiar, SAM)
    seen: list[str] = []

    async def prime(messages: list[Message]) -> None:
        seen.extend(message.content for message in messages)
        raise OSError("asleep")

    chat.model.prime = prime  # type: ignore[attr-defined]
    await warm_up(chat.familiar, SAM)
    await chat.familiar.aclose()

    assert "fire spirit" in seen[0]
    assert "Sam: " not in seen


async def test_the_first_line_is_honest_about_the_model(tmp_path: Path) -> None:
    """What it is; how to get a better one is offered once, apart from it."""
    chat = Chat(tmp_path)

    assert "not very bright" in describe_model(chat.familiar)
    assert "offline" in describe_model(chat.familiar)
    await chat.familiar.aclose()
