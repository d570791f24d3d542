"""What the alias index promises: every known name finds its people, and no common word does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from familiar_connect.identity import Author
from familiar_connect.memory.note_paths import people_path
from familiar_connect.memory.people import (
    ALIASES_PATH,
    STOP_WORDS,
    alias_key,
    harvest_aliases,
    read_aliases,
    rebuild_aliases,
)
from familiar_connect.memory.store import MemoryStore
from tests.fakes.writer_setup import ALICE, BOB

ALSO_ALICE = Author(platform="twitch", user_id="9", username=None, display_name="Alice")


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


def index(store: MemoryStore) -> object:
    return json.loads(store.read_file(ALIASES_PATH))


def test_a_person_is_filed_by_slug() -> None:
    """The path rests on the slug alone."""
    assert people_path(ALICE.slug) == "people/discord-1.md"


def test_names_of_those_who_took_part_are_indexed(store: MemoryStore) -> None:
    """Lower-cased name to slug, as one JSON object, under the writer's name."""
    rebuild_aliases(store, [ALICE, BOB], run_id="r1")

    assert index(store) == {"alice": "discord-1", "alice_w": "discord-1", "bob": "discord-2", "bobby": "discord-2"}
    assert store.audit_entries[-1].source == "memory_writer"


def test_aliases_are_harvested_from_every_people_file(store: MemoryStore) -> None:
    """Bullets under the heading count, whatever dresses them; files of the program and others do not."""
    store.write_file(
        "people/discord-1.md", "# Alice\n\n## Aliases\n- **Ally**\n* Lys (from school)\n\n## Else\n- Nope\n"
    )
    store.write_file("people/_old.md", "## Aliases\n- Ghost\n")
    store.write_file("people/notes.txt", "## Aliases\n- Text\n")
    rebuild_aliases(store, [])

    assert index(store) == {"ally": "discord-1", "lys": "discord-1"}


def test_a_name_of_several_people_keeps_them_all(store: MemoryStore) -> None:
    """The most recently active comes first, and moves to the front when active again."""
    store.write_file("people/discord-1.md", "## Aliases\n- Alice\n")
    store.write_file("people/twitch-9.md", "## Aliases\n- Alice\n")
    rebuild_aliases(store, [ALSO_ALICE])
    first = read_aliases(store)["alice"]
    rebuild_aliases(store, [ALICE])
    second = read_aliases(store)["alice"]
    rebuild_aliases(store, [])

    assert first == ["twitch-9", "discord-1"]
    assert second == ["discord-1", "twitch-9"]
    assert read_aliases(store)["alice"] == second


@pytest.mark.parametrize("name", ["The", "you", "A", "私", "", "   ", "!!!", "x" * 65, "be\x07ll", "und"])
def test_what_is_no_name_never_becomes_an_alias(name: str, store: MemoryStore) -> None:
    """Common words, single characters, blanks and noise are left out."""
    rebuild_aliases(store, [Author(platform="discord", user_id="1", username=None, display_name=name)])

    assert alias_key(name) is None
    assert not store.exists(ALIASES_PATH)


def test_names_of_any_script_are_names(store: MemoryStore) -> None:
    """Two characters of Japanese are a name; spaces run together."""
    assert alias_key("花子") == "花子"
    assert alias_key("  Ana   Lovelace ") == "ana lovelace"


def test_an_empty_index_is_not_written_and_an_old_one_goes(store: MemoryStore) -> None:
    """Nothing to say is said by no file."""
    rebuild_aliases(store, [])
    written = store.exists(ALIASES_PATH)
    store.write_file(ALIASES_PATH, '{"gone": "discord-4"}')
    rebuild_aliases(store, [])

    assert not written
    assert not store.exists(ALIASES_PATH)


def test_an_unchanged_index_is_not_written_again(store: MemoryStore) -> None:
    """The audit holds changes, not repetitions."""
    rebuild_aliases(store, [ALICE])
    before = len(store.audit_entries)
    rebuild_aliases(store, [ALICE])

    assert len(store.audit_entries) == before


@pytest.mark.parametrize(
    "text", ["", "not json", "[1]", '{"bob": 3}', '{"the": "discord-1"}', '{"a": [', '{"bob": []}']
)
def test_a_malformed_index_reads_as_empty(text: str, store: MemoryStore) -> None:
    """Readers never fail, and never meet a stop word."""
    store.write_file(ALIASES_PATH, text)

    assert read_aliases(store) == {}


def test_readers_accept_a_string_or_a_list(store: MemoryStore) -> None:
    """Both shapes come out as a list."""
    store.write_file(ALIASES_PATH, '{"Bob": "discord-2", "alice": ["discord-1", "twitch-9"]}')

    assert read_aliases(store) == {"bob": ["discord-2"], "alice": ["discord-1", "twitch-9"]}


def test_a_file_that_cannot_be_read_costs_its_names_only(store: MemoryStore) -> None:
    """One bad file does not empty the index."""
    store.write_bytes("people/discord-3.md", b"\xff\xfe")
    store.write_file("people/discord-1.md", "## Aliases\n- Ally\n")
    rebuild_aliases(store, [])

    assert index(store) == {"ally": "discord-1"}


def test_a_heading_in_a_code_fence_is_no_list() -> None:
    """What is quoted is not said."""
    assert harvest_aliases("```\n## Aliases\n- Ghost\n```\n") == []


def test_the_stop_list_is_shipped_and_lower_case() -> None:
    """It holds the words that open most sentences."""
    assert {"the", "i", "you", "and", "hello"} <= STOP_WORDS
    assert all(word == word.lower() for word in STOP_WORDS)
