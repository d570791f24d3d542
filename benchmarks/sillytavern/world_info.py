"""World Info vectors: the entries a message calls up, and where their texts go, held against SillyTavern's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.sillytavern.results import CaseResult
from familiar_connect.bootstrap.lorebook_files.books import sillytavern_entries
from familiar_connect.errors import FamiliarError
from familiar_connect.presets.macros.engine import expand
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.world_info.place_entries import pool_of
from familiar_connect.presets.world_info.read_entries import read_entry
from familiar_connect.presets.world_info.scan import ScanInputs, scan_books
from familiar_connect.presets.world_info.types import BookOrder, ScanSettings, TimedEffects, WorldBook, WorldInfo
from familiar_connect.support.text import utf16_length

KIND = "world_info"
ENDING = ".expected.json"
USER, CHAR = "Alex", "Test Character V2"
ORDERS = (BookOrder.evenly, BookOrder.character_first, BookOrder.global_first)
NAMES = {
    "world_info_depth": "depth",
    "world_info_budget": "budget_percent",
    "world_info_budget_cap": "budget_cap",
    "world_info_include_names": "include_names",
    "world_info_recursive": "recursive",
    "world_info_max_recursion_steps": "max_recursion_steps",
    "world_info_case_sensitive": "case_sensitive",
    "world_info_match_whole_words": "whole_words",
    "world_info_min_activations": "min_activations",
    "world_info_min_activations_depth_max": "min_activations_depth",
    "world_info_use_group_scoring": "group_scoring",
}
"""Each setting as SillyTavern names it, and as we do."""
CUT = 200
"""Letters after which a vector may cut a text."""
STEPS = ("steps", "turns", "runs", "sequence")


def check(folder: Path) -> list[CaseResult]:
    """Every activation vector in *folder*/expected/lorebooks."""
    results: list[CaseResult] = []
    for path in sorted((folder / "expected" / "lorebooks").glob(f"*{ENDING}")):
        name = path.name.removesuffix(ENDING)
        expected = json.loads(path.read_text(encoding="utf-8"))
        if not (expected.get("vectors") or expected.get("timed")):
            continue
        try:
            fields = sillytavern_entries(folder / "lorebooks" / name)
        except FamiliarError as error:
            results.append(CaseResult(KIND, name, False, f"not read: {error}"))
            continue
        chance = float(expected.get("math_random", 0.5))
        book = WorldBook(name=Path(name).stem, entries=tuple(read_entry(each, book=name) for each in fields))
        for number, vector in enumerate(expected.get("vectors") or (), start=1):
            results.append(_result(f"{name} vectors {number}", book, [vector], chance))
        for number, vector in enumerate(expected.get("timed") or (), start=1):
            results.append(_result(f"{name} timed {number}", book, _steps(vector), chance))
    return results


def _steps(vector: Any) -> list[Mapping[str, Any]]:
    """The scans of one chat, in order; what all share stands beside them."""
    if isinstance(vector, list):
        return vector
    steps = next((vector[key] for key in STEPS if isinstance(vector.get(key), list)), None)
    return [vector] if steps is None else [{**vector, **step} for step in steps]


def _result(name: str, book: WorldBook, steps: Iterable[Mapping[str, Any]], chance: float) -> CaseResult:
    timed = TimedEffects()
    try:
        for step in steps:
            found = scan_books(_inputs(step, book, chance, timed))
            timed = found.timed
            difference = _difference(step, found)
            if difference:
                return CaseResult(KIND, name, False, difference)
    except Exception as error:  # whatever is wrong with the vector, the rest still counts
        return CaseResult(KIND, name, False, f"{type(error).__name__}: {error}")
    return CaseResult(KIND, name, True)


def _inputs(step: Mapping[str, Any], book: WorldBook, chance: float, timed: TimedEffects) -> ScanInputs:
    settings = read_settings(step.get("settings") or {})
    context = MacroContext(char=str(step.get("char") or CHAR), user=USER, ours=False)
    length = step.get("chat_length", step.get("length"))
    return ScanInputs(
        pool=pool_of([book], settings.book_order),
        settings=settings,
        messages=newest_first(step),
        chat_length=int(length) if length is not None else None,
        prompt_tokens=int(step.get("max_context", 8000)),
        kind=step.get("type") or step.get("trigger") or "normal",
        character=context.char,
        read=lambda text: expand(text, context).text,
        roll=lambda: chance,
        count=count_length,
        timed=timed,
    )


def newest_first(step: Mapping[str, Any]) -> list[str]:
    """The messages of a scan, in either form that vectors have: all of them, or the newest alone."""
    found = step.get("scan_newest_first", step.get("newest"))
    return [found] if isinstance(found, str) else list(found or ())


def read_settings(given: Mapping[str, Any]) -> ScanSettings:
    """The settings of a vector in our names."""
    known = {NAMES[name]: value for name, value in given.items() if name in NAMES and value is not None}
    order = given.get("world_info_character_strategy")
    settings = ScanSettings(**known)
    return settings if order is None else replace(settings, book_order=ORDERS[int(order)])


def count_length(length: int) -> int:
    """Tokens of a text as the vectors count them: a system message."""
    return 3 + 2 + -(-length // 4) if length else 0


def _difference(step: Mapping[str, Any], found: WorldInfo) -> str:
    uids = [each.entry.uid for each in found.activated]
    if "activated_uids" in step and uids != step["activated_uids"]:
        return f"activated {uids}, SillyTavern {step['activated_uids']}"
    told = {
        "before": found.before,
        "after": found.after,
        "an_before": list(found.note_top),
        "an_after": list(found.note_bottom),
        "outlets": dict(found.outlets),
        "em": [
            *({"position": 0, "content": text} for text in found.examples_top),
            *({"position": 1, "content": text} for text in found.examples_bottom),
        ],
        "depth": [{"depth": block.depth, "role": block.role, "entries": list(block.texts)} for block in found.depth],
    }
    for place, ours in told.items():
        if place in step and not same(step[place], ours):
            return f"{place}: we have {str(ours)[:120]!r}, SillyTavern has {str(step[place])[:120]!r}"
    return ""


def same(wanted: Any, ours: Any) -> bool:
    """Whether *ours* is what a vector says, which gives long texts by length and beginning."""
    if isinstance(wanted, dict) and set(wanted) == {"length", "head"}:
        return isinstance(ours, str) and utf16_length(ours) == wanted["length"] and ours.startswith(wanted["head"])
    if isinstance(wanted, list) and isinstance(ours, list):
        return (
            _same_blocks(wanted, ours)
            if wanted and isinstance(wanted[0], dict)
            else (len(wanted) == len(ours) and all(same(one, other) for one, other in zip(wanted, ours, strict=True)))
        )
    if isinstance(wanted, dict) and isinstance(ours, dict):
        return wanted.keys() == ours.keys() and all(same(value, ours[key]) for key, value in wanted.items())
    if isinstance(wanted, str) and isinstance(ours, list):
        return wanted == "\n".join(ours)
    if isinstance(wanted, str) and isinstance(ours, str) and len(wanted) == CUT:
        return ours.startswith(wanted)
    return bool(wanted == ours) or (isinstance(wanted, list) and "\n".join(map(str, wanted)) == ours)


def _same_blocks(wanted: list[Any], ours: list[Any]) -> bool:
    """Whether the blocks are the same in any order; one that a vector cuts is compared by its beginning."""
    ones, others = (sorted(map(_plain, blocks)) for blocks in (wanted, ours))
    return len(ones) == len(others) and all(
        one[:3] == other[:3] and same(one[3], other[3]) for one, other in zip(ones, others, strict=True)
    )


def _plain(block: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """A block of texts in one spelling: roles by name, what is joined as one text."""
    role = block.get("role")
    named = ("system", "user", "assistant")[role] if isinstance(role, int) else role
    texts = block.get("entries", block.get("content", ""))
    text = "\n".join(map(str, texts)) if isinstance(texts, list) else str(texts)
    return str(block.get("depth")), str(named), str(block.get("position", "")), text
