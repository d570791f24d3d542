"""The assistant's first words, as each model can take them."""

from __future__ import annotations

from typing import Any

import pytest

from familiar_connect.chat.directives import place_tail
from familiar_connect.chat.types import Directives, Reminder, SaidMessage, Showing, Turn, TurnFlags
from familiar_connect.context.messages import can_continue, with_prefill, with_prefill_name
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.llm.types import Capabilities
from tests.fakes.chat import NOON
from tests.fakes.context import ADA, said

PLAIN = Capabilities()
CANNOT = Capabilities(prefill=False)


def a_turn(manual: str | None = None, *, own_names: bool = False, **flags: Any) -> Turn:
    return Turn(
        familiar_id="wren",
        channel_id=7,
        said=(SaidMessage(author=ADA, text="hi", timestamp=NOON),),
        persona="Wren",
        directives=Directives(prefill=manual),
        flags=TurnFlags(**flags),
        showing=Showing(own_names=own_names),
    )


def shown(
    text: str, capabilities: Capabilities = PLAIN, turn: Turn | None = None, *, tools: bool = False
) -> list[tuple[str, str]]:
    base = place_tail(Prompt(items=(said("user", "hi"),), directives=Directives(prefill=text)))
    adapted = with_prefill(base, capabilities, turn=turn, tools=tools)
    return [(item.role, item.text) for item in adapted.items[1:]]


def test_the_words_stand_last_trimmed() -> None:
    """E60: as an assistant's turn."""
    assert shown("  Well, ") == [("assistant", "Well,")]


def test_the_name_stands_before_them_where_own_turns_have_names() -> None:
    """E60: one switch for history and first words."""
    assert shown("Well,", turn=a_turn("Well,", own_names=True)) == [("assistant", "Wren: Well,")]


@pytest.mark.parametrize("text", ["Wren: Well,", "wren: Well,"])
def test_a_name_that_is_there_is_not_put_twice(text: str) -> None:
    """E63: in any case."""
    assert (with_prefill_name(text, "Wren"), with_prefill_name("Well,", "")) == (text, "Well,")


@pytest.mark.parametrize(
    ("capabilities", "tools"), [(CANNOT, False), (Capabilities(thinking=True), False), (PLAIN, True)]
)
def test_a_model_that_cannot_continue_is_told_or_not_bothered(capabilities: Capabilities, tools: bool) -> None:
    """E62: words somebody asked for become an instruction; the familiar's own are dropped."""
    asked = shown("Well,", capabilities, a_turn("Well,"), tools=tools)

    assert not can_continue(capabilities, tools=tools)
    assert asked == [("user", '[System: Begin your reply with exactly these words: "Well,"]')]
    assert shown("Well,", capabilities, a_turn(), tools=tools) == []


@pytest.mark.parametrize(
    "flags",
    [{"impersonation": True}, {"reasoning": True}, {"stop": True}, {"reminder": Reminder(purpose="tea")}],
)
def test_the_familiars_own_words_are_for_its_plain_replies(flags: dict[str, Any]) -> None:
    """E61: what somebody asked for is kept all the same."""
    assert shown("Well,", turn=a_turn(**flags)) == []
    assert shown("Well,", turn=a_turn("Well,", **flags)) == [("assistant", "Well,")]


def test_words_a_preset_laid_out_stay_as_they_are() -> None:
    """E61: it knew what turn it was; only a model that cannot continue goes without."""
    laid = ContextItem.of("assistant", " As Bo: ", tag=ItemTag.PREFILL, source="preset:x:assistant_prefill")
    prompt = Prompt(items=(said("user", "hi"), laid))
    turn = a_turn(impersonation=True, own_names=True)

    assert with_prefill(prompt, PLAIN, turn=turn).items == prompt.items
    assert with_prefill(prompt, CANNOT, turn=turn).items == prompt.items[:1]


def test_the_base_keeps_its_own() -> None:
    """F2: the next attempt may be one that can continue."""
    base = place_tail(Prompt(items=(said("user", "hi"),), directives=Directives(prefill="Well,")))
    with_prefill(base, CANNOT)

    assert base.items[-1].tag is ItemTag.PREFILL
    assert with_prefill(base, PLAIN).items[-1].text == "Well,"


def test_a_prompt_without_first_words_is_the_same_one() -> None:
    """Nothing to do is nothing done."""
    prompt = Prompt(items=(said("user", "hi"),))

    assert with_prefill(prompt, CANNOT) is prompt
