"""No path, link or race leads out of the memory root."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from familiar_connect.memory import paths
from familiar_connect.memory.store import MemoryStore, MemoryStoreError, MemoryStorePathError
from tests.fakes.properties import at_least

CANARY = "outside, never touched"
Operation = Callable[[MemoryStore, str], object]


def read_while_held(store: MemoryStore, path: str) -> str:
    with store.hold():
        return store.read_file(path)


OPERATIONS: dict[str, Operation] = {
    "list_dir": lambda store, path: store.list_dir(path),
    "read_file": lambda store, path: store.read_file(path),
    "read_file while held": read_while_held,
    "read_if_present": lambda store, path: store.read_if_present(path),
    "read_bytes": lambda store, path: store.read_bytes(path),
    "exists": lambda store, path: store.exists(path),
    "write_file": lambda store, path: store.write_file(path, "x"),
    "write_bytes": lambda store, path: store.write_bytes(path, b"x"),
    "append_file": lambda store, path: store.append_file(path, "x"),
    "delete_file": lambda store, path: store.delete_file(path),
    "grep": lambda store, path: store.grep("outside", path),
    "glob": lambda store, path: store.glob(f"{path}/*" if path else ""),
}


@pytest.fixture(params=["folders held open", "paths resolved"])
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> MemoryStore:
    """A store beside a folder with a canary, in both ways of walking."""
    if request.param == "paths resolved":
        monkeypatch.setattr(paths, "CAN_HOLD_FOLDERS", False)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "canary.md").write_text(CANARY)
    return MemoryStore(tmp_path / "memory")


def state_outside(store: MemoryStore) -> dict[str, str]:
    """Everything beside the root."""
    top = store.root.parent
    return {
        p.relative_to(top).as_posix(): p.read_text() if p.is_file() else ""
        for p in sorted(top.rglob("*"))
        if not p.is_relative_to(store.root)
    }


LEAVING = [
    "../outside/canary.md",
    "people/../../outside/canary.md",
    "/etc/passwd",
    "a\0b",
    "..",
    "a/../..",
    "..\\outside",
    "\ud800",
]
ONLY_PATTERNS = {"..\\outside", "\ud800"}
"""As patterns these match nothing and lead nowhere; as paths they are refused."""


def is_refused(operation: str, store: MemoryStore, path: str) -> bool:
    try:
        OPERATIONS[operation](store, path)
    except MemoryStorePathError:
        return True
    return False


def let_through(store: MemoryStore, tries: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of *tries*, each an operation and its path, that were not refused or changed something outside."""
    before, found = state_outside(store), []
    for operation, path in tries:
        refused, now = is_refused(operation, store, path), state_outside(store)
        if not refused or now != before:
            found.append((operation, path))
        before = now
    return found


def test_a_path_that_leaves_is_refused_everywhere(store: MemoryStore) -> None:
    """The same error for every operation, and nothing outside changes."""
    tries = [(name, path) for name in OPERATIONS for path in LEAVING if name != "glob" or path not in ONLY_PATTERNS]

    assert len(tries) > 90
    assert let_through(store, tries) == []


def test_a_link_that_leaves_is_refused_everywhere(store: MemoryStore) -> None:
    """A folder link, a file link, a chain of links, and a link to nothing outside."""
    outside = store.root.parent / "outside"
    (store.root / "out").symlink_to(outside)
    (store.root / "canary.md").symlink_to("../outside/canary.md")
    (store.root / "chain").symlink_to("out")
    (store.root / "absent").symlink_to(outside / "nothing")
    paths = ("out/canary.md", "canary.md", "out/new.md", "chain/canary.md", "absent")

    assert let_through(store, [(name, path) for name in OPERATIONS if name != "glob" for path in paths]) == []


def test_listing_and_searching_pass_links_that_leave_by(store: MemoryStore) -> None:
    """Neither shown nor walked; nor are links to nothing."""
    (store.root / "out").symlink_to(store.root.parent / "outside")
    (store.root / "canary.md").symlink_to("../outside/canary.md")
    (store.root / "dangling").symlink_to("nowhere")
    (store.root / "loop").symlink_to("loop")

    assert [*store.list_dir(), *store.glob("**/*"), *store.glob("out/*"), *store.grep("outside")] == []


def test_links_that_stay_inside_lead_on(store: MemoryStore) -> None:
    """Reading, listing and writing go through them; the audit names the real file."""
    store.write_file("people/alice.md", "# Alice")
    (store.root / "ali.md").symlink_to("people/alice.md")
    (store.root / "friends").symlink_to(store.root / "people")
    store.append_file("ali.md", "!")
    store.write_file("friends/new/bob.md", "# Bob")

    assert store.read_file("friends/alice.md") == "# Alice!"
    assert (store.root / "ali.md").is_symlink()
    assert [(e.name, e.is_dir) for e in store.list_dir()] == [("ali.md", False), ("friends", True), ("people", True)]
    assert [e.rel_path for e in store.audit_entries] == ["people/alice.md", "people/alice.md", "people/new/bob.md"]
    assert store.glob("**/*.md") == ["people/alice.md", "people/new/bob.md"]


def test_a_loop_of_links_ends(store: MemoryStore) -> None:
    """In an error, not in a hang."""
    (store.root / "a").symlink_to("b")
    (store.root / "b").symlink_to("a")

    for path in ("a", "a/x.md"):
        with pytest.raises(MemoryStorePathError, match="loop of links"):
            store.write_file(path, "x")


def test_going_up_inside_the_root_is_fine(store: MemoryStore) -> None:
    """`..` is worked out before anything is opened."""
    store.write_file("people/../topics/./ska.md", "x")

    assert store.read_file("topics//ska.md") == "x"
    assert store.audit_entries[0].rel_path == "topics/ska.md"


@pytest.mark.parametrize("path", ["x" * 300, "/".join(["x" * 200] * 40), "people/" + "é" * 200])
def test_a_name_too_long_for_the_system_is_one_sentence(store: MemoryStore, path: str) -> None:
    """A memory error, never a bare system error."""
    with contextlib.suppress(MemoryStoreError):
        store.write_file(path, "x")

    with contextlib.suppress(MemoryStoreError):
        assert store.read_file(path) == "x"


def test_names_kept_for_temporary_files_are_refused(store: MemoryStore) -> None:
    """Such a file would be swept away."""
    with pytest.raises(MemoryStorePathError, match="temporary"):
        store.write_file("people/.tmp-0123456789abcdef", "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_pipe_in_the_folder_never_blocks(store: MemoryStore) -> None:
    """Reading it is an error, listing and searching pass it by."""
    os.mkfifo(store.root / "pipe")

    with pytest.raises(MemoryStoreError, match="plain file"):
        store.read_file("pipe")
    assert [*store.list_dir(), *store.grep("x"), *store.glob("*")] == []


NASTY = st.one_of(
    st.text(max_size=30),
    st.lists(
        st.sampled_from(
            [
                "..",
                ".",
                "",
                "/",
                "out",
                "people",
                "loop",
                "canary.md",
                "\0",
                "x",
                "\\",
                "..\\",
                "é",
                "~",
                "C:",
                "…",
                "up",
            ]
        ),
        max_size=8,
    ).map("/".join),
)


@pytest.mark.slow
@settings(max_examples=at_least(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=NASTY, operation=st.sampled_from(sorted(OPERATIONS)))
def test_no_path_whatever_touches_what_lies_outside(store: MemoryStore, path: str, operation: str) -> None:
    """Every operation works inside the root or fails with a memory error."""
    for name, target in (("out", "../outside"), ("up", ".."), ("loop", "loop")):
        with contextlib.suppress(FileExistsError):
            (store.root / name).symlink_to(target)
    before = state_outside(store)

    with contextlib.suppress(MemoryStoreError):
        assert CANARY not in repr(OPERATIONS[operation](store, path))
    assert state_outside(store) == before


@pytest.mark.skipif(not paths.CAN_HOLD_FOLDERS, reason="needs folders held open")
def test_a_link_swapped_in_between_is_never_followed(tmp_path: Path) -> None:
    """While a folder keeps turning into a link to the outside, no operation ever gets there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text(CANARY)
    store = MemoryStore(tmp_path / "memory")
    store.write_file("people/x.md", "inside")
    done = threading.Event()
    swapper = threading.Thread(target=keep_swapping, args=(store.root / "people", outside, done))
    swapper.start()
    outcomes: set[str] = set()
    rounds = 0
    try:
        while rounds < 20 or (rounds < 1000 and not outcomes >= {"done", "refused"}):
            rounds += 1
            for operation in [name for name in OPERATIONS if name != "delete_file"]:
                path = "people" if operation in ("list_dir", "glob", "grep") else "people/x.md"
                try:
                    assert CANARY not in repr(OPERATIONS[operation](store, path))
                    outcomes.add("done")
                except MemoryStorePathError:
                    outcomes.add("refused")
                except MemoryStoreError:
                    pass
    finally:
        done.set()
        swapper.join()

    assert {p.name: p.read_text() for p in outside.iterdir()} == {"x.md": CANARY}
    assert outcomes == {"done", "refused"}


def keep_swapping(folder: Path, outside: Path, done: threading.Event) -> None:
    """Turn *folder* into a link to *outside* and back; it only ever moves names, and removes its own links."""
    round_number = 0
    while not done.is_set():
        round_number += 1
        aside, gone = (folder.with_name(f"{name}-{round_number}") for name in ("aside", "gone"))
        steps: list[tuple[Callable[..., object], tuple[Path, ...]]] = [
            (os.rename, (folder, aside)),
            (os.symlink, (outside, folder)),
            (os.rename, (folder, gone)),
            (os.rename, (aside, folder)),
            (os.unlink, (gone,)),
        ]
        for step, names in steps:
            with contextlib.suppress(OSError):
                step(*names)


def test_while_the_top_is_held_files_are_read_as_they_are_now(store: MemoryStore) -> None:
    """Of this thread alone; a hold in a hold is the same one, and nothing stays open."""
    store.write_file("self/name.md", "Wren")
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir())) if descriptors.exists() else 0
    with store.hold(), store.hold():
        assert store.read_if_present("self/name.md") == "Wren"
        store.write_file("self/name.md", "Robin")
        assert store.read_file("self/name.md") == "Robin"
        assert store.read_if_present("self/missing.md") is None
        assert store.glob("self/*.md") == store.glob("self/*.md") == ["self/name.md"]
    assert store.read_file("self/name.md") == "Robin"
    if descriptors.exists():
        assert len(list(descriptors.iterdir())) == before


def test_a_memory_that_is_not_there_can_be_held(tmp_path: Path) -> None:
    """Whoever reads in it is told as ever."""
    store = MemoryStore(tmp_path / "memory")
    store.root.rmdir() if store.root.exists() else None
    with store.hold():
        assert store.read_if_present("self/name.md") is None
        with pytest.raises(MemoryStoreError, match="no such file"):
            store.read_file("self/name.md")
