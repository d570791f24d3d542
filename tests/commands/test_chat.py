"""Who talks, and what is kept of what they type."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from familiar_connect.commands.chat import _typed_lines
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author, PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.platforms.terminal.place import CHANNEL_ID, person_at_terminal
from tests.fakes.program import make_home, run_program
from tests.fakes.scripted_familiar import model_slots


@pytest.fixture
def ember(tmp_path: Path) -> Iterator[Familiar]:
    familiar = Familiar.load_from_disk(make_home(tmp_path), llm_clients=model_slots(ScriptedModel()))
    yield familiar
    asyncio.run(familiar.aclose())


@pytest.fixture(autouse=True)
def _login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "j.smith42")


def test_whoever_gave_no_name_is_a_friend(ember: Familiar) -> None:
    """The account's name is no name to be called by, and nothing is kept under it."""
    nameless = person_at_terminal(None, ember)

    assert (nameless.label, nameless.all_known_names) == ("Friend", {"Friend"})
    assert nameless.canonical_key == "terminal:you"


def test_a_person_keeps_their_identity_under_another_name(ember: Familiar) -> None:
    """The name is for speaking, not for remembering."""
    one, other = person_at_terminal("Sam", ember), person_at_terminal("  Alex ", ember)

    assert (one.label, other.label) == ("Sam", "Alex")
    assert one.canonical_key == other.canonical_key
    assert one.platform == "terminal"


def test_who_was_known_by_their_account_before_stays_who_they_are(ember: Familiar) -> None:
    """What they said, and what they chose to be kept private, stays theirs."""
    before = Author("terminal", "j.smith42", None, "Sam")
    ember.history_store.append_turn(
        familiar_id="ember", channel_id=CHANNEL_ID, role="user", content="hi", author=before, mode=None
    )
    assert person_at_terminal("Sam", ember) == before


def test_a_choice_of_privacy_made_under_an_account_holds(ember: Familiar) -> None:
    """Also where nothing they said was kept."""
    ember.stores.privacy.set(Author("terminal", "j.smith42", None, "Sam"), PrivacyLevel.FULL)

    assert ember.stores.privacy.is_full(person_at_terminal("Sam", ember))


def test_typed_lines_of_someone_with_full_privacy_are_kept_nowhere(ember: Familiar, tmp_path: Path) -> None:
    """Not even for the up arrow; of others each familiar has its own."""
    sam = person_at_terminal("Sam", ember)
    assert _typed_lines(ember, sam, tmp_path) == tmp_path / "cache" / "typed" / "ember"

    ember.stores.privacy.set(sam, PrivacyLevel.FULL)
    assert _typed_lines(ember, sam, tmp_path) is None


def test_a_chat_that_is_not_there_yet_is_said_to_be_new(tmp_path: Path) -> None:
    """A slip of the hand is seen at once; the second time it is there."""
    make_home(tmp_path)
    first, again = (run_program(tmp_path, "chat", "--chat", "nosuch", "--plain", said="") for _ in range(2))

    assert "This is the chat 'nosuch'. It is new." in first.stderr + first.stdout
    assert "This is the chat 'nosuch'." in again.stderr + again.stdout
    assert "It is new" not in again.stderr + again.stdout


def test_nothing_said_is_nothing_done(tmp_path: Path) -> None:
    """An empty input leaves at once, and well; the history stays empty."""
    root = make_home(tmp_path)
    done = run_program(tmp_path, "chat", said="")

    assert (done.returncode, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr
    assert run_program(tmp_path, "list").stdout.count(" 0 turns") == 1
    assert root.is_dir()
