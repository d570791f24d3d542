"""The endpoint under trial: `python -m benchmarks.endpoint [PART] [--quick] [--json]`.

`histories`: 1,000 random programs that edit, regenerate, take back, move and leave out lines; nothing may stand twice
or be lost. `rooms`: keys of every kind and linked people; no word may be told where it may not. `share`: what a message
costs the program itself, beside the terminal. `sillytavern`: the guide's steps clicked in SillyTavern itself, fetched
from npm; skipped with a sentence where node or Chromium is missing. Without a word all four: about half an hour, a few
minutes with `--quick`. Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.endpoint import histories, in_sillytavern, rooms, share
from benchmarks.fixtures import without_warnings
from benchmarks.table import Row, print_part

PARTS = ("histories", "rooms", "share", "sillytavern")


def measure(part: str, *, quick: bool) -> tuple[dict[str, Any], list[Row]]:
    """What one part found, and its rows."""
    if part == "histories":
        found = histories.measure(histories=histories.QUICK_HISTORIES if quick else histories.HISTORIES)
        return found, histories.rows(found)
    if part == "rooms":
        found = rooms.measure(rooms=rooms.QUICK_ROOMS if quick else rooms.ROOMS)
        return found, rooms.rows(found)
    if part == "sillytavern":
        found = in_sillytavern.measure()
        return found, in_sillytavern.rows(found)
    found = share.measure(blocks=share.QUICK_BLOCKS if quick else share.BLOCKS)
    return found, share.rows(found)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=PARTS, help="only this one")
    parser.add_argument("--quick", action="store_true", help="a short form")
    parser.add_argument("--json", action="store_true", help="for a script")
    options = parser.parse_args(arguments)
    worst = 0
    for part in (options.part,) if options.part else PARTS:
        with without_warnings("familiar_connect"):
            found, told = measure(part, quick=options.quick)
        worst = max(worst, print_part(f"endpoint, {part}", found, told, as_json=options.json))
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
