"""how_to_install: the sentence for an extra that is not installed, with a command that works where the person is."""

from __future__ import annotations

from familiar_connect.config.command import command_to_install, command_with_extra
from familiar_connect.config.extra_sizes import EXTRA_SIZES


def how_to_install(extra: str) -> str:
    """The sentence for an extra that is not installed."""
    size = f"about {EXTRA_SIZES[extra].fetch} MB to fetch"
    if (command := command_with_extra(extra)) is not None:
        return f"its library is not installed; start with `{command}` once ({size})"
    return f"its library is not installed; run `{command_to_install(extra)}` ({size})"
