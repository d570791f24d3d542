"""The numbers of the core, measured with the program's real parts and printed in one table.

Run `python -m benchmarks.core`; `--quick` for a short form, `--json` for a script, `--part NAME` for one
part. A missed bar is marked, not an error: the exit code
says whether measuring worked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import embedded, history_scale, pipeline, prefix, startup
from benchmarks.table import Row, machine, table
from familiar_connect.errors import ModelSetupError

QUICK_SIZES = (2_000, 20_000)
SIZES = (10_000, 1_000_000)


@dataclass(frozen=True, kw_only=True)
class Part:
    """One thing that is measured: how, and how it is told."""

    measure: Callable[[bool], dict[str, Any]]
    rows: Callable[[dict[str, Any]], list[Row]]


def _history(quick: bool) -> dict[str, Any]:
    if quick:
        return history_scale.measure(QUICK_SIZES, read_rounds=200, append_rounds=100)
    return history_scale.measure(SIZES)


def _history_rows(found: dict[str, Any]) -> list[Row]:
    short, long = found["sizes"]
    result = [
        Row(
            name=f"{name}: {long:,} against {short:,} turns",
            value=f"{row['ratio']:.2f} × ({row['median_us'][long]:.0f} µs against {row['median_us'][short]:.0f} µs)",
            bar=f"≤ {history_scale.MOST_GROWTH:g} ×",
            ok=row["ok"],
        )
        for name, row in found["reads"].items()
    ]
    result += [
        Row(
            name=f"durable append at {size:,} turns against a bare insert",
            value=f"{row['ratio']:.2f} × ({row['median_us']:.0f} µs against {row['bare_median_us']:.0f} µs)",
            bar=f"≤ {history_scale.MOST_APPEND_COST:g} ×",
            ok=row["ok"],
        )
        for size, row in found["append"].items()
    ]
    return result


PARTS: dict[str, Part] = {
    "pipeline": Part(measure=lambda quick: pipeline.measure(quick=quick), rows=pipeline.rows),
    "history": Part(measure=_history, rows=_history_rows),
    "startup": Part(measure=lambda quick: startup.measure(quick=quick), rows=startup.rows),
    "prefix": Part(measure=lambda quick: prefix.measure(quick=quick), rows=prefix.rows),
    "embedded": Part(measure=lambda quick: embedded.measure(quick=quick), rows=embedded.rows),
}


def run(names: Sequence[str], *, quick: bool = False) -> tuple[dict[str, Any], dict[str, list[Row]]]:
    """Measure the named parts: what was found, and the rows that tell it."""
    found: dict[str, Any] = {}
    rows: dict[str, list[Row]] = {}
    for name in names:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        try:
            found[name] = PARTS[name].measure(quick)
            rows[name] = PARTS[name].rows(found[name])
        except ModelSetupError as missing:
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a short form, for a look in passing")
    parser.add_argument("--json", action="store_true", help="everything measured, for a script")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this one; may be given again")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
