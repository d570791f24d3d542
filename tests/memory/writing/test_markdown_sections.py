"""Reading and adding to one section of a page, leaving the rest as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.writing.markdown_sections import (
    bullets_under,
    with_bullets,
    without_sections,
)

PAGE = """# Alice

## aliases
Names she goes by:

- Lys
  (from school)
- Ally

She dislikes both.

### Older
- Al

## Else
- x
"""


def test_bullets_of_a_section() -> None:
    """Whatever the letter case of its heading; deeper headings belong to it."""
    assert bullets_under(PAGE, "Aliases") == ["Lys", "Ally", "Al"]
    assert bullets_under(PAGE, "Nowhere") == []


def test_a_bullet_is_added_behind_the_last_and_nothing_else_moves() -> None:
    """Once, and not when it is there in other letters."""
    added = with_bullets("# A\n\n## L\n- b\n  more\n\ntext\n\n## M\n- x\n", "L", ["c", "C", "B"])

    assert added == "# A\n\n## L\n- b\n  more\n- c\n\ntext\n\n## M\n- x\n"


def test_a_missing_section_is_made_at_the_end() -> None:
    """With a blank line before it."""
    assert with_bullets("# A\ntext\n", "L", ["b"]) == "# A\ntext\n\n## L\n- b\n"
    assert with_bullets("", "L", ["b"]) == "## L\n- b\n"
    assert with_bullets("# A\n", "L", []) == "# A\n"


def test_a_bullet_never_goes_below_a_deeper_heading() -> None:
    """It stands in the section that was named, before what the owner sorted into it."""
    assert with_bullets("## L\n- a\n### Deep\n- d\n", "L", ["b"]) == "## L\n- a\n- b\n\n### Deep\n- d\n"
    assert with_bullets("## L\n### Deep\n- d\n", "L", ["b", "d"]) == "## L\n- b\n\n### Deep\n- d\n"


def test_a_missing_section_is_made_before_a_second_page() -> None:
    """A second title is the owner's: what code adds stands under the first."""
    assert with_bullets("# A\nx\n\n# Mine\ny\n", "L", ["b"]) == "# A\nx\n\n## L\n- b\n\n# Mine\ny\n"


def test_a_section_of_prose_keeps_it() -> None:
    """The list begins behind it."""
    assert with_bullets("## L\nprose\n\n## M\n", "L", ["b"]) == "## L\nprose\n\n- b\n\n## M\n"
    assert with_bullets("## L\n", "L", ["b"]) == "## L\n- b\n"


def test_sections_can_be_left_out() -> None:
    """Up to the next heading of the same level."""
    assert without_sections("# A\n## L\n- b\n### deep\n## M\nm", ["l"]) == "# A\n## M\nm"


@given(st.text(alphabet="ab#-` \n", max_size=80), st.lists(st.sampled_from(["p", "q", "r s"]), max_size=4))
def test_adding_never_loses_a_line_and_never_adds_twice(page: str, bullets: list[str]) -> None:
    """Every line that was there is there; a second time changes nothing."""
    once = with_bullets(page, "L", bullets)
    before = [line.rstrip() for line in page.splitlines() if line.strip()]
    after = [line.rstrip() for line in once.splitlines() if line.strip()]

    assert [line for line in after if line in before or line not in {f"- {b}" for b in bullets} | {"## L"}] == before
    assert with_bullets(once, "L", bullets) == once or "`" in page
