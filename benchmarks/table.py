"""Rows of measurements and the table they make; the machine they were taken on."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MARKS = {True: "✓", False: "✗", None: ""}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement: what, how much, the bar it must meet, and whether it did (None: there is no bar)."""

    name: str
    value: str
    bar: str = ""
    ok: bool | None = None


def table(rows_by_part: Mapping[str, Sequence[Row]]) -> str:
    """All rows as one Markdown table, with a mark at every bar."""
    lines = ["| part | what | measured | bar | |", "|---|---|---|---|---|"]
    for part, rows in rows_by_part.items():
        for row in rows:
            cells = (part, row.name, row.value, row.bar, MARKS[row.ok])
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest measured value that at least *share* of all values do not exceed."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("there is nothing to take a percentile of")
    return ordered[min(len(ordered) - 1, max(0, -int(-len(ordered) * share // 1) - 1))]


def spread(values: Sequence[float], scale: float = 1.0) -> dict[str, float]:
    """How *values* lie: how many, middle, tail and worst."""
    return {
        "count": len(values),
        "p50": percentile(values, 0.50) * scale,
        "p95": percentile(values, 0.95) * scale,
        "p99": percentile(values, 0.99) * scale,
        "worst": max(values) * scale,
    }


def machine() -> dict[str, Any]:
    """What the numbers were taken on, and how busy it was meanwhile."""
    facts: dict[str, Any] = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    if processor := _processor():
        facts["processor"] = processor
    if hasattr(os, "getloadavg"):
        facts["load_1min"] = round(os.getloadavg()[0], 2)
    return facts


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def parse_arguments(arguments: Sequence[str], description: str | None) -> argparse.Namespace:
    """The two options every benchmark has, `quick` and `json`; `-h` tells about them and ends."""
    first, _, _ = (description or "").partition("\n")
    parser = argparse.ArgumentParser(description=first)
    parser.add_argument("--quick", action="store_true", help="a short form, for a look in passing")
    parser.add_argument("--json", action="store_true", help="everything measured, for a script")
    return parser.parse_args(arguments)


def run_part(
    arguments: Sequence[str],
    *,
    title: str,
    description: str | None,
    measure: Callable[..., dict[str, Any]],
    rows: Callable[[dict[str, Any]], list[Row]],
) -> int:
    """Measure one part by itself and print it; 1 where a bar is missed."""
    options = parse_arguments(arguments, description)
    found = measure(quick=options.quick)
    return print_part(title, found, rows(found), as_json=options.json)


def print_part(title: str, found: dict[str, Any], told: list[Row], *, as_json: bool) -> int:
    """Print what one part measured; 1 where a bar is missed."""
    if as_json:
        print(json.dumps({"machine": machine(), "rows": [asdict(row) for row in told], "found": found}, indent=2))
    else:
        print(", ".join(f"{key} {value}" for key, value in machine().items()))
        print()
        print(table({title: told}))
    return 1 if any(row.ok is False for row in told) else 0
