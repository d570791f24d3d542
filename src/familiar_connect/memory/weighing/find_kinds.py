"""Which kinds of words stand in a clause. Each kind is one long pattern, and a message is read by all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache

from familiar_connect.support.re2_engine import PatternSet

CLAUSES_KEPT = 4_096
"""The same message is read for who said it, for the session, and for what is told elsewhere."""
WORTH_A_SET = 200
"""Clauses after which a set pays for its making: it takes as long as searching a hundred of them one by one."""


class KindFinder:
    """Finds the kinds whose pattern a clause has."""

    def __init__(self, patterns: Mapping[str, tuple[int, re.Pattern[str]]]) -> None:
        self._patterns = {kind: pattern for kind, (_, pattern) in patterns.items()}
        self._kinds = tuple(self._patterns)
        self._searched = 0
        self.find = lru_cache(maxsize=CLAUSES_KEPT)(self._find)

    def _find(self, clause: str) -> frozenset[str]:
        self._searched += 1
        kinds = self._kinds
        if self._searched > WORTH_A_SET and clause.isascii():  # RE2 takes letters with accents for no letters
            kinds = tuple(self._kinds[at] for at in self._set.find_possible(clause))
        return frozenset(kind for kind in kinds if self._patterns[kind].search(clause))

    @cached_property
    def _set(self) -> PatternSet:
        return PatternSet([pattern.pattern for pattern in self._patterns.values()])
