"""Which turn made which reply: the history keeps words, the ledger keeps turns, and time joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime


def match_replies(
    said: Mapping[int, datetime], starts: Sequence[tuple[str, float]], versions: Mapping[int, int] | None = None
) -> dict[int, str]:
    """For each reply the turn that made it: the latest one of its channel that had begun by then, each used once.

    *said* tells when each reply, by its id, was recorded; *starts* the ids of turns and when each began, oldest first.
    A reply that no turn made, such as a greeting, has none. *versions* says which replies read a later version, and
    which: that was made by a turn that came after the first and before the next reply's.
    """
    firsts = _match_first_versions(said, starts)
    order = [trace_id for trace_id, _ in starts]
    places = {trace_id: at for at, trace_id in enumerate(order)}
    taken = {places[trace_id] for trace_id in firsts.values()}
    found = dict(firsts)
    for reply_id, version in (versions or {}).items():
        if reply_id in firsts:
            first = at = places[firsts[reply_id]]
            while at + 1 < len(order) and at + 1 not in taken and at - first < version:
                at += 1
            found[reply_id] = order[at]
    return found


def _match_first_versions(said: Mapping[int, datetime], starts: Sequence[tuple[str, float]]) -> dict[int, str]:
    found: dict[int, str] = {}
    following = 0
    for reply_id, when in sorted(said.items(), key=lambda pair: (pair[1], pair[0])):
        begun = following
        while begun < len(starts) and starts[begun][1] <= when.timestamp():
            begun += 1
        if begun > following:
            found[reply_id] = starts[begun - 1][0]
            following = begun
    return found
