"""Every change is told for good, and every text that ever stood there can be had back."""

from __future__ import annotations

import signal
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.audit import AuditLog, hash_of
from familiar_connect.memory.audit_lines import (
    active_changes,
    find_active_change,
    hashes_in,
    last_active_changes,
    line_from_entry,
    withdrawal_line,
)
from familiar_connect.memory.store import MemoryStore, MemoryStoreError, MemoryStorePathError
from familiar_connect.memory.types import AuditEntry
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.support.clock import ManualClock
from tests.fakes.program import run_program


def make_store(tmp_path: Path) -> tuple[MemoryStore, AuditLog]:
    clock = ManualClock(datetime(2031, 1, 1, tzinfo=UTC))
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit", clock=clock)
    assert store.audit is not None
    return store, store.audit


def test_the_log_outlives_the_store(tmp_path: Path) -> None:
    """Reopened, it tells the same entries with everything in them."""
    store, _ = make_store(tmp_path)
    store.write_file("x.md", "one", source="memory_writer", run_id="r1", turn_range=(1, 4))
    store.append_file("x.md", "two")
    store.delete_file("x.md", source="operator")

    assert AuditLog(tmp_path / "audit").entries() == store.audit_entries
    assert AuditLog(tmp_path / "audit").last_hash("x.md") is None


def test_every_text_is_kept(tmp_path: Path) -> None:
    """Written, appended, deleted: each state is there under its hash."""
    store, audit = make_store(tmp_path)
    store.write_file("x.md", "one")
    store.append_file("x.md", "two")
    store.delete_file("x.md", source="operator")

    hashes = [entry.hash_after for entry in audit.entries()]
    assert [audit.read(h) if h else None for h in hashes] == [b"one", b"onetwo", None]


def test_text_somebody_put_there_by_hand_is_kept_before_it_is_overwritten(tmp_path: Path) -> None:
    """New files and edits of ours alike; the hand edit has an entry of its own, which is not the store's."""
    store, audit = make_store(tmp_path)
    (store.root / "x.md").write_text("by hand")
    store.write_file("x.md", "ours")
    (store.root / "x.md").write_text("by hand again")
    store.write_file("x.md", "ours again")

    told = [(entry.source, audit.read(entry.hash_after or "")) for entry in audit.entries("x.md")]
    assert told == [
        ("owner", b"by hand"),
        ("unknown", b"ours"),
        ("owner", b"by hand again"),
        ("unknown", b"ours again"),
    ]
    assert len(store.audit_entries) == 2


def test_reconcile_notices_edits_made_while_nobody_looked(tmp_path: Path) -> None:
    """Changed and removed files get an owner's entry, once; untouched and unknown ones none."""
    store, audit = make_store(tmp_path)
    for name in ("kept.md", "edited.md", "removed.md"):
        store.write_file(name, name)
    (store.root / "edited.md").write_text("by hand")
    (store.root / "removed.md").unlink()
    (store.root / "new.md").write_text("by hand")

    noticed = audit.reconcile(store)
    assert [(e.rel_path, e.operation, e.bytes_written, e.source) for e in noticed] == [
        ("edited.md", "write", 7, "owner"),
        ("removed.md", "delete", 0, "owner"),
    ]
    assert AuditLog(tmp_path / "audit").reconcile(store) == []
    assert audit.read(audit.last_hash("edited.md") or "") == b"by hand"


def test_a_torn_last_line_costs_that_line_only(tmp_path: Path) -> None:
    """Whatever a crash left of it, even all but its end, the lines before and after are read."""
    store, audit = make_store(tmp_path)
    store.write_file("a.md", "a")
    store.write_file("b.md", "b")
    log = tmp_path / "audit" / "log.jsonl"
    whole = log.read_bytes()
    assert whole.count(b"\n") == 4
    whole = whole[: -len(b'{"done":"b.md"}\n')]
    for cut in (1, 20):
        log.write_bytes(whole[:-cut])
        reopened = MemoryStore(store.root, audit_dir=tmp_path / "audit")
        reopened.write_file(f"{cut}.md", "c")

        assert [e.rel_path for e in AuditLog(tmp_path / "audit").entries()] == ["a.md", f"{cut}.md"]
    assert audit.folder == tmp_path / "audit"


@pytest.mark.parametrize(
    "damage",
    [
        b"[" * 200_000,
        b'{"withdrawn":' + b"[" * 200_000 + b"}",
        b'{"time":"x","file":"y.md","operation":' + b"[" * 200_000 + b"}",
        b'{"time":"x","file":"\\q.md","operation":1}',
    ],
    ids=["brackets", "withdrawal", "change", "name"],
)
def test_a_damaged_line_stops_nothing(tmp_path: Path, damage: bytes) -> None:
    """Files are written, told, compared and erased as if it were not there."""
    store, audit = make_store(tmp_path)
    store.write_file("x.md", "one")
    with (tmp_path / "audit" / "log.jsonl").open("ab") as log:
        log.write(damage + b"\n")
    store.write_file("x.md", "two")
    store.write_file("z.md", "three")

    assert [version.number for version in Versions(audit).log("x.md")] == [1, 2]
    assert [entry.source for entry in audit.reconcile(store)] in ([], ["owner"])
    assert audit.erase(["x.md"]) == 2
    assert [entry.rel_path for entry in audit.entries() if entry.rel_path != "y.md"] == ["z.md"]


def test_several_logs_on_one_folder_see_each_other(tmp_path: Path) -> None:
    """A change made by another process is not taken for a hand edit."""
    store, audit = make_store(tmp_path)
    store.write_file("x.md", "one")
    other = MemoryStore(store.root, audit_dir=tmp_path / "audit")
    other.write_file("x.md", "two", source="command line")
    store.write_file("x.md", "three")

    assert [e.source for e in audit.entries()] == ["unknown", "command line", "unknown"]


def test_a_hand_that_undoes_our_change_is_not_taken_for_a_crash(tmp_path: Path) -> None:
    """What was really written stays in the log, whatever stands in the file afterwards."""
    store, audit = make_store(tmp_path)
    store.write_file("x.md", "one")
    store.write_file("x.md", "two")
    (store.root / "x.md").write_text("one")
    audit.reconcile(store)

    assert [e.source for e in audit.entries()] == ["unknown", "unknown", "owner"]


def test_a_change_announced_but_not_made_is_taken_back_by_the_next_write(tmp_path: Path) -> None:
    """Without `reconcile` too, and nobody is blamed for it."""
    store, audit = make_store(tmp_path)
    store.write_file("x.md", "one")
    never = replace(store.audit_entries[0], hash_before=hash_of(b"one"), hash_after=hash_of(b"never"))
    audit.announce(never)
    MemoryStore(store.root, audit_dir=tmp_path / "audit").write_file("x.md", "two", source="next")

    assert [(e.source, e.hash_after) for e in audit.entries()] == [
        ("unknown", hash_of(b"one")),
        ("next", hash_of(b"two")),
    ]


def test_a_change_that_failed_is_taken_back(tmp_path: Path) -> None:
    """A withdrawn line is as if it had never been, for readers of any age."""
    store, audit = make_store(tmp_path)
    store.write_file("x.md", "one")
    store.write_file("x.md", "two")
    audit.withdraw(store.audit_entries[-1])

    assert len(audit.entries()) == 1
    assert audit.last_hash("x.md") == AuditLog(tmp_path / "audit").last_hash("x.md") == hash_of(b"one")


def test_damaged_and_missing_texts_are_told(tmp_path: Path) -> None:
    """Never handed out as if they were whole."""
    store, audit = make_store(tmp_path)
    store.write_file("x.md", "one")
    stored = hash_of(b"one")

    with pytest.raises(MemoryStoreError, match="no text"):
        audit.read(hash_of(b"never"))
    for damage, told in ((b"garbage", "cannot be read"), (zlib.compress(b"two"), "is damaged")):
        audit.close()
        with closing(sqlite3.connect(tmp_path / "audit" / "objects.db")) as pack, pack:
            pack.execute("UPDATE objects SET data = ? WHERE hash = ?", (damage, bytes.fromhex(stored)))
        with pytest.raises(MemoryStoreError, match=told):
            audit.read(stored)


def test_texts_kept_one_by_one_are_still_found(tmp_path: Path) -> None:
    """An older version gave each text a file of its own; it is read, and not kept twice."""
    store, audit = make_store(tmp_path)
    store.write_file("y.md", "y")
    name = hash_of(b"old")
    loose = tmp_path / "audit" / "objects" / name[:2] / name[2:]
    loose.parent.mkdir(parents=True)
    loose.write_bytes(zlib.compress(b"old"))

    assert (audit.keep(b"old"), audit.read(name)) == (name, b"old")
    loose.unlink()
    with pytest.raises(MemoryStoreError, match="no text"):
        audit.read(name)


def test_erasing_takes_the_lines_and_the_texts_of_a_file(tmp_path: Path) -> None:
    """What another file says too stays; so does everything about other files."""
    store, audit = make_store(tmp_path)
    for name, text in (("a.md", "shared"), ("a.md", "secret"), ("b.md", "shared"), ("b.md", "b two")):
        store.write_file(name, text)
    store.delete_file("a.md", source="operator")

    assert audit.erase({"a.md"}) == 1
    assert [(entry.rel_path, entry.hash_after) for entry in audit.entries()] == [
        ("b.md", hash_of(b"shared")),
        ("b.md", hash_of(b"b two")),
    ]
    assert audit.last_hash("a.md") is None
    assert audit.read(hash_of(b"shared")) == b"shared"
    with pytest.raises(MemoryStoreError, match="no text"):
        audit.read(hash_of(b"secret"))
    assert audit.erase({"a.md"}) == 0


def test_erasing_all_but_the_latest_keeps_the_file_known(tmp_path: Path) -> None:
    """The next write is not taken for one after a hand edit."""
    store, audit = make_store(tmp_path)
    store.write_file("a.md", "secret")
    store.write_file("a.md", "clean")
    audit.erase((), but_latest={"a.md"})
    store.write_file("a.md", "next")

    told = [(entry.source, entry.hash_before) for entry in audit.entries("a.md")]
    assert told == [("unknown", None), ("unknown", hash_of(b"clean"))]


def test_erasing_takes_damaged_lines_too(tmp_path: Path) -> None:
    """They may name anyone."""
    store, audit = make_store(tmp_path)
    store.write_file("a.md", "a")
    store.write_file("b.md", "b")
    log = tmp_path / "audit" / "log.jsonl"
    log.write_bytes(log.read_bytes() + b'{"time":"2031","file":"a.md","oper#torn\n')
    audit.erase({"a.md"})

    assert b"a.md" not in log.read_bytes()
    assert len(audit.entries()) == 1


_CHANGES = st.lists(st.tuples(st.sampled_from(["a.md", 'q"uote.md', "ä.md"]), st.sampled_from("wwwwwxt")), max_size=30)


@given(_CHANGES, st.integers(1, 5))
def test_a_glance_at_the_log_tells_what_reading_it_all_would(changes: list[tuple[str, str]], last: int) -> None:
    """Whatever was written, taken back or cut short: the last changes, and each by number and by hash."""
    lines = []
    for number, (name, what) in enumerate(changes):
        moment = datetime(2031, 1, 1, tzinfo=UTC)
        after = hash_of(str(number % 7).encode())
        entry = AuditEntry(name, "write", 1, "unknown", moment, hash_after=after)
        taken_back = replace(entry, hash_after=hash_of(str((number - 1) % 7).encode()))
        lines.append(
            {
                "w": line_from_entry(entry),
                "x": withdrawal_line(taken_back),
                "t": line_from_entry(entry)[:-9] + b"#torn",
            }[what]
        )
    data = b"".join(line + b"\n" for line in lines)

    for path in (None, "a.md", 'q"uote.md', "ä.md"):
        everything = active_changes(data, path)
        assert last_active_changes(data, path, last) == everything[-last:]
        for key, number, raw in everything if path else ():
            assert find_active_change(data, path or "", number) == (key, number, raw)
            found = find_active_change(data, path or "", hashes_in(raw)[-1][:12])
            assert found is not None
            assert hashes_in(found[2]) == hashes_in(raw)
    assert find_active_change(data, "a.md", 0) is None
    assert find_active_change(data, "a.md", 99) is None


def test_erasing_takes_leftovers_of_crashes_that_are_asked_for(tmp_path: Path) -> None:
    """A text kept for a change that was never announced has no line; it is found by what it says."""
    store, audit = make_store(tmp_path)
    store.write_file("b.md", "b")
    audit.keep(b"alice left over")
    audit.keep(b"bob left over")

    assert audit.erase({"a.md"}, leftovers=lambda text: b"alice" in text) == 1
    assert audit.read(hash_of(b"bob left over"))


def test_a_log_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    """Another process may have erased a person meanwhile; its lines are gone for us too."""
    store, audit = make_store(tmp_path)
    store.write_file("a.md", "a")
    store.write_file("b.md", "b")
    assert audit.last_hash("a.md") is not None
    AuditLog(tmp_path / "audit").erase({"a.md"})
    store.write_file("b.md", "b two")

    assert audit.last_hash("a.md") is None
    assert [entry.rel_path for entry in AuditLog(tmp_path / "audit").entries()] == ["b.md", "b.md"]


def test_the_audit_may_not_lie_inside_the_memory(tmp_path: Path) -> None:
    """It would be searched as if it were memory."""
    with pytest.raises(MemoryStorePathError, match="inside the memory folder"):
        MemoryStore(tmp_path, audit_dir=tmp_path / "audit")


KILLED_WRITE = """
import os, signal, sys
from familiar_connect.memory.store import MemoryStore

step, calls = int(sys.argv[2]), 0
store = MemoryStore(sys.argv[1] + "/memory", audit_dir=__import__("pathlib").Path(sys.argv[1] + "/audit"))

def dying(real):
    def call(*args, **kwargs):
        global calls
        is_step_of_a_walk = real.__name__ == "open" and args[1] & getattr(os, "O_PATH", 0)
        calls += not is_step_of_a_walk
        if calls == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    return call

for name in ("open", "write", "fsync", "replace", "mkdir"):
    setattr(os, name, dying(getattr(os, name)))
store.write_file("people/x.md", "new", source="memory_writer")
print(calls)
"""


def test_killed_at_any_step_nothing_is_lost(tmp_path: Path) -> None:
    """The file is the old or the new one, the old text can be had back, and the log agrees once reconciled."""
    seen = set()
    for step in range(1, 100):
        home = tmp_path / str(step)
        (home / "memory" / "people").mkdir(parents=True)
        (home / "memory" / "people" / "x.md").write_text("by hand")
        run = run_program(tmp_path, str(home), str(step), code=KILLED_WRITE)
        store = MemoryStore(home / "memory", audit_dir=home / "audit")
        assert store.audit is not None
        store.audit.reconcile(store)
        text = store.read_file("people/x.md")
        seen.add(text)

        assert text in ("by hand", "new")
        assert [e.name for e in store.list_dir("people")] == ["x.md"]
        if text == "new":
            told = [(version.entry.source, version.number) for version in Versions(store.audit).log("people/x.md")]
            assert told == [("owner", 1), ("memory_writer", 2)]
            assert Versions(store.audit).show("people/x.md", 1) == "by hand"
        else:
            assert [e for e in store.audit.entries() if e.source == "memory_writer"] == []
        if run.returncode == 0:
            break
        assert run.returncode == -signal.SIGKILL, run.stderr
    assert seen == {"by hand", "new"}
