"""Dialogues with questions about them, as they stand in LoCoMo's format."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_ID = re.compile(r"D:?\s*(\d+)\s*:\s*0*(\d+)")


@dataclass(frozen=True)
class Turn:
    dia_id: tuple[int, int]
    speaker: str
    text: str
    when: datetime


@dataclass(frozen=True)
class Question:
    text: str
    evidence: tuple[int, ...]
    """Places of the turns that hold the answer."""
    category: int


@dataclass(frozen=True)
class Dialogue:
    name: str
    turns: list[Turn]
    questions: list[Question]
    is_informal: bool = False


def read_dialogues(data: Path, errata: Path | None = None) -> list[Dialogue]:
    """The dialogues of *data*; questions whose gold answer is wrong are left out, wrong evidence is corrected."""
    wrong = {}
    if errata is not None:
        wrong = {row["question"].strip(): row for row in json.loads(errata.read_text(encoding="utf-8"))}
    rows = json.loads(data.read_text(encoding="utf-8"))
    return [_dialogue(row, str(row.get("sample_id", number)), wrong) for number, row in enumerate(rows)]


def _dialogue(row: dict[str, Any], name: str, wrong: dict[str, dict[str, Any]]) -> Dialogue:
    conversation = row["conversation"]
    numbers = sorted(int(m[1]) for key in conversation if (m := re.fullmatch(r"session_(\d+)", key)))
    turns: list[Turn] = []
    for number in numbers:
        start = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        for place, said in enumerate(conversation[f"session_{number}"]):
            text = " ".join(part.strip() for part in (said["text"], said.get("blip_caption") or "") if part.strip())
            when = start.replace(tzinfo=UTC) + timedelta(minutes=place)
            turns.append(Turn(_ids(said["dia_id"])[0], said["speaker"], text, when))
    places = {turn.dia_id: place for place, turn in enumerate(turns)}
    questions = []
    for asked in row["qa"]:
        evidence = _evidence(asked, wrong.get(asked["question"].strip()))
        known = tuple(dict.fromkeys(places[i] for text in evidence for i in _ids(text) if i in places))
        if known and asked["category"] in CATEGORIES:
            questions.append(Question(asked["question"], known, asked["category"]))
    return Dialogue(name, turns, questions, is_informal="half" in row)


def _evidence(asked: dict[str, Any], mistake: dict[str, Any] | None) -> list[str]:
    if mistake is None:
        return list(asked.get("evidence") or [])
    if mistake["error_type"] == "WRONG_CITATION" and mistake.get("correct_evidence"):
        return list(mistake["correct_evidence"])
    return []


def _ids(text: str) -> list[tuple[int, int]]:
    return [(int(match[1]), int(match[2])) for match in _ID.finditer(text)]
