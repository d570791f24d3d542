"""familiar memory log, diff, blame, why, restore."""

from __future__ import annotations

from pathlib import Path

from tests.commands.memory.conftest import Run
from tests.fakes.sample_week import ALICE_FILE


def test_the_log_answers_when_a_belief_changed(run: Run) -> None:
    """Version, date, how much, who, which run and turns."""
    told = run("log", "Alice").out.splitlines()
    lines = [line for line in told if line.startswith("v")]

    assert [line.split()[:2] for line in lines] == [["v1", "2026-04-06"], ["v2", "2026-04-07"], ["v3", "2026-04-10"]]
    assert "+3 −1 lines  memory_writer  run " in lines[-1]
    assert lines[-1].endswith("turns 15–17")


def test_an_edit_by_hand_is_a_version_of_its_own(run: Run, root: Path) -> None:
    """Made with any editor, noticed when one looks."""
    path = root / "memory" / ALICE_FILE
    path.write_text(path.read_text() + "- She is left-handed.\n")
    latest = run("log", "Alice", "--last", "1", "--json").json

    assert [(row["version"], row["source"], row["added"], row["removed"]) for row in latest] == [(4, "owner", 1, 0)]
    assert run("diff", "Alice").out.splitlines()[-1] == "+- She is left-handed."
    assert run("blame", "Alice", "--json").json[-1]["source"] == "owner"


def test_the_log_of_everything_names_files(run: Run) -> None:
    """The latest changes, whatever the file."""
    rows = run("log", "--last", "2", "--json").json

    assert [row["file"] for row in rows] == ["sessions/2026-04-12-afternoon.md", "people/twitch-77.md"]
    assert run("log", "--last", "2").out.splitlines()[1].endswith("people/twitch-77.md")


def test_versions_are_compared(run: Run) -> None:
    """Two, one with the newest, or the last change; the first version is all new."""
    assert "-- She lives on coffee." in run("diff", "Alice").out
    assert "+- Pixel knocked over the teapot and looked proud." in run("diff", "Alice", "1").out
    assert "quit" not in run("diff", "Alice", "1", "2").out
    assert (
        run("diff", "topics/pixel", "--json")
        .json["diff"]
        .startswith("+---\n+audience: server:discord:2001\n+---\n+# Pixel")
    )


def test_blame_tells_each_line(run: Run) -> None:
    """Version, time, source and run before the line itself."""
    line = next(line for line in run("blame", "Alice").out.splitlines() if "mostly mint" in line)

    assert line.startswith("v3 2026-04-10 18:33Z memory_writer run ")


def test_why_quotes_the_words_it_came_from(run: Run) -> None:
    """Each part with who said it and when."""
    outcome = run("why", ALICE_FILE)

    assert "← 2026-04-10 18:01Z Alice: “I quit coffee!" in outcome.out
    part = next(row for row in run("why", "Alice", "--json").json if "mint" in row["text"])
    assert (part["turns"], part["quotes"][0]["who"], part["version"]) == ([15], "Alice", 3)


def test_an_earlier_version_is_put_back(run: Run, root: Path) -> None:
    """And what stood there is a version too."""
    assert run("restore", "Alice", "1").out == f"{ALICE_FILE} matches version 1 again; this is version 4\n"
    assert "lives on coffee" in (root / "memory" / ALICE_FILE).read_text()
    again = {"file": ALICE_FILE, "restored": 3, "version": 5, "changed": True}
    assert run("restore", ALICE_FILE, "3", "--json").json == again


def test_a_deleted_file_comes_back(run: Run, root: Path) -> None:
    """Its versions outlive it."""
    (root / "memory" / ALICE_FILE).unlink()

    assert "deleted" in run("log", ALICE_FILE).out
    assert run("restore", ALICE_FILE, "3").code == 0
    assert "mostly mint" in (root / "memory" / ALICE_FILE).read_text()


def test_a_version_that_stands_there_makes_no_new_one(run: Run) -> None:
    """Nothing changed, and that is said."""
    told = run("restore", "Alice", "v3").out

    assert told == f"{ALICE_FILE} already matches version 3; nothing was changed\n"
    assert [row["version"] for row in run("log", "Alice", "--json").json] == [1, 2, 3]
    again = {"file": ALICE_FILE, "restored": 3, "version": 3, "changed": False}
    assert run("restore", "Alice", "3", "--json").json == again


def test_why_shows_names_and_not_a_cards_marks(run: Run, root: Path) -> None:
    """To people; a script and the file keep what is written."""
    path = root / "memory" / "self" / "scenario.md"
    path.write_text("{{char}} waits for {{user}} at the pier.\n")
    (root / "character.toml").write_text('user_name = "Sam"\n')
    name = (root / "memory" / "self" / "name.md").read_text().strip()

    assert f"{name} waits for Sam at the pier." in run("why", "self/scenario.md").out
    assert "{{char}} waits" in run("why", "self/scenario.md", "--json").out
    assert run("show", "self/scenario.md").out.startswith("{{char}} waits")
