"""The name that somebody gives themselves in another language than English: "ich heiße Mika", "меня зовут Мика".

How it is said stands in `introductions.toml`, language by language. Which language a line is in is not asked: a way
to say it is tried where its own words stand in the line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from familiar_connect.support.letters import LETTER, UNSPACED

_HALF = r"\s*[\n.!?,;:()…~。！？、，；：♪،؟।-]"
"""What ends a clause."""
_SENTENCES = re.compile(r"[.!?…。！？؟।]")
_OPENS = rf"(?:^|{_HALF})\W*"
_SHORT_WORDS = r"(?:[^\W\d_]{1,10}\s+){0,2}"
"""Such as a greeting, or "well", before a clause that gives a name."""
_SPACED_NAME = (
    rf"(?P<name>(?:{LETTER})+(?:['’-](?:{LETTER}){{2,}}){{0,2}}\.?(?: (?=(?-i:[^\Wa-z\d_]))(?:{LETTER})+){{0,2}}?)"
)
_UNSPACED_NAME = rf"(?P<name>(?:{LETTER}|[・·ー]){{1,12}}?)"
"""Both as short as what follows allows."""
_ENDED = rf"(?=\s*$|{_HALF}|[\s、]+-)"


@dataclass(frozen=True)
class GivenName:
    """A name as it stands in a line, whether it was given as one, and where it ends."""

    name: str
    is_plain: bool
    end: int


@dataclass(frozen=True)
class _Language:
    """How one language gives a name."""

    said: tuple[str, ...]
    called: tuple[str, ...]
    am: tuple[str, ...]
    asks: tuple[str, ...]
    greets: tuple[str, ...]
    no: frozenset[str]
    played: tuple[str, ...]
    ends: tuple[str, ...]


def asks_name_elsewhere(text: str) -> bool:
    """Whether *text* ends by asking somebody what they are called, in a language other than English."""
    spoken = [each for each in _SENTENCES.split(text.casefold()) if any(map(str.isalpha, each))]
    last = spoken[-1] if spoken else ""
    return any(_stands_in(words, last) for language in _languages().values() for words in language.asks)


def is_no_name_elsewhere(word: str) -> bool:
    """Whether *word*, as the whole of an answer or its beginning, is said in some language where no name is."""
    return word.casefold() in _no_names()


def find_given_names(text: str, *, was_asked: bool) -> Iterator[GivenName]:
    """The names that *text* gives in languages other than English, the surest first."""
    low = text.casefold()
    for language in _languages().values():
        if any(_stands_in(words, low) for words in language.played):
            continue
        greeted = was_asked or any(_stands_in(words, low) for words in language.greets)
        for ways, is_plain in ((language.said, True), (language.called, True), (language.am, was_asked)):
            if ways is language.am and not greeted:
                continue
            yield from _find(text, low, ways, language, is_plain=is_plain, in_capitals=ways is not language.said)


def _find(
    text: str, low: str, ways: tuple[str, ...], language: _Language, *, is_plain: bool, in_capitals: bool
) -> Iterator[GivenName]:
    for way in ways:
        if not all(piece.strip() in low for piece in way.casefold().split("*")):
            continue
        for match in _to_pattern(way, language.greets, language.ends).finditer(text):
            name = match["name"].rstrip(".")
            if _is_name(name, language.no, in_capitals=in_capitals):
                yield GivenName(name, is_plain, match.end())


def _is_name(name: str, no: frozenset[str], *, in_capitals: bool) -> bool:
    if UNSPACED.search(name):
        return not any((at := name.find(word)) >= 0 and (at > 0 or len(word) > 1) for word in no) and name not in no
    first = name.split()[0]
    if is_no_name_elsewhere(first) or first.casefold() in no:
        return False
    return not in_capitals or not first[0].islower()


@lru_cache(maxsize=512)
def _to_pattern(way: str, greets: tuple[str, ...], ends: tuple[str, ...]) -> re.Pattern[str]:
    before, after = (_spell(piece) for piece in way.split("*"))
    is_unspaced = UNSPACED.search(way) is not None
    greeted = "|".join(map(_spell, greets)) or r"(?!)"
    name = _UNSPACED_NAME if is_unspaced else _SPACED_NAME
    opens = rf"(?:{_OPENS}(?:(?:{greeted})\W*)?)"
    if not is_unspaced:
        opens += _SHORT_WORDS + r"(?<!\w)"
    elif before:
        opens = ""
    more = "|".join(map(re.escape, ends)) or r"(?!)"
    closed = rf"(?:{_ENDED}|(?=\s*(?:{more})))" if is_unspaced else rf"(?:{_ENDED}|(?=\s+(?:{more})(?!\w)))"
    return re.compile(opens + before + name + after + closed, re.IGNORECASE)


def _spell(words: str) -> str:
    """*words* of a language, with any white space and either apostrophe."""
    return re.sub(r"(?:\\ )+", r"\\s+", re.escape(words)).replace("'", "['’]")


def _stands_in(words: str, low: str) -> bool:
    """Whether *words* stand in *low* as whole words, or anywhere in a script without spaces."""
    at = low.find(words)
    while at >= 0:
        end = at + len(words)
        if UNSPACED.search(words) or not (
            (at and (low[at - 1].isalpha())) or (end < len(low) and low[end].isalpha() and words.isascii())
        ):
            return True
        at = low.find(words, at + 1)
    return False


@cache
def _languages() -> Mapping[str, _Language]:
    return {name: _read_language(found) for name, found in _read_file().items() if name != "every"}


@cache
def _no_names() -> frozenset[str]:
    languages = _languages().values()
    greets = {word for language in languages for words in language.greets for word in words.split()}
    return frozenset(_read_file()["every"]["no"].split()).union(greets)


@cache
def _read_file() -> Mapping[str, Mapping[str, str]]:
    found = files("familiar_connect.chat").joinpath("introductions.toml").read_text(encoding="utf-8")
    return tomllib.loads(found)


def _read_language(found: Mapping[str, str]) -> _Language:
    def ways(part: str) -> tuple[str, ...]:
        return tuple(each.strip() for each in found.get(part, "").split("|") if each.strip())

    return _Language(
        said=ways("said"),
        called=ways("called"),
        am=ways("am"),
        asks=tuple(each.casefold() for each in ways("asks")),
        greets=tuple(each.casefold() for each in ways("greets")),
        no=frozenset(found.get("no", "").split()),
        played=tuple(each.casefold() for each in ways("played")),
        ends=tuple(found.get("ends", "").split()),
    )
