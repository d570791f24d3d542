"""The one reader of Markdown headings and fences."""

from __future__ import annotations

from bisect import bisect
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from familiar_connect.memory.index.chunking import split_passages
from familiar_connect.memory.lorebooks.entry_markdown import parse_entry
from familiar_connect.memory.maintenance.links import links_of
from familiar_connect.memory.writing.markdown_sections import has_section, without_sections
from familiar_connect.support.markdown import Heading, document_title, find_section, read_blocks, read_headings

PIECES = (
    *("# One", "## Two ##", "  ## Two", "   # a", "    # code", "###### six", "####### seven", "##", "#hash", "## C#"),
    *("```", "````", "~~~", "~~~~", "```py", "``` a`b", "  ```", "    ```", "- ```", "  # in item", "> # quoted"),
    *(
        "",
        "",
        " ",
        "words here",
        "more words",
        "- item",
        "* item",
        "  - nested item",
        "1. first",
        "10. tenth",
        "> said",
    ),
    *("---", "===", "***", "* * *", "**bold** words", "<!-- comment", "-->", "\ttab", "- ", "+", "é́", "_a_", "a"),
)
LINK = "see [x](y.md)"
documents = st.lists(st.sampled_from(PIECES) | st.text(alphabet="#`~ >-*ab1.\t", max_size=8), max_size=24)


def read_in_full(lines: list[str]) -> tuple[list[tuple[int, int, str]], list[tuple[int, int]]]:
    """Headings and fences as the library alone reads them, nothing cut short."""
    rules = ["code", "fence", "blockquote", "hr", "list", "heading", "paragraph"]
    tokens = MarkdownIt("zero").enable(rules).parse("\n".join(lines) + "\n")
    found = list(zip(tokens, [*tokens, None][1:], strict=True))
    headings = [
        (token.map[0], int(token.tag[1]), after.content)
        for token, after in found
        if token.type == "heading_open" and token.level == 0 and token.map and after
    ]
    return headings, [(token.map[0], token.map[1]) for token in tokens if token.type == "fence" and token.map]


@given(documents)
def test_lines_left_out_for_speed_change_no_block(lines: list[str]) -> None:
    """Headings and fences are those of the whole text."""
    found = read_blocks(lines)
    headings, fences = read_in_full(lines)

    assert [(each.line, each.level, each.text) for each in found.headings] == headings
    assert [(each.start, each.stop) for each in found.fences] == fences


def test_a_longer_fence_holds_shorter_ones() -> None:
    """Code in four backticks may show three; no line of it is a heading."""
    assert read_headings(["````", "```", "# code", "```", "````", "# Title"]) == (Heading(5, 1, "Title"),)


def test_an_indented_and_closed_heading_is_a_heading() -> None:
    """Up to three spaces before it and marks behind it change nothing."""
    assert read_headings(["  ## Two ##"]) == (Heading(0, 2, "Two"),)
    assert read_headings(["## C#"]) == (Heading(0, 2, "C#"),)


def test_headings_in_items_and_quotations_belong_to_them() -> None:
    """They open no section of the file; a fence in an item ends with the item."""
    assert read_headings(["- item", "  # not a section", "> # quoted", "", "- ```", "  # code", "  ```", "# Real"]) == (
        Heading(7, 1, "Real"),
    )


def test_underlined_lines_and_comments_are_text() -> None:
    """A rule drawn under words makes no heading of them, and HTML hides none."""
    assert read_headings(["words", "---", "<!--", "# Shown", "-->"]) == (Heading(3, 1, "Shown"),)


def test_a_section_reaches_to_the_next_heading_of_its_level() -> None:
    """Deeper headings belong to it; its name is found in any letter case."""
    lines = ["# A", "## One", "x", "### Deep", "## two", "y"]

    assert find_section(lines, "ONE") == (1, 4)
    assert find_section(lines, "Two", levels=(2,)) == (4, 6)
    assert find_section(lines, "deep", levels=(2,)) is None
    assert find_section(lines, "A") is None


def test_the_title_is_the_first_h1_with_words() -> None:
    """A bare mark is no title, and code holds none."""
    assert document_title("#\n```\n# code\n```\n## Two\n# One #\n") == "One"
    assert document_title("no title\n") is None


@given(documents)
def test_search_passages_leave_out_exactly_the_headings(pieces: list[str]) -> None:
    """Every other line with a letter or a digit is a passage."""
    text = "\n".join(pieces)
    lines = text.splitlines()
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]

    lettered = {number for number, line in enumerate(lines) if any(map(str.isalnum, line))}
    headings = {each.line for each in read_headings(lines)}
    assert {bisect(starts, each.char_start) - 1 for each in split_passages(text)} == lettered - headings


@given(documents)
def test_links_are_read_everywhere_but_in_fences(pieces: list[str]) -> None:
    """Code holds no links."""
    lines = [LINK if each == "words here" else each for each in pieces if "<!--" not in each]
    coded = {number for fence in read_blocks(lines).fences for number in fence}

    linked = {number for number, line in enumerate(lines) if line == LINK}
    assert {each.line - 1 for each in links_of("\n".join(lines))} == linked - coded


@given(documents)
def test_sections_titles_and_entries_are_found_by_the_same_headings(pieces: list[str]) -> None:
    """A section stands where its heading does, an entry's title is a first heading, and bytes round it stay."""
    text = "\n".join(pieces)
    lines = text.splitlines()
    headings = read_headings(lines)

    for each in headings:
        assert has_section(text, each.text) or each.level == 1
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    opens = bool(headings) and (headings[0].line, headings[0].level) == (first, 1)
    assert opens or parse_entry(text).title is None
    sections = [find_section(lines, each.text) for each in headings if each.level == 2]
    for start, end in filter(None, sections):
        assert not any(each.level <= 2 for each in headings if start < each.line < end)
    assert set(without_sections(text, [each.text for each in headings]).splitlines()) <= set(lines)
