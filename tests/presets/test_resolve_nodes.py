"""What the nodes of a preset say once their macros are read."""

from __future__ import annotations

from typing import Any

from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.reassemble import ResolvedPreset, resolve_nodes
from familiar_connect.presets.types import PresetNode


def node(content: str, **more: Any) -> PresetNode:
    return PresetNode(identifier=more.pop("identifier", content), content=content, **more)


def resolved(*nodes: PresetNode, **values: Any) -> ResolvedPreset:
    return resolve_nodes(nodes, MacroContext(**values))


def texts(found: ResolvedPreset) -> list[str]:
    return [each.content for each in found.nodes]


def test_variables_are_seen_by_later_nodes_only() -> None:
    """C41: the worked example of variables; nodes that come out blank are off."""
    found = resolved(
        node("Tone: {{getvar::tone}}."),
        node("{{setvar::tone::dry}}{{// hidden }}{{trim}}"),
        node("{{addvar::tone::, brief}}  Keep {{Personality}}."),
        node("Tone: {{getvar::tone}}."),
        node("{{getvar::nope}}{{trim}}"),
        personality="wry",
    )

    assert texts(found) == ["Tone: .", "  Keep wry.", "Tone: dry, brief."]
    assert found.content_macros == {"personality"}


def test_what_is_off_sets_nothing() -> None:
    """C23, C41: disabled and comment nodes are left alone."""
    found = resolved(
        node("{{setvar::x::1}}a", is_enabled=False), node("{{setvar::x::2}}", is_comment=True), node("{{getvar::x}}!")
    )

    assert texts(found) == ["!"]


def test_slots_and_markers_stay_when_they_say_nothing() -> None:
    """C3.3: `main` and `jailbreak` are places; a marker's own text is never read."""
    found = resolved(
        node("", identifier="main"),
        node(" ", identifier="jailbreak"),
        node(" ", identifier="nsfw"),
        node("{{setvar::x::1}}", identifier="chatHistory", is_marker=True),
        node("{{getvar::x}}.", identifier="last"),
    )

    assert [each.identifier for each in found.nodes] == ["main", "jailbreak", "chatHistory", "last"]
    assert texts(found)[-2:] == ["", "."]


def test_triggers_limit_a_node_to_kinds_of_turns() -> None:
    """C38: a node that names other kinds is off for this one."""
    nodes = [node("always"), node("one", triggers=("normal", "continue")), node("two", triggers=("impersonate",))]

    assert texts(resolved(*nodes)) == ["always", "one"]
    assert texts(resolved(*nodes, generation="impersonate")) == ["always", "two"]
    assert texts(resolved(*nodes, generation="quiet")) == ["always"]


def test_names_are_read_in_both_forms() -> None:
    """B12: double braces by the engine, single ones after it."""
    found = resolved(node("{{char}} {char} {Bot} {{user}} {user}"), char="Wren", user="Ada")

    assert texts(found) == ["Wren Wren Wren Ada Ada"]


def test_a_choice_is_left_for_the_last_pass() -> None:
    """C46: with its options resolved."""
    assert texts(resolved(node("{{random::{{char}}::b}}"), char="Wren")) == ["{{random::Wren::b}}"]


def test_plain_text_stays_the_same_object() -> None:
    """Nothing is rewritten without need."""
    plain = node("no macros here")

    assert resolved(plain).nodes[0] is plain
