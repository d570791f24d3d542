"""python -m benchmarks.addressing: the table of both parts."""

from __future__ import annotations

import sys

from benchmarks.addressing import PARTS, __doc__, measure_part
from benchmarks.table import parse_arguments, table

if __name__ == "__main__":
    parse_arguments(sys.argv[1:], __doc__)
    print(table({part.replace("_", " "): measure_part(part) for part in PARTS}))
