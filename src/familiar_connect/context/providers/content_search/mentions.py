"""Who is mentioned: names that stand in an utterance, found through the alias index.

Words of everyday speech never resolve, even if the index holds them; those that people are called too, such as Will
and May, do where they are written as a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from familiar_connect.memory.index.letters import is_english
from familiar_connect.memory.people import ALSO_NAMES, STOP_WORDS
from familiar_connect.support.name_forms import find_other_forms
from familiar_connect.support.text import is_meant_as_name

MAX_SCANNED_CHARS = 16_000
"""Of a longer utterance the beginning and the end are looked at."""
MAX_SLUGS_PER_NAME = 3
"""A name several people go by brings the most recently active of them."""

_ASCII_WORD = re.compile(r"\w+")
_SENTENCE_END = ".!?…。！？"
_BETWEEN = " \t\n\"'“”‘’«»([{*_-—"
_RUN_TOGETHER = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that put no spaces between words, or hang particles on names."""


@dataclass(frozen=True)
class _Word:
    start: int
    text: str


def find_mentions(utterance: str, names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Slug → name of those *utterance* speaks of: surest first, then in the order they are named."""
    if not names:
        return {}
    text = _scan(utterance)
    words = list(_words(text))
    found = [*_by_word(text, words, names), *_by_phrase(text, words, names)]
    found += _by_form(text, names, {name for _, name in found})
    people: dict[str, str] = {}
    for _, name in sorted(set(found)):
        for slug in names[name][:MAX_SLUGS_PER_NAME]:
            people.setdefault(slug, name)
    return people


_Place = tuple[int, int]
"""0 for what is surely a name, 1 for what may be a plain word; and where it stands."""


def _by_word(text: str, words: list[_Word], names: Mapping[str, Sequence[str]]) -> Iterator[tuple[_Place, str]]:
    for word in words:
        name = word.text.lower()
        if name in names and (name not in STOP_WORDS or (word.text[0].isupper() and _is_called(name, text))):
            sure = word.text[0].isupper() and not _opens_sentence(text, word.start)
            yield (0 if sure else 1, word.start), name


def _is_called(name: str, text: str) -> bool:
    return name in ALSO_NAMES and is_meant_as_name(name, text)


def _by_phrase(text: str, words: list[_Word], names: Mapping[str, Sequence[str]]) -> Iterator[tuple[_Place, str]]:
    """Names with something between their words, at word boundaries, and names in scripts without spaces."""
    low = text.lower()
    present = {word.text.lower() for word in words}
    runs_together = _RUN_TOGETHER.search(low) is not None
    for name in names:
        if name in STOP_WORDS:
            continue
        if runs_together and _RUN_TOGETHER.match(name):
            at = low.find(name)
        elif all(map(_is_word, name)) or not _begins_with_one_of(name, present):
            continue
        else:
            at = _find_whole(low, name)
        if at >= 0:
            yield (0, at), name


def _by_form(text: str, names: Mapping[str, Sequence[str]], known: Set[str]) -> Iterator[tuple[_Place, str]]:
    """Names with the endings of another language than English, and names in another script than they are known by."""
    with_endings = not is_english(text)
    if with_endings or not text.isascii() or not all(map(str.isascii, names)):
        others = (name for name in names if name not in known and name not in STOP_WORDS)
        for name, form in find_other_forms(text, others, found=known, with_endings=with_endings):
            yield (1, text.lower().find(form)), name


def _begins_with_one_of(name: str, present: set[str]) -> bool:
    first = next(_words(name), None)
    return first is None or first.text in present


def _find_whole(text: str, name: str) -> int:
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        clear_before = at == 0 or not (_is_word(text[at - 1]) and _is_word(name[0]))
        clear_after = end == len(text) or not (_is_word(text[end]) and _is_word(name[-1]))
        if clear_before and clear_after:
            return at
        at = text.find(name, at + 1)
    return -1


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 16) : start].rstrip(_BETWEEN)
    return (not before and start <= 16) or before.endswith(tuple(_SENTENCE_END))


def _scan(utterance: str) -> str:
    if len(utterance) > MAX_SCANNED_CHARS:
        half = MAX_SCANNED_CHARS // 2
        utterance = f"{utterance[:half]} {utterance[-half:]}"
    return " ".join(unicodedata.normalize("NFC", utterance).split())


def _words(text: str) -> Iterator[_Word]:
    """Runs of letters and digits of any script, marks that belong to them included."""
    if text.isascii():
        for match in _ASCII_WORD.finditer(text):
            yield _Word(match.start(), match[0])
        return
    start = -1
    for at, char in enumerate(text):
        if _is_word(char):
            start = at if start < 0 else start
        elif start >= 0:
            yield _Word(start, text[start:at])
            start = -1
    if start >= 0:
        yield _Word(start, text[start:])


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")
