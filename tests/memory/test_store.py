"""What a memory store promises about reading, writing, listing and its caps."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from familiar_connect.memory import store as store_module
from familiar_connect.memory.paths import Folder
from familiar_connect.memory.store import (
    DEFAULT_MAX_FILE_BYTES,
    DEFAULT_MAX_FILES_PER_DIR,
    DEFAULT_MAX_RESULTS_PER_OP,
    MemoryStore,
    MemoryStoreEncodingError,
    MemoryStoreError,
    MemoryStoreLimits,
    MemoryStoreSizeLimitError,
)
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.files import temporary_name


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory", limits=MemoryStoreLimits(max_file_bytes=10, max_files_per_dir=3))


def test_defaults() -> None:
    """The caps a store has when nobody says otherwise."""
    assert (DEFAULT_MAX_FILE_BYTES, DEFAULT_MAX_RESULTS_PER_OP, DEFAULT_MAX_FILES_PER_DIR) == (262144, 1000, 10_000)
    assert MemoryStoreLimits() == MemoryStoreLimits(262144, 1000, 10_000)


def test_a_fresh_store_is_empty_and_makes_nothing_beside_itself(tmp_path: Path) -> None:
    """The root is made, and nothing else anywhere."""
    store = MemoryStore(tmp_path / "a" / "memory")

    assert store.list_dir() == []
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["memory"]
    assert store.root == (tmp_path / "a" / "memory").resolve()


def test_a_written_store_holds_what_was_written_and_nothing_else(tmp_path: Path) -> None:
    """No index, no log, no temporary file appears in the root."""
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    store.write_file("people/alice.md", "# Alice")
    store.append_file("people/alice.md", "\nlikes ska")

    assert [p.relative_to(store.root).as_posix() for p in sorted(store.root.rglob("*"))] == [
        "people",
        "people/alice.md",
    ]


@pytest.mark.parametrize("text", ["", "plain", "a\r\nb\n", "日本語 🦊 שלום", "\ufeffmarked"])
def test_text_comes_back_as_it_was_written(tmp_path: Path, text: str) -> None:
    """No newline, mark or script is changed on the way."""
    store = MemoryStore(tmp_path)
    store.write_file("x.md", text)

    assert store.read_file("x.md") == text


def test_append_adds_at_the_end_and_creates(store: MemoryStore) -> None:
    """Appending to nothing is writing."""
    store.append_file("new/x.md", "one")
    store.append_file("new/x.md", "two")

    assert store.read_file("new/x.md") == "onetwo"


def test_exactly_the_cap_is_fine(store: MemoryStore) -> None:
    """Bytes count, not characters."""
    store.write_file("x.md", "é" * 5)
    store.write_file("y.md", "x" * 9)
    store.append_file("y.md", "x")

    assert store.read_file("x.md") == "ééééé"
    assert store.read_file("y.md") == "x" * 10


@pytest.mark.parametrize("operation", ["write_file", "append_file"])
def test_over_the_cap_nothing_is_written_or_logged(store: MemoryStore, operation: str) -> None:
    """The old text stays readable and no folder appears for a refused file."""
    store.write_file("x.md", "old")
    for path in ("x.md", "new/y.md"):
        with pytest.raises(MemoryStoreSizeLimitError, match="10 allowed"):
            getattr(store, operation)(path, "x" * 11)
    with pytest.raises(MemoryStoreSizeLimitError):
        store.append_file("x.md", "x" * 8)

    assert store.read_file("x.md") == "old"
    assert [e.name for e in store.list_dir()] == ["x.md"]
    assert len(store.audit_entries) == 1


def test_a_file_grown_by_other_hands_is_told(store: MemoryStore) -> None:
    """Reading past the cap is an error, not a memory problem."""
    (store.root / "big.md").write_bytes(b"x" * 11)

    with pytest.raises(MemoryStoreSizeLimitError, match=r"big\.md"):
        store.read_file("big.md")
    assert store.read_bytes("big.md") == b"x" * 11


def test_bytes_that_are_not_text(store: MemoryStore) -> None:
    """Reading them as text is an error that names the file; writing half a character is refused."""
    store.write_bytes("pic.png", b"\x89PNG\xff", source="card")

    with pytest.raises(MemoryStoreEncodingError, match=r"pic\.png.*UTF-8"):
        store.read_file("pic.png")
    with pytest.raises(MemoryStoreEncodingError):
        store.write_file("x.md", "a\ud800")
    assert store.read_bytes("pic.png") == b"\x89PNG\xff"
    assert not store.exists("x.md")


@pytest.mark.parametrize("operation", ["read_file", "list_dir", "delete_file", "read_bytes"])
def test_what_is_not_there_is_told(store: MemoryStore, operation: str) -> None:
    """A missing path is a sentence."""
    with pytest.raises(MemoryStoreError, match="no such file"):
        getattr(store, operation)("people/nobody.md")


def test_files_and_folders_are_not_mixed_up(store: MemoryStore) -> None:
    """Reading a folder, listing a file, writing over a folder or below a file are errors."""
    store.write_file("people/x.md", "x")

    for call in (
        lambda: store.read_file("people"),
        lambda: store.read_file(""),
        lambda: store.list_dir("people/x.md"),
        lambda: store.write_file("people", "x"),
        lambda: store.write_file("", "x"),
        lambda: store.write_file("people/x.md/y.md", "x"),
        lambda: store.delete_file("people"),
    ):
        with pytest.raises(MemoryStoreError):
            call()
    assert [e.operation for e in store.audit_entries] == ["write"]


def test_a_folder_is_listed_by_name(tmp_path: Path) -> None:
    """Folders have no size, files have theirs, both have a time."""
    store = MemoryStore(tmp_path)
    store.write_file("b.md", "four")
    store.write_file("a/x.md", "x")

    listed = store.list_dir()
    assert [(e.name, e.is_dir, e.size_bytes) for e in listed] == [("a", True, 0), ("b.md", False, 4)]
    assert all(datetime.now(UTC) - e.modified < timedelta(minutes=5) for e in listed)


def test_a_folder_with_too_many_files_is_told(store: MemoryStore) -> None:
    """Exactly the cap is listed."""
    for name in "abc":
        store.write_file(name, "x")
    assert len(store.list_dir()) == 3

    store.write_file("d", "x")
    with pytest.raises(MemoryStoreSizeLimitError, match="more than 3"):
        store.list_dir()


def test_leftovers_of_a_crash_are_ignored_and_swept(tmp_path: Path) -> None:
    """A temporary file is never listed, found or searched, and goes with the next write."""
    leftover = tmp_path / temporary_name()
    leftover.write_text("needle")
    os.utime(leftover, (0, 0))
    store = MemoryStore(tmp_path)

    assert [*store.list_dir(), *store.glob("**/*"), *store.grep("needle")] == []
    store.write_file("x.md", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["x.md"]


def test_entries_tell_what_each_call_did(tmp_path: Path) -> None:
    """Operation, bytes of that call, source and time, oldest first; the list is a copy."""
    clock = ManualClock(datetime(2031, 1, 1, tzinfo=UTC))
    store = MemoryStore(tmp_path, clock=clock)
    store.write_file("x.md", "é", source="memory_writer", run_id="r1", turn_range=(3, 9))
    store.append_file("x.md", "abc", source="  ")
    store.delete_file("x.md", source="operator")
    store.audit_entries.clear()

    told = [(e.operation, e.bytes_written, e.source, e.rel_path) for e in store.audit_entries]
    assert told == [
        ("write", 2, "memory_writer", "x.md"),
        ("append", 3, "unknown", "x.md"),
        ("delete", 0, "operator", "x.md"),
    ]
    first = store.audit_entries[0]
    assert (first.run_id, first.turn_range, first.timestamp) == ("r1", (3, 9), clock.now())
    assert first.hash_after == store.audit_entries[1].hash_before


def test_reading_what_may_be_absent(store: MemoryStore) -> None:
    """None where there is no file, the text where there is."""
    store.write_file("x.md", "x")

    assert (store.read_if_present("x.md"), store.read_if_present("y.md")) == ("x", None)
    assert (store.exists("x.md"), store.exists("y.md"), store.exists("")) == (True, False, False)


def test_many_writers_of_one_file_lose_nothing(tmp_path: Path) -> None:
    """Appends from several threads all arrive."""
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")

    def write(mark: str) -> None:
        for _ in range(10):
            store.append_file("x.md", mark)

    threads = [threading.Thread(target=write, args=(mark,)) for mark in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(store.read_file("x.md")) == sorted("abcd" * 10)
    assert store.audit is not None
    assert len(store.audit_entries) == len(store.audit.entries()) == 40


@pytest.mark.parametrize("audited", [True, False])
def test_several_stores_on_one_folder_lose_nothing(tmp_path: Path, audited: bool) -> None:
    """As several processes have them: every append arrives, and none is taken for a hand edit or taken back."""
    audit_dir = tmp_path / "audit" if audited else None

    def write(mark: str) -> None:
        store = MemoryStore(tmp_path / "memory", audit_dir=audit_dir)
        for _ in range(10):
            store.append_file("x.md", mark, source=mark)
            if store.audit is not None:
                store.audit.reconcile(store)

    threads = [threading.Thread(target=write, args=(mark,)) for mark in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = MemoryStore(tmp_path / "memory", audit_dir=audit_dir)

    assert sorted(store.read_file("x.md")) == sorted("abcd" * 10)
    if store.audit is not None:
        assert "".join(entry.source for entry in store.audit.entries()) == store.read_file("x.md")
    assert [entry.name for entry in store.list_dir()] == ["x.md"]


def test_folders_that_cannot_be_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches pass them over; what is missing is nothing to tell."""
    store = MemoryStore(tmp_path / "memory")
    store.write_file("self/deep/x.md", "x")
    store.write_file("topics", "a file")
    assert [store.unreadable_folders(path) for path in ("", "self", "nowhere")] == [[], [], []]

    real = Folder.open_folder

    def refuse(folder: Folder, name: str) -> Folder:
        if name == "deep":
            raise PermissionError(errno.EACCES, "refused")
        return real(folder, name)

    monkeypatch.setattr(Folder, "open_folder", refuse)
    assert store.glob("self/**/*.md") == []
    (told,) = store.unreadable_folders()
    assert "'self/deep'" in told
    assert "no right" in told
    assert "not a folder" in store.unreadable_folders("topics")[0]


@pytest.mark.parametrize(
    ("code", "words"), [(errno.ENOSPC, "disk is full"), (errno.EROFS, "read-only"), (errno.EACCES, "no right")]
)
@pytest.mark.parametrize("seam", ["write", "replace"])
def test_a_refusing_disk_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str, seam: str
) -> None:
    """Nothing half-written, nothing logged, the old text stays."""
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    store.write_file("x.md", "old")

    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(os, seam, refuse)
        for call in (store.write_file, store.append_file):
            with pytest.raises(MemoryStoreError, match=rf"x\.md.*{words}"):
                call("x.md", "new")

    assert store.read_file("x.md") == "old"
    assert [p.name for p in store.root.iterdir()] == ["x.md"]
    assert store.audit is not None
    assert len(store.audit_entries) == len(store.audit.entries()) == 1


def test_a_limit_of_the_system_on_file_size_leaves_the_old_text(tmp_path: Path) -> None:
    """A real refusal, by the kernel, in a process of its own."""
    code = (
        "import resource, signal, sys\n"
        "from familiar_connect.memory.store import MemoryStore, MemoryStoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "store = MemoryStore(sys.argv[1])\n"
        "store.write_file('x.md', 'old')\n"
        "try:\n"
        "    store.write_file('x.md', 'n' * 9000)\n"
        "except MemoryStoreError as error:\n"
        "    print(error, store.read_file('x.md'), [e.name for e in store.list_dir()])\n"
    )
    source_root = str(Path(store_module.__file__).parents[2])
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": source_root},
        capture_output=True,
        text=True,
        check=True,
        timeout=400,
    )
    assert "larger than the system allows old ['x.md']" in run.stdout


def test_a_root_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "memory").write_text("x")

    with pytest.raises(MemoryStoreError, match="memory"):
        MemoryStore(tmp_path / "memory")
