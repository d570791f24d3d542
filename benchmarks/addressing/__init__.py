"""How often a message that holds the familiar's name is rightly told to be said to it, or only about it.

Fourteen hundred lines of chat in twenty-one languages, each with a label that its writer gave it: "to" or "of". The
rules were written with those in `open.jsonl` in view; whoever wrote them has not seen those in `held_back.jsonl`. The
peer is what bots commonly do: a name as a whole word is a call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Row
from familiar_connect.conversation.addressing.judge import judge_address
from familiar_connect.conversation.buffer import is_direct_address

DATA = Path(__file__).parent
PARTS = ("open", "held_back")
LEAST_RIGHT = 0.97
"""Of the lines held back, with a model to ask where the rules are not sure."""


@dataclass(frozen=True)
class ChatLine:
    text: str
    names: tuple[str, ...]
    is_call: bool
    language: str
    kind: str


def read_lines(part: str) -> list[ChatLine]:
    """The lines of *part*, as they were written."""
    rows = map(json.loads, (DATA / f"{part}.jsonl").read_text(encoding="utf-8").splitlines())
    return [
        ChatLine(row["text"], (row["name"], *row["aliases"]), row["label"] == "to", row["language"], row["kind"])
        for row in rows
    ]


def measure_part(part: str) -> list[Row]:
    """What share of *part* the rules tell rightly, of how many they are sure, and what the peer makes of it."""
    lines = read_lines(part)
    judged = [judge_address(line.text, line.names) for line in lines]
    right = [(found is not None and found.is_call) == line.is_call for found, line in zip(judged, lines, strict=True)]
    sure = [is_right for found, is_right in zip(judged, right, strict=True) if found is None or found.is_sure]
    peer = _share(lines, lambda line: is_direct_address(line.text, line.names[0], line.names[1:], is_mention=False))
    voted = (sum(sure) + len(lines) - len(sure)) / len(lines)
    return [
        Row(name="lines", value=f"{len(lines)}"),
        Row(name="right by rules alone", value=f"{sum(right) / len(lines):.1%}"),
        Row(name="sure, and not put to the vote", value=f"{len(sure) / len(lines):.1%}"),
        Row(
            name="of those, right",
            value=f"{sum(sure) / len(sure):.1%}",
            bar=f"{LEAST_RIGHT:.0%}",
            ok=sum(sure) / len(sure) >= LEAST_RIGHT,
        ),
        Row(name="right where every vote is right, at most", value=f"{voted:.1%}"),
        Row(name="peer: the name as a whole word", value=f"{peer:.1%}"),
    ]


def _share(lines: Sequence[ChatLine], is_call: Callable[[ChatLine], bool]) -> float:
    return sum(is_call(line) == line.is_call for line in lines) / len(lines)
