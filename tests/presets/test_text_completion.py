"""Text-completion presets become nodes: a marker for every part, the words around it in between."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.presets.load import MAX_BYTES, read_preset
from familiar_connect.presets.prompt_order import STORY_NODE, nodes_of
from familiar_connect.presets.text_completion import POST_HISTORY_ORDER, nodes_from_text_completion
from familiar_connect.presets.types import Preset, PresetFidelity

STORY = (
    "{{#if system}}{{system}}\n{{/if}}"
    "{{#if wiBefore}}{{wiBefore}}\n{{/if}}"
    "{{#if description}}<char>\n{{description}}\n</char>\n{{/if}}"
    "{{#if personality}}{{char}}'s personality: {{personality}}\n{{/if}}"
    "{{#if scenario}}Scenario: {{scenario}}\n{{/if}}"
    "{{#if wiAfter}}{{wiAfter}}\n{{/if}}"
    "{{#if persona}}{{persona}}\n{{/if}}{{trim}}"
)


def preset_of(**document: Any) -> Preset:
    return read_preset(json.dumps(document), "p")


def walked(preset: Preset) -> list[str]:
    """Markers by identifier, texts by what they say."""
    nodes = nodes_of(preset, PresetFidelity.with_memory)
    return [node.identifier if node.is_marker else node.content for node in nodes]


def test_a_story_string_becomes_markers_with_the_words_between_them() -> None:
    """The system text is main; persona and scenario find their own place; the chat comes last."""
    preset = preset_of(context={"story_string": STORY}, sysprompt={"content": "You are {{char}}."})

    assert preset.legacy
    assert walked(preset) == [
        "You are {{char}}.",
        "worldInfoBefore",
        "<char>",
        "charDescription",
        "</char>\n{{char}}'s personality:",
        "charPersonality",
        "worldInfoAfter",
        "dialogueExamples",
        "chatHistory",
    ]
    assert [node.identifier for node in preset.prompts][:3] == ["main", "worldInfoBefore", "story-1"]


def test_as_in_sillytavern_the_story_string_is_one_text() -> None:
    """Its parts are filled in where they stand; with memory each is a marker, and texts are nobody's own."""
    preset = preset_of(context={"story_string": STORY}, sysprompt={"content": "S"})
    exact = nodes_of(preset, PresetFidelity.sillytavern)
    nodes = nodes_of(preset, PresetFidelity.with_memory)

    assert [(node.identifier, node.is_enabled) for node in exact] == [
        (STORY_NODE, True),
        ("main", False),
        ("dialogueExamples", True),
        ("chatHistory", True),
    ]
    assert exact[0].content == STORY
    assert all(node.is_enabled for node in nodes)
    assert {node.system_prompt for node in nodes if node.identifier.startswith("story-")} == {False}


def test_a_part_is_used_once() -> None:
    """The second mention of it goes, with the words about it."""
    story = "{{description}} and {{#if description}}again: {{description}}{{/if}}{{description}}!"

    assert walked(preset_of(story_string=story)) == ["charDescription", "and !", "dialogueExamples", "chatHistory"]


def test_examples_stand_where_the_story_puts_them() -> None:
    """Else right before the chat."""
    story = "{{mesExamples}}\nThen: {{description}}"

    assert walked(preset_of(story_string=story)) == ["dialogueExamples", "Then:", "charDescription", "chatHistory"]


def test_what_is_said_otherwise_is_left_out() -> None:
    """Only the first branch of a condition is brought along."""
    story = "{{#if description}}A {{description}}{{else}}B{{/if}}{{#unless persona}}C{{/unless}}{{/if}}D"

    assert walked(preset_of(story_string=story))[:3] == ["A", "charDescription", "D"]


def test_a_system_prompt_without_a_story_gets_the_usual_one() -> None:
    """As a template of its own, or in an instruct template of an older file."""
    for document in (
        {"sysprompt": {"name": "x", "content": "S"}},
        {"name": "x", "content": "S"},
        {"instruct": {"system_prompt": "S", "input_sequence": "<|user|>"}},
        {"input_sequence": "### Instruction:", "system_prompt": "S"},
    ):
        assert walked(preset_of(**document))[:3] == ["S", "worldInfoBefore", "charDescription"]


def test_a_system_prompt_the_story_has_no_place_for_comes_first() -> None:
    """It is never lost."""
    preset = preset_of(context={"story_string": "{{description}}"}, sysprompt={"content": "S"})

    assert walked(preset)[:2] == ["S", "charDescription"]


def test_words_for_after_the_history_stand_at_its_end() -> None:
    """Wherever the file keeps them, each text once."""
    preset = preset_of(
        story_string="{{description}}",
        post_history=" Be brief. ",
        sysprompt={"content": "S", "post_history": "Be brief."},
        context={"post_history": "Stay kind."},
    )
    found = [node for node in preset.prompts if node.position == 1]

    assert [(node.content, node.depth, node.order) for node in found] == [
        ("Be brief.", 0, POST_HISTORY_ORDER),
        ("Stay kind.", 0, POST_HISTORY_ORDER),
    ]


def test_samplers_of_the_file_are_read() -> None:
    """By the names that text completion has for them; a part with none in it is named as unused."""
    preset = preset_of(sysprompt={"content": "S"}, preset={"temp": 1, "rep_pen": 1.1, "top_k": 0})
    assert (preset.sampling.values_by_name(), preset.unapplied) == ({"temperature": 1.0, "repeat_penalty": 1.1}, ())
    assert preset_of(sysprompt={"content": "S"}, preset={"streaming": 1}).unapplied == ("preset",)


@given(st.text(alphabet="{}#/ifelsystemdcrpon \n", max_size=200))
def test_any_story_has_few_nodes_and_ends_in_the_chat(story: str) -> None:
    """However it is written."""
    nodes = nodes_from_text_completion({"story_string": story})

    assert nodes[-1].identifier == "chatHistory"
    assert len({node.identifier for node in nodes}) == len(nodes) < 20


@pytest.mark.slow
def test_a_long_story_takes_time_in_proportion() -> None:
    """Two megabytes of blocks, opened and never closed."""
    for piece in ("{{#if a}}", "{{description}}x", "{{", "{{#if x}}{{/if}}"):
        started = time.process_time()
        nodes_from_text_completion({"story_string": piece * (MAX_BYTES // len(piece))})

        assert time.process_time() - started < 2
