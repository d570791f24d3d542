"""Summary privacy: people who are not to be heard are left out of history, and of every summary made of it.

What they said before they chose so is still stored. A summary made before may hold their words, so when
somebody new is to be left out, all summaries go and are made anew from the rest.
"""

from __future__ import annotations

from collections.abc import Iterable

from familiar_connect.history.privacy_filter import without_private_turns
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import EVERYTHING_ALLOWED, Privacy


class SummaryPrivacy:
    """Keeps those who are not heard out of the summaries. Without *privacy* nothing is left out and none is dropped."""

    def __init__(self, store: HistoryStore, privacy: Privacy | None) -> None:
        self._store = store
        self._is_known = privacy is not None
        self._privacy = privacy or EVERYTHING_ALLOWED
        self._known_private: dict[str, frozenset[str]] = {}

    def people(self) -> frozenset[str]:
        return self._privacy.full_privacy_keys()

    def without_private(self, turns: Iterable[HistoryTurn]) -> list[HistoryTurn]:
        return without_private_turns(turns, self._privacy)

    def drop_stale_summaries(self, familiar_id: str) -> frozenset[str]:
        """See to it that the stored summaries hold no words of private people; returns who these are."""
        people = self.people()
        if self._is_known and self._known_private.get(familiar_id) != people:
            self._store.leave_out_of_summaries(familiar_id=familiar_id, people=people)
            self._known_private[familiar_id] = people
        return people
