"""The macro engine's speed: text without macros, text with braces but no macros, and the pages presets are made of.

    python -m benchmarks.macros

The peer is one pass of a single pattern over the same text, replacing names by a table: the least any engine with
macros could do. Both run by turns, so that a busy machine slows both alike; the best of several rounds counts.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.table import Row, parse_arguments, table
from familiar_connect.presets.macros.engine import expand
from familiar_connect.presets.macros.types import MacroContext, Variables

MACRO_FREE_MB_S = 5.0
ROUNDS, QUICK_ROUNDS = 7, 3

PLAIN = "The kettle sings, the rain keeps time, and nobody in the old house minds the hour. " * 2500
BRACED = "Answer as {name: text}, keep <b>bold</b> where it stands, and close every {brace} you open. " * 2500
PAGE = """{{// How to write. }}{{setvar::tone::dry}}{{addvar::tone::, brief}}
# Rules for {{char}}
You are {{char}}, and {{user}} is the one you talk to. Never speak for {{user}}.
{{if scenario}}The scene: {{scenario}}{{else}}There is no scene; make none up.{{/if}}
Write in the present tense, from the point of view of {{char}}. Your tone is {{getvar::tone}}.
Keep what happened before in mind, let small things matter, and end where {{user}} has something to answer.
Today is {{weekday}}, {{date}}. {{random::Begin with a gesture.::Begin with a word.::Begin with the weather.}}
{{trim}}
"""
PRESET = PAGE * 100

_NAMES = {"char": "Fern", "user": "Ada", "scenario": "A rainy day."}
_PEER = re.compile(r"\{\{\s*(\w+)(?:::[^{}]*)?\s*\}\}")


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Megabytes a second, by text, of the engine and of its peer."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    return {name: _both(text, rounds) for name, text in (("plain", PLAIN), ("braced", BRACED), ("preset", PRESET))}


def _both(text: str, rounds: int) -> dict[str, float]:
    ours, peer = [], []
    for _ in range(rounds):
        ours.append(_seconds(lambda: expand(text, _context())))
        peer.append(_seconds(lambda: _PEER.sub(lambda found: _NAMES.get(found[1], found[0]), text)))
    megabytes = len(text.encode()) / 1_000_000
    return {"ours": megabytes / min(ours), "peer": megabytes / min(peer), "ratio": min(peer) / min(ours)}


def _context() -> MacroContext:
    return MacroContext(char="Fern", user="Ada", scenario="A rainy day.", variables=Variables())


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def rows(found: dict[str, Any]) -> list[Row]:
    said = {"plain": "text without macros", "braced": "text with braces, no macros", "preset": "pages of a preset"}
    return [
        Row(
            name=f"macros: {said[name]}",
            value=f"{speed['ours']:.1f} MB/s (one pattern: {speed['peer']:.1f}; ratio {speed['ratio']:.2f})",
            bar="" if name == "preset" else f">= {MACRO_FREE_MB_S:.0f} MB/s",
            ok=None if name == "preset" else speed["ours"] >= MACRO_FREE_MB_S,
        )
        for name, speed in found.items()
    ]


if __name__ == "__main__":
    measured = rows(measure(quick=parse_arguments(sys.argv[1:], __doc__).quick))
    print(table({"macros": measured}))
    sys.exit(any(row.ok is False for row in measured))
