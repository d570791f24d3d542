"""Two changes of one form brought together, field by field: what each of two people did to it counts.

A form says what its fields held when it was opened. Where the file holds something else by now, a field that only one
side changed is taken from that side; one that both changed differently is told, and nothing of either is lost.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from familiar_connect.memory.maintenance.owner_edits import merge_lines

MAX_STATE_CHARS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class MergedFields:
    """What a form comes to."""

    fields: dict[str, str]
    """Those in *conflicts* as the form has them."""
    conflicts: tuple[str, ...] = ()
    is_merged: bool = False
    """Whether the file had changed meanwhile."""


def merge_fields(
    was: Mapping[str, str], mine: Mapping[str, str], theirs: Mapping[str, str], *, texts: Collection[str] = ()
) -> MergedFields:
    """*mine*, which began as *was*, with what became of it meanwhile; *texts* are brought together line by line."""
    found, conflicts, is_merged = dict(theirs), [], False
    for name, now in theirs.items():
        begun, wanted = was.get(name, now), mine.get(name, now)
        is_merged = is_merged or begun != now
        if wanted == begun:
            continue
        joined = merge_lines(begun, wanted, now) if name in texts else None
        if now in (begun, wanted):
            found[name] = wanted
        elif joined is not None:
            found[name] = joined
        else:
            found[name] = wanted
            conflicts.append(name)
    return MergedFields(fields=found, conflicts=tuple(conflicts), is_merged=is_merged)


def form_state(fields: Mapping[str, str]) -> str:
    """What a form says of the fields it began with."""
    return json.dumps(fields, ensure_ascii=False)


def read_form_state(text: str) -> dict[str, str] | None:
    """The fields that a form began with; None where it says nothing that can be read."""
    try:
        found = json.loads(text) if len(text) <= MAX_STATE_CHARS else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        return None
    return found
