"""Whether a case came out the same: `judge_case(case, steps)`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from benchmarks.sillytavern.oracle.generate import Json
from benchmarks.sillytavern.oracle.ours import OurCase, OurStep
from benchmarks.sillytavern.prompts import first_difference

EQUAL = "equal"
APART = {
    "two_groups": "an entry in two groups, of which SillyTavern loses one",
    "else_mark": "an {{else}} outside an {{if}}, for which SillyTavern leaves a mark of control characters in the text",
    "story_template": "macros left open in one field, which SillyTavern closes in a template that it does not send",
    "fault": "SillyTavern ended with an error of its own",
    "patterns": "patterns with look-around or back-references, which are not searched here",
    "blank_greeting": "blank greetings, which are not counted here",
}
"""What is counted apart: SillyTavern's own faults first, then what is otherwise here by design."""
MARK = "\x1f"
TEMPLATE_WORDS = ("Scenario:", "personality:")
"""What stands between the fields in SillyTavern's story template, which chat models are not sent."""


@dataclass(frozen=True)
class Verdict:
    """What became of one case."""

    number: int
    kind: str
    told: str = ""


def judge_case(case: Json, steps: list[dict[str, Any]]) -> Verdict:
    """The first difference of *case*, or none."""
    ours = OurCase(case)
    chat = case["chat"]
    for at, (step, theirs) in enumerate(zip(case["steps"], steps, strict=True)):
        if theirs["refused"] or theirs["messages"] is None:
            told = theirs["refused"] or theirs["faults"]
            return Verdict(case["number"], "fault", f"step {at} {step['kind']}: {told}")
        try:
            mine = ours.run(step, chat)
        except Exception as error:  # a fault of ours is a difference
            return Verdict(case["number"], "error", f"step {at}: {type(error).__name__}: {error}")
        if mine.problems:
            return Verdict(case["number"], "patterns", mine.problems[0])
        if told := find_difference(step, mine, theirs):
            return Verdict(case["number"], find_reason_apart(case, theirs) or told[0], told[1])
        chat = theirs["chat"]
    return Verdict(case["number"], EQUAL)


def find_reason_apart(case: Json, theirs: dict[str, Any]) -> str:
    """Why a difference is not counted against us; empty where it is."""
    kept = [str(value) for value in (*theirs["variables"].values(), *theirs["shared"].values())]
    if any(MARK in text for text in (*kept, *(message["content"] for message in theirs["messages"]))):
        return "else_mark"
    if any(word in text for text in kept for word in TEMPLATE_WORDS):
        return "story_template"
    if any("," in entry["group"] for book in case["books"] for entry in book["entries"]):
        return "two_groups"
    is_blank = not all(case["card"]["alternate_greetings"])
    return "blank_greeting" if is_blank and "greeting::" in json.dumps(case) else ""


def find_difference(step: Json, mine: OurStep, theirs: dict[str, Any]) -> tuple[str, str] | None:
    """Where one turn differs: what kind of thing, and how."""
    where = step["kind"]
    if step["kind"] == "normal":
        kept = [line["mes"] for line in theirs["chat"] if line["is_user"]][-1:]
        if kept != [mine.typed]:
            return "typed", f"{where}: kept {mine.typed!r}, SillyTavern {kept!r}"
    if mine.activated != theirs["activated"]:
        return "world", f"{where}: called up {mine.activated}, SillyTavern {theirs['activated']}; {mine.limit}"
    wanted = [
        {key: message[key] for key in ("role", "content", "name") if message.get(key) is not None}
        for message in theirs["messages"]
    ]
    if told := first_difference(mine.messages, wanted):
        return "messages", f"{where}: {told}"
    for name, own, other in (
        ("variables", mine.variables, theirs["variables"]),
        ("shared", mine.shared, theirs["shared"]),
    ):
        if own != {key: text_of(value) for key, value in other.items()}:
            return name, f"{where}: {own} here, {other} there"
    return None


def text_of(value: Any) -> str:
    """A variable as a text, as both engines show it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
