"""familiar memory review and check: what waits is listed, walked through, approved and rejected."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from familiar_connect.cli import cli
from familiar_connect.commands.memory.review import review_one_by_one
from familiar_connect.commands.memory.session import open_session
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.writing.plan import Plan, PlannedWrite
from tests.commands.memory.conftest import Run
from tests.fakes.sample_week import memory_of


@pytest.fixture(autouse=True)
def proposals(root: Path) -> None:
    """Two proposals: one of two files, one of one."""
    review = Review(memory_of(root))
    for run_id, names in (("p1", ("a", "b")), ("p2", ("c",))):
        writes = tuple(PlannedWrite(rel_path=f"topics/{name}.md", content=f"# {name}\n", before=None) for name in names)
        review.propose(
            Plan(run_id=run_id, familiar_id="mira", turn_range=(1, 5), created_at=f"2026-{run_id}", writes=writes)
        )


def topics(root: Path) -> list[str]:
    return [path for path in memory_of(root).glob("topics/*.md") if len(path) == len("topics/a.md")]


def walked(root: Path, answers: list[str], edited: str = "") -> int:
    """The walk of an owner who types *answers*."""
    typed = iter(answers)
    with click.Context(cli, obj={"home": root.parent.parent}) as ctx, open_session(ctx, None) as memory:
        return review_one_by_one(
            memory, Review(memory.store), ask=lambda question: next(typed), edit=lambda text: text + edited
        )


def test_what_waits_is_listed_in_a_pipe(run: Run) -> None:
    """Never a question where nobody can answer."""
    assert run("review").out.splitlines()[0].startswith("p1  2026-p1  2 files by memory_writer, turns 1–5")
    assert [(row["id"], row["files"]) for row in run("review", "--json").json] == [
        ("p1", ["topics/a.md", "topics/b.md"]),
        ("p2", ["topics/c.md"]),
    ]
    assert "+# a" in run("review", "--show", "p1").out


def test_flags_approve_and_reject(run: Run, root: Path) -> None:
    """Whole proposals or single files."""
    assert run("review", "--approve", "p1", "--file", "topics/b.md").out == "written    topics/b.md\n"
    assert run("review", "--reject", "p1", "--reason", "no").code == 0
    assert run("review", "--approve-all", "--json").json[0]["written"] == ["topics/c.md"]
    assert topics(root) == ["topics/b.md", "topics/c.md"]
    assert run("review", "--list").out == "Nothing to review.\n"


def test_a_conflict_is_told_and_goes_on_waiting(run: Run, root: Path) -> None:
    """Exit code 1."""
    (root / "memory" / "topics" / "c.md").write_text("# mine\n")
    outcome = run("review", "--approve", "p2")

    assert outcome.code == 1
    assert "topics/c.md changed since this was proposed" in outcome.out
    assert (root / "memory" / "topics" / "c.md").read_text() == "# mine\n"


@pytest.mark.parametrize("words", [("--approve", "nope"), ("--reject", "../x"), ("--show", "nope")])
def test_an_unknown_id_is_told(run: Run, words: tuple[str, ...]) -> None:
    """In one sentence."""
    outcome = run("review", *words)

    assert outcome.code == 1
    assert "review --list" in outcome.err + outcome.out


def test_the_walk_asks_for_each_file(root: Path) -> None:
    """Approve, reject, skip; what is skipped waits."""
    assert walked(root, ["a", "r", "s"]) == 0
    assert topics(root) == ["topics/a.md"]
    assert [pending.id for pending in Review(memory_of(root)).list()] == ["p2"]


def test_the_walk_edits_before_it_approves(root: Path) -> None:
    """The diff is shown again after the editor."""
    walked(root, ["e", "a", "q"], edited="More.\n")

    assert memory_of(root).read_file("topics/a.md") == "# a\nMore.\n"
    assert len(Review(memory_of(root)).list()) == 2


def test_the_walk_takes_all_of_a_proposal(root: Path) -> None:
    """One letter for the rest of it."""
    walked(root, ["A", "A"])

    assert topics(root) == ["topics/a.md", "topics/b.md", "topics/c.md"]


def test_batches_the_writer_gave_up_on_are_asked_about(root: Path) -> None:
    """They are let go or left."""
    memory_of(root).write_file("sessions/.pending/a1/quarantine.json", '{"turns": [1, 3], "reason": "no answer"}')
    walked(root, ["r", "q"])

    assert [pending.id for pending in Review(memory_of(root)).list()] == ["p1", "p2"]


def test_check_tells_and_proposes(run: Run, root: Path) -> None:
    """Broken things are exit code 1; suggestions wait in review."""
    assert run("check").code == 0
    (root / "memory" / "topics" / "pixel.md").write_text("# Pixel\n[Alice](discord-1001.md)\n")
    outcome = run("check", "--propose", "--json")

    assert outcome.code == 1
    assert [row["kind"] for row in outcome.json["findings"]] == ["broken link"]
    assert outcome.json["proposal"].startswith("housekeeping-")
    assert run("review", "--approve", outcome.json["proposal"]).code == 0
    assert "(../people/discord-1001.md)" in (root / "memory" / "topics" / "pixel.md").read_text()
    assert "2 proposals and batches are waiting" in run("check").out
