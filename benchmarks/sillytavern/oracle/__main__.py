"""How often we make the prompt that SillyTavern makes, on generated cases.

    python -m benchmarks.sillytavern.oracle [--cases 2000] [--seed WORD] [--first N] [--keep FILE] [--json]

Fetches SillyTavern from npm once, serves it, and drives its own page; where node, npm or Chromium is missing it says
so and stops. `--keep FILE` writes down what SillyTavern did, and uses what is written there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.sillytavern.oracle.compare import APART, EQUAL, Verdict, judge_case
from benchmarks.sillytavern.oracle.generate import make_case
from benchmarks.sillytavern.oracle.real import OracleMissing, RealSillyTavern, open_sillytavern

SEED = "harbor"
CASES = 2000
SHOWN = 25


def record(seed: str, numbers: Sequence[int], keep: Path | None) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """What SillyTavern did in each case, from *keep* where it stands there."""
    known = read_kept(keep, seed)
    with ExitStack() as stack:
        real: RealSillyTavern | None = None
        for number in numbers:
            if number not in known:
                real = real or stack.enter_context(open_sillytavern())
                steps = real.run(make_case(seed, number))
                append_kept(keep, seed, number, steps)
                known[number] = steps
            yield number, known[number]


def read_kept(keep: Path | None, seed: str) -> dict[int, list[dict[str, Any]]]:
    if keep is None or not keep.exists():
        return {}
    with keep.open(encoding="utf-8") as lines:
        kept = [json.loads(line) for line in lines]
    return {each["number"]: each["steps"] for each in kept if each["seed"] == seed}


def append_kept(keep: Path | None, seed: str, number: int, steps: list[dict[str, Any]]) -> None:
    if keep is not None:
        with keep.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"seed": seed, "number": number, "steps": steps}) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    assert __doc__ is not None
    first = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sillytavern.oracle", description=first)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--keep", type=Path, help="a file for what SillyTavern did")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    verdicts: list[Verdict] = []
    try:
        for number, steps in record(options.seed, range(options.first, options.first + options.cases), options.keep):
            verdicts.append(judge_case(make_case(options.seed, number), steps))
    except OracleMissing as missing:
        print(missing)
        return 0
    print(json.dumps([vars(each) for each in verdicts]) if options.json else tell(verdicts, options.seed))
    return 0


def tell(verdicts: Sequence[Verdict], seed: str) -> str:
    """The table: equal, different, and what is counted apart."""
    counts = Counter(each.kind for each in verdicts)
    apart = sum(counts[kind] for kind in APART)
    judged = len(verdicts) - apart
    share = 100 * counts[EQUAL] / judged if judged else 0.0
    lines = [f"seed {seed!r}: {counts[EQUAL]} of {judged} cases equal ({share:.2f} %), {apart} counted apart"]
    lines += [f"  apart: {APART[kind]}: {counts[kind]}" for kind in APART if counts[kind]]
    different = [each for each in verdicts if each.kind not in (EQUAL, *APART)]
    lines += [f"  {each.kind} {each.number}: {each.told}" for each in different[:SHOWN]]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
