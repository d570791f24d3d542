"""What a question asks for: the words that matter, whose words they may be, and when they were said.

Names say *who* and dates say *when*; both are taken out of what is compared by meaning and weigh in on their own.
All of it is worked out from the text and a given moment; nothing here touches a disk or a clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from familiar_connect.memory.index.time_expressions import TimeSpan, extract_times

MAX_QUESTION_CHARS = 2_000
"""A longer text is searched for by its beginning and its end: that is where people put what they want."""
MAX_WORDS = 40
MAX_TAKEN_APART = 2_048
"""Texts whose words are kept: what a search finds is looked at several times on its way into a prompt."""

_STOP = """
a about after again all also am an and any are aren't as at be because been before being below
both but by can can't could couldn't did didn't do does doesn't doing don't done each few for from get
got had has have haven't having he he's her here hers him his how i i'd i'll i'm i've if
in into is isn't it it's its itself just let's may me might mine more most my no nor not
of off oh ok okay on once only or other our ours out over own same she she's should so
some such than that that's the their theirs them then there there's these they they're this those to too until
up us very was wasn't we we're were what what's when where which while who whom whose why will with
won't would yeah yes yet you you're your yours d ll m re s t ve
"""
STOP_WORDS = frozenset(_STOP.split())
_ONESELF = re.compile(
    r"(?<!\w)(?:i|i['’](?:m|ve|d|ll)|my|mine|me|myself|we|our|ours|us|ich|mich|mir|mein\w{0,2}|wir|uns\w{0,3}|je|j['’]\w+|"
    r"moi|mon|ma|mes|nous|nos|notre|yo|mi|mis|nosotros|nuestr[oa]s?)(?!\w)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LABEL = re.compile(r"\s*(?:[-*+>]\s+)?(?:\[[^\]\n]{1,40}\]\s*)?[*_]{0,3}([^\W_][^:*\n]{0,40}?)[*_]{0,3}:[*_]{0,3}\s")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f]")


@dataclass(frozen=True)
class SearchQuery:
    """An utterance as the search understands it."""

    text: str
    """What was asked, shortened where it is endless."""
    meaning: str
    """The same without names: what is compared by meaning."""
    words: tuple[str, ...]
    """The words that matter, in order, each once, names left out."""
    names: frozenset[str]
    """Known names that stand in it, lower-cased."""
    spans: tuple[TimeSpan, ...]


def parse_query(utterance: str, *, names: Iterable[str], now: datetime) -> SearchQuery:
    """*utterance* taken apart; *names* are those people go by."""
    text = _shortened(utterance)
    mentioned = frozenset(_mentioned(text, names))
    meaning = _without(text, mentioned)
    spans, timeless = extract_times(meaning, now)
    words = dict.fromkeys(content_words(timeless)) or dict.fromkeys(content_words(text))
    return SearchQuery(text, meaning or text, tuple(words)[:MAX_WORDS], mentioned, spans)


def concerns_speaker(utterance: str) -> bool:
    """Whether *utterance* speaks of the person who says it: "what is my cat's name?"."""
    return _ONESELF.search(utterance[:MAX_QUESTION_CHARS]) is not None


def content_words(text: str) -> Iterator[str]:
    """The words of *text* that say something, lower-cased."""
    for match in _WORD.finditer(text):
        word = match[0].lower().replace("’", "'")
        bare = word.removesuffix("'s")
        if _UNSPACED.search(bare):
            yield from (bare[at : at + 2] for at in range(max(1, len(bare) - 1)))
        elif bare and bare not in STOP_WORDS and word not in STOP_WORDS:
            yield bare


def to_fts_text(text: str) -> str:
    """*text* as it goes into, and is looked for in, a word index: scripts without spaces get them."""
    return _UNSPACED.sub(r" \g<0> ", text) if not text.isascii() else text


def line_label(line: str) -> str | None:
    """Who or what a line is labelled with ("- **Ada:** …"), lower-cased; None without a label."""
    match = _LABEL.match(line[:80])
    return match[1].strip().lower() if match else None


@lru_cache(maxsize=MAX_TAKEN_APART)
def plain_words(text: str) -> tuple[str, ...]:
    """The words of *text* in order, lower-cased, without the label it may open with."""
    label = _LABEL.match(text[:80])
    start = label.end() if label else 0
    if text.isascii():
        return tuple(_WORD.findall(text.lower(), start))
    return tuple(word.lower() for word in _WORD.findall(text, start))


def all_words(text: str) -> set[str]:
    """Every word of *text*, lower-cased, possessives without their ending."""
    return {match[0].lower().replace("’", "'").removesuffix("'s") for match in _WORD.finditer(text)}


def _shortened(utterance: str) -> str:
    utterance = utterance.strip()
    if len(utterance) <= MAX_QUESTION_CHARS:
        return utterance
    half = MAX_QUESTION_CHARS // 2
    start, end = utterance[:half].rsplit(None, 1)[0], utterance[-half:].split(None, 1)[-1]
    return f"{start} {end}".strip()


def _mentioned(text: str, names: Iterable[str]) -> Iterator[str]:
    """Those of *names* that stand in *text* as whole words."""
    words = all_words(text)
    flat = " ".join(match[0] for match in _WORD.finditer(text.lower()))
    for name in names:
        low = name.strip().lower()
        if (low in words and len(low) > 1 and low not in STOP_WORDS) or (" " in low and f" {low} " in f" {flat} "):
            yield low


def _without(text: str, names: frozenset[str]) -> str:
    if not names:
        return text
    return re.sub(r"\s+", " ", _name_pattern(names).sub(" ", text)).strip()


@lru_cache(maxsize=64)
def _name_pattern(names: frozenset[str]) -> re.Pattern[str]:
    wanted = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{wanted})(?:['’]s)?(?!\w)", re.I)
