"""The numbers of the program, measured with its real parts and printed in one table.

Run `python -m benchmarks`; `--quick` for a short form, `--json` for a script, `--part NAME` for one part. A part whose
extra is not installed says so and costs none of the others. A missed bar is marked, not an error: the exit code
says whether measuring worked. What asks a model for hours, or starts the program a thousand times, is a command of its
own (`benchmarks.recall`, `benchmarks.reliability` and others).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any

from benchmarks.table import Row, machine, table
from familiar_connect.errors import ModelSetupError

PARTS = {
    "pipeline": "pipeline",
    "history": "history_scale",
    "startup": "startup",
    "prefix": "prefix",
    "turns": "turns",
    "side_calls": "side_calls",
    "index_cost": "index_cost",
    "index_memory": "index_memory",
    "found_at_once": "found_at_once",
    "voice": "voice",
    "web": "web",
    "embedded": "embedded",
}
"""Name → the module with `measure` and `rows`, which is loaded when its turn comes."""


def run(names: Sequence[str], *, quick: bool = False) -> tuple[dict[str, Any], dict[str, list[Row]]]:
    """Measure the named parts: what was found, and the rows that tell it."""
    found: dict[str, Any] = {}
    rows: dict[str, list[Row]] = {}
    for name in names:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            part = import_module(f"benchmarks.{PARTS[name]}")
            found[name] = part.measure(quick=quick)
            rows[name] = part.rows(found[name])
        except (ModelSetupError, ImportError) as missing:
            rows[name] = [Row(name="not measured", value=str(missing))]
    return found, rows


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    found, rows = run(options.part or list(PARTS), quick=options.quick)
    facts = machine()
    if options.json:
        told = {name: [asdict(row) for row in each] for name, each in rows.items()}
        print(json.dumps({"machine": facts, "quick": options.quick, "rows": told, "found": found}, indent=2))
        return 0
    print(", ".join(f"{key} {value}" for key, value in facts.items()) + (", quick form" if options.quick else ""))
    print()
    print(table(rows))
    bars = [row.ok for each in rows.values() for row in each if row.ok is not None]
    print()
    print(f"{sum(bars)} of {len(bars)} bars met")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a short form, for a look in passing")
    parser.add_argument("--json", action="store_true", help="everything measured, for a script")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this one; may be given again")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
