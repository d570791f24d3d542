"""The conversation: facts among chatter over some weeks, a restart, the questions; as a rehearsal and as plain text."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from benchmarks.remembering.facts import Material

SEED = 11
TAIL = 24
"""Lines of chatter after the last fact: more than the last-20 peer can see."""
START = "2026-03-02T18:00:00+00:00"
NAME = "Ember"
PLACE = "lounge"


@dataclass(frozen=True)
class Line:
    """One message of the telling."""

    by: str
    text: str
    is_fact: bool


def order_lines(material: Material) -> list[Line]:
    """Facts in a random order with chatter between them, corrections after what they correct, chatter at the end."""
    rng = random.Random(SEED)
    first = [Line(fact.by, fact.told[0], True) for fact in material.facts]
    rng.shuffle(first)
    later = [Line(fact.by, text, True) for fact in material.facts for text in fact.told[1:]]
    chatter = [Line(by, text, False) for by, text in material.chatter]
    tail, between = chatter[-TAIL:], chatter[:-TAIL]
    lines = first + later
    step = max(1, len(lines) // (len(between) + 1))
    for at, each in enumerate(between):
        lines.insert(min(len(lines), (at + 1) * (step + 1) - 1), each)
    return lines + tail


def choose_reply(material: Material, text: str) -> str:
    """The stored reply to *text*: always the same one."""
    return material.replies[sum(text.encode()) % len(material.replies)]


def rehearsal_script(material: Material, *, address: str, model: str, is_writing: bool) -> dict[str, Any]:
    """The whole run as a file for `familiar rehearse`: no setting but which model speaks, and writes if it does."""
    slot = f"model = {json.dumps(model)}\nbase_url = {json.dumps(address)}\n"
    settings = f"[llm.main_prose]\n{slot}" + (f"\n[llm.memory_writer]\n{slot}" if is_writing else "")
    steps: list[dict[str, Any]] = []
    for at, line in enumerate(order_lines(material)):
        pause = "9h" if at % 12 == 0 else "3m" if line.is_fact else "5s"
        when = {"at": START} if at == 0 else {"after": pause}
        steps.append(
            {**when, "in": PLACE, "by": line.by, "say": line.text} | ({"mention": True} if line.is_fact else {})
        )
    steps += [{"after": "2h", "write_up": True}, {"after": "1d", "restart": True}]
    steps += [
        {"after": "5m", "in": PLACE, "by": fact.asked_by, "say": fact.asked, "mention": True} for fact in material.facts
    ]
    return {
        "familiar": {"name": NAME, "settings": settings},
        "people": {key: {"name": name} for key, name in material.people.items()},
        "places": {PLACE: {"kind": "text", "server": "Tea House", "name": PLACE}},
        "steps": steps,
    }


def plain_transcript(material: Material) -> list[dict[str, str]]:
    """The telling as chat messages, for the peers: the same lines, the same stored replies."""
    messages = []
    for line in order_lines(material):
        messages.append({"role": "user", "content": f"{material.people[line.by]}: {line.text}"})
        if line.is_fact:
            messages.append({"role": "assistant", "content": choose_reply(material, line.text)})
    return messages
