"""Housekeeping finds what a careful owner would, suggests, and changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from familiar_connect.audience import EVERYONE, OWNER, Audience, whole_server
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.file_audience import read_audience
from familiar_connect.memory.maintenance.housekeeping import MemoryFinding, examine_memory, proposal
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import MemoryStoreLimits
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.writing.plan import PartSource
from familiar_connect.support.clock import ManualClock
from tests.fakes.sample_week import copy_week, memory_of

SERVER = whole_server("discord", 5)
BEGIN = datetime(2031, 1, 1, tzinfo=UTC)
LATER = BEGIN + timedelta(days=30)
LONG = "They met on the pier and talked about the lamps until the last ferry had left without either of them. " * 3


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit", clock=ManualClock(BEGIN))


def found(store: MemoryStore, kind: str, now: datetime = LATER) -> list[MemoryFinding]:
    return [finding for finding in examine_memory(store, now=now) if finding.kind == kind]


def test_a_well_kept_memory_has_no_findings(tmp_path: Path) -> None:
    """A week of the writer's own work is in order."""
    assert examine_memory(memory_of(copy_week(tmp_path)), now=LATER) == []


def test_a_broken_link_is_found_and_mended_if_its_file_only_moved(store: MemoryStore) -> None:
    """One candidate of that name is suggested; with none or several it is only told."""
    store.write_file("topics/ska.md", "# Ska\n[Ann](ann.md)\n[no](nowhere.md)\n")
    store.write_file("people/ann.md", "# Ann\n[ska](../topics/ska.md)\n")
    broken = found(store, "broken link")

    assert [finding.says for finding in broken] == [
        "topics/ska.md:2 links to ann.md: there is no such file; it may mean people/ann.md",
        "topics/ska.md:3 links to nowhere.md: there is no such file",
    ]
    assert broken[0].edits[0].content == "# Ska\n[Ann](../people/ann.md)\n[no](nowhere.md)\n"
    assert broken[1].edits == ()


def test_files_without_any_link_are_told(store: MemoryStore) -> None:
    """People are found by name; topics and sessions want a way to them."""
    store.write_file("topics/lonely.md", "# Lonely")
    store.write_file("topics/known.md", "# Known")
    store.write_file("people/a.md", "# A\n[k](../topics/known.md)")

    assert [finding.files for finding in found(store, "orphan")] == [("topics/lonely.md",)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("# Sam\n\n## Aliases\n- sammy\n", "# Samuel\n\n## Aliases\n- Sammy\n"),
        (f"# Sam\n\n{LONG}", f"# Twitch Sam\n\n{LONG}"),
    ],
    ids=["same alias", "same words"],
)
def test_two_files_about_one_person_are_flagged_until_they_are_linked(store: MemoryStore, one: str, other: str) -> None:
    """The suggestion is a link each way; merging is the owner's."""
    store.write_file("people/discord-1.md", one)
    store.write_file("people/twitch-9.md", other)
    store.write_file("people/discord-2.md", "# Zoe\n\nSomebody else.\n")
    flagged = found(store, "duplicate people")
    plan = proposal(flagged, familiar_id="mira", now=LATER)

    assert [finding.files for finding in flagged] == [("people/discord-1.md", "people/twitch-9.md")]
    assert plan is not None
    assert plan.writes[0].content.endswith("(twitch-9.md).\n")
    review = Review(store)
    review.approve(review.propose(plan))
    assert found(store, "duplicate people") == []


def test_a_name_of_several_people_is_told(store: MemoryStore) -> None:
    """Nothing to mend: names collide."""
    store.write_file("people/_aliases.json", '{"sam": ["discord-1", "twitch-9"], "zoe": "discord-2"}')

    assert [finding.files for finding in found(store, "shared alias")] == [
        ("people/discord-1.md", "people/twitch-9.md")
    ]


def test_notes_that_rest_are_ready_to_become_a_file(store: MemoryStore) -> None:
    """Long enough and left alone long enough; the note leaves a link behind."""
    store.write_file("notes.md", f"# Notes\n\n## The Pier\n{LONG}\n\n## Short\nmilk\n")
    rested = found(store, "note")

    assert found(store, "note", now=BEGIN + timedelta(days=1)) == []
    assert len(rested) == 1
    topic, notes = rested[0].edits
    assert (topic.rel_path, topic.before) == ("topics/the-pier.md", None)
    assert topic.content == f"# The Pier\n\n{LONG.strip()}\n"
    assert notes.content == "# Notes\n\n- [The Pier](topics/the-pier.md)\n\n## Short\nmilk\n"


def test_files_near_their_limit_and_unreadable_ones_are_told(tmp_path: Path) -> None:
    """Before a write fails."""
    store = MemoryStore(tmp_path, limits=MemoryStoreLimits(max_file_bytes=100))
    store.write_file("people/a.md", "x" * 90)
    (tmp_path / "people" / "b.md").write_bytes(b"\xff")

    assert [finding.kind for finding in examine_memory(store, now=LATER)] == ["unreadable", "large file"]


def test_nothing_is_changed_and_a_rejected_proposal_does_not_come_back(store: MemoryStore) -> None:
    """Looking leaves the memory as it is; a no is a no."""
    store.write_file("notes.md", f"# Notes\n\n## The Pier\n{LONG}\n")
    before = {path: store.read_file(path) for path in store.glob("**/*")}
    plan = proposal(examine_memory(store, now=LATER), familiar_id="mira", now=LATER)
    assert plan is not None
    review = Review(store)
    review.reject(review.propose(plan), "keep it there")
    again = proposal(
        examine_memory(store, now=LATER + timedelta(days=1)), familiar_id="mira", now=LATER + timedelta(days=1)
    )
    assert again is not None
    review.propose(again)

    assert {path: store.read_file(path) for path in store.glob("**/*")} == before
    assert review.list() == []


def test_one_persons_files_for_different_hearers_are_no_duplicates(tmp_path: Path) -> None:
    """They belong apart."""
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    for path in ("people/discord-1.md", "people/discord-1@dm-discord-1.md"):
        store.write_file(path, "# Ada\n\n- Ada sails.\n", source="test")

    assert [finding for finding in examine_memory(store, now=LATER) if finding.kind == "duplicate people"] == []


class Heard:
    """Turns of which nothing is known but whom they were said to."""

    def __init__(self, tmp_path: Path, *said_to: Audience) -> None:
        self.history = HistoryStore(tmp_path / "history.db")
        for audience in said_to:
            self.history.append_turn(familiar_id="wren", channel_id=1, role="user", content="Hi.", audience=audience)


@pytest.mark.parametrize(
    ("said_to", "known"),
    [((SERVER, SERVER), True), ((SERVER, EVERYONE), False), ((SERVER, OWNER), False), ((EVERYONE, EVERYONE), True)],
)
def test_a_file_the_program_wrote_is_split_where_all_of_it_has_the_same_hearers(
    tmp_path: Path, said_to: tuple[Audience, ...], known: bool
) -> None:
    """Its parts then say whose they are, as nothing else would tell; where hearers differ it is left to the owner."""
    limits = MemoryStoreLimits(max_file_bytes=4_000)
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit", limits=limits, clock=ManualClock(BEGIN))
    store.write_file("topics/boat.md", "# Boat\n", source="memory_writer")
    oars, sails = (f"- The {name} is old. {'It leaks. ' * 250}" for name in ("oar", "sail"))
    text = f"# Boat\n\n## Oars\n{oars}\n\n## Sails\n{sails}\n"
    (tmp_path / "memory" / "topics" / "boat.md").write_text(text)
    assert store.audit is not None
    parts = [PartSource(part=part_hash(line), turns=(turn,)) for turn, line in enumerate((oars, sails), 1)]
    Provenance(store.audit.folder).record("topics/boat.md", tuple(parts), "r1")
    heard = Heard(tmp_path, *said_to)
    audiences = PartAudiences(store, heard.history, familiar_id="wren")
    blind = found(store, "large file")[0]
    finding = next(each for each in examine_memory(store, now=LATER, audiences=audiences) if each.kind == "large file")
    heard.history.close()

    assert blind.edits == ()
    assert bool(finding.edits) is known
    assert all(read_audience(edit.content) == said_to[0] for edit in finding.edits)
    assert [edit.parts[0].turns for edit in finding.edits[:1]] == ([(1,)] if known else [])


def test_a_part_that_cannot_be_written_keeps_its_lines_in_their_file(tmp_path: Path) -> None:
    """Lines leave a file only once they stand in another."""
    limits = MemoryStoreLimits(max_file_bytes=4_000)
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit", limits=limits, clock=ManualClock(BEGIN))
    boat = tmp_path / "memory" / "topics" / "boat.md"
    boat.parent.mkdir(parents=True)
    boat.write_text(
        text := f"# Boat\n\n## Oars\n- Two.\n\n## Sails\n- {'It leaks. ' * 390}\n\n## Anchor\n- {'x' * 900}\n"
    )
    plan = proposal(examine_memory(store, now=LATER), familiar_id="wren", now=LATER)
    assert plan is not None
    review = Review(store)
    run_id = review.propose(plan)
    (boat.parent / "boat-sails.md").write_text(f"# Another\n\n{'y' * 3_000}\n")
    result = review.approve(run_id)

    assert [edit.name for edit in result.conflicts] == ["topics/boat-sails.md", "topics/boat.md"]
    assert boat.read_text() == text
