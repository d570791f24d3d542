"""Links are found where a reader would see them, and never lead out of the memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.maintenance.links import follow_links, link_graph, links_of, resolve_link
from familiar_connect.memory.store import MemoryStore


@pytest.mark.parametrize(
    ("markdown", "targets"),
    [
        ("[a](b.md) and [c](d.md)", ["b.md", "d.md"]),
        ("[a](<b c.md>) [a](b%20c.md)", ["b c.md", "b%20c.md"]),
        ('[a](b.md "the title")', ["b.md"]),
        ("[a [inner] b](c(1).md)", ["c(1).md"]),
        ("![picture](p.png)", ["p.png"]),
        ("[a][ref] and [ref]\n\n[REF]: x.md", ["x.md", "x.md"]),
        (r"\[a](b.md) [a\]](c.md)", ["c.md"]),
        ("`[a](b.md)` ``x ` [c](d.md)`` [e](f.md)", ["f.md"]),
        ("```\n[a](b.md)\n```\n~~~x\n[a](b.md)\n```\n~~~\n[c](d.md)", ["d.md"]),
        ("<!-- [a](b.md)\n[a](b.md) --> [c](d.md)", ["d.md"]),
        ("[a] (b.md) [a](b c.md) [ ]", []),
    ],
)
def test_links_are_read_as_markdown_means_them(markdown: str, targets: list[str]) -> None:
    """Inline, reference and image links; code and comments are text."""
    assert [link.target for link in links_of(markdown)] == targets


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("../people/a.md#aliases", ("file", "people/a.md")),
        ("b%20c.md", ("file", "topics/b c.md")),
        ("#here", ("here", "topics/x.md")),
        ("https://example.org/a.md", ("external", "")),
        ("//example.org/a", ("external", "")),
        ("../../etc/passwd", ("outside", "")),
        ("%2e%2e/../../x", ("outside", "")),
        ("/etc/passwd", ("outside", "")),
        ("a\\b.md", ("outside", "")),
        ("a%00.md", ("outside", "")),
    ],
)
def test_a_target_is_worked_out_from_its_file(target: str, place: tuple[str, str]) -> None:
    """Relative to the folder it stands in; what leaves the root has no path."""
    assert resolve_link("topics/x.md", target) == place


@given(st.text(alphabet="[](){}<>`~!\\\n #:.-/ab%", max_size=200))
def test_no_text_breaks_the_reader(markdown: str) -> None:
    """Whatever stands there, every link found has a line of its own, and a path inside or none."""
    for link in links_of(markdown):
        kind, path = resolve_link("people/x.md", link.target)
        assert 1 <= link.line <= len(markdown.splitlines())
        assert kind == "file" or path in ("", "people/x.md")
        assert ".." not in path.split("/")


def test_following_links_gives_the_files_once_in_order(tmp_path: Path) -> None:
    """What is missing, outside or oneself is left out."""
    store = MemoryStore(tmp_path)
    store.write_file("people/a.md", "# A")
    store.write_file("topics/b.md", "# B")
    text = "[b](topics/b.md) [a](people/a.md) [b](topics/b.md#x) [gone](gone.md) [me](notes.md) [out](../x.md)"
    store.write_file("notes.md", text)

    assert follow_links(store, "notes.md") == ["topics/b.md", "people/a.md"]


def test_the_graph_tells_broken_links_and_who_links_to_whom(tmp_path: Path) -> None:
    """A link to a folder leads somewhere; one out of the memory does not."""
    store = MemoryStore(tmp_path)
    store.write_file("people/a.md", "# A\n[b](../topics/b.md)\n[all](../topics)\n[no](no.md)\n[out](../../x)\n")
    store.write_file("topics/b.md", "# B")
    graph = link_graph(store)

    assert graph.outgoing == {"people/a.md": ("topics/b.md",), "topics/b.md": ()}
    assert graph.backlinks()["topics/b.md"] == {"people/a.md"}
    assert [(link.line, link.target, link.reason) for link in graph.broken] == [
        (4, "no.md", "there is no such file"),
        (5, "../../x", "it leads outside the memory folder"),
    ]
    assert graph.are_linked("topics/b.md", "people/a.md")
