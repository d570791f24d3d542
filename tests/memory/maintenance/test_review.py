"""Proposals wait, change nothing meanwhile, and are carried out, edited or let go by the owner's word."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from familiar_connect.identity import Author
from familiar_connect.memory.maintenance import review as review_module
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.people import read_aliases
from familiar_connect.memory.store import MemoryStore, MemoryStoreError
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.writing.apply import text_hash
from familiar_connect.memory.writing.plan import PartSource, Plan, PlannedWrite
from familiar_connect.support.clock import ManualClock
from tests.fakes.sample_week import ALICE_FILE, BOB_FILE, copy_week, memory_of

ALICE = Author("discord", "1", "alice_n", "Alice")


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    store.write_file("people/discord-1.md", "# Alice\n\n- likes tea\n")
    return store


@pytest.fixture
def review(store: MemoryStore) -> Review:
    return Review(store, clock=ManualClock(datetime(2031, 1, 1, tzinfo=UTC)))


def plan_for(store: MemoryStore, run_id: str = "r1") -> Plan:
    """Alice's file gains a line from turn 7, and a topic is made."""
    old = store.read_file("people/discord-1.md")
    source = PartSource(part=part_hash("likes ska"), turns=(7,))
    return Plan(
        run_id=run_id,
        familiar_id="mira",
        turn_range=(5, 9),
        created_at="2031-01-01T00:00:00+00:00",
        writes=(
            PlannedWrite(
                rel_path="people/discord-1.md", content=f"{old}- likes ska\n", before=text_hash(old), parts=(source,)
            ),
            PlannedWrite(rel_path="topics/ska.md", content="# Ska\n\nLoud.\n", before=None),
        ),
    )


def test_a_proposal_is_a_folder_a_person_can_read(store: MemoryStore, review: Review) -> None:
    """A diff per file and a page that says what to do; the memory and its log are untouched."""
    review.propose(plan_for(store))
    folder = store.root / "sessions" / ".pending" / "r1"

    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "people__discord-1.md.diff",
        "plan.json",
        "topics__ska.md.diff",
    ]
    assert "+- likes ska" in (folder / "people__discord-1.md.diff").read_text().splitlines()
    assert "familiar memory review --approve r1" in (folder / "README.md").read_text()
    assert store.read_file("people/discord-1.md") == "# Alice\n\n- likes tea\n"
    assert store.audit is not None
    assert len(store.audit.entries()) == 1
    assert store.glob("**/*.md") == ["people/discord-1.md"]


def test_what_waits_is_listed_and_survives_a_restart(store: MemoryStore, review: Review) -> None:
    """Oldest first, with its files and turns."""
    review.propose(plan_for(store, "r2"))
    review.propose(replace(plan_for(store, "r1"), created_at="2031-01-02"))

    found = Review(store).list()
    assert [(pending.id, pending.kind, pending.turn_range) for pending in found] == [
        ("r2", "proposal", (5, 9)),
        ("r1", "proposal", (5, 9)),
    ]
    assert found[0].plan == plan_for(store, "r2")


def test_approving_writes_with_source_run_turns_and_provenance(store: MemoryStore, review: Review) -> None:
    """As the writer would have, aliases included, and nothing waits any more."""
    review.propose(plan_for(store))
    applied = review.approve("r1", roster=[ALICE])

    assert applied.written == ("people/discord-1.md", "topics/ska.md")
    assert store.audit is not None
    entry = store.audit.entries("topics/ska.md")[0]
    assert (entry.source, entry.run_id, entry.turn_range) == ("memory_writer", "r1", (5, 9))
    assert Provenance(store.audit.folder).sources_of("people/discord-1.md") == {part_hash("likes ska"): (7,)}
    assert read_aliases(store)["alice_n"] == ["discord-1"]
    assert review.list() == []
    assert not (store.root / "sessions" / ".pending" / "r1").exists()


def test_some_files_are_approved_and_the_others_wait(store: MemoryStore, review: Review) -> None:
    """Each file is decided by itself."""
    review.propose(plan_for(store))
    review.approve("r1", ["topics/ska.md"])

    assert review.show("r1").files == ("people/discord-1.md",)
    review.reject("r1", "not true")
    assert review.list() == []
    assert store.read_file("people/discord-1.md") == "# Alice\n\n- likes tea\n"
    assert [(line["decision"], line["files"], line["reason"]) for line in review.decisions.all()] == [
        ("approved", ["topics/ska.md"], ""),
        ("rejected", ["people/discord-1.md"], "not true"),
    ]


def test_a_file_that_changed_meanwhile_is_not_overwritten(store: MemoryStore, review: Review) -> None:
    """What the owner wrote stays; what is new is added to it."""
    review.propose(plan_for(store))
    (store.root / "people" / "discord-1.md").write_text("# Alice\n\n- hates tea, as she told me herself\n")
    review.approve("r1")

    text = store.read_file("people/discord-1.md")
    assert text.startswith("# Alice\n\n- hates tea, as she told me herself\n")
    assert "likes ska" in text
    assert "likes tea" not in text


def test_a_changed_file_with_nothing_known_to_be_new_goes_on_waiting(store: MemoryStore, review: Review) -> None:
    """It is told as a conflict instead of being dropped."""
    plan = plan_for(store)
    bare = replace(plan, writes=tuple(replace(write, parts=()) for write in plan.writes))
    review.propose(bare)
    store.write_file("topics/ska.md", "# Ska by hand\n")
    applied = review.approve("r1")

    assert applied.written == ("people/discord-1.md",)
    assert [edit.name for edit in applied.conflicts] == ["topics/ska.md"]
    assert review.show("r1").files == ("topics/ska.md",)
    assert store.read_file("topics/ska.md") == "# Ska by hand\n"


def test_an_edited_proposal_is_what_is_written(store: MemoryStore, review: Review) -> None:
    """Also when the file changed since: the owner's words are added, not lost."""
    review.propose(plan_for(store))
    review.edit("r1", "topics/ska.md", "# Ska\n\nLoud and cheerful.\n")
    store.write_file("topics/ska.md", "# Ska\n\nBrass.\n")

    assert "+Loud and cheerful." in review.diff("r1", "topics/ska.md")
    review.approve("r1")
    text = store.read_file("topics/ska.md")
    assert "Brass." in text
    assert "Loud and cheerful." in text


def test_proposing_the_same_run_again_changes_nothing(store: MemoryStore, review: Review) -> None:
    """Neither while it waits nor after it was decided."""
    review.propose(plan_for(store))
    review.edit("r1", "topics/ska.md", "# Ska\n\nMine.\n")
    review.propose(plan_for(store))
    assert "+Mine." in review.diff("r1", "topics/ska.md")

    review.reject("r1")
    review.propose(plan_for(store))
    assert review.list() == []


def test_damaged_folders_are_told_and_stop_nothing(store: MemoryStore, review: Review) -> None:
    """A torn plan, a plan of another run, an empty folder; each can be rejected."""
    review.propose(plan_for(store, "good"))
    pending = store.root / "sessions" / ".pending"
    for name, text in (("torn", "{"), ("other", (pending / "good" / "plan.json").read_text()), ("list", "[]")):
        (pending / name).mkdir()
        (pending / name / "plan.json").write_text(text)
    (pending / "empty").mkdir()
    (pending / ".hidden").mkdir()

    kinds = {found.id: found.kind for found in review.list()}
    assert kinds == {"torn": "broken", "other": "broken", "list": "broken", "empty": "broken", "good": "proposal"}
    with pytest.raises(MemoryStoreError, match=r"torn.*cannot be read"):
        review.approve("torn")
    for name in ("torn", "other", "list", "empty"):
        review.reject(name)
    assert [found.id for found in review.list()] == ["good"]


@pytest.mark.parametrize("run_id", ["../../people", "", ".", "a/b", "x" * 200])
def test_an_id_never_leads_elsewhere(store: MemoryStore, review: Review, run_id: str) -> None:
    """Ids are single plain names."""
    with pytest.raises(MemoryStoreError):
        review.show(run_id)
    with pytest.raises(MemoryStoreError):
        review.propose(plan_for(store, run_id))


def test_unknown_ids_and_files_are_told(store: MemoryStore, review: Review) -> None:
    """By name, with what there is."""
    review.propose(plan_for(store))

    with pytest.raises(MemoryStoreError, match="nothing is waiting under 'r9'"):
        review.show("r9")
    with pytest.raises(MemoryStoreError, match=r"no file 'x\.md'; it has: people/discord-1\.md, topics/ska\.md"):
        review.approve("r1", ["x.md"])


def test_the_queue_is_bounded(store: MemoryStore, review: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the bound the writer is told to wait for the owner."""
    monkeypatch.setattr(review_module, "MAX_PENDING", 2)
    review.propose(plan_for(store, "r1"))
    review.propose(plan_for(store, "r2"))

    with pytest.raises(MemoryStoreError, match="2 proposals are waiting"):
        review.propose(plan_for(store, "r3"))


def test_a_quarantined_batch_is_listed_and_can_be_dismissed(store: MemoryStore, review: Review) -> None:
    """Not approved: it holds no plan."""
    store.write_file(
        "sessions/.pending/q1/quarantine.json",
        '{"turns": [3, 8], "reason": "no section was found", "created_at": "2031-01-01"}',
        source="memory_writer",
    )
    found = review.show("q1")

    assert (found.kind, found.turn_range, found.reason) == ("quarantine", (3, 8), "no section was found")
    with pytest.raises(MemoryStoreError, match="write-now --retry q1"):
        review.approve("q1")
    review.reject("q1", "small talk")
    assert review.list() == []
    assert review.decisions.all()[-1]["decision"] == "dismissed"


def test_a_week_in_review_mode_becomes_memory_when_approved(tmp_path: Path) -> None:
    """Even all at the end: no fact of the week is lost, though each day was proposed without the one before."""
    reviewed, plain = copy_week(tmp_path / "a", review=True), copy_week(tmp_path / "b")
    store, other = memory_of(reviewed), memory_of(plain)
    assert not store.exists(ALICE_FILE)
    review = Review(store)
    for pending in review.list():
        assert review.approve(pending.id).conflicts == ()

    for path in (ALICE_FILE, BOB_FILE):
        said = [line for line in other.read_file(path).splitlines() if line.startswith("- ") and "](" not in line]
        text = store.read_file(path)
        assert [line for line in said if line not in text] == []
