"""A prompt trimmed to one model's window."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.types import ContextItem, ItemTag, Layer, Prompt
from familiar_connect.context.window_fit import fit_to_model, fit_to_window, prompt_tokens, safe_budget
from familiar_connect.llm.types import Capabilities
from tests.fakes.context import said

SMALL = Capabilities(window=400, max_output=100)


def a_prompt(*items: ContextItem, **more: Any) -> Prompt:
    return Prompt(items=items, **more)


def letters(prompt: Prompt) -> str:
    return "".join(item.text[:1] for item in prompt.items)


def test_the_oldest_exchanges_go_until_it_fits() -> None:
    """450 tokens into a window of 400 with 100 kept for the answer: two exchanges go, 250 are left."""
    turns = [said("user" if at % 2 == 0 else "assistant", chr(97 + at) * 200) for at in range(7)]
    prompt = a_prompt(ContextItem.of("system", "S" * 400), *turns)
    fitted = fit_to_model(prompt, SMALL)

    assert (prompt_tokens(prompt.items), safe_budget(SMALL), prompt_tokens(fitted.items)) == (450, 270, 250)
    assert letters(fitted) == "Sefg"
    assert [(n.layer, n.reason, n.full) for n in fitted.dropped] == [
        (Layer.recent_history, "dropped", "window"),
        (Layer.recent_history, "dropped", "window"),
    ]


def test_what_is_not_dialogue_is_never_dropped(caplog: pytest.LogCaptureFixture) -> None:
    """A system text too large alone is returned over budget, and the log says so."""
    prompt = a_prompt(ContextItem.of("system", "S" * 4000))
    with caplog.at_level(logging.WARNING):
        fitted = fit_to_model(prompt, SMALL)

    assert fitted is prompt
    assert [r.message for r in caplog.records] == ["prompt is larger than the model's window"]


def test_an_unknown_window_cuts_nothing() -> None:
    """Nobody knows what would be too much."""
    prompt = a_prompt(*(said("user", "x" * 10_000) for _ in range(9)))

    assert fit_to_model(prompt, Capabilities()) is prompt


def test_the_room_for_the_answer_is_at_most_a_quarter_when_nobody_set_it() -> None:
    """F22: small windows keep most of themselves for the prompt."""
    assert [safe_budget(Capabilities(window=window)) for window in (1000, 100_000)] == [675, 86_313]


def test_notes_samples_and_last_words_stay_while_turns_go() -> None:
    """A date spacer goes with the turn it announces."""
    spacer = ContextItem.of("user", "D", tag=ItemTag.DATE_SPACER)
    kept = [
        ContextItem.of("user", "1" * 200, tag=ItemTag.SAMPLE),
        ContextItem.of("assistant", "2" * 200, tag=ItemTag.SAMPLE),
    ]
    note = ContextItem.of("user", "N", tag=ItemTag.NOW)
    tail = ContextItem.of("user", "T", tag=ItemTag.TAIL)
    turns = [spacer, said("user", "a" * 800), note, said("assistant", "b" * 800), said("user", "c"), tail]
    fitted = fit_to_model(a_prompt(*kept, *turns), SMALL)

    assert letters(fitted) == "12NcT"


def test_an_answer_behind_the_newest_question_is_not_its_pair() -> None:
    """The cut does not cross the newest user turn."""
    turns = [said("user", "a" * 1200), said("user", "b" * 40), said("assistant", "c" * 40)]

    assert letters(fit_to_model(a_prompt(*turns), SMALL)) == "bc"


def test_the_newest_question_loses_its_middle_rather_than_the_reply() -> None:
    """A message larger than the window is shown with its ends, and noted."""
    fitted = fit_to_model(a_prompt(said("user", "x" * 50_000)), SMALL)

    assert prompt_tokens(fitted.items) <= 270
    assert [n.reason for n in fitted.dropped] == ["truncated"]


def test_a_model_that_counts_more_than_we_estimate_is_believed() -> None:
    """The estimate is corrected by what the model counted."""
    turns = [said("user" if at % 2 == 0 else "assistant", chr(97 + at) * 80) for at in range(9)]

    assert letters(fit_to_model(a_prompt(*turns), SMALL, scale=1.0)) == "abcdefghi"
    assert letters(fit_to_model(a_prompt(*turns), SMALL, scale=2.0)) == "efghi"


class CountingModel:
    """One that counts a token for each character, and notes how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def tokenize_count(self, text: str) -> int:
        self.asked += 1
        return len(text.replace("\n", ""))


@pytest.mark.parametrize(("chars", "asked", "left"), [(23, 0, 10), (24, 1 + 10, 8)])
async def test_each_message_costs_its_own_few_tokens_besides(chars: int, asked: int, left: int) -> None:
    """Ten of them have 270 tokens of room: whether they surely fit is known by their bytes, else they are counted."""
    model = CountingModel()
    turns = [said("user" if at % 2 == 0 else "assistant", "x" * chars) for at in range(10)]
    fitted = await fit_to_window(a_prompt(*turns), cast(Any, model), SMALL)

    assert (model.asked, len(fitted.items)) == (asked, left)


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.integers(1, 400)), max_size=12), st.integers(50, 900)
)
def test_it_fits_or_only_the_newest_question_and_what_follows_are_left(
    turns: list[tuple[str, int]], window: int
) -> None:
    """The newest question survives every cut, and the base prompt is never changed."""
    prompt = a_prompt(*(said(role, f"{at:02}" * size) for at, (role, size) in enumerate(turns)))
    before = prompt.items
    fitted = fit_to_model(prompt, Capabilities(window=window, max_output=window // 4))
    newest = [item for item in prompt.items if item.role == "user"][-1:]
    left = [item for item in fitted.items if item.role == "user"]

    assert prompt.items is before
    assert [item.text[:2] for item in newest] == [item.text[:2] for item in left[-1:]]
    assert prompt_tokens(fitted.items) <= (safe_budget(Capabilities(window=window, max_output=window // 4)) or 0) or (
        len(left) <= 1
    )
