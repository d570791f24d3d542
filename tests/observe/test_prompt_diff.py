"""Two prompts compared block by block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.observe.prompt_diff import PromptBlock, describe_changes, diff_blocks

RULES = PromptBlock("system", "character:system_prompt", "RULES", "Be kind.\nBe brief.")
LORE = PromptBlock("system", "content_search", "FOUND", "The bell rings.")
TALK = PromptBlock("user", "history:recent", "DIALOGUE", "Ada: hi")
BLOCKS = st.builds(
    PromptBlock,
    st.sampled_from(["system", "user"]),
    st.sampled_from(["one", "two", "three"]),
    st.sampled_from(["A", None]),
    st.text("ab \n", max_size=8),
)


def test_the_same_blocks_do_not_differ() -> None:
    """And that is said."""
    assert diff_blocks([RULES, TALK], [RULES, TALK]) == []
    assert describe_changes([]) == "Today it would be built just the same."


def test_a_block_of_the_same_source_that_reads_differently_has_changed() -> None:
    """Only its changed lines are marked."""
    now = PromptBlock("system", RULES.source, RULES.tag, "Be kind.\nBe long.")
    (change,) = diff_blocks([RULES, TALK], [now, TALK])

    assert change.kind == "changed"
    assert [line for line in change.lines if line[0] in "+-"] == ["-Be brief.", "+Be long."]


def test_new_gone_and_moved_blocks_are_told_apart() -> None:
    """A block found elsewhere word for word has moved."""
    other = PromptBlock("system", "server_info", "SERVER_INFO", "# Setting")
    changes = diff_blocks([LORE, RULES, TALK], [RULES, TALK, LORE, other])

    assert [(change.kind, change.block.tag) for change in changes] == [("moved", "FOUND"), ("new", "SERVER_INFO")]
    assert [change.kind for change in diff_blocks([LORE, TALK], [TALK])] == ["gone"]


@given(st.lists(BLOCKS, max_size=8), st.lists(BLOCKS, max_size=8))
def test_prompts_differ_exactly_when_something_is_told(before: list[PromptBlock], after: list[PromptBlock]) -> None:
    """No difference is silent, and none is made up."""
    assert bool(diff_blocks(before, after)) == (before != after)
