"""A rewrite laid over a file: new lines are added in their place, and nothing goes without a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.memory.writing.line_units import split_units
from familiar_connect.memory.writing.reply_parser import OutdatedLine, split_outdated
from familiar_connect.memory.writing.rewrite import (
    RewriteResult,
    find_unexplained_losses,
    merge_rewrite,
    without_removals,
)

PAGE = "# Alice\n\nAn old friend.\n\n## Music\n- Likes ska.\n- Plays the cello.\n\n## Aliases\n- Ally\n"


def merge(before: str, proposed: str, *named: OutdatedLine, ours: bool = True) -> RewriteResult:
    """A merge in which every line is ours, or every line the owner's, and turns 1 to 9 were read."""
    lines = dict.fromkeys(range(len(before.splitlines())), 1) if ours else {}
    return merge_rewrite(before, proposed, outdated=named, turns=range(1, 10), ours=lambda: lines)


def test_a_line_left_out_stays_where_it_was() -> None:
    """And what is new comes behind it, in its section."""
    merged = merge(PAGE, "# Alice\n\nAn old friend.\n\n## Music\n- Likes ska.\n- Sings.\n\n## Aliases\n- Ally\n")

    assert merged.text == PAGE.replace("- Plays the cello.\n", "- Plays the cello.\n- Sings.\n")
    assert merged.removed == ()


def test_a_rewrite_that_says_nothing_new_changes_nothing() -> None:
    """Whatever it leaves out, moves about or sets in another way."""
    assert merge(PAGE, "# Alice W.\n\n* plays the  cello.\n## Old\nAn old friend.").text == PAGE
    assert merge(PAGE, "").text == PAGE


def test_new_sections_go_behind_the_section_they_follow() -> None:
    """With what belongs to it left together."""
    before = "# A\n\n## One\nx\n\n### Deep\ny\n\n## Two\nz\n"
    merged = merge(before, "# A\n## One\nx\n## New\n- n\n### Newer\nm\n## Two\nz").text

    assert merged == "# A\n\n## One\nx\n\n### Deep\ny\n\n## New\n- n\n\n### Newer\nm\n\n## Two\nz\n"


def test_front_matter_and_code_stay_whole() -> None:
    """A rewrite neither changes front matter nor puts a line into a code block."""
    before = "---\naudience: all\n---\n# A\n\n```\n# no heading\n\n- no bullet\n```\n"
    merged = merge(before, "---\naudience: nobody\n---\n# A\n- no bullet\n- new\n").text

    assert merged == before + "\n- new\n"


def test_a_line_of_ours_goes_when_a_turn_says_it_is_out_of_date() -> None:
    """Named word for word, whatever its bullet and full stop."""
    merged = merge(PAGE, "# Alice\n## Music\n- Plays the violin.", OutdatedLine(turn=4, text='"plays the cello"'))

    assert "cello" not in merged.text
    assert "- Plays the violin." in merged.text
    assert [(gone.text, gone.reason, gone.turn) for gone in merged.removed] == [("- Plays the cello.", "outdated", 4)]


@pytest.mark.parametrize(
    "named",
    [OutdatedLine(turn=99, text="Likes ska."), OutdatedLine(turn=4, text="Likes"), OutdatedLine(turn=4, text="Music")],
)
def test_a_careless_claim_takes_nothing_away(named: OutdatedLine) -> None:
    """A turn nobody read, half a line, a heading."""
    assert merge(PAGE, "# Alice\n", named).text == PAGE


def test_a_line_named_and_repeated_stays() -> None:
    """In doubt, keep."""
    assert merge(PAGE, "# Alice\n- Likes ska.", OutdatedLine(turn=4, text="Likes ska.")).removed == ()


def test_a_line_of_the_owners_is_contested_not_removed() -> None:
    """It is for them to decide."""
    merged = merge(PAGE, "# Alice\n", OutdatedLine(turn=4, text="Likes ska."), ours=False)

    assert (merged.text, merged.removed) == (PAGE, ())
    assert [(line.text, line.turn) for line in merged.contested] == [("- Likes ska.", 4)]


def test_a_line_that_says_more_takes_the_place_of_ours_only() -> None:
    """It begins with all the words of the old one; the owner's stays beside it."""
    longer = "# Alice\n## Music\n- Likes ska, and rocksteady too."

    assert [gone.reason for gone in merge(PAGE, longer).removed] == ["extended"]
    assert "- Likes ska.\n" in merge(PAGE, longer, ours=False).text


def test_removals_are_taken_out_once_each() -> None:
    """As far as the text still has them."""
    gone = merge("- a b\n- c d\n", "", OutdatedLine(turn=1, text="a b")).removed

    assert without_removals("- a b\n- c d\n- a b\n", gone) == "- c d\n- a b\n"
    assert without_removals("- other\n", gone) == "- other\n"


@pytest.mark.parametrize(
    ("line", "turn"),
    [
        ("OUTDATED [17]: Likes ska.", 17),
        ("- OUTDATED [turn 17]: Likes ska.", 17),
        ("**OUTDATED** (turn #17): Likes ska.", 17),
        ("OUTDATED 17 - Likes ska.", 17),
        ("OUTDATED #17: Likes ska.", 17),
        ("OUTDATED: Likes ska.", None),
        ("OUTDATED [seventeen]: Likes ska.", None),
    ],
)
def test_models_name_a_line_in_many_ways(line: str, turn: int | None) -> None:
    """The line itself never lands in the file; without a turn it names nothing."""
    text, named = split_outdated(f"# A\n{line}\n- x\n")

    assert [(each.turn, each.text) for each in named] == ([(turn, "Likes ska.")] if turn else [])
    assert turn is None or text == "# A\n- x\n"


def test_an_ordinary_line_is_not_taken_for_a_name() -> None:
    """Only the word of the form in capitals counts."""
    text = "- Outdated: his old number.\n- His phone is OUTDATED [2]: he says.\n"

    assert split_outdated(text) == (text, ())


_lines = st.one_of(
    st.sampled_from(
        ["# Alice", "## Music", "### Deep", "", "- Likes ska.", "- Likes ska, loudly.", "  more of it", "plain words",
         "```", "~~~", "---", "* Likes ska.", "audience: all", "|a|b|", "1. one", "> said"]
    ),
    st.text(alphabet="ab #-`>*\t.", max_size=8),
)  # fmt: skip
_texts = st.lists(_lines, max_size=14).map("\n".join)
_named = st.lists(st.builds(OutdatedLine, turn=st.integers(1, 12), text=_lines), max_size=4)


@given(_texts, _texts, _named, st.sets(st.integers(0, 14)))
def test_no_rewrite_loses_a_line_without_a_reason(
    before: str, proposed: str, named: list[OutdatedLine], ours: set[int]
) -> None:
    """Every line is still there, or is one of ours and named with a reason; the owner's lines are all there."""
    owned = dict.fromkeys(ours, 1)
    merged = merge_rewrite(before, proposed, outdated=named, turns=range(1, 10), ours=lambda: owned)
    theirs = "\n".join(line for number, line in enumerate(before.splitlines()) if number not in ours)

    assert find_unexplained_losses(before, merged.text, merged.removed) == []
    assert find_unexplained_losses(theirs, merged.text, ()) == []


@given(_texts, _texts)
def test_merging_twice_changes_nothing_more(before: str, proposed: str) -> None:
    """What a rewrite brings is added once."""
    once = merge(before, proposed, ours=False).text

    assert merge(once, proposed, ours=False).text == once


@given(_texts)
def test_units_cover_every_line_that_says_something(text: str) -> None:
    """Each once, in order."""
    units = split_units(text)
    covered = [number for unit in units for number in range(unit.start, unit.end)]

    assert covered == sorted(set(covered))
    assert {n for n, line in enumerate(text.splitlines()) if line.strip()} <= set(covered)
