"""Words by what stands inside them: a question about the key means the Ersatzschlüssel too.

The words of an index are few beside what was said with them, so all of them are held as one text, and a part is looked
for in that: far quicker than asking the file. Nothing here knows how a language joins its words.
"""

from __future__ import annotations

import threading

from familiar_connect.memory.index.query import stem_of
from familiar_connect.memory.index.storage import DerivedFile

LEAST_PART = 5
"""Letters that a part must have, without its ending, to be looked for inside of words."""
MOST_WORDS = 12
"""Words that hold a part, the first that were met."""
MOST_HELD = 100_000
"""Words that are looked through (1 MB), the first that were met."""


class WordParts:
    """The words of one index as text. Safe to use from any thread."""

    def __init__(self, file: DerivedFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._level: tuple[int, int] = (-1, 0)
        self._words = "\n"

    def words_around(self, word: str) -> list[str]:
        """Words that hold *word*, as far as it is no ending, and begin otherwise."""
        part = stem_of(word)
        if len(part) < LEAST_PART:
            return []
        words, found, at = self._catch_up(), dict[str, None](), 0
        while len(found) < MOST_WORDS and (at := words.find(part, at)) >= 0:
            start, at = words.rindex("\n", 0, at) + 1, words.index("\n", at)
            if not words.startswith(part, start):
                found[words[start:at]] = None
        return list(found)

    def _catch_up(self) -> str:
        """All words, each between line ends."""
        last = int(self._file.read("SELECT last_term FROM totals")[0][0])
        with self._lock:
            opened, known = self._level
            if opened != self._file.open_count or last < known:
                self._words, known = "\n", 0
            if known < min(last, MOST_HELD):
                rows = self._file.read("SELECT word FROM terms WHERE id > ? AND id <= ?", (known, MOST_HELD))
                self._words += "".join(f"{word}\n" for (word,) in rows)
            self._level = self._file.open_count, last
            return self._words
