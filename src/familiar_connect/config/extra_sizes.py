"""What each extra brings, in megabytes, so that hints say it before anybody waits for it.

Measured by `python -m benchmarks.extra_sizes` on Linux x86-64 with Python 3.11 in November 2026; elsewhere it differs
a little.
"""

from __future__ import annotations

from typing import NamedTuple


class ExtraSize(NamedTuple):
    """Megabytes."""

    fetch: int
    disk: int


PROGRAM_SIZE = ExtraSize(fetch=210, disk=400)
"""The program with its packages and the small model."""
EXTRA_SIZES = {
    "discord": ExtraSize(fetch=7, disk=22),
    "twitch": ExtraSize(fetch=5, disk=17),
    "voice": ExtraSize(fetch=180, disk=390),
    "web": ExtraSize(fetch=1, disk=1),
    "fastembed": ExtraSize(fetch=18, disk=54),
    "all": ExtraSize(fetch=190, disk=420),
}
"""What an extra adds to the program; `all` is the first four together."""
