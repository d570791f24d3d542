"""Every change is told for good, and every text that ever stood there can be had back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from familiar_connect.memory import audit as audit_module
from familiar_connect.memory.audit import AuditLog, hash_of
from familiar_connect.memory.store import MemoryStore, MemoryStoreError, MemoryStorePathError
from familiar_connect.memory.versions import Versions
from familiar_connect.support.clock import HandClock


def make_store(tmp_path: Path) -> tuple[MemoryStore, AuditLog]:
    clock = HandClock(datetime(2031, 1, 1, tzinfo=UTC))
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
    home = tmp_path / "audit" / "objects" / stored[:2] / stored[2:]

    with pytest.raises(MemoryStoreError, match="no memory text"):
        audit.read(hash_of(b"never"))
    home.write_bytes(b"garbage")
    with pytest.raises(MemoryStoreError, match="cannot be read"):
        audit.read(stored)


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
        calls += 1
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
    environment = {**os.environ, "PYTHONPATH": str(Path(audit_module.__file__).parents[2])}
    seen = set()
    for step in range(1, 100):
        home = tmp_path / str(step)
        (home / "memory" / "people").mkdir(parents=True)
        (home / "memory" / "people" / "x.md").write_text("by hand")
        run = subprocess.run(
            [sys.executable, "-c", KILLED_WRITE, str(home), str(step)], env=environment, capture_output=True, timeout=60
        )
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
