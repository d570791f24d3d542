"""Text-completion presets as nodes: a story string becomes markers with the words around them in between.

A story string names each part of a prompt once, in order; here every such part is a marker or `main`, and the
literal text about it a prompt of its own. Turn sequences of instruct templates mean nothing to a chat and are
left behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from familiar_connect.presets.prompt_order import MARKERS, STORY_NODE
from familiar_connect.presets.types import PresetNode
from familiar_connect.support.text import one_line

POST_HISTORY_ORDER = 10_000
"""Behind whatever else stands at the end of the chat."""
STORY = (
    "{{#if system}}{{system}}\n{{/if}}{{#if wiBefore}}{{wiBefore}}\n{{/if}}{{#if description}}{{description}}\n{{/if}}"
    "{{#if personality}}{{char}}'s personality: {{personality}}\n{{/if}}{{#if wiAfter}}{{wiAfter}}\n{{/if}}"
)
"""The story string where a system prompt comes without one."""

_PARTS = {
    "system": "main",
    "wibefore": "worldInfoBefore",
    "lorebefore": "worldInfoBefore",
    "wiafter": "worldInfoAfter",
    "loreafter": "worldInfoAfter",
    "description": "charDescription",
    "personality": "charPersonality",
    "mesexamples": "dialogueExamples",
    "mesexamplesraw": "dialogueExamples",
}
_LEFT_OUT = frozenset({"persona", "scenario", "anchorbefore", "anchorafter"})
"""Parts that find their own place."""
_INSTRUCT = frozenset({"input_sequence", "output_sequence", "system_sequence"})
_SAMPLERS = frozenset({"temp", "rep_pen"})
"""Marks of a file with samplers alone, as the panel for them saves it."""
_TAG = re.compile(r"\{\{([^{}]*)\}\}")
_NAME_CHARS = 40


def is_text_completion(document: Mapping[str, object]) -> bool:
    """Whether *document* is a text-completion preset, whole or one of the templates it is made of."""
    if isinstance(_inside(document, "context").get("story_string", document.get("story_string")), str):
        return True
    if isinstance(_inside(document, "sysprompt").get("content"), str) or _inside(document, "instruct"):
        return True
    if _inside(document, "context") or _SAMPLERS & document.keys():
        return True
    return bool(_INSTRUCT & document.keys()) or _is_system_prompt(document)


def part_of_text_completion(document: Mapping[str, object]) -> str:
    """Which part of such a preset *document* is by itself; empty where it is none."""
    if _INSTRUCT & document.keys():
        return "instruct"
    if isinstance(document.get("story_string"), str):
        return "context"
    if _SAMPLERS & document.keys():
        return "preset"
    return "sysprompt" if _is_system_prompt(document) else ""


def nodes_from_text_completion(document: Mapping[str, object]) -> tuple[PresetNode, ...]:
    """Its nodes in order, all of them on; none where it says nothing but turn sequences."""
    story = _inside(document, "context").get("story_string", document.get("story_string"))
    system = _system_text(document)
    if not isinstance(story, str):
        if not system.strip():
            return ()
        story = STORY
    nodes = _Story(system).read(story)
    return (*nodes, *_post_history(document, nodes))


def story_node(document: Mapping[str, object]) -> PresetNode | None:
    """The whole story string as one text, as SillyTavern fills it in; None where there is none."""
    story = _inside(document, "context").get("story_string", document.get("story_string"))
    if not isinstance(story, str):
        return None
    return PresetNode(identifier=STORY_NODE, name="Story String", content=story, system_prompt=False)


class _Story:
    """A story string being taken apart: the words since the last marker, and the nodes so far."""

    def __init__(self, system: str) -> None:
        self._system = system
        self._nodes: list[PresetNode] = []
        self._used: set[str] = set()
        self._words: list[str] = []
        self._counts: list[bool] = [True]
        """Whether what stands here counts, outside and in each block entered."""

    def read(self, story: str) -> tuple[PresetNode, ...]:
        at = 0
        for tag in _TAG.finditer(story):
            self._literal(story[at : tag.start()])
            self._tag(tag)
            at = tag.end()
        self._literal(story[at:])
        self._flush()
        if "main" not in self._used and self._system.strip():
            self._nodes.insert(0, self._main())
        for identifier in ("dialogueExamples", "chatHistory"):
            if identifier not in self._used:
                self._nodes.append(MARKERS[identifier])
        return tuple(self._nodes)

    def _tag(self, tag: re.Match[str]) -> None:
        said = tag[1].strip()
        word = said.casefold()
        if word.startswith("#"):
            kind, _, key = word[1:].strip().partition(" ")
            key = key.strip()
            counts = kind == "if" and key not in _LEFT_OUT and _PARTS.get(key) not in self._used
            self._counts.append(counts and self._counts[-1])
        elif word.startswith("/") and not word.startswith("//"):
            if len(self._counts) > 1:
                self._counts.pop()
        elif word == "else":
            if len(self._counts) > 1:
                self._counts[-1] = False
        elif word in _PARTS:
            self._marker(_PARTS[word])
        elif word not in _LEFT_OUT and word != "trim":
            self._literal(tag[0])

    def _literal(self, text: str) -> None:
        if self._counts[-1]:
            self._words.append(text)

    def _marker(self, identifier: str) -> None:
        if identifier in self._used or not self._counts[-1]:
            return
        self._flush()
        self._used.add(identifier)
        self._nodes.append(self._main() if identifier == "main" else MARKERS[identifier])

    def _main(self) -> PresetNode:
        return PresetNode(identifier="main", name="Main Prompt", content=self._system, system_prompt=True)

    def _flush(self) -> None:
        text = "".join(self._words).strip()
        self._words.clear()
        if text:
            number = sum(node.identifier.startswith("story-") for node in self._nodes) + 1
            self._nodes.append(
                PresetNode(
                    identifier=f"story-{number}",
                    name=one_line(text[:_NAME_CHARS]),
                    content=text,
                    system_prompt=False,
                )
            )


def _post_history(document: Mapping[str, object], nodes: tuple[PresetNode, ...]) -> list[PresetNode]:
    places = (document, _inside(document, "sysprompt"), _inside(document, "context"))
    said = [text.strip() for place in places if isinstance(text := place.get("post_history"), str)]
    there = {node.content.strip() for node in nodes if node.position == 1}
    return [
        PresetNode(
            identifier=f"post-history-{number}",
            name="Post-History Instructions",
            content=text,
            position=1,
            depth=0,
            order=POST_HISTORY_ORDER,
            system_prompt=False,
        )
        for number, text in enumerate((text for text in dict.fromkeys(said) if text and text not in there), start=1)
    ]


def _system_text(document: Mapping[str, object]) -> str:
    """The system prompt, from where the file's age keeps it."""
    for text in (
        _inside(document, "sysprompt").get("content"),
        document.get("content") if _is_system_prompt(document) else None,
        _inside(document, "instruct").get("system_prompt"),
        document.get("system_prompt"),
    ):
        if isinstance(text, str) and text.strip():
            return text
    return ""


def _is_system_prompt(document: Mapping[str, object]) -> bool:
    """Whether it is a system prompt exported by itself: a name and a text."""
    return isinstance(document.get("content"), str) and document.keys() <= {"name", "content", "post_history"}


def _inside(document: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}
