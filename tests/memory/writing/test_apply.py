"""Carrying out a plan: once, twice, over what others changed meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.memory.store import MemoryStore, MemoryStoreError, MemoryStoreLimits
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.writing.apply import ApplyResult, apply_plan, text_hash
from familiar_connect.memory.writing.plan import PartSource, Plan, PlannedWrite

OLD = "# Alice\n- Lives in Rome.\n"
NEW = "# Alice\n- Lives in Rome.\n- Sings.\n"
PATH = "people/discord-1.md"


def plan(content: str = NEW, before: str | None = OLD, path: str = PATH) -> Plan:
    parts = (PartSource(part=part_hash("Sings."), turns=(4,)),)
    write = PlannedWrite(rel_path=path, content=content, before=text_hash(before), parts=parts)
    return Plan(
        run_id="r1", familiar_id="wren", turn_range=(1, 9), created_at="2026-04-07T19:00:00+00:00", writes=(write,)
    )


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")


@pytest.fixture
def provenance(tmp_path: Path) -> Provenance:
    return Provenance(tmp_path / "audit")


def test_a_file_as_decided_on_is_replaced(store: MemoryStore, provenance: Provenance) -> None:
    """Under the writer's name, with run and turns, and with its sources."""
    store.write_file(PATH, OLD)

    assert apply_plan(store, plan(), provenance=provenance) == ApplyResult(written=(PATH,))
    entry = store.audit_entries[-1]
    assert (entry.source, entry.run_id, entry.turn_range) == ("memory_writer", "r1", (1, 9))
    assert store.read_file(PATH) == NEW
    assert provenance.sources_of(PATH) == {part_hash("Sings."): (4,)}


def test_a_second_time_changes_nothing(store: MemoryStore) -> None:
    """What stands there already is left alone."""
    store.write_file(PATH, OLD)
    apply_plan(store, plan())
    entries = len(store.audit_entries)

    assert apply_plan(store, plan()) == ApplyResult(unchanged=(PATH,))
    assert len(store.audit_entries) == entries


def test_the_owners_edit_stays_and_what_is_new_is_added(store: MemoryStore) -> None:
    """Under a dated heading, at the end, and only once."""
    store.write_file(PATH, "# Alice\n- Lives in Paris, really.\n")
    first = apply_plan(store, plan())
    second = apply_plan(store, plan())

    assert first == ApplyResult(written=(PATH,))
    assert second == ApplyResult(unchanged=(PATH,))
    assert store.read_file(PATH) == "# Alice\n- Lives in Paris, really.\n\n## Added 2026-04-07\n- Sings.\n"


def test_a_file_the_owner_removed_does_not_come_back_whole(store: MemoryStore) -> None:
    """Only what is new is written, under the file's title."""
    apply_plan(store, plan())

    assert store.read_file(PATH) == "# Alice\n\n## Added 2026-04-07\n- Sings.\n"


def test_what_fits_nowhere_is_reported_with_its_words(tmp_path: Path) -> None:
    """A file over the cap is a conflict; the rest of the plan goes on."""
    store = MemoryStore(tmp_path / "m", limits=MemoryStoreLimits(max_file_bytes=30))
    applied = apply_plan(store, plan("x" * 31, None))

    assert applied.written == ()
    assert [(conflict.name, conflict.text) for conflict in applied.conflicts] == [(PATH, "x" * 31)]
    assert "30" in applied.conflicts[0].reason


def test_a_path_outside_is_a_conflict(store: MemoryStore) -> None:
    """Even a plan that was tampered with writes nothing elsewhere."""
    applied = apply_plan(store, plan(path="../out.md", before=None))

    assert len(applied.conflicts) == 1
    assert not (store.root.parent / "out.md").exists()


def test_a_disk_that_refuses_is_raised(store: MemoryStore) -> None:
    """So that the plan is carried out again later."""
    store.write_file("people/discord-1.md/inner.md", "a folder where the file should be")

    with pytest.raises(MemoryStoreError):
        apply_plan(store, plan())


def test_steps_are_told(store: MemoryStore) -> None:
    """Before, after the file, after its sources."""
    steps: list[str] = []
    apply_plan(store, plan(before=None), step=steps.append)

    assert steps == ["file 1: before", "file 1: written", "file 1: sources kept"]
