"""The facts: what is told, what is asked, and which answers count, from `facts.json` or a file of the same form.

A file is a JSON object with `facts` (a bare list will do): each has `told` (one message, or several where a later one
corrects an earlier one), `asked`, and the patterns `accept` and `reject` (one or several regular expressions, case
ignored). `by` names who tells and asks, `asked_by` somebody else who asks. `people`, `chatter` (who, what) and
`replies` (what the familiar answers while it is told things) may be given too.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOMEBODY = "sam"
MAX_FILE_BYTES = 4 << 20


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One thing a person tells, the question that asks for it, and the patterns of right and wrong answers."""

    by: str
    told: tuple[str, ...]
    asked: str
    asked_by: str
    accept: tuple[str, ...]
    reject: tuple[str, ...]

    def is_answered(self, answer: str) -> bool:
        """Whether *answer* is right: one of the accepted patterns is in it, and none of the rejected."""
        accepted = any(re.search(pattern, answer, re.IGNORECASE) for pattern in self.accept)
        return accepted and not any(re.search(pattern, answer, re.IGNORECASE) for pattern in self.reject)


@dataclass(frozen=True, kw_only=True)
class Material:
    """Everything a run is made of."""

    people: dict[str, str]
    """Key → name."""
    facts: tuple[Fact, ...]
    chatter: tuple[tuple[str, str], ...]
    replies: tuple[str, ...]


def load_material(path: Path | None = None) -> Material:
    """The material in *path*, or ours; what a file leaves out comes from ours."""
    own = json.loads((HERE / "facts.json").read_text("utf-8"))
    given = own if path is None else _read(path)
    facts = tuple(_fact(row) for row in given["facts"])
    people = dict(given.get("people") or {})
    for fact in facts:
        for key in (fact.by, fact.asked_by):
            people.setdefault(key, own["people"].get(key, key.title()))
    chatter = [(str(who), str(what)) for who, what in given.get("chatter") or own["chatter"]]
    for key, _ in chatter:
        people.setdefault(key, own["people"].get(key, key.title()))
    replies = tuple(given.get("replies") or own["replies"])
    return Material(people=people, facts=facts, chatter=tuple(chatter), replies=replies)


def _read(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise SystemExit(f"{path} is larger than {MAX_FILE_BYTES >> 20} MiB: facts are small.")
    text = path.read_text("utf-8")
    try:
        value = json.loads(text)
    except ValueError:
        value = [json.loads(line) for line in text.splitlines() if line.strip()]
    rows = [value] if isinstance(value, dict) and "facts" not in value else value
    return {"facts": rows} if isinstance(rows, list) else rows


def _fact(row: dict[str, Any]) -> Fact:
    by = str(row.get("by") or SOMEBODY).lower()
    return Fact(
        by=by,
        told=_texts(row["told"]),
        asked=str(row["asked"]),
        asked_by=str(row.get("asked_by") or by).lower(),
        accept=_texts(row["accept"]),
        reject=_texts(row.get("reject") or ()),
    )


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    assert isinstance(value, list | tuple), value
    return tuple(str(each) for each in value)
