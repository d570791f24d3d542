"""A small SillyTavern setting: Ada and her character Rook, a preset of a few prompts, and words counted one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.sillytavern.assemble import assemble
from familiar_connect.presets.sillytavern.types import AssembledPrompt, Piece, SillyTavernInputs
from familiar_connect.presets.types import CardFields, ChatLine, PresetNode, PresetSettings

MARKERS = (
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "worldInfoAfter",
    "dialogueExamples",
    "chatHistory",
)


def node(identifier: str, content: str = "", **more: Any) -> PresetNode:
    """A prompt of the preset: a marker by its name, built in if SillyTavern has one so called, else its author's."""
    built_in = identifier in (*MARKERS, "main", "nsfw", "jailbreak", "enhanceDefinitions")
    given = {"is_marker": identifier in MARKERS, "system_prompt": built_in, **more}
    return PresetNode(identifier=identifier, content=content, **given)


def in_chat(identifier: str, content: str, **more: Any) -> PresetNode:
    """A prompt that stands among the chat."""
    return node(identifier, content, position=1, **more)


STANDARD = (
    node("main", "MAIN"),
    node("personaDescription"),
    node("charDescription"),
    node("charPersonality"),
    node("scenario"),
    node("dialogueExamples"),
    node("chatHistory"),
    node("jailbreak", "LAST"),
)
CARD = CardFields(name="Rook", description="a crow", personality="wry", scenario="a roof")


def chat_lines(*texts: str) -> tuple[ChatLine, ...]:
    """A chat in which Rook greets and Ada and Rook take turns."""
    return tuple(
        ChatLine(name="Ada" if number % 2 else "Rook", text=text, is_user=bool(number % 2), is_first=number == 0)
        for number, text in enumerate(texts)
    )


def words(piece: Piece) -> int:
    """A counter for tests: one for each word."""
    return len(piece.text.split())


def inputs(*nodes: PresetNode, settings: PresetSettings | None = None, **more: Any) -> SillyTavernInputs:
    """Ada and Rook, *nodes* in their order, no separators unless *settings* has some."""
    given = {"card": CARD, "context": MacroContext(char="Rook", user="Ada"), "count": words, **more}
    return SillyTavernInputs(preset_name="P", nodes=nodes or STANDARD, settings=settings or bare(), **given)


def assemble_prompt(*nodes: PresetNode, **more: Any) -> AssembledPrompt:
    return assemble(inputs(*nodes, **more))


def format_messages(assembled: AssembledPrompt) -> list[str]:
    """Each message as `role: text`."""
    return [f"{item.role}: {item.text}" for item in assembled.items]


def texts(assembled: AssembledPrompt) -> list[str]:
    return [item.text for item in assembled.items]


def bare(**more: Any) -> PresetSettings:
    """Settings without separators, so that a test sees only what it put in."""
    silent = PresetSettings(new_chat_prompt="", new_group_chat_prompt="", new_example_chat_prompt="")
    return replace(silent, **more)
