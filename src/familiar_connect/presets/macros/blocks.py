"""Which calls of a text open a block and which end it: `pair_blocks(calls, first, last, takes_block)`.

As in SillyTavern a call looks for its end among those behind it, openings of its name that may have a block counted,
from the outermost on; what stands in a block is paired by itself. A call that may have none, and an end that ends
nothing, are left as they were written. It takes time in proportion to the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from familiar_connect.presets.macros.parse import MacroCall


@dataclass(slots=True)
class Blocks:
    """The blocks of some calls, by the places of the calls."""

    ends: dict[int, int] = field(default_factory=dict)
    """Where each block that is closed ends, by the place of its opening."""
    raw: set[int] = field(default_factory=set)
    """Calls that stay as they were written."""


@dataclass(slots=True)
class _Name:
    """The calls of one name while they are gone through."""

    ends: dict[int, int] = field(default_factory=dict)
    """The end of each opening, were it to look for one."""
    orphans: list[int] = field(default_factory=list)
    """Ends that no opening has, the last first."""
    waiting: list[int] = field(default_factory=list)
    """Openings around the place that is looked at, whose end nobody else has taken."""


def pair_blocks(calls: Sequence[MacroCall], first: int, last: int, takes_block: Callable[[MacroCall], bool]) -> Blocks:
    """The blocks among the calls from *first* up to *last*, and what of them stays as it was written."""
    found = Blocks()
    if not any(calls[at].closing and not calls[at].scope for at in range(first, last)):
        return found
    names = _find_ends(calls, first, last, takes_block)
    inside = first
    matched: set[int] = set()
    for at in range(first, last):
        call = calls[at]
        name = names.get(call.key)
        if call.scope or name is None:
            continue
        if call.closing:
            while name.waiting and name.ends[name.waiting[-1]] <= at:
                name.waiting.pop()
            continue
        takes = takes_block(call)
        if at >= inside:
            end = name.ends.get(at) if takes else _take_end(name, at)
            if end is not None and end not in matched:
                matched.add(end)
                if takes:
                    found.ends[at], inside = end, end
                else:
                    found.raw |= {at, end}
        if takes and at in name.ends:
            name.waiting.append(at)
    outer = _within(found.ends)
    found.raw |= {
        at
        for at in range(first, last)
        if calls[at].closing and not calls[at].scope and at not in matched and not outer(at)
    }
    return found


def _take_end(name: _Name, at: int) -> int | None:
    """The end that an opening which may have no block finds: that of what stands around it, else one of nobody's."""
    if name.waiting:
        return name.ends[name.waiting.pop()]
    while name.orphans and name.orphans[-1] < at:
        name.orphans.pop()
    return name.orphans.pop() if name.orphans else None


def _find_ends(
    calls: Sequence[MacroCall], first: int, last: int, takes_block: Callable[[MacroCall], bool]
) -> dict[str, _Name]:
    """For each name that is ended somewhere, which end each opening has."""
    names = {calls[at].key: _Name() for at in range(first, last) if calls[at].closing and not calls[at].scope}
    open_: dict[str, list[int]] = {key: [] for key in names}
    for at in range(first, last):
        call = calls[at]
        if call.scope or call.key not in names:
            continue
        if not call.closing:
            if takes_block(call):
                open_[call.key].append(at)
        elif open_[call.key]:
            names[call.key].ends[open_[call.key].pop()] = at
        else:
            names[call.key].orphans.append(at)
    for name in names.values():
        name.orphans.reverse()
    return names


def _within(ends: dict[int, int]) -> Callable[[int], bool]:
    """Whether a place is within one of the blocks; asked in order."""
    spans = iter(sorted(ends.items()))
    now = next(spans, None)

    def is_within(at: int) -> bool:
        nonlocal now
        while now is not None and now[1] < at:
            now = next(spans, None)
        return now is not None and now[0] < at < now[1]

    return is_within
