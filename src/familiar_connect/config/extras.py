"""how_to_install: the sentence for an extra that is not installed, with a command that works where the person is.

What each extra brings, in megabytes, so that hints say it before anybody waits for it.

Measured by `python -m benchmarks.extra_sizes` on Linux x86-64 with Python 3.11 in November 2026; elsewhere it differs
a little.
"""

from __future__ import annotations

from typing import NamedTuple

from familiar_connect.config.command import command_to_install, command_with_extra


class ExtraSize(NamedTuple):
    """Megabytes."""

    fetch: int
    disk: int


PROGRAM_SIZE = ExtraSize(fetch=210, disk=400)
"""The program with its packages and the small model."""
EXTRA_SIZES = {
    "discord": ExtraSize(fetch=7, disk=22),
    "twitch": ExtraSize(fetch=5, disk=17),
    "mcp": ExtraSize(fetch=9, disk=28),
    "telegram": ExtraSize(fetch=1, disk=5),
    "voice": ExtraSize(fetch=180, disk=390),
    "web": ExtraSize(fetch=2, disk=6),
    "fastembed": ExtraSize(fetch=18, disk=54),
    "all": ExtraSize(fetch=200, disk=450),
}
"""What an extra adds to the program; `all` is the first six together."""


def how_to_install(extra: str) -> str:
    """The sentence for an extra that is not installed."""
    size = f"about {EXTRA_SIZES[extra].fetch} MB to fetch"
    if (command := command_with_extra(extra)) is not None:
        return f"its library is not installed; start with `{command}` once ({size})"
    return f"its library is not installed; run `{command_to_install(extra)}` ({size})"
