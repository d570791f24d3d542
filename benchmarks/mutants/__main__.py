"""Plant faults in the core and see whether its tests notice: `python -m benchmarks.mutants [--area NAME] [--seed S]`.

One small wrong change at a time (`<` for `<=`, `or` for `and`, a call left out, a number off by one …) is planted in a
copy of the module in memory, never on disk, and the tests of its area run until one fails. A change that no test
notices survives. At most one in ten may, and each of those has its reason in `benchmarks/mutants/explained.toml`.
Tests that start the program as a process of its own do not see the fault.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.mutants.areas import AREAS, Area
from benchmarks.mutants.explained import read_explained, stale_rows
from benchmarks.mutants.faults import Fault
from benchmarks.mutants.loop import Outcome
from benchmarks.mutants.trial import ROOT, draw, faults_of, try_area
from benchmarks.table import Row, print_part

MOST_SURVIVORS = 0.10


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    first, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=first)
    parser.add_argument("--area", action="append", choices=sorted(AREAS), help="one area (may be repeated); else all")
    parser.add_argument("--count", type=int, default=16, help="how many faults an area; 0 plants every one")
    parser.add_argument("--seed", type=int, default=1, help="which faults are drawn")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="I/N", help="the Ith of N parts of what is drawn")
    parser.add_argument("--module", action="append", help="of the area, this module only, e.g. history/rows")
    parser.add_argument("--function", help="of these, functions whose name contains this")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="other tests than those of the area")
    parser.add_argument("--json", action="store_true", help="everything found, for a script")
    return parser.parse_args(arguments)


def _part(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError("write it as 2/5: the second of five parts")
    return int(number), int(count)


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    if not hasattr(os, "fork"):
        print("benchmarks.mutants needs fork(), which this system does not have.", file=sys.stderr)
        return 2
    explained = read_explained()
    found: dict[str, Any] = {}
    rows = []
    for name in options.area or list(AREAS):
        area = AREAS[name]
        if options.module:
            area = Area(tuple(each for each in area.modules if each in options.module), area.tests)
        everything = [each for each in faults_of(area) if not options.function or options.function in each.function]
        drawn = draw(everything, count=options.count, seed=options.seed, part=options.part)
        tests = [each for each in options.tests or area.tests if (ROOT / each.partition("::")[0]).exists()]
        started = time.monotonic()
        outcomes = try_area(drawn, tests, lambda fault, outcome: _tell(fault, outcome, explained, options.json))
        found[name] = {
            "possible": len(everything),
            "seed": options.seed,
            "seconds": round(time.monotonic() - started, 1),
            "faults": [_as_dict(fault, outcome, explained) for fault, outcome in outcomes],
            "stale": [
                " / ".join(key) for key in stale_rows(explained, everything, {each.module for each in everything})
            ]
            if not options.function
            else [],
        }
        rows.append(_row(name, found[name]))
        for stale in found[name]["stale"]:
            print(f"explained.toml explains what is gone: {stale}", file=sys.stderr)
    return print_part("planted faults", found, rows, as_json=options.json)


def _tell(fault: Fault, outcome: Outcome, explained: dict[tuple[str, str, str, str], str], as_json: bool) -> None:
    if as_json:
        return
    state = outcome.state
    if state in ("survived", "unreached"):
        state = "EXPLAINED" if fault.key in explained else state.upper()
    print(f"{state:9} {outcome.seconds:6.2f} s  {fault}{f'  [{outcome.test}]' if outcome.test else ''}", flush=True)


def _as_dict(fault: Fault, outcome: Outcome, explained: dict[tuple[str, str, str, str], str]) -> dict[str, Any]:
    parts = ("module", "file", "line", "function", "kind", "original", "planted")
    survived = outcome.state in ("survived", "unreached")
    return {
        **{part: getattr(fault, part) for part in parts},
        **asdict(outcome),
        "survived": survived,
        "why": explained.get(fault.key) if survived else None,
    }


def _row(name: str, found: dict[str, Any]) -> Row:
    faults = found["faults"]
    survived = [each for each in faults if each["survived"]]
    unexplained = [each for each in survived if not each["why"]]
    share = len(survived) / len(faults) if faults else 0.0
    return Row(
        name=f"{name}: {len(faults)} of {found['possible']} faults, seed {found['seed']}",
        value=f"{len(survived)} survived ({share:.1%}), {len(unexplained)} without a reason; {found['seconds']} s",
        bar="≤ 10 %, each with its reason",
        ok=share <= MOST_SURVIVORS and not unexplained,
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
