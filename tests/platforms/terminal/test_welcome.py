"""The first words of a chat: which greeting is said, to whom, and that it counts as said."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.errors import HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.memory.store import MemoryStore
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.platforms.terminal.welcome import greet
from familiar_connect.presets.greetings import join_greetings
from tests.fakes.scripted_familiar import model_slots

SAM = Author("terminal", "sam", "sam", "Sam")
GREETINGS = ("Hello {{user}}, I am {{char}}.", "Again, <USER>?", "Third.")


async def said(home: Path, greeting: int | None, *, plain: bool = False) -> tuple[str, list[str]]:
    """What the screen showed and the history holds after a familiar with three greetings said its first words."""
    root = home / "familiars" / "ember"
    if not root.exists():
        make_starter(home, "ember")
        store = MemoryStore(root / "memory")
        store.write_file("self/first_mes.md", GREETINGS[0])
        store.write_file("self/alternate_greetings.md", join_greetings(GREETINGS[1:]))
    familiar = Familiar.load_from_disk(root, llm_clients=model_slots(ScriptedModel()))
    out = io.StringIO()
    try:
        await greet(familiar, Screen(out, io.StringIO(), plain=plain), SAM, greeting=greeting)
        turns = familiar.history_store.recent(familiar_id="ember", channel_id=CHANNEL_ID, limit=9)
    finally:
        await familiar.aclose()
    return out.getvalue(), [f"{turn.role}: {turn.content}" for turn in turns]


@pytest.mark.parametrize(
    ("greeting", "words"),
    [(None, "Hello Sam, I am Ember."), (0, "Hello Sam, I am Ember."), (1, "Again, Sam?"), (2, "Third.")],
)
async def test_the_chosen_greeting_is_said_with_the_names_in_it(
    tmp_path: Path, greeting: int | None, words: str
) -> None:
    """And recorded as the familiar's first turn, so that the model sees it."""
    assert await said(tmp_path, greeting) == (f"Ember: {words}\n", [f"assistant: {words}"])


async def test_a_pipe_is_greeted_only_when_asked_for(tmp_path: Path) -> None:
    """Then with the words alone."""
    assert await said(tmp_path, None, plain=True) == ("", [])
    assert await said(tmp_path, 2, plain=True) == ("Third.\n", ["assistant: Third."])


async def test_a_talk_that_has_begun_is_not_greeted_again(tmp_path: Path) -> None:
    """Whatever number is asked for."""
    await said(tmp_path, 0)

    assert await said(tmp_path, 1, plain=True) == ("", ["assistant: Hello Sam, I am Ember."])


async def test_a_greeting_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    """And nothing is said."""
    with pytest.raises(HomeError, match="no greeting 3: choose 0 to 2"):
        await said(tmp_path, 3)


@pytest.mark.slow
async def test_chance_in_a_greeting_is_real(tmp_path: Path) -> None:
    """Different chats may begin differently."""
    heard = set()
    for number in range(12):
        home = tmp_path / str(number)
        make_starter(home, "ember")
        choices = "::".join(f"w{each}" for each in random.Random(7).sample(range(1000), 100))
        MemoryStore(home / "familiars" / "ember" / "memory").write_file(
            "self/first_mes.md", f"{{{{random::{choices}}}}}"
        )
        heard.add((await said(home, None))[0])

    assert len(heard) > 1
