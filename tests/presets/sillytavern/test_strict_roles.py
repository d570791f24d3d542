"""Post-processing for strict backends."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.types import ContextItem
from familiar_connect.llm.types import ImagePart, Role, TextPart
from familiar_connect.presets.sillytavern.arrange import PLACEHOLDER, post_process


def item(role: Role, text: str, name: str | None = None) -> ContextItem:
    return ContextItem.of(role, text, name=name)


def processed(items: list[ContextItem], mode: str) -> list[tuple[str, str]]:
    made = post_process(items, mode, char="Rook", user="Ada")
    assert all(one.name is None for one in made) or not mode
    return [(one.role, one.text) for one in made]


ITEMS = [
    item("system", "rules"),
    item("system", "hi", "example_user"),
    item("system", "ho", "example_assistant"),
    item("assistant", "Hello."),
    item("user", "Hey.", "Ada"),
    item("user", "Well?"),
    item("system", "late"),
]


def test_merge_names_and_joins_neighbours() -> None:
    """Examples and named messages get their names written out; neighbours of one role become one."""
    assert processed(ITEMS, "merge") == [
        ("system", "rules\n\nAda: hi\n\nRook: ho"),
        ("assistant", "Hello."),
        ("user", "Ada: Hey.\n\nWell?"),
        ("system", "late"),
    ]


def test_semi_lets_only_the_first_message_be_system() -> None:
    """Later ones become the user's, and join their neighbours again."""
    assert processed(ITEMS, "semi")[2:] == [("user", "Ada: Hey.\n\nWell?\n\nlate")]


def test_strict_lets_the_user_speak_first() -> None:
    """A placeholder stands in where nobody did."""
    assert processed(ITEMS, "strict")[:3] == [
        ("system", "rules\n\nAda: hi\n\nRook: ho"),
        ("user", PLACEHOLDER),
        ("assistant", "Hello."),
    ]
    assert processed([item("assistant", "Hello.")], "strict") == [("user", PLACEHOLDER), ("assistant", "Hello.")]
    assert processed([item("system", "rules")], "strict") == [("system", "rules"), ("user", PLACEHOLDER)]
    assert processed([item("user", "Hi.")], "strict") == [("user", "Hi.")]


def test_single_is_one_message_of_the_users() -> None:
    """Everyone's words carry a name, system text none."""
    assert processed(ITEMS, "single") == [
        ("user", "rules\n\nAda: hi\n\nRook: ho\n\nRook: Hello.\n\nAda: Hey.\n\nAda: Well?\n\nlate")
    ]


def test_a_name_is_not_written_twice() -> None:
    """Text that already begins with it stays as it is."""
    assert processed([item("assistant", "Rook: Hello.", "Rook")], "single") == [("user", "Rook: Hello.")]


@pytest.mark.parametrize("mode", ["", "nonsense"])
def test_no_mode_changes_nothing(mode: str) -> None:
    """An empty or unknown mode passes everything through."""
    assert list(post_process(ITEMS, mode, char="Rook", user="Ada")) == ITEMS


@pytest.mark.parametrize(("mode", "same"), [("claude", "merge"), ("merge_tools", "merge"), ("strict_tools", "strict")])
def test_older_and_tool_names_mean_the_same(mode: str, same: str) -> None:
    """Tools are not ours, so their twins do what the plain ones do."""
    assert processed(ITEMS, mode) == processed(ITEMS, same)


def test_pictures_stay_in_their_place() -> None:
    """Only texts are joined."""
    picture = ImagePart("cGlj", "image/png")
    shown = ContextItem(role="user", parts=(TextPart("see"), picture))
    made = post_process([shown, item("user", "this")], "merge", char="Rook", user="Ada")

    assert made[0].parts == (TextPart("see"), picture, TextPart("\n\nthis"))


@given(
    st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text("ab", min_size=1))),
    st.sampled_from(["semi", "strict", "single"]),
)
def test_strict_backends_get_alternating_roles(messages: list[tuple[Role, str]], mode: str) -> None:
    """Whatever goes in, no two neighbours share a role, only the first is system, and there is a message."""
    made = post_process([item(role, text) for role, text in messages], mode, char="Rook", user="Ada")

    assert made
    assert all(one.role != other.role for one, other in pairwise(made))
    assert all(one.role != "system" for one in made[1:])
    if mode == "strict":
        assert next(one.role for one in made if one.role != "system") == "user"
