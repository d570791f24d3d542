"""python -m benchmarks.addressing: the table of both parts, and with `--model` what a model's votes make of them."""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks.addressing import PARTS, __doc__, measure_part
from benchmarks.table import table


def main() -> int:
    first, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.addressing", description=first)
    parser.add_argument("--model", help="put what is not sure to this model: a GGUF file, or an endpoint's address")
    parser.add_argument("--count", type=int, default=1_000, help="how many votes at most, spread over the lines")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2, help="threads of a model in a file")
    options = parser.parse_args()
    if options.model is None:
        print(table({part.replace("_", " "): measure_part(part) for part in PARTS}))
        return 0
    from benchmarks.addressing.vote import measure_votes

    rows = measure_votes(options.model, part="held_back", count=options.count, threads=options.threads)
    print(table({"held back": rows}))
    return 1 if any(row.ok is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
