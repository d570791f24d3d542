"""What the small model that comes along still knows: `python -m benchmarks.remembering --embedded`.

The same forty facts are told among the same chatter, nobody waiting for an answer; then the program is closed and
opened, and each is asked for. Beside them stand questions about what nobody told: there the familiar must not make
something up. A quotation is right when it holds the answer, whatever else it holds.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.remembering.facts import Material
from benchmarks.remembering.script import PLACE, rehearsal_script
from benchmarks.table import Row

NEVER_TOLD = (
    "Ember, what is my blood type?",
    "Ember, what's my mother's maiden name?",
    "Ember, which school did I go to?",
    "Ember, what is my shoe size?",
    "Ember, how many siblings do I have?",
    "Ember, when did I get married?",
    "Ember, what's my middle name?",
    "Ember, which car do I drive?",
    "Ember, who is my dentist?",
    "Ember, where did I spend my last holiday?",
)
OWNS_UP = re.compile(r"can't find that in what you|\bnot sure\b|told me: “|noted this", re.IGNORECASE)
"""How a reply looks that claims nothing of its own."""
LEAST_RIGHT = 10
LIMIT_S = 3_600


def ask_embedded(material: Material) -> tuple[list[Row], list[tuple[str, str, bool]]]:
    """The rows, and each question with its answer and whether that is right."""
    script = rehearsal_script(material, address="", model="", is_writing=False)
    script["familiar"]["settings"] = ""
    for step in script["steps"][: -len(material.facts)]:
        step.pop("mention", None)
    asker = material.facts[0].asked_by
    script["steps"] += [{"after": "5m", "in": PLACE, "by": asker, "say": each, "mention": True} for each in NEVER_TOLD]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "script.json"
        file.write_text(json.dumps(script), "utf-8")
        command = [sys.executable, "-m", "familiar_connect", "rehearse", str(file), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the rehearsal ended with {done.returncode}: {done.stderr[-2000:]}")
    first = len(script["steps"]) - len(material.facts) - len(NEVER_TOLD)
    said = [
        " ".join(map(str, row.get("replies") or []))
        for row in map(json.loads, done.stdout.splitlines())
        if isinstance(row.get("step"), int) and row["step"] > first
    ]
    answers = [(fact.asked, text, fact.is_answered(text)) for fact, text in zip(material.facts, said, strict=False)]
    silent = said[len(material.facts) :]
    answers += [(asked, text, bool(OWNS_UP.search(text))) for asked, text in zip(NEVER_TOLD, silent, strict=True)]
    right = sum(is_right for _, _, is_right in answers[: len(material.facts)])
    made_up = sum(not is_right for _, _, is_right in answers[len(material.facts) :])
    return [
        Row(
            name="embedded: right answers",
            value=f"{right} of {len(material.facts)}",
            bar=f"≥ {LEAST_RIGHT}",
            ok=right >= LEAST_RIGHT,
        ),
        Row(name=f"made up, of {len(NEVER_TOLD)} never told", value=str(made_up), bar="0", ok=not made_up),
    ], answers
