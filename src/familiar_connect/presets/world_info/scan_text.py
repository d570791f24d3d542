"""The text that keys are looked for in, and the looking.

A plain key is a substring, or with whole words one that no letter, digit or underscore touches; a key written
`/pattern/flags` is a JavaScript pattern over the whole text. No plain key reaches from one message into the next, so
the parts are searched one by one; words that stand alone are looked up in a set.

SearchEffort: how much one scan of the books may search, so that no book can hold up a turn.

Effort is counted in characters: those that are looked through, and a fixed number for each look-up, because a short
text costs time too. It depends on the books and the chat alone, never on the machine: the same turn stops at the same
point everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import add, itemgetter

from familiar_connect.presets.sillytavern.js_text import js_trim
from familiar_connect.presets.world_info.types import ScanSettings, SecondaryLogic, WorldEntry
from familiar_connect.support.js_regex import JsPattern, compile_js, split_literal
from familiar_connect.support.re2_engine import PatternRefused

MAX_SEARCHED_CHARS = 1_000_000_000
"""About a second on a small machine; a thousand entries with five keys each take a thousandth of it."""
LOOK_UP_CHARS = 2_000
PART_CHARS = 400
"""What a look-up costs for each text it is made in."""
PATTERN_FACTOR = 8
"""A pattern reads a character so many times slower than a plain search does."""
SPLIT_FACTOR = 16
"""As `PATTERN_FACTOR`, for taking a text apart into words."""


class ScanLimitReached(Exception):
    """A scan has to end; the message completes a sentence that says why."""


class SearchEffort:
    """What one scan has searched so far."""

    def __init__(self, limit: int = MAX_SEARCHED_CHARS) -> None:
        self._limit = limit
        self._left = limit

    def spend(self, chars: int) -> None:
        """Count *chars* more; too many end the scan."""
        self._left -= chars
        if self._left < 0:
            raise ScanLimitReached(f"its books need more than {self._limit:,} characters searched for one turn")


MAX_SCAN_DEPTH = 1000
MAX_KEPT_TEXTS = 4_000
"""Messages and entries whose words are kept from scan to scan; from turn to turn most are the same."""
MARK = "\x01"
JOINER = f"\n{MARK}"
_WORD = re.compile(r"\w+", re.ASCII)
_SPACES = re.compile(r"\s+")
_FIRST_TWO, _LAST_TWO = itemgetter(slice(2)), itemgetter(slice(-2, None))


def whole_text(parts: Sequence[Part]) -> str:
    """*parts* as the one text that patterns are looked for in."""
    return MARK + JOINER.join(part.text for part in parts) if parts else ""


def is_word(text: str) -> bool:
    """Whether *text* is one word of ASCII letters, digits and underscores: then a set can answer for it."""
    return text.isascii() and text.replace("_", "a").isalnum()


@lru_cache(maxsize=MAX_KEPT_TEXTS)
def _words_of(text: str, cased: bool) -> frozenset[str]:
    return frozenset(_WORD.findall(text if cased else text.lower()))


@lru_cache(maxsize=MAX_KEPT_TEXTS)
def _seams_of(text: str, cased: bool) -> frozenset[tuple[str, str]]:
    words = (text if cased else text.lower()).split(" ")
    return frozenset(zip(map(_LAST_TWO, words), map(_FIRST_TWO, words[1:]), strict=False))


class Part:
    """One stretch of text, by either case, with its words; it may be made of smaller ones."""

    def __init__(self, label: str, text: str, pieces: Sequence[Part] = ()) -> None:
        self.label = label
        self.text = text
        self.pieces = pieces
        self._lower: str | None = None
        self._words: dict[bool, frozenset[str]] = {}

    def form(self, cased: bool) -> str:
        if cased:
            return self.text
        if self._lower is None:
            self._lower = self.text.lower()
        return self._lower

    def words(self, cased: bool) -> frozenset[str]:
        if cased not in self._words:
            self._words[cased] = frozenset().union(*(_words_of(text, cased) for text in self._texts))
        return self._words[cased]

    @property
    def _texts(self) -> Sequence[str]:
        """Its own text, or those of its pieces: no word and no space is between two of them."""
        return [piece.text for piece in self.pieces] or [self.text]

    def pairs(self, cased: bool) -> set[str]:
        """Every two letters that follow each other."""
        text = self.form(cased)
        return set(map(add, text, text[1:]))

    def seams(self, cased: bool) -> set[tuple[str, str]]:
        """Around each space, the two letters before and the two after it."""
        return set().union(*(_seams_of(text, cased) for text in self._texts))

    def has(self, needle: Needle) -> bool:
        """Whether *needle* is in here."""
        cased = needle.cased
        if needle.is_word:
            return needle.text in self.words(cased)
        text = self.form(cased)
        if needle.text not in text:
            return False
        if not needle.needs_edges:
            return True
        return re.search(rf"(?:^|\W){re.escape(needle.text)}(?:$|\W)", text, re.ASCII) is not None


@dataclass(frozen=True, slots=True)
class Needle:
    """A key made ready to be looked for."""

    text: str
    """In the case it is looked for in."""
    cased: bool
    is_word: bool
    """One plain word that must stand alone."""
    needs_edges: bool
    """One word of other letters that must stand alone."""
    literal: tuple[str, str] | None
    """Pattern and flags."""


@lru_cache(maxsize=50_000)
def prepare_key(key: str, cased: bool, whole: bool, trims: bool = True) -> Needle:
    """*key* as it is looked for; without the blanks around it, unless *trims* is off."""
    key = js_trim(key) if trims else key
    text = key if cased else key.lower()
    alone = whole and len(_SPACES.split(text)) == 1
    literal = split_literal(key) if key.startswith("/") else None
    return Needle(text, cased, alone and is_word(text), alone and not is_word(text), literal)


@dataclass(frozen=True)
class KeyHit:
    """A key that was found, and the part it was found in; in which piece is looked for when somebody asks."""

    key: str
    part: Part
    is_in: Callable[[Part], bool]

    @property
    def label(self) -> str:
        return next((piece.label for piece in self.part.pieces if self.is_in(piece)), self.part.label)


class ScanText:
    """The chat, newest first, and what is searched beside it; it grows with what recursion adds."""

    def __init__(
        self,
        messages: Sequence[str],
        settings: ScanSettings,
        *,
        read: Callable[[str], str],
        effort: SearchEffort,
        card: Mapping[str, str] | None = None,
        injected: Sequence[str] = (),
    ) -> None:
        total = len(messages)
        self._messages = [
            Part(f"message {total - back} of {total}", js_trim(text))
            for back, text in enumerate(messages[:MAX_SCAN_DEPTH])
        ]
        self._settings = settings
        self._read = read
        self._effort = effort
        self._card = {name: Part(f"the card's {name}", text) for name, text in (card or {}).items() if text}
        self._injected = [Part("an injected prompt", text) for text in injected if text]
        self._recursed: list[Part] = []
        self._merged: dict[int, Part] = {}
        self._joined: dict[tuple[object, ...], str] = {}
        self._widened = 0
        self.problems: dict[str, str] = {}

    @property
    def depth(self) -> int:
        """How many messages are searched now."""
        return self._settings.depth + self._widened

    @property
    def has_recursed(self) -> bool:
        return bool(self._recursed)

    def widen(self) -> None:
        """Search one message more from now on."""
        self._widened += 1

    def add(self, brought: Sequence[tuple[str, str]]) -> None:
        """Search these texts too, each with the name of the entry that brought it."""
        pieces = [Part(f"the entry {name!r}", text) for name, text in brought]
        self._recursed.append(Part("the entries", "\n".join(text for _, text in brought), pieces))

    def common_parts(self) -> tuple[Part, ...]:
        """The parts that every entry without a depth of its own is searched in."""
        return (self._chat(self.depth), *self._injected, *self._recursed) if self.depth > 0 else ()

    def match(self, entry: WorldEntry, *, recursed: bool) -> KeyHit | None:
        """The primary key that is found, if the secondary ones agree."""
        hit = self.find_first(entry, entry.keys, recursed=recursed)
        if hit is None or not (entry.is_selective and entry.secondary_keys):
            return hit
        found = [self.find(entry, key, recursed=recursed) is not None for key in entry.secondary_keys]
        agrees = {
            SecondaryLogic.and_any: any(found),
            SecondaryLogic.not_all: not all(found),
            SecondaryLogic.not_any: not any(found),
            SecondaryLogic.and_all: all(found),
        }
        return hit if agrees[entry.logic] else None

    def score(self, entry: WorldEntry, *, recursed: bool) -> int:
        """How many keys are found, blanks around them included; only secondary keys that must be there count.

        A key without a letter is found everywhere.
        """
        if not entry.keys:
            return 0
        primary = sum(self.find(entry, key, recursed=recursed, reads=False) is not None for key in entry.keys)
        if not entry.secondary_keys:
            return primary
        second = sum(self.find(entry, key, recursed=recursed, reads=False) is not None for key in entry.secondary_keys)
        if entry.logic is SecondaryLogic.and_any:
            return primary + second
        if entry.logic is SecondaryLogic.and_all and second == len(entry.secondary_keys):
            return primary + second
        return primary

    def find_first(self, entry: WorldEntry, keys: Sequence[str], *, recursed: bool) -> KeyHit | None:
        for key in keys:
            hit = self.find(entry, key, recursed=recursed)
            if hit is not None:
                return hit
        return None

    def find(self, entry: WorldEntry, key: str, *, recursed: bool, reads: bool = True) -> KeyHit | None:
        """Where *key* is found, macros in it read first and blanks taken off; unless *reads* is off."""
        if reads and ("{" in key or "<" in key):
            key = self._read(key)
        settings = self._settings
        cased = settings.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        whole = settings.whole_words if entry.whole_words is None else entry.whole_words
        needle = prepare_key(key, cased, whole, reads)
        depth = self.depth if entry.scan_depth is None else min(entry.scan_depth, MAX_SCAN_DEPTH)
        self._effort.spend(LOOK_UP_CHARS)
        if needle.literal is not None:
            return self._find_pattern(entry, key, needle.literal, depth, recursed)
        if not needle.text and not reads:
            return KeyHit(key, Part("no message", ""), lambda piece: True)
        if not needle.text:
            return self._find_blank(entry, key, depth, recursed)
        if depth > 0:
            for part in self._parts(entry, depth, recursed):
                self._effort.spend(PART_CHARS + (0 if needle.is_word else len(part.text)))
                if part.has(needle):
                    return KeyHit(key, part, lambda piece: piece.has(needle))
        return None

    def _find_blank(self, entry: WorldEntry, key: str, depth: int, recursed: bool) -> KeyHit | None:
        """A key of nothing but spaces is in every text, even in none; one without a letter is in no text."""
        if not key:
            return None
        parts = self._parts(entry, depth, recursed) if depth > 0 else [Part("no message", "")]
        return KeyHit(key, parts[0], lambda piece: True)

    # Parts

    def _chat(self, depth: int) -> Part:
        """The newest *depth* messages as one part."""
        if depth not in self._merged:
            pieces = self._messages[:depth]
            self._merged[depth] = Part("the chat", JOINER.join(part.text for part in pieces), pieces)
        return self._merged[depth]

    def _parts(self, entry: WorldEntry, depth: int, recursed: bool) -> list[Part]:
        parts = [self._chat(depth)]
        if entry.card_fields:
            parts += [self._card[name] for name in entry.card_fields if name in self._card]
        parts += self._injected
        return parts + self._recursed if recursed else parts

    def _find_pattern(
        self, entry: WorldEntry, key: str, literal: tuple[str, str], depth: int, recursed: bool
    ) -> KeyHit | None:
        pattern = self._pattern(entry, key, literal)
        if pattern is None:
            return None
        text = self._whole(entry, depth, recursed)
        self._effort.spend(PATTERN_FACTOR * len(text))
        if not pattern.test(text):
            return None
        parts = self._parts(entry, depth, recursed) if depth > 0 else ()
        pieces = [piece for part in parts for piece in part.pieces or (part,)]
        return KeyHit(key, Part("the chat", "", pieces), lambda piece: pattern.test(piece.text))

    def _pattern(self, entry: WorldEntry, key: str, literal: tuple[str, str]) -> JsPattern | None:
        if key in self.problems:
            return None
        try:
            return compile_js(*literal)
        except PatternRefused as refused:
            self.problems[key] = f"the key {key} of {entry.name!r} cannot be searched for: {refused}"
            return None

    def _whole(self, entry: WorldEntry, depth: int, recursed: bool) -> str:
        """Everything *entry* is searched in, as one text."""
        if depth <= 0:
            return ""
        id_ = (depth, entry.card_fields, len(self._recursed) if recursed else -1)
        if id_ not in self._joined:
            self._joined[id_] = whole_text(self._parts(entry, depth, recursed))
        return self._joined[id_]
