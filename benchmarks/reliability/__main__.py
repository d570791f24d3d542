"""How a familiar on Discord bears up: `python -m benchmarks.reliability [--quick] [--json] [PART …]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.reliability import addressed, cuts, kills, load
from benchmarks.table import Row, machine, table


@dataclass(frozen=True, kw_only=True)
class Part:
    """One trial: how it is made, long or short, and how it is told."""

    measure: Callable[[bool], Coroutine[Any, Any, dict[str, Any]]]
    rows: Callable[[dict[str, Any]], list[Row]]


def _load(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return load.measure(seconds=10.0, per_second=50.0) if quick else load.measure()


def _cuts(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return cuts.measure(seconds=10.0) if quick else cuts.measure()


def _addressed(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return addressed.measure(asked=100, per_second=10.0) if quick else addressed.measure()


def _kills(quick: bool) -> Coroutine[Any, Any, dict[str, Any]]:
    return kills.measure(rounds=8) if quick else kills.measure()


PARTS: dict[str, Part] = {
    "load": Part(measure=_load, rows=load.rows),
    "addressed": Part(measure=_addressed, rows=addressed.rows),
    "cuts": Part(measure=_cuts, rows=cuts.rows),
    "kills": Part(measure=_kills, rows=kills.rows),
}


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        print(f"there is no {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    found: dict[str, Any] = {}
    rows: dict[str, list[Row]] = {}
    for name in options.parts or PARTS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        found[name] = asyncio.run(PARTS[name].measure(options.quick))
        rows[name] = PARTS[name].rows(found[name])
    bars = [row.ok for each in rows.values() for row in each if row.ok is not None]
    facts = machine()
    if options.json:
        told = {name: [asdict(row) for row in each] for name, each in rows.items()}
        print(json.dumps({"machine": facts, "quick": options.quick, "rows": told, "found": found}, indent=2))
    else:
        print(", ".join(f"{key} {value}" for key, value in facts.items()) + (", quick form" if options.quick else ""))
        print(f"\n{table(rows)}\n\n{sum(bars)} of {len(bars)} bars met")
    return 0 if all(bars) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="a short form, for a look in passing")
    parser.add_argument("--json", action="store_true", help="everything measured, for a script")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
