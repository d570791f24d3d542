"""What the index of memory files promises: level with the files, searchable, and nothing to fear for."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from familiar_connect.memory.index import passages
from familiar_connect.memory.index.embeddings import BuildStats, EmbeddingIndex
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.protocols import RecallScope
from familiar_connect.memory.index.ranking import NAMED_LATER
from familiar_connect.memory.index.storage import IndexUnavailable
from familiar_connect.memory.store import MemoryStore, MemoryStoreLimits
from tests.fakes.embedding import CountingEmbedder

NOTES = {
    "people/ada.md": "# Ada\n\nAda keeps bees on the roof.",
    "people/bo.md": "# Bo\n\nBo paints boats in the harbour.",
    "topics/tea.md": "# Tea\n\nSmoked tea is drunk when it rains.",
}


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "memory")
    for path, text in NOTES.items():
        store.write_file(path, text)
    return store


@pytest.fixture
def model() -> CountingEmbedder:
    return CountingEmbedder()


def opened(store: MemoryStore, *, dim: int = 512, model_name: str = "counting") -> EmbeddingIndex:
    return EmbeddingIndex(store.root / ".index" / "embeddings.sqlite", dim=dim, model_name=model_name)


def found(index: EmbeddingIndex, model: CountingEmbedder, text: str, top_k: int = 3) -> list[str]:
    return [hit.rel_path for hit in index.query(model.embed([text])[0], top_k)]


def touch(store: MemoryStore, path: str, seconds: float) -> None:
    facts = (store.root / path).stat()
    os.utime(store.root / path, (facts.st_atime + seconds, facts.st_mtime + seconds))


def test_a_first_build_takes_in_every_file(store: MemoryStore, model: CountingEmbedder) -> None:
    """And says which."""
    with opened(store) as index:
        stats = index.build_if_stale(store, model)

        assert stats == BuildStats(sorted(NOTES), [], 3)
        assert found(index, model, "who keeps bees on the roof?")[0] == "people/ada.md"


def test_an_unchanged_home_costs_no_embedding(store: MemoryStore, model: CountingEmbedder) -> None:
    """A second build has nothing to do."""
    with opened(store) as index:
        index.build_if_stale(store, model)
        model.batches.clear()

        assert index.build_if_stale(store, model) == BuildStats([], [], 0)
        assert model.batches == []


def test_a_changed_file_is_embedded_again_by_itself(store: MemoryStore, model: CountingEmbedder) -> None:
    """Whatever editor changed it."""
    with opened(store) as index:
        index.build_if_stale(store, model)
        model.batches.clear()
        (store.root / "people/ada.md").write_text("# Ada\n\nAda sold her bees and grows melons.")
        touch(store, "people/ada.md", 5)

        assert index.build_if_stale(store, model).rebuilt_paths == ["people/ada.md"]
        assert [text for text in model.texts if "Ada" not in text] == []
        assert found(index, model, "who grows melons?")[0] == "people/ada.md"


def test_a_change_that_the_modification_time_hides_is_found(store: MemoryStore, model: CountingEmbedder) -> None:
    """Same size, same time, other words."""
    with opened(store) as index:
        index.build_if_stale(store, model)
        path = store.root / "people/bo.md"
        facts = path.stat()
        path.write_text(path.read_text().replace("boats", "goats"))
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))

        assert index.build_if_stale(store, model).rebuilt_paths == ["people/bo.md"]
        assert "goats" in index.query(model.embed(["goats"])[0], 1)[0].text


def test_a_file_whose_rights_alone_changed_is_left_as_it_is(store: MemoryStore, model: CountingEmbedder) -> None:
    """Its text is the same, so there is nothing to rebuild."""
    with opened(store) as index:
        index.build_if_stale(store, model)
        (store.root / "people/bo.md").chmod(0o600)

        assert index.build_if_stale(store, model) == BuildStats([], [], 0)


def test_a_vanished_file_is_forgotten(store: MemoryStore, model: CountingEmbedder) -> None:
    """It is named, and found no more."""
    with opened(store) as index:
        index.build_if_stale(store, model)
        (store.root / "topics/tea.md").unlink()

        assert index.build_if_stale(store, model).removed_paths == ["topics/tea.md"]
        assert "topics/tea.md" not in found(index, model, "smoked tea when it rains", 9)


def test_one_file_can_be_refreshed_alone(store: MemoryStore, model: CountingEmbedder) -> None:
    """Nothing else is read or embedded, and texts that did not change keep their vectors."""
    long = "# Log\n\n" + "\n".join(
        f"- entry {n}: the lantern number {n} was lit by somebody at dusk" for n in range(40)
    )
    store.write_file("notes.md", long)
    with opened(store) as index:
        index.build_if_stale(store, model)
        model.batches.clear()
        store.append_file("notes.md", "\n- entry 40: a goose walked in")

        stats = index.refresh(store, "notes.md", model)

        assert stats.rebuilt_paths == ["notes.md"]
        assert all("goose" in text for text in model.texts)
        assert len(model.texts) == stats.chunks_written + 1 == 2


def test_refreshing_what_is_gone_or_not_ours_takes_it_out(store: MemoryStore, model: CountingEmbedder) -> None:
    """A deleted file leaves; dot folders, other kinds of files and paths outside are never in."""
    with opened(store) as index:
        index.build_if_stale(store, model)
        store.delete_file("people/bo.md")
        store.write_file("sessions/.pending/x.md", "proposal")
        store.write_file("people/_aliases.json", "{}")

        assert index.refresh(store, "people/bo.md", model).removed_paths == ["people/bo.md"]
        for path in ("sessions/.pending/x.md", "people/_aliases.json", "../outside.md", "nowhere.md", "\0"):
            assert index.refresh(store, path, model) == BuildStats([], [], 0)


def test_what_lies_in_dot_folders_is_not_indexed(store: MemoryStore, model: CountingEmbedder) -> None:
    """Proposals of the writer are not memory yet."""
    store.write_file("sessions/.pending/x.md", "proposal about bees")
    with opened(store) as index:
        assert index.build_if_stale(store, model).rebuilt_paths == sorted(NOTES)


def test_more_files_than_the_store_lists_at_once_are_indexed(tmp_path: Path, model: CountingEmbedder) -> None:
    """The cap of a search is no cap of the index."""
    store = MemoryStore(tmp_path / "memory", limits=MemoryStoreLimits(max_results_per_op=3))
    for number in range(9):
        store.write_file(f"topics/{number}.md", f"topic number {number}")
    with opened(store) as index:
        assert len(index.build_if_stale(store, model).rebuilt_paths) == 9


def test_unreadable_files_are_passed_by_with_a_line(
    store: MemoryStore, model: CountingEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    """Bad bytes, a loop of links: the rest goes on, and each is named once."""
    (store.root / "bad.md").write_bytes(b"\xff\xfe\x00 not text")
    (store.root / "loop").symlink_to(store.root, target_is_directory=True)
    with opened(store) as index, caplog.at_level(logging.WARNING):
        index.build_if_stale(store, model)
        index.build_if_stale(store, model)

        assert sorted(vars(record)["path"] for record in caplog.records) == ["bad.md"]
        assert found(index, model, "Ada keeps bees")[0] == "people/ada.md"


def test_a_file_over_the_cap_is_taken_in_up_to_it(tmp_path: Path, model: CountingEmbedder) -> None:
    """Its first lines are found, what lies behind the cap is not."""
    store = MemoryStore(tmp_path / "memory", limits=MemoryStoreLimits(max_file_bytes=60))
    (store.root / "huge.md").write_text("The zeppelin hangar is by the lake.\n" + "filler words\n" * 20 + "a yak\n")
    with opened(store) as index:
        index.build_if_stale(store, model)

        assert found(index, model, "zeppelin hangar") == ["huge.md"]
        assert "yak" not in store.read_to_cap("huge.md")


def test_a_file_that_vanishes_while_it_is_read_is_no_error(store: MemoryStore, model: CountingEmbedder) -> None:
    """Gone is gone."""

    class Vanishing:
        root = store.root

        def read_to_cap(self, rel_path: str) -> str:
            (store.root / "people/bo.md").unlink(missing_ok=True)
            return store.read_to_cap(rel_path)

    with opened(store) as index:
        assert index.build_if_stale(Vanishing(), model).rebuilt_paths == ["people/ada.md", "topics/tea.md"]


def test_texts_are_embedded_in_batches_of_at_most_32(tmp_path: Path, model: CountingEmbedder) -> None:
    """However many files there are."""
    store = MemoryStore(tmp_path / "memory")
    for number in range(100):
        store.write_file(f"topics/{number:03}.md", f"topic number {number}")
    with opened(store) as index:
        index.build_if_stale(store, model)

        assert max(map(len, model.batches)) <= 32
        assert len(model.batches) <= 5


def test_a_query_is_checked(store: MemoryStore, model: CountingEmbedder) -> None:
    """Nothing wanted or nothing there gives nothing; a vector of another size is an error."""
    with opened(store) as index:
        vector = model.embed(["bees"])[0]
        assert index.query(vector, 3) == []
        index.build_if_stale(store, model)

        assert index.query(vector, 0) == index.query(vector, -1) == []
        assert len(index.query(vector, 99)) == 3
        scores = [hit.score for hit in index.query(vector, 3)]
        assert scores == sorted(scores, reverse=True)
        with pytest.raises(ValueError, match="3 numbers"):
            index.query(np.zeros(3, dtype=np.float32), 1)


def test_vectors_survive_closing(store: MemoryStore, model: CountingEmbedder) -> None:
    """Opened again, a chunk is still the nearest to itself, and nothing is embedded anew."""
    with opened(store) as index:
        index.build_if_stale(store, model)
    with opened(store) as index:
        hit = index.query(model.embed([NOTES["topics/tea.md"]])[0], 1)[0]

        assert hit.rel_path == "topics/tea.md"
        assert hit.score >= 0.999
        assert index.build_if_stale(store, model) == BuildStats([], [], 0)


def test_the_file_is_the_promised_one(store: MemoryStore, model: CountingEmbedder) -> None:
    """Model and dimension stand in `meta`, vectors are little-endian float32 of length one."""
    with opened(store) as index:
        index.build_if_stale(store, model)
    with sqlite3.connect(store.root / ".index/embeddings.sqlite") as connection:
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        documents = connection.execute("SELECT rel_path, mtime, chunk_count FROM documents ORDER BY 1").fetchall()
        columns = "rel_path, heading_path, char_start, char_end, token_count, text, vector"
        row = connection.execute(f"SELECT {columns} FROM chunks WHERE rel_path = 'people/ada.md'").fetchone()
    connection.close()

    assert (meta["model"], meta["dim"]) == ("counting", "512")
    assert documents[0] == ("people/ada.md", (store.root / "people/ada.md").stat().st_mtime, 1)
    assert row[:6] == ("people/ada.md", "Ada", 0, len(NOTES["people/ada.md"]), 9, NOTES["people/ada.md"])
    vector = np.frombuffer(row[6], dtype="<f4")
    assert np.linalg.norm(vector) == pytest.approx(1.0)
    assert vector @ model.embed([NOTES["people/ada.md"]])[0] >= 0.999


def test_another_model_empties_the_index_with_one_line(
    store: MemoryStore, model: CountingEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing of the old one is mixed with the new."""
    with opened(store) as index:
        index.build_if_stale(store, model)
    other = CountingEmbedder(32, "another")
    with caplog.at_level(logging.INFO), opened(store, dim=32, model_name="another") as index:
        assert index.query(other.embed(["bees"])[0], 3) == []
        assert len(index.build_if_stale(store, other).rebuilt_paths) == 3

    assert [record.message for record in caplog.records] == ["memory index is made anew"]


@pytest.mark.parametrize("damage", ["garbage", "truncated", "empty", "newer", "tables gone"])
def test_a_broken_index_is_made_again(
    store: MemoryStore, model: CountingEmbedder, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever happened to the file, a build later everything is found."""
    path = store.root / ".index/embeddings.sqlite"
    with opened(store) as index:
        index.build_if_stale(store, model)
    if damage in ("newer", "tables gone"):
        with sqlite3.connect(path) as connection:
            sql = (
                "UPDATE meta SET value = '99' WHERE key = 'version'"
                if damage == "newer"
                else "DROP TABLE stored_chunks"
            )
            connection.execute(sql)
        connection.close()
    else:
        whole = path.read_bytes()
        path.write_bytes({"garbage": b"\x13" * 9000, "truncated": whole[: len(whole) // 2], "empty": b""}[damage])
    with caplog.at_level(logging.WARNING), opened(store) as index:
        for _ in range(2):  # damage may show in the middle of a build: the next one mends it
            try:
                index.build_if_stale(store, model)
            except IndexUnavailable:
                continue

        assert found(index, model, "Ada keeps bees")[0] == "people/ada.md"
        assert all(record.message == "memory index is made anew" for record in caplog.records)


def test_an_index_deleted_while_open_is_made_again(store: MemoryStore, model: CountingEmbedder) -> None:
    """Between two builds somebody removed the folder."""
    with opened(store) as index:
        index.build_if_stale(store, model)
        shutil.rmtree(store.root / ".index")

        assert len(index.build_if_stale(store, model).rebuilt_paths) == 3
        assert (store.root / ".index/embeddings.sqlite").exists()
        assert found(index, model, "Ada keeps bees")[0] == "people/ada.md"


@pytest.mark.slow
def test_a_locked_index_is_left_alone(store: MemoryStore, model: CountingEmbedder) -> None:
    """Another program holds it: an error for the builder, kept whole, and sound again afterwards."""
    with opened(store) as index:
        index.build_if_stale(store, model)
        touch(store, "people/bo.md", 5)
        other = sqlite3.connect(store.root / ".index/embeddings.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(IndexUnavailable, match="in use"):
            index.build_if_stale(store, model)
        assert found(index, model, "Ada keeps bees")[0] == "people/ada.md"
        other.execute("ROLLBACK")
        other.close()
        assert index.build_if_stale(store, model).rebuilt_paths == ["people/bo.md"]


def test_what_another_process_indexed_is_found_here(store: MemoryStore, model: CountingEmbedder) -> None:
    """Two indexes on one file stay level without loading everything again."""
    with opened(store) as ours, opened(store) as theirs:
        ours.build_if_stale(store, model)
        assert found(ours, model, "Ada keeps bees")[0] == "people/ada.md"
        store.write_file("topics/geese.md", "Geese bite.")
        theirs.build_if_stale(store, model)

        assert found(ours, model, "geese bite")[0] == "topics/geese.md"


def test_the_index_folder_is_kept_out_of_version_control(store: MemoryStore, model: CountingEmbedder) -> None:
    """One line is added once; lines that were there stay."""
    ignore = store.root / ".gitignore"
    ignore.write_bytes(b"*.tmp")
    for _ in range(2):
        with opened(store) as index:
            index.build_if_stale(store, model)
        shutil.rmtree(store.root / ".index")

    assert ignore.read_bytes() == b"*.tmp\n.index/\n"


def test_a_build_tells_how_far_it_is_and_stops_when_told(tmp_path: Path, model: CountingEmbedder) -> None:
    """What was done by then is kept."""
    store = MemoryStore(tmp_path / "memory")
    for number in range(100):
        store.write_file(f"{number:03}.md", f"topic number {number}")
    told: list[tuple[int, int]] = []
    answers = iter([True, True, False])
    with opened(store) as index:
        stats = index.build_if_stale(
            store, model, progress=lambda done, of: told.append((done, of)), go_on=lambda: next(answers)
        )

        assert told == [(32, 100), (64, 100)]
        assert len(stats.rebuilt_paths) == 64
        assert len(index.build_if_stale(store, model).rebuilt_paths) == 36


def test_what_a_build_read_before_an_edit_never_replaces_it(tmp_path: Path, model: CountingEmbedder) -> None:
    """A file that is brought level between two batches stays so, whatever the build had read of it."""
    store = MemoryStore(tmp_path / "memory")
    store.write_file("a.md", "Geese bite.")
    with EmbeddingIndex(tmp_path / "index.sqlite", dim=512, model_name="counting") as index:

        def edit_meanwhile() -> bool:
            store.write_file("a.md", "Geese sing.")
            index.refresh(store, "a.md", model)
            return True

        index.build_if_stale(store, model, go_on=edit_meanwhile)

        assert [hit.text for hit in index.query(np.ones(512, dtype=np.float32), 5)] == ["Geese sing."]


def test_several_threads_may_build_and_ask_at_once(store: MemoryStore) -> None:
    """Nothing is lost and nothing breaks."""
    model = HashingModel(512)
    vector = model.embed(["Ada keeps bees"])[0]
    troubles: list[BaseException] = []
    with opened(store) as index:
        index.build_if_stale(store, model)

        def work(number: int) -> None:
            try:
                for turn in range(10):
                    store.write_file(f"topics/{number}.md", f"thread {number} in turn {turn}")
                    index.refresh(store, f"topics/{number}.md", model)
                    assert index.query(vector, 3)[0].rel_path == "people/ada.md"
            except BaseException as exc:
                troubles.append(exc)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert troubles == []
        assert index.counts()["files"] == 7
        assert index.build_if_stale(store, model) == BuildStats([], [], 0)


def test_a_file_that_changes_all_day_leaves_nothing_behind(
    store: MemoryStore, model: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is held of headings and labels is held of those there are, and who is named in them is known."""
    monkeypatch.setattr(passages, "SPARE_CODES", 4)
    with opened(store) as index:
        index.build_if_stale(store, model)
        index.warm()
        for number in range(30):
            store.write_file("people/bo.md", f"# Bo, part {number}\n\nlabel{number}: boats in the harbour.")
            index.refresh(store, "people/bo.md", model)
        boats = index.passages.postings("boats")
        facts = index.passages.facts(boats, RecallScope(), frozenset({"bo"}))
        later = index.passages.facts(boats, RecallScope(), frozenset({"bo", "ada"}), frozenset({"ada"}))
        left = index.passages.facts(boats, RecallScope(exclude_paths=frozenset({"people/bo.md"})), frozenset())
        held = index.passages

    assert (facts.concerns.tolist(), later.concerns.tolist(), len(left)) == ([1.0], [NAMED_LATER], 0)
    assert len(held._paths) == 3
    assert len(held._labels) + len(held._headings) <= 2 * 3 + 4


def test_a_word_is_found_in_a_file_of_more_passages_than_a_number_has_rows(
    store: MemoryStore, model: CountingEmbedder
) -> None:
    """At its beginning, in its middle and at its end, and in the files before and after; gone with the file."""
    lines = [f"- line {number} tells of walnuts and nothing else that matters" for number in range(200)]
    lines[3] += " otter"
    lines[100] += " otter"
    lines[199] += " otter"
    store.write_file("aaa.md", "# Before\n\nAn otter swims.\n")
    store.write_file("long.md", "# Long\n\n" + "\n".join(lines) + "\n")
    store.write_file("zzz.md", "# After\n\nAn otter sleeps.\n")
    with opened(store) as index:
        index.build_if_stale(store, model)

        units = index.passages.postings("otters").tolist()
        told = [text for _, text in index.passages.tellable_texts(units, RecallScope()).values()]
        assert len(units) == 5
        assert all("otter" in text for text in told)
        assert sum("line" in text for text in told) == 3
        store.delete_file("long.md", source="test")
        index.build_if_stale(store, model)
        assert len(index.passages.postings("otter")) == 2
        assert len(index.passages.postings("walnuts")) == 0
