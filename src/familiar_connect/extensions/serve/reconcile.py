"""reconcile: what a program shows of a chat against what is kept of it here, and what follows from the difference.

Such a program sends its whole chat with each request, or as much of it as it has room for. What is missing at the top
was left out for room and stays; what reads otherwise was edited; what is gone at the end was taken back; the same
question without its answer wants another answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from familiar_connect.api.answering import KeptLine

MOST_KEPT = 200
"""So many of our lines are looked at."""
MOST_COMPARED = 150
"""Of a chat that is longer, so many of the program's newest lines are."""
LONG_CHARS = 24
"""A line of so many characters is hardly said twice: where it stands elsewhere, it was moved."""
ALIKE = 0.6
"""How like another a first line is that was edited."""


@dataclass(frozen=True)
class ShownLine:
    """One line as the program shows it."""

    is_own: bool
    text: str

    @property
    def key(self) -> tuple[bool, str]:
        """What two lines have in common that are the same."""
        return _key(self.is_own, self.text)


@dataclass(frozen=True, kw_only=True)
class Reconciliation:
    """What is to be done, in this order."""

    edits: tuple[tuple[int, str], ...] = ()
    removed: tuple[int, ...] = ()
    added: tuple[ShownLine, ...] = ()
    """Said where nobody heard it; behind what is left."""
    then: Literal["say", "again", "go_on"] = "say"
    """The last line is new; it is answered once more; the last reply goes on."""
    start: int | None = None
    """Our line that the program's first one is; None: there is none yet."""


def reconcile(
    ours: Sequence[KeptLine],
    shown: Sequence[ShownLine],
    *,
    start: int | None = None,
    keeps_lines: bool = False,
    keeps_elsewhere: bool = False,
) -> Reconciliation:
    """What makes *ours* read as *shown*, whose last line is what is asked.

    *start* is our line that the program's first one was last time. *keeps_lines*: it is known to send more than the
    newest line; *keeps_elsewhere*: in other chats it is.
    """
    last = shown[-1]
    body = list(shown if last.is_own else shown[:-1])
    if len(ours) >= MOST_KEPT:
        body = body[-MOST_COMPARED:]
    if not body:
        return _reconcile_single(ours, last, start, keeps_lines=keeps_lines, keeps_elsewhere=keeps_elsewhere)
    at = _find_exact(ours, body, start)
    todo = _merge(ours, body, shown, start) if at is None else _end(ours, at + len(body), shown, start=ours[at].id)
    return replace(todo, removed=(*todo.removed, *_find_moved(ours, shown, start, todo)))


def _find_moved(
    ours: Sequence[KeptLine], shown: Sequence[ShownLine], start: int | None, todo: Reconciliation
) -> list[int]:
    """Lines that would count as left out at the top from now on, but are shown elsewhere."""
    ids = [line.id for line in ours]
    if start not in ids:
        return []
    end = ids.index(todo.start) if todo.start in ids else len(ids)
    keys = {line.key for line in shown if len(line.text) >= LONG_CHARS}
    newly = ours[ids.index(start) : end]
    return [line.id for line in newly if _line_key(line) in keys and line.id not in todo.removed]


def _reconcile_single(
    ours: Sequence[KeptLine], last: ShownLine, start: int | None, *, keeps_lines: bool, keeps_elsewhere: bool
) -> Reconciliation:
    """One line without any before it: the first of a chat, or all that a program without a memory ever sends.

    Of a program that was never seen to send more, a second line is a second line, however like the first it is.
    """
    spoken = [at for at, line in enumerate(ours) if not line.is_own]
    if not spoken:
        return Reconciliation()
    newest = spoken[-1]
    is_again = _line_key(ours[newest]) == last.key and (len(spoken) == 1 or len(last.text) >= LONG_CHARS)
    is_edited = (
        keeps_elsewhere and len(spoken) == 1 and SequenceMatcher(None, ours[newest].text, last.text).ratio() >= ALIKE
    )
    first = next((at for at, line in enumerate(ours) if line.id == start), None)
    if keeps_lines and first is not None:  # everything from its first line on was taken back
        return _end(ours, first, [last], start=start)
    if is_again or is_edited:
        return _end(ours, newest, [last], start=ours[newest].id if is_again else None)
    return Reconciliation()


def choose_start(todo: Reconciliation, before: int | None, first_new: int | None) -> int | None:
    """Our line that the program's first one is now; *first_new* is the first that was stored for this request."""
    if todo.start is not None and todo.start not in todo.removed:
        return todo.start
    return first_new if first_new is not None else before


def _find_exact(ours: Sequence[KeptLine], body: Sequence[ShownLine], start: int | None) -> int | None:
    """Where all of *body* stands in *ours*: where it began last time, else as late as possible."""
    mine, theirs = [_line_key(line) for line in ours], [line.key for line in body]
    found = [at for at in range(len(mine) - len(theirs) + 1) if mine[at : at + len(theirs)] == theirs]
    before = next((at for at, line in enumerate(ours) if line.id == start), None)
    return before if before in found else found[-1] if found else None


def _end(
    ours: Sequence[KeptLine],
    at: int,
    shown: Sequence[ShownLine],
    *,
    start: int | None,
    edits: tuple[tuple[int, str], ...] = (),
    removed: tuple[int, ...] = (),
) -> Reconciliation:
    """What to do once everything before the last line is settled, and *ours* from *at* on is behind it."""
    last, rest = shown[-1], ours[at:]
    if last.is_own:
        gone = tuple(line.id for line in rest)
        return Reconciliation(edits=edits, removed=(*removed, *gone), then="go_on", start=start)
    if rest and _line_key(rest[0]) == last.key:
        keeps_reply = len(rest) > 1 and rest[1].is_own  # it becomes an earlier version of the new one
        gone = tuple(line.id for line in rest[1 + keeps_reply :])
        return Reconciliation(edits=edits, removed=(*removed, *gone), then="again", start=start)
    gone = tuple(line.id for line in rest)
    return Reconciliation(edits=edits, removed=(*removed, *gone), start=start)


def _merge(
    ours: Sequence[KeptLine], body: Sequence[ShownLine], shown: Sequence[ShownLine], start: int | None
) -> Reconciliation:
    """Some line was edited, taken out, put in or moved."""
    first = next((at for at, line in enumerate(ours) if line.id == start), 0)
    mine = ours[first:]
    steps = SequenceMatcher(None, [_line_key(line) for line in mine], [line.key for line in body], False)
    edits: list[tuple[int, str]] = []
    removed: list[int] = []
    begins: int | None = None
    for step, low, high, begin, end in steps.get_opcodes():
        own, theirs = mine[low:high], body[begin:end]
        if step == "equal":
            begins = own[0].id if begins is None else begins
        elif step == "delete" and begin == 0:
            continue  # left out for room
        elif step == "delete" and begin == len(body):
            return _end(mine, low, shown, start=begins, edits=tuple(edits), removed=tuple(removed))
        elif step == "delete":
            removed += [line.id for line in own]
        elif step == "replace" and (paired := _pair(own, theirs, is_top=begin == 0)):
            edits += [(line.id, other.text) for line, other in paired]
            begins = paired[0][0].id if begins is None else begins
        else:
            gone = tuple(line.id for line in mine[low:])
            added = tuple(body[begin:])
            then: Literal["say", "go_on"] = "go_on" if shown[-1].is_own else "say"
            return Reconciliation(edits=tuple(edits), removed=(*removed, *gone), added=added, then=then, start=begins)
    return _end(mine, len(mine), shown, start=begins, edits=tuple(edits), removed=tuple(removed))


def _pair(
    ours: Sequence[KeptLine], theirs: Sequence[ShownLine], *, is_top: bool
) -> list[tuple[KeptLine, ShownLine]] | None:
    """The lines that were edited, each with what it reads now; None: something else happened."""
    if len(ours) < len(theirs) or (len(ours) > len(theirs) and not is_top):
        return None
    paired = list(zip(ours[len(ours) - len(theirs) :], theirs, strict=True))
    return paired if all(line.is_own == other.is_own for line, other in paired) else None


def _line_key(line: KeptLine) -> tuple[bool, str]:
    return _key(line.is_own, line.text)


def _key(is_own: bool, text: str) -> tuple[bool, str]:
    """Programs trim lines and change their breaks; words stay."""
    return is_own, " ".join(text.split())
