"""Turns at a glance."""

from __future__ import annotations

import pytest

from familiar_connect.observe.report import NOTHING
from familiar_connect.observe.trace import StageSpan
from familiar_connect.observe.turn_table import outline_turn, turn_table
from tests.fakes.traces import a_trace

BLOCKS = [
    {"source": "character", "tag": "PERSONA", "layer": "character", "tokens": 50, "message": 0},
    *({"source": "samples", "tag": "SAMPLE", "layer": "character", "tokens": 5, "message": n} for n in range(1, 7)),
    *(
        {"source": "history", "tag": "DIALOGUE", "layer": "recent_history", "tokens": 10, "message": n}
        for n in (7, 8, 9)
    ),
]
CUT = {"layer": "recent_history", "source": "history", "reason": "truncated", "tokens_dropped": 407, "full": "layer"}
FACTS = {"model": "smol", "first_token_s": 0.4, "prompt_tokens": 120, "completion_tokens": 9, "tokens_by_block": BLOCKS}
TRACE = a_trace(
    stages=(
        StageSpan(
            "assemble", 0, 0.1, {"provider_outcomes": [{"id": "search", "status": "timeout", "duration_s": 2.0}]}
        ),
        StageSpan("render", 0.1, 0.1, {"dropped": [CUT]}),
        StageSpan("model", 0.2, 0.6, FACTS),
    )
)


def test_a_turn_fits_a_screen() -> None:
    """Examples are one row, the dialogue another; each row names its messages, each cut stands once."""
    page = outline_turn(TRACE)

    rows = [line.split() for line in page.splitlines()]
    assert ["character", "[0]", "50"] in rows
    assert ["6", "examples", "[1]–[6]", "30"] in rows
    assert ["3", "turns", "of", "dialogue", "[7]–[9]", "30"] in rows
    assert (
        "120 tokens in the prompt by the model's own count: about 110 in the blocks, 40 around 10 messages, and 30 "
        "fewer than estimated" in page
    )
    assert page.count("407") == 1
    assert "search 2.00 s timeout" in page
    assert "120 prompt" in page
    assert len(rows) < 24


def test_a_turn_of_which_little_is_known_is_outlined_all_the_same() -> None:
    """Missing parts are left out."""
    page = outline_turn(a_trace(stages=()))

    assert "t1" in page
    assert "Nothing was cut." in page


def test_a_model_that_counts_nothing_leaves_the_estimate_and_no_cut_is_listed_where_nothing_was_lost() -> None:
    """Zero tokens are no cut."""
    silent = StageSpan("model", 0, 1, {**FACTS, "prompt_tokens": 0})
    page = outline_turn(
        a_trace(stages=(StageSpan("render", 0, 0, {"dropped": [{**CUT, "tokens_dropped": 0}]}), silent))
    )

    assert "150 tokens in the prompt (estimated): about 110 in the blocks, 40 around 10 messages" in page
    assert "Nothing was cut." in page
    assert "no token count reported" in page
    assert "0 prompt" not in page
    assert turn_table([a_trace(stages=(silent,))]).splitlines()[1].split()[-3:] == ["~110", "-", "0"]


def test_a_layer_without_a_budget_is_not_called_full() -> None:
    """A small model is shown no scene at all: there is none that could be full, and nothing of it is cut."""
    cut = {**CUT, "layer": "scene", "source": "participants:now", "reason": "dropped", "full": "no budget"}
    page = outline_turn(a_trace(stages=(StageSpan("render", 0, 0, {"dropped": [cut]}),)))

    assert "Nothing was cut.\nLeft out, because the layer scene has a budget of 0 here: participants:now." in page


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"finish_reason": None}, "no token count reported · stopped before its end"),
        ({"finish_reason": None, "ended_by": "it chose to stay silent"}, "stopped: it chose to stay silent"),
        ({"finish_reason": "stop"}, "no token count reported · ended by stop"),
    ],
)
def test_a_turn_without_a_count_says_how_it_ended(facts: dict[str, object], words: str) -> None:
    """A reply that is ended before the model ends it brings no count; it has not cost nothing."""
    page = outline_turn(a_trace(stages=(StageSpan("model", 0, 1, {"model": "smol", "prompt_tokens": 0, **facts}),)))

    assert words in page


def test_many_turns_are_a_table() -> None:
    """When, which, model, speed, size and cuts, in columns."""
    header, row, bare = turn_table([TRACE, a_trace("t2", stages=())]).splitlines()

    assert header.split() == ["time", "turn", "model", "first", "token", "prompt", "written", "cuts"]
    assert row.split() == ["2025-06-01", "12:00:00", "t1", "smol", "400.0", "ms", "120", "9", "1"]
    assert bare.split() == ["2025-06-01", "12:00:00", "t2", "-", "-", "-", "-", "0"]
    assert turn_table([]) == NOTHING


def test_a_reply_that_was_quoted_names_no_model() -> None:
    """None was asked for it."""
    quoted = {**FACTS, "model": "embedded", "provider": "a quotation from memory"}
    table = turn_table([a_trace(stages=(StageSpan("model", 0.2, 0.6, quoted),))])

    assert "none (quoted)" in table
    assert "embedded" not in table
