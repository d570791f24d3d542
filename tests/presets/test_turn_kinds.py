"""What kind of answer a turn asks for, who gives it and with which tools: as a preset's words see it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from familiar_connect.chat.directives import CONTINUE
from familiar_connect.chat.types import Directives, Turn, TurnFlags
from familiar_connect.context.generate import turn_capabilities
from familiar_connect.context.types import ContextRequest, ItemTag, Layer
from familiar_connect.llm.types import Capabilities
from familiar_connect.presets.arranger import PresetArranger
from familiar_connect.presets.macro_context import expand_authored, generation_kind
from familiar_connect.presets.types import ActivePreset, CardFields, PresetFidelity
from familiar_connect.tools.toolbox import TurnTools
from familiar_connect.tools.types import REMEMBER, SEARCH_MEMORY, Outcome, Status, Tool, tool_spec
from tests.fakes.context import ADA, a_dialogue, a_piece, a_request, said
from tests.fakes.scene import a_turn_of
from tests.fakes.scene import entry_by as said_by
from tests.presets.test_arranger import BARE, a_preset, a_prompt, by, item, laid_out, marker, says, with_preset

ABLE = Capabilities(tools=True, vision=True)


def a_turn(**flags: Any) -> Turn:
    return Turn(familiar_id="wren", channel_id=7, said=(), flags=TurnFlags(**flags))


async def _nothing(given: object) -> Outcome:
    return Outcome(Status.saved, "done")


def with_tools(*names: str, capabilities: Capabilities = ABLE, **more: Any) -> ContextRequest:
    box = TurnTools([Tool(tool_spec(name, "It does something."), _nothing) for name in names])
    facts: dict[str, Any] = {"card": CardFields(name="Wren")}
    return a_request(offered=turn_capabilities(box, capabilities), **facts | more)


def authored(text: str, request: ContextRequest) -> str:
    (done,) = expand_authored([a_piece(text, Layer.character, tag=ItemTag.RULES, authored=True)], request)
    return done.text


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        ({}, "normal"),
        ({"impersonation": True, "continuation": True}, "impersonate"),
        ({"continuation": True, "manual": True}, "continue"),
        ({"manual": True, "manual_prompt": "Sum up."}, "quiet"),
        ({"manual": True}, "normal"),
    ],
)
def test_the_flags_of_a_turn_say_what_kind_of_answer_it_asks_for(flags: dict[str, Any], kind: str) -> None:
    """C38: `injection_trigger` restricts a prompt to the kinds it names."""
    request = with_preset(
        a_preset(says("only then", "then", triggers=(kind,)), marker("chatHistory")), turn=a_turn(**flags)
    )

    assert generation_kind(request) == kind
    if kind != "impersonate":
        assert ("system", "only then") in laid_out(a_prompt(by("Ada", "hi")), request)
        other = replace(request, turn=a_turn(continuation=kind != "continue"))
        assert ("system", "only then") not in laid_out(a_prompt(by("Ada", "hi")), other)


def test_the_continue_nudge_stands_for_our_own_words() -> None:
    """C38: the continuation directive says what the preset says; what follows it stays."""
    preset = a_preset(marker("chatHistory"), settings=replace(BARE, continue_nudge_prompt="[Go on, {{char}}.]"))
    request = with_preset(preset, turn=a_turn(continuation=True))
    prompt = a_prompt(by("Ada", "hi"), directives=Directives(tail=("be brief", f"{CONTINUE} Begin with: Well,")))

    assert PresetArranger().arrange(prompt, request).directives.tail == (
        "be brief",
        "[Go on, Wren.] Begin with: Well,",
    )


def test_the_group_nudge_is_for_turns_of_an_alter() -> None:
    """C38: it names the alter; the main persona is not nudged."""
    preset = a_preset(marker("chatHistory"), settings=replace(BARE, group_nudge_prompt="[Only as {{char}}.]"))
    prompt = a_prompt(by("Ada", "hi"))

    def tail(turn: Turn) -> tuple[str, ...]:
        return PresetArranger().arrange(prompt, with_preset(preset, turn=turn)).directives.tail

    assert tail(a_turn(alter="Moss")) == ("[Only as Moss.]",)
    assert tail(a_turn()) == ()


def test_an_alter_is_who_char_means() -> None:
    """C4: in authored text, in the preset's words and as SillyTavern reads them."""
    request = with_preset(a_preset(says("{{char}} and {char}"), marker("chatHistory")), turn=a_turn(alter="Moss"))
    assert request.preset is not None
    there = replace(request, preset=ActivePreset(preset=request.preset.preset, fidelity=PresetFidelity.sillytavern))

    assert authored("I am {{char}}.", replace(request, preset=None)) == "I am Moss."
    assert ("system", "Moss and Moss") in laid_out(a_prompt(by("Ada", "hi")), request)
    assert ("system", "Moss and {char}") in laid_out(a_prompt(by("Ada", "hi")), there)


def test_as_sillytavern_a_quiet_prompt_is_the_last_word() -> None:
    """C69: what was asked by hand stands among the control prompts."""
    preset = a_preset(marker("chatHistory"))
    turn = a_turn(manual=True, manual_prompt="Sum up.")
    request = with_preset(preset, PresetFidelity.sillytavern, turn=turn)

    assert laid_out(a_prompt(by("Ada", "hi")), request)[-1] == ("system", "Sum up.")


def test_markers_hold_our_memory_or_what_sillytavern_has() -> None:
    """C67: the speaker's notes and what was found; there the operator's words, and no lore."""
    items = (item("found", ItemTag.FOUND), by("Ada", "hi"))
    nodes = (marker("personaDescription"), marker("worldInfoBefore"), marker("chatHistory"))
    ours = with_preset(a_preset(*nodes), persona="A sailor.")
    there = with_preset(a_preset(*nodes), PresetFidelity.sillytavern, persona="A sailor.", card=CardFields(name="Wren"))

    assert laid_out(a_prompt(*items), ours) == [("system", "found"), ("user", "Ada: hi")]
    assert laid_out(a_prompt(*items), there) == [("system", "A sailor."), ("user", "hi")]


def test_as_sillytavern_choices_are_made_where_they_stand() -> None:
    """C71: a variable set by a choice is seen as chosen; ours leaves a choice of its own for the end."""
    preset = a_preset(
        says("{{setvar::a::{{random::x}}}}{{getvar::a}}", "one"), says("{{random::z}}", "two"), marker("chatHistory")
    )
    prompt = a_prompt(by("Ada", "hi"))

    for fidelity in PresetFidelity:
        texts = [text for _, text in laid_out(prompt, with_preset(preset, fidelity))]
        assert texts[:2] == ["x", "z"]


def test_macros_are_read_before_anything_is_placed() -> None:
    """C3.1: a node that comes out blank is no node, wherever its text came from."""
    preset = a_preset(says("{{getvar::nothing}}", "blank"), says("{{user}} is here", "full"), marker("chatHistory"))

    assert laid_out(a_prompt(by("Ada", "hi")), with_preset(preset))[0] == ("system", "Ada is here")


# Tools and abilities


def test_tool_macros_name_the_tool_that_is_offered() -> None:
    """B13: in single and double braces, in backticks; without the tool in plain words."""
    text = "Use {memory_tool}, {{memory_tool}} or {sticker_tool}."

    assert authored(text, with_tools(REMEMBER)) == "Use `remember`, `remember` or a sticker."
    assert authored(text, with_tools()) == "Use your memory, your memory or a sticker."


def test_a_search_tool_is_the_best_there_is() -> None:
    """B13: the family's macro picks what is offered now."""
    assert authored("{search_tool}", with_tools(SEARCH_MEMORY)) == "`search_memory`"
    assert authored("{search_tool}", with_tools()) == "a search"


def test_a_model_without_tools_is_offered_none() -> None:
    """B13, B14: whatever the familiar has."""
    unable = with_tools(REMEMBER, capabilities=Capabilities())

    assert authored("{memory_tool}{{if tool:remember}}!{{/if}}", unable) == "your memory"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("tool:remember", True),
        ("!tool:remember", False),
        ("tool_family:memory", True),
        ("tool_family:sticker", False),
        ("capability:vision", True),
        ("capability:video", False),
        ("!capability:video", True),
        ("weather:rain", False),
        ("!weather:rain", False),
    ],
)
def test_conditions_ask_what_the_model_can_do_now(condition: str, holds: bool) -> None:
    """B14: a predicate nobody knows never holds, inverted or not."""
    text = f"{{{{if {condition}}}}}yes{{{{else}}}}no{{{{/if}}}}"

    assert authored(text, with_tools(REMEMBER)) == ("yes" if holds else "no")


def test_the_nodes_of_a_preset_see_the_tools_too() -> None:
    """B13, B14: the same values in every authored text."""
    preset = a_preset(says("{{if tool:remember}}Call {memory_tool}.{{/if}}"), marker("chatHistory"))
    request = replace(with_preset(preset), offered=with_tools(REMEMBER).offered)

    assert laid_out(a_prompt(by("Ada", "hi")), request)[0] == ("system", "Call `remember`.")


async def test_what_is_being_said_is_told_once() -> None:
    """B4: where the dialogue holds the newest message already, macros do not see it twice."""
    turn = a_turn_of(said_by(ADA, "the one line"))
    request = a_request(card=CardFields(name="Wren"), turn=turn, utterance="the one line")
    shown = replace(said("user", "Ada: the one line"), words="the one line")
    found = [a_dialogue(shown), a_piece("{{lastMessageId}}", Layer.character, tag=ItemTag.RULES, authored=True)]

    assert expand_authored(found, request)[1].text == "0"
