"""How large a text is."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.token_counts import SAMPLES
from familiar_connect.context.budget import estimate_tokens as from_budget
from familiar_connect.support.tokens import (
    EXACT_LIMIT_CHARS,
    WEIGHED_LIMIT_CHARS,
    chars_within,
    estimate_tokens,
    load_vocabulary,
    vocabulary_of,
)


def test_forty_plain_characters_are_ten_tokens() -> None:
    """Four characters make a token when no vocabulary is known."""
    assert estimate_tokens("x" * 40) == 10


@pytest.mark.parametrize(("text", "tokens"), [("", 0), (" ", 1), ("abcd", 1), ("abcde", 2)])
def test_nothing_costs_nothing_and_something_at_least_one(text: str, tokens: int) -> None:
    """A started token counts."""
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_more_text_never_costs_less(first: str, more: str) -> None:
    """The estimate is monotone."""
    assert estimate_tokens(first) <= estimate_tokens(first + more)


def test_of_a_very_long_text_only_the_beginning_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of ten megabytes would hold the event loop; the rest is taken to be as dense."""
    text = "lorem ipsum " * 200_000
    looked_at = []

    def weigh(part: str) -> int:
        looked_at.append(len(part))
        return len(part) * 25

    whole = sum(estimate_tokens(text[at : at + 60_000]) for at in range(0, len(text), 60_000))
    assert estimate_tokens(text) == pytest.approx(whole, rel=0.001)
    assert estimate_tokens(text) <= estimate_tokens(f"{text}more")
    monkeypatch.setattr("familiar_connect.support.tokens._weigh", weigh)
    estimate_tokens(text)

    assert max(looked_at) <= WEIGHED_LIMIT_CHARS


def test_a_known_vocabulary_is_counted_exactly() -> None:
    """A repeated word is one token to the model, whatever its letters."""
    assert estimate_tokens("hello world", "gpt-4o") == 2


@pytest.mark.parametrize("language", SAMPLES)
def test_an_estimate_is_within_fifteen_percent_in_every_language(language: str) -> None:
    """Measured against the vocabulary of a multilingual model, on a text the weights were not set by."""
    text = SAMPLES[language][1]
    exact = estimate_tokens(text, "qwen2.5")

    assert abs(estimate_tokens(text) - exact) <= 0.15 * exact


@given(st.text(alphabet=string.ascii_letters + " .,!?'-\n", min_size=1))
def test_plain_latin_text_is_four_characters_a_token(text: str) -> None:
    """Whatever its words, as long as they are no other language's."""
    plain = text.replace(" ", "x")

    assert estimate_tokens(plain) == math.ceil(len(plain) / 4)


@given(st.text(), st.integers(0, 30))
def test_the_beginning_within_a_limit_is_the_longest_there_is(text: str, limit: int) -> None:
    """One character more would be over it."""
    at = chars_within(text, limit)

    assert estimate_tokens(text[:at]) <= limit
    assert at == len(text) or estimate_tokens(text[: at + 1]) > limit


def test_a_vocabulary_can_be_read_ahead() -> None:
    """Reading it takes part of a second; one that is not bundled is no error."""
    load_vocabulary("openai/gpt-4o")
    load_vocabulary("somebody/own-model")
    load_vocabulary(None)


def test_a_provider_prefix_does_not_hide_the_vocabulary() -> None:
    """The same model goes by several names."""
    assert vocabulary_of("openai/gpt-4o-mini") == "o200k_base"


def test_an_unknown_model_is_estimated() -> None:
    """Nobody is asked and nothing is fetched."""
    assert estimate_tokens("x" * 40, "somebody/own-model") == 10


@pytest.mark.parametrize("text", ["数", "word ", "1"])
def test_more_of_a_very_long_text_never_costs_less(text: str) -> None:
    """Beyond what is counted the rest is taken to be as dense; counting it all would hold the event loop."""
    within = (text * EXACT_LIMIT_CHARS)[:EXACT_LIMIT_CHARS]
    counted = estimate_tokens(within, "gpt-4o")

    assert counted <= estimate_tokens(within + text, "gpt-4o") <= counted + len(text)
    assert estimate_tokens(within * 3, "gpt-4o") == 3 * counted


def test_the_budget_room_offers_the_same_counter() -> None:
    """There is one way to count."""
    assert from_budget is estimate_tokens
