"""The benchmarks in one table: `python -m benchmarks [--quick] [--json]`."""

from __future__ import annotations

import sys

from benchmarks.core import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
