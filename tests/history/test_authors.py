"""What one person said is found, read in steps, and erased for good."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author

ALICE = Author("discord", "1", "alice", "Alice")
RENAMED = Author("discord", "1", "alice", "Ali")
BOB = Author("discord", "2", None, "Bob")


def told(store: HistoryStore, *said: tuple[Author | None, str], familiar_id: str = "wren") -> None:
    for author, words in said:
        role = "user" if author else "assistant"
        store.append_turn(familiar_id=familiar_id, channel_id=1, role=role, content=words, author=author)


def test_speakers_are_told_with_every_name_they_had(tmp_path: Path) -> None:
    """Most recently heard first, under their newest name."""
    store = HistoryStore(tmp_path / "history.db")
    told(store, (ALICE, "one"), (BOB, "two"), (None, "three"), (RENAMED, "four"))
    found = store.authors.speakers(familiar_id="wren")

    assert [(speaker.author.label, speaker.turns) for speaker in found] == [("Ali", 2), ("Bob", 1)]
    assert found[0].author.aliases == {"alice", "Alice", "Ali"}
    assert store.authors.speakers(familiar_id="other") == []


def test_a_persons_turns_are_read_in_steps(tmp_path: Path) -> None:
    """Under whatever name; of this familiar only."""
    store = HistoryStore(tmp_path / "history.db")
    told(store, (ALICE, "one"), (BOB, "two"), (RENAMED, "three"), (ALICE, "four"))
    told(store, (ALICE, "elsewhere"), familiar_id="other")
    first = store.authors.turns_of(familiar_id="wren", author=ALICE, limit=2)
    rest = store.authors.turns_of(familiar_id="wren", author=ALICE, after_id=first[-1].id)

    assert [turn.content for turn in (*first, *rest)] == ["one", "three", "four"]
    assert store.authors.ids_of(familiar_id="wren", author=ALICE) == [1, 3, 4]


def test_erasing_leaves_no_copy_in_the_file(tmp_path: Path) -> None:
    """Not in free pages, not in the write-ahead log; summaries of it go too."""
    store = HistoryStore(tmp_path / "history.db")
    secret = "the lantern is under the stairs "
    told(store, *((ALICE, f"{secret}{number}" * 20) for number in range(100)), (BOB, "I stay"))
    told(store, (ALICE, "another familiar's"), familiar_id="other")
    store.put_summary(familiar_id="wren", last_summarised_id=5, summary_text=secret)
    store.put_cross_context(
        familiar_id="wren", viewer_mode="full_rp", source_channel_id=1, source_last_id=5, summary_text=secret
    )
    assert store.summaries.count(familiar_id="wren") == 2
    gone = store.erase_author(familiar_id="wren", author=ALICE)

    assert (gone, store.database.compact()) == (100, True)
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert all(secret.encode() not in data for data in files)
    assert store.count(familiar_id="wren") == 1
    assert store.count(familiar_id="other") == 1
    assert store.get_summary(familiar_id="wren") is None
    assert [who.label for who in store.recent_distinct_authors(familiar_id="wren", channel_id=1, limit=5)] == ["Bob"]
    assert store.check() == []
    assert store.erase_author(familiar_id="wren", author=ALICE) == 0
