"""Links between memory files as the page shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.store import MemoryStore
from familiar_connect.platforms.web.memory_links import (
    HEIGHT,
    MAX_DRAWN,
    WIDTH,
    all_links,
    around,
    draw_links,
    link_wiki_names,
    links_from,
    links_to,
)
from familiar_connect.support.markdown_html import markdown_to_html

FILES = ["topics/garden.md", "topics/the blue pot.md"]
NAMES = st.text(st.sampled_from("ab/é<\"'&"), min_size=1, max_size=8)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    made = MemoryStore(tmp_path / "memory")
    made.write_file("people/discord-101.md", "# Ada\n\nSee [[the blue pot]] and `[[not this]]`.\n")
    made.write_file("topics/the blue pot.md", "# Pot\n\n[Ada](../people/discord-101.md)\n")
    made.write_file("topics/not this.md", "# Not\n\n[the pot](the%20blue%20pot.md)\n")
    made.write_file("topics/alone (1)+[x].md", "# Alone\n\nAda again: discord-101.\n")
    return made


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("See [[garden]].", '<p>See <a href="/memory/file?path=topics%2Fgarden.md">garden</a>.</p>\n'),
        ("[[The Blue Pot]]", '<p><a href="/memory/file?path=topics%2Fthe%20blue%20pot.md">The Blue Pot</a></p>\n'),
        ("`[[garden]]`", "<p><code>[[garden]]</code></p>\n"),
        ("[[nowhere]]", "<p>[[nowhere]]</p>\n"),
        ("[['><script>]]", "<p>[[&#x27;&gt;&lt;script&gt;]]</p>\n"),
    ],
)
def test_names_in_brackets_lead_to_their_file(text: str, html: str) -> None:
    """In a file that is read, outside of code; names of no file stay as they are."""
    assert link_wiki_names(markdown_to_html(text), FILES) == html


def test_links_are_known_both_ways(store: MemoryStore) -> None:
    """By path, by name, with spaces written either way; a name in a text is no link."""
    files = store.glob("**/*.md")

    assert links_from(store, "people/discord-101.md", files) == ["topics/the blue pot.md", "topics/not this.md"]
    assert links_to(store, "people/discord-101.md", files) == ["topics/the blue pot.md"]
    assert links_to(store, "topics/the blue pot.md", files) == ["people/discord-101.md", "topics/not this.md"]
    assert links_to(store, "topics/alone (1)+[x].md", files) == []


def test_all_links_and_those_around_one_file(store: MemoryStore) -> None:
    """A neighbourhood leaves the others out."""
    links = all_links(store)

    assert set(links) == {"people/discord-101.md", "topics/the blue pot.md", "topics/not this.md"}
    assert around(links, "topics/alone (1)+[x].md") == {}
    assert "topics/not this.md" in around(links, "people/discord-101.md")["people/discord-101.md"]


@given(st.dictionaries(NAMES, st.lists(NAMES, min_size=1, max_size=4).map(tuple), max_size=90))
def test_a_drawing_stays_within_its_frame(links: dict[str, tuple[str, ...]]) -> None:
    """However many files there are and whatever they are called; only files that are drawn are joined."""
    files, lines = draw_links(links)

    assert len(files) <= MAX_DRAWN
    assert all(0 <= file.x <= WIDTH and 0 <= file.y <= HEIGHT for file in files)
    assert all(set(line.shape) <= set("MQ0123456789.- ") for line in lines)
