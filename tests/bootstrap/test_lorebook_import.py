"""What becomes of a lorebook in memory: files, names, and what is said of entries that cannot be taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.bootstrap.import_silly_tavern import (
    ImportResult,
    LorebookImportError,
    import_book,
    import_silly_tavern_lorebook,
)
from familiar_connect.bootstrap.lorebook_files.books import read_book
from familiar_connect.memory.index.embeddings import EmbeddingIndex
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.retriever import EmbeddingRetriever
from familiar_connect.memory.lorebooks.entry_markdown import latin_stem
from familiar_connect.memory.store import MemoryStore, MemoryStoreError, MemoryStoreLimits
from familiar_connect.support.text import to_file_slug


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")


def an_entry(uid: int = 0, **fields: Any) -> dict[str, Any]:
    return {"uid": uid, "key": ["castle"], "comment": f"Entry {uid}", "content": "It stands on the hill.", **fields}


def a_book(*entries: Any) -> dict[str, Any]:
    return {"entries": {str(number): entry for number, entry in enumerate(entries)}}


def files_in(store: MemoryStore) -> list[str]:
    return sorted(path.relative_to(store.root).as_posix() for path in store.root.rglob("*.md"))


def test_an_entry_becomes_a_file_with_title_keywords_and_text(store: MemoryStore) -> None:
    """The keywords stand in a quote for people to read."""
    entry = an_entry(comment="The Old Castle", key=["castle", "the hill"], content="Cold.\n\nVery cold.")
    result = import_silly_tavern_lorebook(store, a_book(entry))

    assert result == ImportResult(written=["lore/imported/the-old-castle.md"], skipped=[], errors=[])
    assert store.read_file("lore/imported/the-old-castle.md") == (
        "# The Old Castle\n\n"
        "> Trigger keywords (looked for under `sillytavern`, else by meaning):\n> - castle\n> - the hill\n\n"
        "Cold.\n\nVery cold.\n"
    )


def test_without_keys_there_is_no_list_of_keywords(store: MemoryStore) -> None:
    """Title and text are enough for a file."""
    import_silly_tavern_lorebook(store, a_book(an_entry(comment="Plain", key=[])))

    assert store.read_file("lore/imported/plain.md") == "# Plain\n\nIt stands on the hill.\n"


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"comment": "Named", "key": ["k"]}, "Named"),
        ({"comment": "  ", "key": ["", " ", "second"]}, "second"),
        ({"comment": "", "key": [], "uid": 7}, "uid 7"),
        ({"comment": None, "key": None, "uid": None}, "entry"),
        ({"comment": "two\nlines", "key": []}, "two lines"),
        ({"comment": "", "key": "one, two"}, "one"),
    ],
)
def test_titles_come_from_comment_key_or_number(store: MemoryStore, fields: dict[str, Any], title: str) -> None:
    """The first of them that says something."""
    result = import_silly_tavern_lorebook(store, a_book(an_entry(**fields)))

    assert store.read_file(result.written[0]).splitlines()[0] == f"# {title}"


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("The Cascade: Event!", "the-cascade-event"),
        ("Ärger & Öl", "aerger-oel"),
        ("🐉🔥", "entry"),
        ("../../etc/passwd", "etc-passwd"),
        ("CON", "con-entry"),
        ("nul", "nul-entry"),
        ("a" * 80, "a" * 50),
        ("a" * 49 + " b", "a" * 49),
    ],
)
def test_file_names_are_safe_everywhere(store: MemoryStore, title: str, stem: str) -> None:
    """Lower-case letters, digits and dashes, at most fifty, and no device of Windows."""
    result = import_silly_tavern_lorebook(store, a_book(an_entry(comment=title)))

    assert result.written == [f"lore/imported/{stem}.md"]


def test_equal_titles_get_numbers(store: MemoryStore) -> None:
    """No entry overwrites another of the same book, and no name grows too long."""
    entries = [an_entry(uid, comment="Twin") for uid in range(3)] + [an_entry(9, comment="twin-2")]
    long = [an_entry(uid, comment="b" * 60) for uid in (4, 5)]
    result = import_silly_tavern_lorebook(store, a_book(*entries, *long))

    names = [path.rpartition("/")[2] for path in result.written]
    assert names == ["twin.md", "twin-2.md", "twin-3.md", "twin-2-2.md", f"{'b' * 50}.md", f"{'b' * 48}-2.md"]


def test_disabled_entries_are_left_out(store: MemoryStore) -> None:
    """They are neither written nor an error."""
    result = import_silly_tavern_lorebook(store, a_book(an_entry(0, disable=True), an_entry(1)))

    assert (result.written, result.errors) == (["lore/imported/entry-1.md"], [])


def test_entries_that_are_no_entries_are_told(store: MemoryStore) -> None:
    """The rest of the book is taken all the same."""
    book = a_book([1], None, "text", an_entry(3, content=None), an_entry(4, content=["x"]), an_entry(5))
    result = import_silly_tavern_lorebook(store, book)

    assert result.written == ["lore/imported/entry-5.md"]
    assert len(result.errors) == 5
    assert "Entry 3" in result.errors[3]


def test_what_stands_there_is_left_alone_unless_forced(store: MemoryStore) -> None:
    """Importing again is safe, and force brings the book's text back."""
    import_silly_tavern_lorebook(store, a_book(an_entry(0), an_entry(1)))
    store.write_file("lore/imported/entry-0.md", "# Mine\n", source="owner")
    again = import_silly_tavern_lorebook(store, a_book(an_entry(0), an_entry(1), an_entry(2)))

    assert again.skipped == ["lore/imported/entry-0.md", "lore/imported/entry-1.md"]
    assert again.written == ["lore/imported/entry-2.md"]
    assert store.read_file("lore/imported/entry-0.md") == "# Mine\n"

    forced = import_silly_tavern_lorebook(store, a_book(an_entry(0), an_entry(1)), force=True)

    assert (len(forced.written), forced.skipped) == (2, [])
    assert store.read_file("lore/imported/entry-0.md").startswith("# Entry 0\n")


def test_every_file_has_one_audit_entry(store: MemoryStore) -> None:
    """And it tells where the file came from."""
    result = import_silly_tavern_lorebook(store, a_book(an_entry(0), an_entry(1, constant=True)))

    assert [entry.rel_path for entry in store.audit_entries] == result.written
    assert all("silly_tavern" in entry.source for entry in store.audit_entries)


def test_a_simple_book_leaves_nothing_but_its_files(store: MemoryStore) -> None:
    """There is no record where Markdown says it all."""
    import_silly_tavern_lorebook(store, a_book(an_entry()))

    assert [entry.name for entry in store.list_dir("lore/imported")] == ["entry-0.md"]


def test_text_too_large_for_a_file_names_its_title(tmp_path: Path) -> None:
    """Nothing of it is written; the others are."""
    store = MemoryStore(tmp_path, limits=MemoryStoreLimits(max_file_bytes=100))
    result = import_silly_tavern_lorebook(
        store, a_book(an_entry(0, comment="Huge", content="x" * 101), an_entry(1, key=[]))
    )

    assert result.written == ["lore/imported/entry-1.md"]
    assert len(result.errors) == 1
    assert "Huge" in result.errors[0]
    assert files_in(store) == ["lore/imported/entry-1.md"]


@pytest.mark.parametrize("target", ["../outside", "lore/../../outside", "/etc", "a\0b"])
def test_a_target_outside_memory_is_refused(store: MemoryStore, target: str) -> None:
    """Even where there would be nothing to write."""
    with pytest.raises(MemoryStoreError):
        import_silly_tavern_lorebook(store, a_book(), target_dir=target)


def test_a_target_that_is_a_link_outside_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    """A folder that leads elsewhere gets no file."""
    (tmp_path / "elsewhere").mkdir()
    (store.root / "lore").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(MemoryStoreError):
        import_silly_tavern_lorebook(store, a_book(an_entry()))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.slow
def test_more_entries_than_a_folder_takes_are_refused_at_once(store: MemoryStore) -> None:
    """A hundred thousand entries cost a sentence, not an hour."""
    with pytest.raises(LorebookImportError, match="100,000 entries"):
        import_silly_tavern_lorebook(store, {"entries": [an_entry()] * 100_000})
    assert files_in(store) == []


def test_a_folder_too_full_for_the_book_is_refused(tmp_path: Path) -> None:
    """Nothing of the book is written then."""
    store = MemoryStore(tmp_path, limits=MemoryStoreLimits(max_files_per_dir=4))
    import_silly_tavern_lorebook(store, a_book(an_entry(0), an_entry(1)))

    with pytest.raises(LorebookImportError, match="another folder"):
        import_silly_tavern_lorebook(store, a_book(an_entry(2), an_entry(3)))
    assert files_in(store) == ["lore/imported/entry-0.md", "lore/imported/entry-1.md"]


def test_half_a_character_is_marked_and_kept(store: MemoryStore) -> None:
    """The file is UTF-8 whatever the book held."""
    entry = r'{"uid": 0, "comment": "a\ud800b", "key": ["\udfff"], "content": "\ud83d\ude00 \ud800"}'
    text = f'{{"entries": {{"0": {entry}}}}}'
    result = import_silly_tavern_lorebook(store, text)

    assert result.errors == []
    assert store.read_file(result.written[0]).endswith("😀 �\n")


def test_progress_is_told_on_the_way(store: MemoryStore) -> None:
    """A long import can be watched."""
    told: list[tuple[int, int]] = []
    book = read_book(a_book(*(an_entry(uid) for uid in range(250))))
    import_book(store, book, progress=lambda done, total: told.append((done, total)))

    assert told == [(100, 250), (200, 250), (250, 250)]


def test_a_book_of_another_folder_goes_there(store: MemoryStore) -> None:
    """The target is a folder of memory, with or without a slash behind it."""
    result = import_silly_tavern_lorebook(store, json.dumps(a_book(an_entry())), target_dir="lore/story/")

    assert result.written == ["lore/story/entry-0.md"]


async def test_imported_lore_is_found_by_search(store: MemoryStore, tmp_path: Path) -> None:
    """No keyword is looked for: what bears on the question is found by its words."""
    book = a_book(
        an_entry(0, comment="The Cascade", key=["2042"], content="Power grids collapsed and satellites fell."),
        an_entry(1, comment="Honey", key=["bees"], content="Ada keeps bees on the roof of the mill."),
    )
    import_silly_tavern_lorebook(store, book)
    model = HashingModel()
    index = EmbeddingIndex(tmp_path / "embeddings.sqlite", dim=model.dim)
    index.build_if_stale(store, model)
    found = await EmbeddingRetriever(index=index, model=model).query("why did the power grids collapse", 1)
    index.close()

    assert [chunk.rel_path for chunk in found] == ["lore/imported/the-cascade.md"]


def test_entries_keep_their_names_in_any_script(store: MemoryStore) -> None:
    """So that nobody has to open `entry-2.md` to see what it is about; and they are found by them."""
    titles = ["Дом у реки", "お茶の店", "हिन्दी किताब", "Größe", "../../etc/passwd", "😀"]
    book = a_book(*(an_entry(uid, comment=title) for uid, title in enumerate(titles)))

    result = import_silly_tavern_lorebook(store, book)

    assert [path.removeprefix("lore/imported/") for path in result.written] == [
        "дом-у-реки.md", "お茶の店.md", "हिन्दी-किताब.md", "groesse.md", "etc-passwd.md", "entry.md",
    ]  # fmt: skip
    assert store.grep("# Дом у реки")[0].rel_path == "lore/imported/дом-у-реки.md"


def test_an_entry_that_had_no_name_keeps_its_file(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A book that an earlier version imported is not imported twice."""
    book = a_book(an_entry(0, comment="Дом"), an_entry(1, comment="Сад"))
    with monkeypatch.context() as earlier:
        earlier.setattr("familiar_connect.memory.lorebooks.entry_markdown.file_stem", latin_stem)
        before = import_silly_tavern_lorebook(store, book).written
    again = import_silly_tavern_lorebook(store, book)

    assert before == ["lore/imported/entry.md", "lore/imported/entry-2.md"]
    assert (again.written, again.skipped) == ([], before)


@given(st.text(max_size=80))
def test_a_file_slug_is_safe(words: str) -> None:
    """One part of a path, short enough for every system, and the same when made again."""
    slug = to_file_slug(words, 50)

    assert len(slug) <= 50
    assert len(slug.encode()) <= 180
    assert not set(slug) & set('/\\:*?"<>|. \n\0')
    assert slug == slug.strip("-")
    assert slug.isprintable()
