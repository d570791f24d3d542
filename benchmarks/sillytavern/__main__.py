"""How far we agree with SillyTavern on a folder of vectors.

    python -m benchmarks.sillytavern FOLDER [--json] [--only KIND ...]

FOLDER holds cards/, lorebooks/, presets/ and expected/. Printed are passed and total of each kind, what rests on
things that are not ours counted apart, and the first difference of each failure. Exits with 1 if any failed.
Prompts are made twice: by the library, and through the program as a process (`prompts_through_program`).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.sillytavern.results import CaseResult

KINDS = {
    "cards": "expected/cards",
    "lorebooks": "expected/lorebooks",
    "macros": "expected/macros.json",
    "prompts": "expected/prompts",
    "world_info": "expected/lorebooks",
    "prompts_through_program": "expected/prompts",
}
"""Each kind of vector, and where in the folder it lies."""
MODULES = {"prompts_through_program": "through_program"}
"""Kinds that a module of another name checks."""
SHOWN = 400


def check(folder: Path, kinds: Sequence[str] = tuple(KINDS)) -> list[CaseResult]:
    """Every vector of *folder* that is of one of *kinds*."""
    return [result for kind in kinds for result in check_kind(folder, kind)]


def check_kind(folder: Path, kind: str) -> list[CaseResult]:
    """The vectors of one *kind*; none where the folder has none."""
    if not (folder / KINDS[kind]).exists():
        return []
    try:
        module = importlib.import_module(f"benchmarks.sillytavern.{MODULES.get(kind, kind)}")
        checked: Callable[[Path], list[CaseResult]] = module.check
        return checked(folder)
    except Exception as error:  # a broken folder is a result, not an accident
        return [CaseResult(kind, KINDS[kind], False, f"could not be checked: {type(error).__name__}: {error}")]


def tally(results: Sequence[CaseResult]) -> dict[str, dict[str, int]]:
    """Passed, total and out of scope, by kind."""
    tally = {}
    for kind in KINDS:
        ours = [result for result in results if result.kind == kind and not result.out_of_scope]
        apart = sum(result.kind == kind and result.out_of_scope for result in results)
        if ours or apart:
            tally[kind] = {"passed": sum(result.passed for result in ours), "total": len(ours), "out_of_scope": apart}
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sillytavern", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds cards/, lorebooks/, presets/ and expected/")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--only", nargs="+", choices=tuple(KINDS), default=tuple(KINDS), help="check these kinds alone")
    options = parser.parse_args(arguments)
    if not any((options.folder / place).exists() for place in KINDS.values()):
        print(f"{options.folder} holds no vectors: expected/ with cards, lorebooks, macros.json or prompts is missing.")
        return 1
    results = check(options.folder, options.only)
    failed = [result for result in results if not result.passed and not result.out_of_scope]
    if options.json:
        print(json.dumps({"tally": tally(results), "failed": [asdict(result) for result in failed]}, indent=2))
    else:
        for kind, counts in tally(results).items():
            apart = f", {counts['out_of_scope']} out of scope" if counts["out_of_scope"] else ""
            print(f"{kind}: {counts['passed']}/{counts['total']}{apart}")
        for result in failed:
            print(f"  {result.kind} {result.name}: {result.difference[:SHOWN]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
