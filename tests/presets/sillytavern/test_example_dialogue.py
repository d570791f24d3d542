"""Example dialogue: blocks, speakers, separators."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.types import ItemTag
from familiar_connect.presets.sillytavern.example_dialogue import example_blocks
from familiar_connect.presets.types import CardFields
from tests.fakes.sillytavern import assemble_prompt, bare, node


def read(text: str, *, is_group: bool = False) -> list[list[tuple[str | None, str]]]:
    blocks = example_blocks(text, user="Ada", char="Rook", group=("Rook", "Wren"), is_group=is_group)
    return [[(piece.name, piece.text) for piece in block] for block in blocks]


def test_blocks_are_parted_by_start_in_any_case() -> None:
    """A text that does not begin with the mark is a block as well."""
    text = "Ada: hi\nRook: ho\n<start>\nRook: caw"

    assert read(text) == [[("example_user", "hi"), ("example_assistant", "ho")], [("example_assistant", "caw")]]


def test_lines_that_name_nobody_belong_to_the_speaker_before() -> None:
    """What stands before the first speaker is the first speaker's; only the first name is taken off."""
    text = "<START>\r\nprologue\r\nAda: hi\r\nand\r\nAda: again\r\nRook:  ho "

    assert read(text) == [[("example_user", "prologue\n hi\nand\nAda: again"), ("example_assistant", "ho")]]


def test_a_block_without_speakers_is_only_its_separator() -> None:
    """Nobody is recognised, so nothing is said."""
    made = assemble_prompt(
        node("dialogueExamples"),
        card=CardFields(mes_example="<START>\nnobody speaks"),
        settings=bare(new_example_chat_prompt="[Example]"),
    )

    assert [(item.role, item.name, item.text) for item in made.items] == [("system", None, "[Example]")]


def test_nothing_and_the_mark_alone_give_no_block() -> None:
    """No examples, no separator."""
    assert read("") == read("<START>") == []


def test_in_a_group_examples_keep_their_speakers_name() -> None:
    """Any member of the group speaks as the assistant."""
    assert read("Wren: tweet\nAda: hi", is_group=True) == [
        [("example_assistant", "Wren: tweet"), ("example_user", "Ada: hi")]
    ]


def test_examples_are_named_system_messages_with_a_separator_each() -> None:
    """C68: every block opens with the separator; the lines carry the names that tell them from the chat."""
    made = assemble_prompt(
        node("dialogueExamples"),
        card=CardFields(mes_example="{{user}}: hi\n{{char}}: ho\n<START>\n{{char}}: caw"),
        settings=bare(new_example_chat_prompt="[{{char}}]"),
    )

    assert [(item.role, item.name, item.text) for item in made.items] == [
        ("system", None, "[Rook]"),
        ("system", "example_user", "hi"),
        ("system", "example_assistant", "ho"),
        ("system", None, "[Rook]"),
        ("system", "example_assistant", "caw"),
    ]
    assert [item.tag for item in made.items] == [None, ItemTag.SAMPLE, ItemTag.SAMPLE, None, ItemTag.SAMPLE]


@given(st.lists(st.sampled_from(["Ada: a", "Rook: b", "c", "<START>", "\r", " Ada:", "Wren:"])))
def test_every_text_gives_blocks_of_alternating_speakers(lines: list[str]) -> None:
    """However the text is broken up, two messages in a row are never the same side's."""
    for block in read("\n".join(lines)):
        assert all(one[0] != other[0] for one, other in pairwise(block))
