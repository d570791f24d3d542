"""familiar memory forget, export, write-now."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.identity import Author
from familiar_connect.memory.index.indexing_store import IN_USE_FILE
from familiar_connect.memory.maintenance.forget_person import Order
from familiar_connect.memory.maintenance.person_lookup import Person
from familiar_connect.support.files import SharedLock
from familiar_connect.support.serialize import to_plain
from tests.commands.memory.conftest import Run
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.sample_week import ALICE_FILE, history_of
from tests.fakes.terminal import TerminalSession


def test_forgetting_lists_and_asks_for_the_name(run: Run, root: Path) -> None:
    """Anything else than the name erases nothing."""
    outcome = run("forget", "alice_n", typed="yes\n")

    assert outcome.code == 1
    assert "turns          5" in outcome.out
    assert "stay unless --also-mentions" in outcome.out
    assert "Nothing was erased." in outcome.err
    assert (root / "memory" / ALICE_FILE).exists()


def test_each_file_of_others_is_listed_once_with_what_happens_to_it(run: Run, root: Path) -> None:
    """How much of it goes and how much stays."""
    plan = run("forget", "Alice", "--dry-run").out
    files = [line.strip().split(": ")[0] for line in plan.splitlines() if line.startswith("    ") and ".md: " in line]
    files = [each for each in files if each.endswith(".md")]
    everything = run("forget", "Alice", "--dry-run", "--also-mentions").out

    assert files
    assert sorted(set(files)) == sorted(files)
    assert "stay unless" not in everything
    assert " parts removed" in everything


def test_nothing_is_erased_while_another_program_has_the_familiar_open(run: Run, root: Path) -> None:
    """Its index and its next prompt would keep their words; looking is allowed."""
    folder = FamiliarFolder(root)
    for lock in (SharedLock(folder.running_file), SharedLock(folder.index / IN_USE_FILE)):
        lock.hold()
        refused = run("forget", "Alice", "--yes")
        looked = run("forget", "Alice", "--dry-run")
        lock.release()

        assert (refused.code, looked.code) == (1, 0)
        assert "is open in another program, so nothing was erased: close it" in " ".join(refused.err.split())
    assert (root / "memory" / ALICE_FILE).exists()


def test_the_name_typed_erases(run: Run, root: Path) -> None:
    """With progress on standard error; afterwards nobody is called so."""
    outcome = run("forget", "Alice", typed="Alice\n")

    assert outcome.code == 0
    assert "Erased 5 turns" in outcome.out
    assert "… free pages" in outcome.err
    assert not (root / "memory" / ALICE_FILE).exists()
    assert "no one called 'Alice'" in run("forget", "Alice", "--yes").err


def test_scripts_forget_too(run: Run, root: Path) -> None:
    """A dry run changes nothing; --yes does not ask; the terminal's own lines go with its user."""
    history = history_of(root)
    history.append_turn(
        familiar_id="mira", channel_id=1, role="user", content="hi", author=Author("terminal", "sam", "sam", "Sam")
    )
    history.close()
    lines = root.parent.parent / "cache" / "chat-lines"
    lines.parent.mkdir(exist_ok=True)
    lines.write_text("hi")
    dry = run("forget", "Sam", "--dry-run", "--json").json
    run("forget", "twitch-77", "--yes", "--json")
    assert lines.exists()
    done = run("forget", "terminal:sam", "--yes", "--json").json

    assert (dry["turns"], dry["person"]) == (1, "terminal:sam")
    assert done["erased"]["turns"] == 1
    assert not lines.exists()


def test_a_run_that_was_cut_is_finished_first(run: Run, root: Path) -> None:
    """Whoever is asked for next."""
    order = Order(person=Person(author=Author("discord", "1001", "alice_n", "Alice")))
    (root / "audit" / "forgetting.json").write_text(json.dumps(to_plain(order)))
    outcome = run("forget", "Bob", typed="no\n")

    assert "finishing an earlier run that was interrupted: discord:1001" in outcome.err
    assert not (root / "memory" / ALICE_FILE).exists()
    assert (root / "memory" / "people" / "discord-1002.md").exists()


def test_a_person_is_exported(run: Run, tmp_path: Path) -> None:
    """To a zip that did not exist before."""
    target = tmp_path / "alice.zip"

    assert run("export", "Alice", "--to", str(target), "--json").json["turns"] == 5
    assert "turns.jsonl" in zipfile.ZipFile(target).namelist()
    assert "exists already" in run("export", "Alice", "--to", str(target)).err


def test_writing_now_writes_what_was_said(run: Run, root: Path) -> None:
    """With the embedded model by quotes, without a call; once."""
    history = history_of(root)
    history.append_turn(
        familiar_id="mira",
        channel_id=10,
        role="user",
        content="I moved to Graz and I play the cello now.",
        author=Author("discord", "1002", "bobby", "Bob"),
        guild_id=2001,
    )
    history.close()
    outcome = run("write-now", "--json")

    assert [result["state"] for result in outcome.json] == ["written"]
    assert outcome.json[0]["people"] == ["people/discord-1002.md"]
    assert "Nothing new was said" in run("write-now").out


def test_retrying_an_unknown_batch_is_told(run: Run) -> None:
    """By its id."""
    outcome = run("write-now", "--retry", "nope")

    assert outcome.code == 1
    assert "there is no batch 'nope'" in outcome.err


def test_the_owner_is_found_by_the_name_they_have_just_given(tmp_path: Path) -> None:
    """Told "I'm Sam", the familiar knows Sam, by what they said first, too."""
    with model_endpoint(stream_answer("Hello.")) as server:
        make_home(tmp_path, server)
        with TerminalSession(tmp_path, "chat") as session:
            session.wait_for_text("your name?")
            session.enter("What a day!")
            session.wait_for_text("Ember: Hello.")
            session.wait_for_text("Friend: ", times=2)
            session.enter("/name Sam")
            session.wait_for_text("I call you Sam")
            assert session.leave() == 0
    found = json.loads(run_program(tmp_path, "memory", "forget", "sam", "--dry-run", "--json").stdout)
    assert (found["person"], found["turns"]) == ("terminal:you", 1)
    assert {"Sam", "Friend"} <= set(found["names"])

    done = run_program(tmp_path, "memory", "forget", "Sam", said="Sam\n")
    assert done.returncode == 0, done.stderr
    assert "Type Sam to erase it" in done.stdout
    assert "of Sam (terminal:you)" in done.stdout
    assert "long day" not in run_program(tmp_path, "logs").stdout
    assert "no one called 'Bo' is known" in one_sentence(run_program(tmp_path, "memory", "forget", "Bo"))
