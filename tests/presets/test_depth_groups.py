"""Texts by depth gathered into messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.llm.types import Role
from familiar_connect.presets.depth_groups import TOP_TO_BOTTOM, DepthText, group_by_depth

ROLES = st.sampled_from(TOP_TO_BOTTOM)
TEXTS = st.builds(
    DepthText,
    role=ROLES,
    text=st.sampled_from(["a", "b ", "", " "]),
    depth=st.one_of(st.none(), st.integers(-1, 3), st.just(10_001)),
    order=st.sampled_from([50, 100, 200]),
)


def test_one_message_per_depth_order_and_role() -> None:
    """C37: lower order first, then assistant, user, system; equal ones joined in the order given."""
    given_texts = [
        DepthText(role="system", text="s1", depth=1, source="x"),
        DepthText(role="assistant", text="a", depth=1),
        DepthText(role="system", text="early", depth=1, order=50),
        DepthText(role="system", text="s2", depth=1, source="y"),
        DepthText(role="user", text="end", depth=0),
    ]
    blocks = group_by_depth(
        given_texts, {(1, "system"): DepthText(role="system", text=" note ", depth=1, source="note")}
    )

    assert list(blocks) == [0, 1]
    assert [(block.order, block.role, block.text) for block in blocks[1]] == [
        (50, "system", "early"),
        (100, "assistant", "a"),
        (100, "system", "s1\ns2\nnote"),
    ]
    assert blocks[1][-1].sources == ("x", "y", "note")


@given(st.lists(TEXTS), st.dictionaries(st.tuples(st.integers(0, 3), ROLES), TEXTS))
def test_nothing_with_a_place_is_lost_and_nothing_comes_twice(
    given_texts: list[DepthText], added: dict[tuple[int, Role], DepthText]
) -> None:
    """Every text with a depth in reach stands in exactly one message."""
    blocks = group_by_depth(given_texts, added)
    letters = "".join(block.text for here in blocks.values() for block in here)
    placed = [text for text in given_texts if text.depth is not None and 0 <= text.depth <= 3]

    for letter in "ab":
        assert letters.count(letter) == sum(letter in text.text for text in [*placed, *added.values()])
    keys = [(block.depth, block.order, block.role) for here in blocks.values() for block in here]
    assert len(keys) == len(set(keys))
