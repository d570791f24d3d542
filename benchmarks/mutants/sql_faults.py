"""Wrong forms of SQL: most of what the history decides stands in its queries."""

from __future__ import annotations

import re
from collections.abc import Iterator

SQL = re.compile(r"\b(SELECT|UPDATE|DELETE FROM|INSERT INTO|WHERE|ORDER BY|AND|ON CONFLICT|LIMIT)\b")
CONDITIONS = re.compile(r"\b(WHERE|AND|OR|ON|HAVING)\b")
CHANGES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bAND\b"), "OR"),
    (re.compile(r"\bOR\b(?! (?:IGNORE|REPLACE|ROLLBACK|ABORT|FAIL)\b)"), "AND"),
    (re.compile(r"(?<= )<="), "<"),
    (re.compile(r"(?<= )>="), ">"),
    (re.compile(r"(?<= )<(?= )"), "<="),
    (re.compile(r"(?<= )>(?= )"), ">="),
    (re.compile(r"\bIS NOT NULL\b"), "IS NULL"),
    (re.compile(r"\bIS NULL\b"), "IS NOT NULL"),
    (re.compile(r"\bNOT (?=IN\b|EXISTS\b|LIKE\b)"), ""),
    (re.compile(r" DESC\b"), " ASC"),
    (re.compile(r"\bMAX(?=\()"), "MIN"),
    (re.compile(r"\bMIN(?=\()"), "MAX"),
)
EQUAL = re.compile(r"(?<= )=(?= )|(?<= )IS(?= \?)")


def sql_changes(text: str) -> Iterator[str]:
    """*text* with one wrong word or sign, for each that can be wrong; nothing for text that is no SQL."""
    if not SQL.search(text):
        return
    for pattern, other in CHANGES:
        for found in pattern.finditer(text):
            yield text[: found.start()] + other + text[found.end() :]
    conditions = CONDITIONS.search(text)
    for found in EQUAL.finditer(text, conditions.start() if conditions else len(text)):
        yield text[: found.start()] + ("!=" if found.group() == "=" else "IS NOT") + text[found.end() :]
