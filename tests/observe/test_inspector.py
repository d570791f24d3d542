"""A turn, explained."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from familiar_connect.llm.types import Message
from familiar_connect.observe.inspector import block_lines, explain_turn, turn_as_json, turn_facts
from familiar_connect.observe.last_context import NOTES, SEPARATOR
from familiar_connect.observe.prompt_diff import measure_prefix
from familiar_connect.observe.trace import StageSpan
from familiar_connect.observe.turn_table import outline_turn, turn_table
from familiar_connect.presets.types import ActivePreset, Preset, PresetNode
from tests.fakes.traces import a_record, a_trace

ASSEMBLE = StageSpan(
    "assemble",
    0.0,
    0.02,
    {
        "tokens_by_block": [
            {"source": "character", "tag": "PERSONA", "layer": "character", "tokens": 300, "kept": True},
            {"source": "search", "tag": "FOUND", "layer": "content", "tokens": 500, "kept": False},
            {"source": "history", "tag": None, "layer": "recent_history", "tokens": 200, "kept": True},
        ],
        "dropped": [
            {"layer": "content", "source": "search", "reason": "dropped", "tokens_dropped": 500, "full": "layer"},
            {
                "layer": "recent_history",
                "source": "history",
                "reason": "truncated",
                "tokens_dropped": 40,
                "full": "total",
            },
        ],
        "provider_outcomes": [
            {"id": "character", "duration_s": 0.001, "status": "ok", "error": None},
            {"id": "search", "duration_s": 2.0, "status": "timeout", "error": "a | b\nc"},
        ],
    },
)
RENDER = StageSpan("render", 0.02, 0.001, {"prefix_ratio": 0.93, "prefix_ended_by": 4})
MODEL = StageSpan(
    "model",
    0.03,
    1.2,
    {
        "model": "smol",
        "provider": "embedded",
        "first_token_s": 0.4,
        "prompt_tokens": 510,
        "cached_tokens": 470,
        "completion_tokens": 30,
        "finish_reason": "stop",
        "attempts": 2,
    },
)
TRACE = a_trace(stages=(ASSEMBLE, RENDER, MODEL))


def test_prompts_of_a_preset_are_called_as_their_author_called_them() -> None:
    """For people; programs get the identifiers. One without a name keeps its own."""
    nodes = (PresetNode(identifier="3f2a-77", name="Weather"), PresetNode(identifier="bare"))
    record = a_record()
    active = ActivePreset(preset=Preset(name="Plain", prompts=nodes))
    record = replace(record, request=replace(record.request, preset=active))
    sources = ("preset:Plain:3f2a-77, preset:Plain:bare", "preset:Plain:newMainChat")
    blocks = [{"source": source, "layer": "reserved", "tokens": 1, "kept": True} for source in sources]
    trace = a_trace(stages=(StageSpan("assemble", 0.0, 0.02, {"tokens_by_block": blocks}),))

    page = explain_turn(trace, record)
    assert "| preset:Plain:Weather, preset:Plain:bare |" in page
    assert f"| {'preset:Plain:newMainChat':<39} |" in page, "in even columns"
    assert [line["source"] for line in turn_as_json(trace, record)["blocks"][:2]] == [*sources]


def test_every_block_has_its_place_or_the_reason_it_has_none() -> None:
    """Kept ones are numbered in prompt order, shortened and cut ones say what was full."""
    seen = [(line.place, line.source, line.tag, line.tokens, line.fate) for line in block_lines(TRACE)]

    assert seen == [
        (1, "character", "PERSONA", 300, "kept"),
        (2, "history", "", 200, "shortened by 40: the prompt's budget is full"),
        (None, "search", "FOUND", 500, "cut: layer content is full"),
    ]


def test_the_page_tells_blocks_providers_model_prefix_and_prompt() -> None:
    """Everything a person asks of a turn, in one page of Markdown."""
    page = explain_turn(TRACE, a_record(), b"# header\n\n## [0] system\n\nYou are a bird.")
    page = re.sub(" +", " ", page)

    for line in (
        "| 1 | – | character | PERSONA | character | 300 | kept |",
        "| – | – | search | FOUND | content | 500 | cut: layer content is full |",
        "510 tokens in the prompt by the model's own count: about 500 in the blocks, and 10 more than estimated.",
        "| search | timeout | 2.00 s | a \\| b c |",
        "smol · by embedded · first token after 400.0 ms"
        " · tokens by the model's own count: 510 prompt, 470 cached, 30 written · ended by stop · 2 attempts",
        "93% of the prompt repeats the start of the one before; message [4] is the first that differs.",
        "seed 42",
        "You are a bird.",
    ):
        assert line in page


def test_blocks_come_from_the_record_when_the_trace_has_none() -> None:
    """What was kept for replay tells the same story."""
    seen = [(line.place, line.source, line.fate) for line in block_lines(a_trace(), a_record())]

    assert seen == [(1, "character", "kept"), (2, "history", "kept"), (None, "search", "cut: layer content is full")]


def test_a_turn_of_which_little_is_known_is_still_explained() -> None:
    """Missing parts are said to be missing."""
    page = explain_turn(a_trace(stages=()))

    assert "No blocks were noted" in page
    assert "cannot be replayed" in page
    assert "not on disk" in page


def test_the_json_form_holds_the_same_and_can_be_printed() -> None:
    """For programs: plain data, whatever the metadata holds."""
    odd = a_trace(stages=(*TRACE.stages, StageSpan("post", 2, 1, {"odd": object()})))
    told = json.loads(json.dumps(turn_as_json(odd, a_record(), b"text")))

    assert told["trace"]["trace_id"] == "t1"
    assert told["blocks"][0]["source"] == "character"
    assert told["dropped"][0]["full"] == "layer"
    assert told["model"]["cached_tokens"] == 470
    assert told["prefix"]["prefix_ended_by"] == 4
    assert (told["replayable"], told["seed"], told["prompt"]) == (True, 42, "text")
    assert turn_as_json(a_trace())["replayable"] is False


def test_one_line_tells_a_turn_without_a_word_of_what_was_said() -> None:
    """Facts for the log: who, where, how long, which model, how many cuts."""
    facts = turn_facts(TRACE)

    assert (facts["trace_id"], facts["total_s"], facts["model"], facts["cuts"], facts["providers_failed"]) == (
        "t1",
        1.0,
        "smol",
        2,
        1,
    )


def test_a_cut_stands_once_however_many_blocks_its_source_has() -> None:
    """Old turns that went leave one line of their own; the turns that stayed are whole."""
    turns = [
        {"source": "history", "tag": "DIALOGUE", "layer": "recent_history", "tokens": 9, "message": n} for n in (1, 2)
    ]
    note = {
        "layer": "recent_history",
        "source": "history",
        "reason": "truncated",
        "tokens_dropped": 200,
        "full": "layer",
    }
    more = {**note, "reason": "dropped", "full": "window", "tokens_dropped": 30}
    stages = (StageSpan("render", 0, 0, {"dropped": [note]}), StageSpan("model", 0, 0, {"dropped": [more, more]}))
    trace = a_trace(stages=(StageSpan("assemble", 0, 0, {"tokens_by_block": turns}), *stages))

    assert [(line.place, line.message, line.tokens, line.fate) for line in block_lines(trace)] == [
        (1, 1, 9, "kept"),
        (2, 2, 9, "kept"),
        (None, None, 200, "cut: layer recent_history is full"),
        (None, None, 60, "cut: the model's window is full"),
    ]


def test_a_first_prompt_is_not_said_to_repeat_nothing() -> None:
    """Nothing is known of the one before, and that is what the page says."""
    facts = measure_prefix(None, [Message("user", "hi")]).facts()
    page = explain_turn(a_trace(stages=(StageSpan("observe", 0, 0, facts),)))

    assert "This run has no earlier prompt" in page
    assert "0%" not in page


def test_times_stand_once() -> None:
    """The notes of the page on disk repeat what the stages say; here they are left out."""
    page = explain_turn(TRACE, None, f"# header\n\n## [0] user\n\nhi{SEPARATOR}{NOTES}\n\n- model: 1200 ms\n".encode())

    assert "hi" in page
    assert "1200 ms" not in page


@pytest.mark.parametrize("odd", [None, 7, "text", [], {}, [1, None, {"tokens": "x", "tokens_dropped": [], "id": None}]])
def test_facts_of_the_wrong_kind_cost_only_themselves(odd: object) -> None:
    """Whatever a hostile ledger holds, the turn is explained."""
    names = (
        "tokens_by_block", "dropped", "provider_outcomes", "prefix_ratio", "first_token_s", "prompt_tokens",
        "completion_tokens", "attempts", "model", "provider",
    )  # fmt: skip
    trace = a_trace(stages=(StageSpan("model", 0, 0, dict.fromkeys(names, odd)),))

    assert "t1" in explain_turn(trace)
    assert "t1" in outline_turn(trace)
    assert "t1" in turn_table([trace])
    assert turn_facts(trace)["trace_id"] == "t1"
    assert json.dumps(turn_as_json(trace))
