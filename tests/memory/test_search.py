"""What glob and grep find, and in which order."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory import search
from familiar_connect.memory.paths import Root
from familiar_connect.memory.store import (
    GrepHit,
    MemoryStore,
    MemoryStoreLimits,
    MemoryStorePathError,
    MemoryStorePatternError,
)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path, limits=MemoryStoreLimits(max_file_bytes=2000, max_results_per_op=5))
    for path in ("notes.md", "people/alice.md", "people/bob.md", "people-old/carol.md", "topics/music/ska.md"):
        store.write_file(path, f"# {path}\nAlice likes ska\n")
    for path in (".index/x.md", "sessions/.pending/p.md"):
        store.write_file(path, "hidden Alice")
    return store


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("people/*.md", ["people/alice.md", "people/bob.md"]),
        ("*", ["notes.md"]),
        ("**/ska.md", ["topics/music/ska.md"]),
        ("**/**/a*.md", ["people/alice.md"]),
        ("**/notes.md", ["notes.md"]),
        ("p*/?[ol]*.md", ["people/alice.md", "people/bob.md"]),
        ("./people//bob.md", ["people/bob.md"]),
        ("topics/**", ["topics/music/ska.md"]),
        (".index/*", [".index/x.md"]),
        ("**/.pending/*", ["sessions/.pending/p.md"]),
        ("sessions/*/*", []),
        ("people", []),
        ("", []),
        ("nowhere/*", []),
    ],
)
def test_glob_finds_files_by_path(store: MemoryStore, pattern: str, found: list[str]) -> None:
    """Dot folders are found where they are named."""
    assert store.glob(pattern) == found


def test_glob_sorts_before_it_cuts(store: MemoryStore) -> None:
    """The cap keeps the first paths, as strings, of all."""
    store.write_file("a/z.md", "x")

    everything = [
        "a/z.md",
        "notes.md",
        "people-old/carol.md",
        "people/alice.md",
        "people/bob.md",
        "topics/music/ska.md",
    ]
    assert store.glob("**/*.md") == sorted(everything)[:5]


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "people/../../*", "a\0*", "people/.."])
def test_glob_refuses_patterns_that_leave(store: MemoryStore, pattern: str) -> None:
    """Absolute, upwards or NUL."""
    with pytest.raises(MemoryStorePathError):
        store.glob(pattern)


def test_glob_is_not_slowed_by_hostile_patterns(store: MemoryStore) -> None:
    """Many stars are one walk; an endless pattern is refused."""
    store.write_file("/".join("d" * 1 for _ in range(20)) + "/" + "a" * 60, "x")

    assert store.glob("/".join(["**"] * 60) + "/" + "*a" * 40 + "b") == []
    with pytest.raises(MemoryStorePatternError, match="longer"):
        store.glob("*" * 2000)


def test_grep_tells_line_and_offsets_in_characters(tmp_path: Path) -> None:
    """First match of each line, lines from 1, files in path order."""
    store = MemoryStore(tmp_path)
    store.write_file("b.md", "nothing\n日本 Ska ska\r\n")
    store.write_file("a/x.md", "ska")

    assert store.grep("SKA") == [GrepHit("a/x.md", 1, "ska", 0, 3), GrepHit("b.md", 2, "日本 Ska ska", 3, 6)]
    assert [hit.match_start for hit in store.grep("ska", case_insensitive=False)] == [0, 7]


def test_grep_looks_in_a_file_a_folder_or_everywhere(store: MemoryStore) -> None:
    """Dot folders only where they are named; what is missing holds nothing."""
    assert [hit.rel_path for hit in store.grep("alice likes")] == sorted(
        ["notes.md", "people-old/carol.md", "people/alice.md", "people/bob.md", "topics/music/ska.md"]
    )
    assert [hit.rel_path for hit in store.grep("alice likes", "people")] == ["people/alice.md", "people/bob.md"]
    assert [hit.rel_path for hit in store.grep("alice likes", "people/bob.md")] == ["people/bob.md"]
    assert [hit.rel_path for hit in store.grep("alice", "sessions/.pending")] == ["sessions/.pending/p.md"]
    assert store.grep("alice", "nowhere") == store.grep("") == store.grep("", "people") == []


def test_grep_stops_at_the_cap(store: MemoryStore) -> None:
    """Ten lines match, five come back, and that there are more is said; where all came back it is not."""
    hits = store.grep("a")

    assert len(hits) == 5
    assert hits.left_out == ("these are the first 5 lines, there are more: search a smaller folder",)
    assert store.grep("alice", "notes.md").left_out == ()


def test_grep_skips_what_is_not_text_and_reads_what_is_too_large_up_to_the_cap(tmp_path: Path) -> None:
    """Other files in the same folder are still found, and each cut is told of."""
    store = MemoryStore(tmp_path, limits=MemoryStoreLimits(max_file_bytes=20))
    (tmp_path / "a.png").write_bytes(b"needle \xff\xfe")
    (tmp_path / "b.md").write_bytes(b"needle\n" + "ä".encode() * 20 + b"\nneedle")
    (tmp_path / "c.md").write_bytes(b"needle" + b"x" * 14)
    (tmp_path / "d.md").write_bytes(b"needle " + "ä".encode() * 20)
    hits = store.grep("needle")

    assert [(hit.rel_path, hit.line_number) for hit in hits] == [("b.md", 1), ("c.md", 1), ("d.md", 1)]
    assert [sentence.split("'")[1] for sentence in hits.left_out] == ["b.md", "d.md"]
    assert [hit.rel_path for hit in store.grep("needle", "b.md")] == ["b.md"]
    assert store.grep("needle", "c.md").left_out == ()
    assert store.files_over_cap() == ["b.md", "d.md"]


@pytest.mark.parametrize("pattern", ["[", "(?=x)", r"(a)\1", "x" * 1001])
def test_grep_refuses_what_it_cannot_search_for(store: MemoryStore, pattern: str) -> None:
    """In one sentence that shows the pattern."""
    with pytest.raises(MemoryStorePatternError, match="cannot search for"):
        store.grep(pattern)


def test_grep_ends_at_its_time_limit(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hits in hand it returns them, with none it says so."""
    root, limits = Root(store.root), MemoryStoreLimits()
    monkeypatch.setattr(search, "BATCH_BYTES", 1)

    found = search.grep_tree(root, limits, "alice", (), ignore_case=True, seconds=-1)
    assert [hit.rel_path for hit in found] == ["notes.md"]
    assert found.left_out == ("the search ended after -1 s of work: search a smaller folder",)
    with pytest.raises(MemoryStorePatternError, match="smaller folder"):
        search.grep_tree(root, limits, "needle", (), ignore_case=True, seconds=-1)


async def test_the_async_form_leaves_the_loop_free(store: MemoryStore) -> None:
    """The same answer, from a thread."""
    found, _ = await asyncio.gather(store.grep_async("alice likes", "people"), asyncio.sleep(0))

    assert found == store.grep("alice likes", "people")


TREES = st.lists(st.lists(st.sampled_from(["a", "b", "ab", "a-b"]), min_size=1, max_size=4), max_size=8)
STEPS = st.sampled_from(["*", "**", "a", "?", "a*", "[ab]", "*b", "nothing"])


@given(tree=TREES, steps=st.lists(STEPS, min_size=1, max_size=4).filter(lambda steps: steps[-1] != "**"))
def test_glob_agrees_with_pathlib_on_files(tree: list[list[str]], steps: list[str]) -> None:
    """Same files, sorted, each once."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for parts in tree:
            path = root.joinpath(*parts[:-1], f"{parts[-1]}")
            if not any(parent.is_file() for parent in path.parents) and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        pattern = "/".join(steps)

        expected = {p.relative_to(root).as_posix() for p in root.glob(pattern) if p.is_file()}
        assert MemoryStore(root).glob(pattern) == sorted(expected)


@given(
    texts=st.dictionaries(st.sampled_from(["a", "b/c", "b-d", "b/a/x"]), st.text("aébA \n", max_size=30), max_size=4),
    pattern=st.sampled_from(["a", "^a", "b$", "é+", "^$", r"\ba", "a.*b", "[^a]"]),
)
def test_grep_agrees_with_re_over_all_files(texts: dict[str, str], pattern: str) -> None:
    """Whatever way files are batched, the answer is the plain one."""
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore(folder)
        for path, text in texts.items():
            store.write_file(path, text)

        expected = [
            (path, number, match.start(), match.end())
            for path in sorted(texts)
            for number, line in enumerate(texts[path].splitlines(), 1)
            if (match := re.search(pattern, line, re.IGNORECASE))
        ]
        assert [(h.rel_path, h.line_number, h.match_start, h.match_end) for h in store.grep(pattern)] == expected
        assert all(not PurePosixPath(hit.rel_path).is_absolute() for hit in store.grep(pattern))
