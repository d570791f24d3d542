"""The last words of a prompt."""

from __future__ import annotations

from familiar_connect.chat.directives import place_tail
from familiar_connect.chat.types import Directives
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from tests.fakes.context import said


def placed(directives: Directives, *items: ContextItem) -> list[tuple[str, str]]:
    prompt = place_tail(Prompt(items=items, directives=directives))
    return [(item.role, item.text) for item in prompt.items]


def test_every_kind_at_its_place() -> None:
    """Lower notes before the latest pair, then tail, queued reply, operator's words, and the first words last."""
    words = Directives(
        lower=("short-term hint", "ease off emoji"),
        tail=("imitate Bo", "[System: stop asked]", "[be brief]"),
        queued_reply="answer ref_1",
        uncensor="U",
        prefill=" Well, ",
    )

    assert placed(words, said("user", "one"), said("assistant", "two"), said("user", "three")) == [
        ("user", "one"),
        ("user", "[System: short-term hint\n\nease off emoji]"),
        ("assistant", "two"),
        ("user", "three"),
        ("user", "[System: imitate Bo\n\nstop asked\n\nbe brief]"),
        ("user", "[System: answer ref_1]"),
        ("user", "[System: U]"),
        ("assistant", "Well,"),
    ]


def test_with_one_turn_lower_notes_stand_before_it() -> None:
    """There is no pair yet."""
    assert placed(Directives(lower=("hint",)), said("user", "one")) == [("user", "[System: hint]"), ("user", "one")]


def test_without_turns_lower_notes_are_appended() -> None:
    """But still before the tail."""
    top = ContextItem.of("system", "top")

    assert [text for _, text in placed(Directives(lower=("hint",), tail=("end",)), top)] == [
        "top",
        "[System: hint]",
        "[System: end]",
    ]


def test_notes_and_samples_are_no_turns() -> None:
    """Only real turns make up the latest pair."""
    note = ContextItem.of("user", "[note]", tag=ItemTag.NOW)
    items = (said("user", "a"), said("assistant", "b"), note, said("user", "c"))

    assert [text for _, text in placed(Directives(lower=("hint",)), *items)] == [
        "a",
        "[System: hint]",
        "b",
        "[note]",
        "c",
    ]


def test_nothing_to_say_changes_nothing() -> None:
    """Blank directives make no item."""
    prompt = Prompt(items=(said("user", "a"),), directives=Directives(lower=(" ",), tail=("[]",), prefill=" "))

    assert place_tail(prompt) is prompt


def test_last_words_are_never_taken_for_turns() -> None:
    """They are tagged, and the directives stay on the prompt for whoever wants to see them."""
    words = Directives(tail=("end",), prefill="Well")
    prompt = place_tail(Prompt(items=(said("user", "a"),), directives=words))

    assert ([item.tag for item in prompt.items], prompt.directives) == (
        [ItemTag.DIALOGUE, ItemTag.TAIL, ItemTag.PREFILL],
        words,
    )


def test_directives_add_up_in_order() -> None:
    """Lists are joined; of single words the later one counts."""
    first = Directives(lower=("a",), tail=("x",), uncensor="U", prefill="one")
    second = Directives(lower=("b",), tail=("y",), prefill="two")

    assert first + second == Directives(lower=("a", "b"), tail=("x", "y"), uncensor="U", prefill="two")
