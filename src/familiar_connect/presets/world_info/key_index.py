"""KeyIndex: which entries a text may call up, by the words and phrases in it, so that a scan asks only those.

Keys that are single words are looked up; phrases are searched for in each new stretch of text; patterns all at once in
the whole of it. Entries that look elsewhere, and those with macros among their keys, are asked in each pass. An index
is made once for a pool and kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from familiar_connect.presets.sillytavern.js_text import js_trim
from familiar_connect.presets.world_info.scan_text import (
    LOOK_UP_CHARS,
    PART_CHARS,
    PATTERN_FACTOR,
    SPLIT_FACTOR,
    Part,
    SearchEffort,
    is_word,
    whole_text,
)
from familiar_connect.presets.world_info.types import ScanSettings, WorldEntry
from familiar_connect.support.js_regex import AnyPattern, JsPattern, compile_js, split_literal
from familiar_connect.support.lru import LruCache
from familiar_connect.support.re2_engine import PatternRefused

KEPT = 8
KEPT_TOGETHER = 32
_MARKS = ("{", "<")
"""What a macro has in it."""
_SEAM = re.compile(r"([^ ]{2}) ([^ ]{2})")


class KeyIndex:
    """The entries of one pool by their keys."""

    def __init__(self, pool: Sequence[WorldEntry], settings: ScanSettings) -> None:
        self.by_word: dict[bool, dict[str, list[int]]] = {True: {}, False: {}}
        self.by_seam: dict[bool, dict[tuple[str, str], list[tuple[str, int]]]] = {True: {}, False: {}}
        self.by_pair: dict[bool, dict[str, list[tuple[str, int]]]] = {True: {}, False: {}}
        self.letters: dict[bool, list[tuple[str, int]]] = {True: [], False: []}
        self.patterns: list[tuple[JsPattern, int]] = []
        self._together: LruCache[tuple[int, ...], AnyPattern | None] = LruCache(KEPT_TOGETHER)
        self.always: list[int] = []
        self.sticky: dict[str, list[int]] = {}
        self.levels = tuple(sorted({entry.recursion_level for entry in pool if entry.recursion_level}))
        self.by_fingerprint = {entry.fingerprint: entry for entry in reversed(pool)}
        self.delays = tuple(entry for entry in pool if entry.delay)
        for number, entry in enumerate(pool):
            if entry.is_disabled:
                continue
            if entry.sticky:
                self.sticky.setdefault(entry.key, []).append(number)
            if entry.is_constant or entry.decorators:
                self.always.append(number)
            elif entry.keys:
                self._add(number, entry, settings)

    def _add(self, number: int, entry: WorldEntry, settings: ScanSettings) -> None:
        looks_elsewhere = entry.scan_depth is not None or entry.card_fields
        is_blank = any(key and not js_trim(key) for key in entry.keys)
        if looks_elsewhere or is_blank or any(mark in key for key in entry.keys for mark in _MARKS):
            self.always.append(number)
            return
        whole = settings.whole_words if entry.whole_words is None else entry.whole_words
        cased = settings.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        for key in filter(None, map(js_trim, entry.keys)):
            literal = split_literal(key) if key.startswith("/") else None
            if literal is not None:
                self._add_pattern(number, literal)
                continue
            needle = key if cased else key.lower()
            if whole and is_word(needle):
                self.by_word[cased].setdefault(needle, []).append(number)
            elif seam := _SEAM.search(needle) if "\n" not in needle else None:
                self.by_seam[cased].setdefault((seam[1], seam[2]), []).append((needle, number))
            elif len(needle) > 1:
                self.by_pair[cased].setdefault(needle[:2], []).append((needle, number))
            else:
                self.letters[cased].append((needle, number))

    def _add_pattern(self, number: int, literal: tuple[str, str]) -> None:
        try:
            self.patterns.append((compile_js(*literal), number))
        except PatternRefused:
            self.always.append(number)  # whoever asks for it is told why

    def find_patterns(self, among: Sequence[int], text: str) -> list[int]:
        """Which of the patterns with the numbers *among* are in *text*; one search where none is, as is common."""
        together = self._any_of(tuple(among))
        if together is not None and not together.test(text):
            return []
        return [at for at in among if self.patterns[at][0].test(text)]

    def _any_of(self, among: tuple[int, ...]) -> AnyPattern | None:
        if among not in self._together:
            try:
                self._together.put(among, AnyPattern([self.patterns[at][0] for at in among]))
            except PatternRefused:
                self._together.put(among, None)
        return self._together.get(among)


class Candidates:
    """The entries that one scan has to ask; they become more as text comes in."""

    def __init__(self, index: KeyIndex, effort: SearchEffort, sticky: Iterable[str] = ()) -> None:
        self._index = index
        self._effort = effort
        self._numbers = {*index.always, *(number for key in sticky for number in index.sticky.get(key, ()))}
        self._patterns = list(range(len(index.patterns)))
        """Those that were not found yet."""
        self._looked_at: dict[int, Part] = {}
        """By identity: a part is the same as long as its text is."""

    def update(self, parts: Iterable[Part]) -> list[int]:
        """Numbers of the entries to ask now that *parts* are there, in the order of the pool."""
        parts = list(parts)
        before = len(self._looked_at)
        for part in parts:
            if id(part) not in self._looked_at:
                self._looked_at[id(part)] = part
                self._look_at(part)
        if self._patterns and (len(self._looked_at) > before or not parts):
            text = whole_text(parts)
            self._effort.spend(PATTERN_FACTOR * (LOOK_UP_CHARS * len(self._patterns) + len(text)))
            found = set(self._index.find_patterns(self._patterns, text))
            self._numbers.update(self._index.patterns[at][1] for at in found)
            self._patterns = [at for at in self._patterns if at not in found]
        return sorted(self._numbers)

    def _look_at(self, part: Part) -> None:
        index = self._index
        self._effort.spend(SPLIT_FACTOR * len(part.text))
        for cased in (True, False):
            if by_word := index.by_word[cased]:
                for word in part.words(cased) & by_word.keys():
                    self._numbers.update(by_word[word])
            self._look_for(index.letters[cased], part, cased)
            if by_seam := index.by_seam[cased]:
                for seam in part.seams(cased) & by_seam.keys():
                    self._look_for(by_seam[seam], part, cased)
            if by_pair := index.by_pair[cased]:
                for pair in part.pairs(cased) & by_pair.keys():
                    self._look_for(by_pair[pair], part, cased)

    def _look_for(self, needles: Iterable[tuple[str, int]], part: Part, cased: bool) -> None:
        text, needles = part.form(cased), list(needles)
        self._effort.spend(len(needles) * (PART_CHARS + len(text)))
        self._numbers.update(number for needle, number in needles if needle in text)


_indexes: LruCache[tuple[int, bool, bool], tuple[Sequence[WorldEntry], KeyIndex]] = LruCache(KEPT)


def index_keys(pool: Sequence[WorldEntry], settings: ScanSettings) -> KeyIndex:
    """The index of *pool*; the same one as long as the pool is the same object."""
    id_ = (id(pool), settings.whole_words, settings.case_sensitive)
    kept = _indexes.get(id_)
    if kept is None or kept[0] is not pool:
        kept = (pool, KeyIndex(pool, settings))
        _indexes.put(id_, kept)
    return kept[1]
