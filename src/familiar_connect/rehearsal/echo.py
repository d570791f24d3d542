"""What the most careless of models would answer: everything it was given, wherever it can put it.

Whatever such a model can leak, a better one can; a rehearsal with it shows what the program itself keeps apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from familiar_connect.llm.types import Message

ALWAYS_YES = "There is always something to say.\nYES"
_PERSON = re.compile(r"^- (?P<label>.*) \(canonical slug: (?P<slug>[^;]+); known names: .*\)$", re.MULTILINE)
_FILE = re.compile(
    r'<file category="(?P<folder>[^"]*)" name="(?P<name>[^"]*)"(?P<notes>[^>]*)>\n(?P<text>.*?)\n</file>', re.S
)
_TRANSCRIPT = re.compile(r"<transcript>\n(?P<text>.*)\n</transcript>", re.S)
_NUMBER = re.compile(r"^\[\d+\] (?:\d{4}-\d\d-\d\d \d\d:\d\d )?", re.MULTILINE)
"""Before each turn of the transcript, with the time it was said."""
_CONTEXT = re.compile(r"\A## Context\n(?:- .*\n)*\n")


def echo_answer(slot: str, messages: Sequence[Message]) -> str:
    """The echo of *slot* to *messages*."""
    if slot == "interjection_decision":
        return ALWAYS_YES
    if slot == "memory_writer":
        return echo_memory("\n\n".join(message.content for message in messages if message.role == "user"))
    return "\n\n".join(message.content for message in messages)


@dataclass
class _Pages:
    """The text of each file as it is to be."""

    session: list[str] = field(default_factory=list)
    people: dict[str, list[str]] = field(default_factory=dict)
    """Slug → lines."""


def echo_memory(prompt: str) -> str:
    """A well-formed answer to the memory writer's *prompt*: every line in its speaker's file, and in the session."""
    labels = {found["slug"]: found["label"] for found in _PERSON.finditer(prompt)}
    pages = _Pages()
    for folder, name, text in _files_shown(prompt):
        if folder == "sessions":
            pages.session.append(text)
        elif folder == "people":
            pages.people[name.removesuffix(".md")] = [text, ""]
    found = _TRANSCRIPT.search(prompt)
    said = _CONTEXT.sub("", found["text"]) if found is not None else ""
    for line in _NUMBER.sub("", said.replace("\n  ", " ")).split("\n"):
        speaker = _speaker(line, labels)
        words = line.partition("): ")[2] if speaker is not None else line
        pages.session.append(f"- {line}")
        if speaker is not None:
            pages.people.setdefault(speaker, [f"# {labels[speaker]}", ""]).append(f"- {words}")
    return _form(pages)


def _files_shown(prompt: str) -> list[tuple[str, str, str]]:
    """Folder, name and text of the files that may be written anew: one that was cut is only added to."""
    shown = (found for found in _FILE.finditer(prompt) if 'cut="' not in found["notes"])
    return [(found["folder"], found["name"], found["text"]) for found in shown]


def _speaker(line: str, labels: dict[str, str]) -> str | None:
    """The slug of whoever said *line*; None for the familiar itself."""
    for slug, label in labels.items():
        if line.startswith((f"user ({label}): ", f"user ({label}, {slug}): ")):
            return slug
    return None


def _form(pages: _Pages) -> str:
    people = "\n".join(
        f"---FILE: {slug}.md---\n" + "\n".join(lines) + "\n---END_FILE---" for slug, lines in pages.people.items()
    )
    return (
        "===SESSION_SUMMARY===\n" + "\n".join(pages.session) + "\n===END_SESSION_SUMMARY===\n"
        f"===PEOPLE===\n{people}\n===END_PEOPLE===\n===TOPICS===\n===END_TOPICS===\n"
    )
