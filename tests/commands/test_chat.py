"""Who talks, and what is kept of what they type."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from familiar_connect.commands.chat import _typed_lines, _user
from familiar_connect.familiar import Familiar
from familiar_connect.identity import PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from tests.fakes.program import make_home, run_program
from tests.fakes.scripted_familiar import model_slots


def test_whoever_gave_no_name_is_a_friend(monkeypatch: pytest.MonkeyPatch) -> None:
    """The account's name is no name to be called by, and no prompt shows it."""
    monkeypatch.setattr("getpass.getuser", lambda: "j.smith42")
    nameless = _user(None)

    assert (nameless.label, nameless.all_known_names) == ("Friend", {"Friend"})
    assert nameless.user_id == "j.smith42"


def test_a_person_keeps_their_identity_under_another_name() -> None:
    """The name is for speaking, the account for remembering."""
    one, other = _user("Sam"), _user("  Alex ")

    assert (one.label, other.label) == ("Sam", "Alex")
    assert one.canonical_key == other.canonical_key
    assert one.platform == "terminal"


def test_typed_lines_of_someone_with_full_privacy_are_kept_nowhere(tmp_path: Path) -> None:
    """Not even for the up arrow."""
    ember, sam = Familiar.load_from_disk(make_home(tmp_path), llm_clients=model_slots(ScriptedModel())), _user("Sam")
    assert _typed_lines(ember, sam, tmp_path) == tmp_path / "cache" / "chat-lines"

    ember.stores.privacy.set(sam, PrivacyLevel.FULL)
    assert _typed_lines(ember, sam, tmp_path) is None
    asyncio.run(ember.aclose())


def test_nothing_said_is_nothing_done(tmp_path: Path) -> None:
    """An empty input leaves at once, and well; the history stays empty."""
    root = make_home(tmp_path)
    done = run_program(tmp_path, "chat", said="")

    assert (done.returncode, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr
    assert run_program(tmp_path, "list").stdout.count(" 0 turns") == 1
    assert root.is_dir()
