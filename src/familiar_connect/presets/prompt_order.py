"""The nodes of a preset in order: which order list counts, which prompts SillyTavern would add, what is switched on.

Every order list of the file is kept; which one counts is chosen at each build, by the fidelity in force. The
owner's toggles win over whatever list is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from familiar_connect.presets.types import OrderEntry, Preset, PresetFidelity, PresetNode

GLOBAL_ORDER = "100001"
"""The list SillyTavern uses for every character."""
LEFTOVER_ORDER = "100000"
"""A default list that files carry along; SillyTavern never looks at it."""

_MARKERS = {
    "worldInfoBefore": "World Info (before)",
    "personaDescription": "Persona Description",
    "charDescription": "Char Description",
    "charPersonality": "Char Personality",
    "scenario": "Scenario",
    "worldInfoAfter": "World Info (after)",
    "dialogueExamples": "Chat Examples",
    "chatHistory": "Chat History",
}
MARKERS: Mapping[str, PresetNode] = {
    identifier: PresetNode(identifier=identifier, name=name, is_marker=True, system_prompt=True)
    for identifier, name in _MARKERS.items()
}
"""Places that the prompt's own blocks are put into."""
BUILT_IN: Mapping[str, PresetNode] = {
    "main": PresetNode(
        identifier="main",
        name="Main Prompt",
        content="Write {{char}}'s next reply in a fictional chat between {{charIfNotGroup}} and {{user}}.",
        system_prompt=True,
    ),
    "nsfw": PresetNode(identifier="nsfw", name="Auxiliary Prompt", system_prompt=True),
    "jailbreak": PresetNode(identifier="jailbreak", name="Post-History Instructions", system_prompt=True),
    "enhanceDefinitions": PresetNode(
        identifier="enhanceDefinitions",
        name="Enhance Definitions",
        content=(
            "If you have more knowledge of {{char}}, add to the character's lore and personality to enhance them but "
            "keep the Character Sheet's definitions absolute."
        ),
        system_prompt=True,
    ),
    **MARKERS,
}
"""Every prompt SillyTavern brings along, by identifier, as it is where a preset does not define it."""
DEFAULT_ORDER: tuple[OrderEntry, ...] = tuple(
    OrderEntry(identifier=identifier, enabled=identifier != "enhanceDefinitions")
    for identifier in (
        "main",
        "worldInfoBefore",
        "personaDescription",
        "charDescription",
        "charPersonality",
        "scenario",
        "enhanceDefinitions",
        "nsfw",
        "worldInfoAfter",
        "dialogueExamples",
        "chatHistory",
        "jailbreak",
    )
)
"""SillyTavern's order where a preset has none."""

STORY_NODE = STORY_ORDER = "wholeStoryString"
"""A story string as one text, and the order that has it: what a text-completion preset is under `sillytavern`."""

_TRIM = re.compile(r"\{\{\s*trim\s*\}\}", re.IGNORECASE)
_COMMENT = re.compile(r"\{\{\s*//")
_SCOPE_END = "{{///}}"


def nodes_of(preset: Preset, fidelity: PresetFidelity) -> tuple[PresetNode, ...]:
    """The nodes of *preset* in the order that counts under *fidelity*, each once, as its first
    entry has it, switched as the owner wants.

    An entry that names no prompt is passed over, and so is a prompt that no entry names.
    """
    known = prompts_of(preset, fidelity)
    chosen: dict[str, bool] = {}
    for entry in _order(preset, fidelity):
        if entry.identifier in known:
            chosen.setdefault(entry.identifier, entry.enabled)
    chosen |= {toggle.identifier: toggle.enabled for toggle in preset.toggles if toggle.identifier in chosen}
    return tuple(
        replace(
            known[identifier],
            is_enabled=enabled,
            is_comment=not known[identifier].is_marker and is_comment_only(known[identifier].content),
            node_order=place,
        )
        for place, (identifier, enabled) in enumerate(chosen.items())
    )


def prompts_of(preset: Preset, fidelity: PresetFidelity) -> dict[str, PresetNode]:
    """Every prompt an order of *preset* may name: its own, and those that need no definition.

    Under `sillytavern` these are all of SillyTavern's own, text and all; else the markers alone, which have none.
    """
    known: dict[str, PresetNode] = {}
    for node in preset.prompts:
        known.setdefault(node.identifier, node)
    for identifier, node in (BUILT_IN if fidelity is PresetFidelity.sillytavern else MARKERS).items():
        known.setdefault(identifier, node)
    return known


def _order(preset: Preset, fidelity: PresetFidelity) -> tuple[OrderEntry, ...]:
    lists: dict[str, tuple[OrderEntry, ...]] = {}
    for each in preset.orders:
        lists.setdefault(each.character_id, each.entries)
    if fidelity is PresetFidelity.sillytavern:
        if STORY_ORDER in lists:
            return lists[STORY_ORDER]
        return lists.get(GLOBAL_ORDER, DEFAULT_ORDER)
    return (
        lists.get(GLOBAL_ORDER)
        or lists.get(LEFTOVER_ORDER)
        or tuple(OrderEntry(identifier=node.identifier, enabled=node.is_enabled) for node in preset.prompts)
    )


def is_comment_only(text: str) -> bool:
    """Whether *text* is nothing but comments (`{{// …}}`) and `{{trim}}`, with at least one of them."""
    at = _past_space(text, 0)
    if at == len(text):
        return False
    last_scope = text.rfind(_SCOPE_END)
    while at < len(text):
        trim = _TRIM.match(text, at)
        comment = None if trim else _COMMENT.match(text, at)
        if trim:
            at = trim.end()
        elif comment:
            end = text.find("}}", comment.end())
            if end < 0:
                return False
            at = end + 2
            if at <= last_scope and not text[comment.end() : end].strip():
                at = text.find(_SCOPE_END, at) + len(_SCOPE_END)
        else:
            return False
        at = _past_space(text, at)
    return True


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def find_node(nodes: tuple[PresetNode, ...], words: str) -> PresetNode | None:
    """The node that *words* mean: its identifier, its number from 1, its name, or the one name that holds them."""
    wanted = words.strip()
    for node in nodes:
        if node.identifier == wanted:
            return node
    if wanted.isdecimal() and len(wanted) < 6 and 0 < int(wanted) <= len(nodes):
        return nodes[int(wanted) - 1]
    named = [node for node in nodes if wanted.casefold() == node.name.casefold()]
    holding = [node for node in nodes if wanted and wanted.casefold() in node.name.casefold()]
    found = named or holding
    return found[0] if len(found) == 1 else None
