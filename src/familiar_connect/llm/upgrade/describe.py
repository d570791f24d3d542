"""describe_upgrade: a better model in a sentence, the same wherever it is offered; how to accept it each door says."""

from __future__ import annotations

from familiar_connect.llm.upgrade.offers import Upgrade
from familiar_connect.support.text import describe_wait

SLOW_REPLY_S = 60.0
"""From here on a number would promise more than was measured."""
MEGABYTE = 1_000_000


def describe_upgrade(upgrade: Upgrade) -> str:
    """What it is, how large, and about how fast it would answer here."""
    if upgrade.server is not None:
        return f"{upgrade.server.kind} runs on this computer."
    entry = upgrade.entry
    if entry is None:
        return f"{upgrade.name} is already on this computer and talks better."
    size = f"{entry.bytes / MEGABYTE:,.0f} MB, licence {entry.licence}"
    if upgrade.had_bytes:
        return f"{upgrade.had_bytes * 100 // entry.bytes} % of {entry.title} is already here ({size})."
    pace = ""
    if upgrade.seconds is not None:
        is_slow = upgrade.seconds > SLOW_REPLY_S
        pace = f", {'slow' if is_slow else f'about {describe_wait(upgrade.seconds)} a reply'} on this computer"
    what = f"{entry.title} talks better than the small model"
    if entry.is_for_code:
        what = f"No chat model can be downloaded now. {entry.title} can: it was made for code, but it talks better"
    return f"{what} ({size}{pace})."


def describe_taken_over(upgrade: Upgrade) -> str:
    """Which model answers from now on."""
    where = "" if upgrade.server is None else f" at {upgrade.server.kind}"
    return f"{upgrade.title}{where} answers from now on."
