"""How Markdown is cut up for searching."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.index.chunking import (
    HARD_CHUNK_TOKEN_CAP,
    PASSAGE_CHARS,
    SMALL_FILE_WORD_THRESHOLD,
    PreparedChunk,
    chunk_markdown,
    split_long,
    split_passages,
)

LONG = "lantern " * 400


def chunks(text: str) -> list[PreparedChunk]:
    return chunk_markdown(text, rel_path="topics/x.md", mtime=5.0)


def test_the_numbers_are_the_promised_ones() -> None:
    """Files under 300 words stay whole; nothing is larger than the cap."""
    assert (SMALL_FILE_WORD_THRESHOLD, HARD_CHUNK_TOKEN_CAP) == (300, 1200)


def test_blank_text_has_no_chunks() -> None:
    """Nothing to find, nothing to embed."""
    assert chunks("") == chunks(" \n\t\n") == []


def test_a_short_file_is_one_chunk_word_for_word() -> None:
    """Its heading is the H1, its text is the file."""
    text = "# Ada\n\n## Likes\nbees\n"

    assert chunks(text) == [PreparedChunk("topics/x.md", "Ada", text, 0, len(text), 6, 5.0)]


def test_a_short_file_without_a_title_has_no_heading() -> None:
    """No H1, no heading path."""
    assert [chunk.heading_path for chunk in chunks("just a line")] == [""]


def test_a_long_file_is_cut_at_its_second_level_headings() -> None:
    """Each section carries title and heading in front of itself; what stands before the first is its own chunk."""
    text = f"# Ada\n\nKeeps bees.\n\n## Likes\n{LONG}\n## Fears\nGeese.\n"

    found = chunks(text)

    assert [chunk.heading_path for chunk in found] == ["Ada", "Ada > Likes", "Ada > Fears"]
    assert found[0].text == "Ada\n\n# Ada\n\nKeeps bees."
    assert found[2].text == "Ada > Fears\n\n## Fears\nGeese."
    assert text[found[2].char_start : found[2].char_end] == "## Fears\nGeese.\n"


def test_a_title_alone_before_the_first_section_is_no_chunk() -> None:
    """An H1 line says nothing by itself."""
    assert [chunk.heading_path for chunk in chunks(f"# Ada\n\n## Likes\n{LONG}")] == ["Ada > Likes"]


def test_a_long_file_without_sections_stands_under_its_title() -> None:
    """No H2, one section."""
    assert [chunk.heading_path for chunk in chunks(f"# Ada\n{LONG}")] == ["Ada"]


def test_a_heading_inside_fenced_code_is_code() -> None:
    """It opens no section."""
    assert [chunk.heading_path for chunk in chunks(f"## Real\n{LONG}\n```\n## not one\n```\n")] == ["Real"]


def test_a_long_section_becomes_overlapping_windows() -> None:
    """All under the same heading, each within the cap, none leaving a gap."""
    text = "# T\n## S\n" + "a sentence of six small words. " * 400

    found = chunks(text)

    assert len(found) > 2
    assert {chunk.heading_path for chunk in found} == {"T > S"}
    assert all(chunk.token_count <= 1250 for chunk in found)
    assert all(left.char_end > right.char_start for left, right in pairwise(found))
    assert found[-1].char_end == len(text)


@given(st.text(st.characters(codec="utf-8"), max_size=3000), st.integers(0, 12))
def test_whatever_the_text_no_chunk_is_too_large_and_nothing_is_lost(text: str, repeats: int) -> None:
    """Every visible character stands in some chunk, and offsets point into the file."""
    text = text * repeats

    found = chunks(text)

    covered: set[int] = set()
    for chunk in found:
        covered.update(range(chunk.char_start, chunk.char_end))
        assert chunk.token_count <= 1250
    assert all(not char.strip() or char == "#" or at in covered for at, char in enumerate(text)) or "#" in text


def test_passages_know_the_headings_they_stand_under() -> None:
    """A line's place in the file is the path of headings above it; headings are no passages."""
    text = "# Ada\nKeeps bees.\n## Fears\n- geese\n### Why\nOne bit her.\n## Likes\nTea.\n"

    assert [(p.heading_path, p.text.strip()) for p in split_passages(text)] == [
        ("Ada", "Keeps bees."),
        ("Ada > Fears", "- geese"),
        ("Ada > Fears > Why", "One bit her."),
        ("Ada > Likes", "Tea."),
    ]


@given(st.text(st.characters(codec="utf-8"), max_size=2000))
def test_passages_are_short_and_in_order(text: str) -> None:
    """Each is a stretch of the file, at most a few sentences long."""
    found = split_passages(text)

    assert all(text[p.char_start : p.char_end] == p.text for p in found)
    assert all(len(p.text) <= PASSAGE_CHARS + 1 for p in found)
    assert all(left.char_end <= right.char_start for left, right in pairwise(found))


@given(st.text(max_size=3000), st.integers(50, 400))
def test_a_long_text_in_pieces_is_still_all_there(text: str, limit: int) -> None:
    """Only blank pieces are left out."""
    pieces = split_long(text, limit)

    assert all(0 < len(piece) <= limit + 1 for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
