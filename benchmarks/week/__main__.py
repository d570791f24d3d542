"""python -m benchmarks.week: the table of one week."""

from __future__ import annotations

import sys

from benchmarks.table import parse_arguments, print_part
from benchmarks.week import __doc__, measure, rows

if __name__ == "__main__":
    options = parse_arguments(sys.argv[1:], __doc__)
    found = measure()
    sys.exit(print_part("a week among five people", found, rows(found), as_json=options.json))
