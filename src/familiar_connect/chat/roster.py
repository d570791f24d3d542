"""Roster: who is meant by a name, among the people somebody knows of.

Names collide, so a name is never guessed at: where several people go by it all of them come back, unless it is what
just one of them is shown as. Each room makes a roster of the people it may speak of; how names are compared, and what
counts as ambiguous, is decided here alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from familiar_connect.support.names import fold_name
from familiar_connect.support.system_notes import speaker_name

P = TypeVar("P")

NO_USERNAME = "a user"
"""Stands behind a shared name where no user name can."""


def distinct_label(name: str, username: str | None) -> str:
    """*name*, which somebody else has too, with the user name behind it that nobody shares."""
    own = speaker_name(username, "") if username else ""
    return f"{name} ({own if own and own != name else NO_USERNAME})"


@dataclass(frozen=True)
class RosterEntry(Generic[P]):
    """Somebody, what they are shown as, and everything else they go by."""

    person: P
    label: str
    names: tuple[str, ...] = ()


class Roster(Generic[P]):
    """People by name. *own_names* are the familiar's, whom no entry stands for."""

    def __init__(self, entries: Iterable[RosterEntry[P]], *, own_names: Iterable[str] = ()) -> None:
        self._entries = tuple(entries)
        self._own = frozenset(folded for name in own_names if (folded := fold_name(name)))
        self._by_name: dict[str, list[RosterEntry[P]]] = {}
        for entry in self._entries:
            for folded in dict.fromkeys(map(fold_name, (entry.label, *entry.names))):
                if folded:
                    self._by_name.setdefault(folded, []).append(entry)

    def __iter__(self) -> Iterator[RosterEntry[P]]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def resolve(self, name: str) -> tuple[RosterEntry[P], ...]:
        """Whoever *name* may mean: nobody, one person, or several where it is ambiguous."""
        wanted = fold_name(name.strip().removeprefix("@"))
        found = self._by_name.get(wanted, [])
        shown_so = [entry for entry in found if fold_name(entry.label) == wanted]
        return tuple(shown_so if len(shown_so) == 1 else found)

    def owners(self, name: str) -> tuple[P, ...]:
        """Everyone who goes by *name*, under whatever name they are shown."""
        return tuple(entry.person for entry in self._by_name.get(fold_name(name), ()))

    def is_own_name(self, name: str) -> bool:
        """Whether the familiar itself is called *name*."""
        return fold_name(name.strip().removeprefix("@")) in self._own

    def is_shared(self, name: str) -> bool:
        """Whether *name* does not tell one person from every other, the familiar included."""
        return len(self.owners(name)) > 1 or fold_name(name) in self._own
