"""Each line knows the version it came with, and each part the words it came from."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.blame import blame_lines, explain_parts
from familiar_connect.memory.versioning.provenance import Provenance
from familiar_connect.memory.versioning.versions import Versions
from tests.fakes.sample_week import ALICE_FILE, copy_week, history_of, memory_of

NOON = datetime(2031, 1, 1, tzinfo=UTC)


def blamed(store: MemoryStore, path: str) -> list[int | None]:
    assert store.audit is not None
    lines = blame_lines(Versions(store.audit), path, store.read_file(path))
    return [line.version.number if line.version else None for line in lines]


def test_each_line_names_the_version_that_brought_it(tmp_path: Path) -> None:
    """Lines that stayed keep theirs, whatever came and went around them."""
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    store.write_file("x.md", "a\nb\nc\n")
    store.write_file("x.md", "a\nnew\nb\nc\n")
    store.write_file("x.md", "a\nnew\nc\nend\n")

    assert blamed(store, "x.md") == [1, 2, 1, 3]


def test_a_line_that_went_and_came_back_is_new(tmp_path: Path) -> None:
    """It was not there in between."""
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    for text in ("a\nb\n", "a\n", "a\nb\n"):
        store.write_file("x.md", text)

    assert blamed(store, "x.md") == [1, 3]


def test_what_no_version_tells_is_said_to_be_unlogged(tmp_path: Path) -> None:
    """A line typed in a moment ago, and a file nobody logged."""
    store = MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")
    store.write_file("x.md", "a\n")
    (store.root / "x.md").write_text("a\nby hand\n")
    (store.root / "y.md").write_text("y\n")

    assert (blamed(store, "x.md"), blamed(store, "y.md")) == ([1, None], [None])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=6), min_size=1, max_size=6))
def test_every_line_of_every_history_is_accounted_for(texts: list[list[str]]) -> None:
    """And stood in the version it names."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore(Path(folder) / "memory", audit_dir=Path(folder) / "audit")
        for lines in texts:
            store.write_file("x.md", "".join(f"{line}\n" for line in lines))
        assert store.audit is not None
        versions = Versions(store.audit)

        for line in blame_lines(versions, "x.md", store.read_file("x.md")):
            assert line.version is not None
            assert line.text in versions.text(line.version).splitlines()
        store.audit.close()


def test_a_part_is_shown_with_the_words_it_came_from(tmp_path: Path) -> None:
    """Who said it, when, and in which turn; what nobody said is told by who wrote it."""
    root = copy_week(tmp_path)
    store, history = memory_of(root), history_of(root)
    store.append_file(ALICE_FILE, "\n## Mine\n- She is my sister's friend.\n", source="owner")
    assert store.audit is not None
    reasons = explain_parts(
        store.read_file(ALICE_FILE),
        ALICE_FILE,
        familiar_id="mira",
        history=history,
        provenance=Provenance(root / "audit"),
        versions=Versions(store.audit),
    )
    history.close()

    tea = next(reason for reason in reasons if "mostly mint" in reason.part.text)
    mine = reasons[-1]
    assert [(quote.who, quote.turn_id) for quote in tea.quotes] == [("Alice", 15)]
    assert "I quit coffee!" in tea.quotes[0].text
    assert (mine.part.heading, mine.quotes) == ("Mine", ())
    assert mine.version is not None
    assert mine.version.entry.source == "owner"
