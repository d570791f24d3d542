"""Lorebook vectors: the entries we read beside those SillyTavern has after importing the same file.

What a message activates is the business of `world_info`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.sillytavern.results import CaseResult
from familiar_connect.bootstrap.lorebook_files.books import sillytavern_entries
from familiar_connect.errors import FamiliarError

KIND = "lorebooks"
ENDING = ".expected.json"
_MISSING = object()


def check(folder: Path) -> list[CaseResult]:
    """Every vector in *folder*/expected/lorebooks, in order of name."""
    results: list[CaseResult] = []
    for path in sorted((folder / "expected" / KIND).glob(f"*{ENDING}")):
        name = path.name.removesuffix(ENDING)
        expected = json.loads(path.read_text(encoding="utf-8"))
        results.append(_entries(folder / KIND / name, name, expected))
    return results


def _entries(source: Path, name: str, expected: dict[str, Any]) -> CaseResult:
    if not source.is_file():
        return CaseResult(KIND, name, passed=False, difference=f"there is no {KIND}/{name} to read")
    wanted = expected.get("entries")
    try:
        found = sillytavern_entries(source)
    except FamiliarError as error:
        refused = "entries" not in expected
        return CaseResult(KIND, name, passed=refused, difference="" if refused else f"not read: {error}")
    entries = list(wanted.values()) if isinstance(wanted, dict) else wanted
    difference = first_difference(entries, found, "entries")
    return CaseResult(KIND, name, passed=not difference, difference=difference)


def first_difference(wanted: Any, found: Any, where: str) -> str:
    """Where *found* first is not *wanted*, as one sentence; nothing where they are the same."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in [*wanted, *(key for key in found if key not in wanted)]:
            told = first_difference(wanted.get(key, _MISSING), found.get(key, _MISSING), f"{where}.{key}")
            if told:
                return told
        return ""
    if isinstance(wanted, list) and isinstance(found, list):
        for index, (one, other) in enumerate(zip(wanted, found, strict=False)):
            if told := first_difference(one, other, f"{where}[{index}]"):
                return told
        return "" if len(wanted) == len(found) else f"{where}: {len(wanted)} wanted, {len(found)} found"
    same = wanted == found and isinstance(wanted, bool) == isinstance(found, bool)
    return "" if same else f"{where}: {_shown(wanted)} wanted, {_shown(found)} found"


def _shown(value: Any) -> str:
    text = "nothing" if value is _MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}…"
