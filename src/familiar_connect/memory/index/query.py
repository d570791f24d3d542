"""What a question asks for: the words that matter, whose words they may be, and when they were said.

Names say *who* and dates say *when*; both are taken out of what is compared by meaning and weigh in on their own.
All of it is worked out from the text and a given moment; nothing here touches a disk or a clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from familiar_connect.identity import Author
from familiar_connect.memory.index.letters import PIECE, WORD, is_english, split_clusters
from familiar_connect.memory.index.time_expressions import TimeSpan, extract_times, tells_number, tells_time
from familiar_connect.support.letters import UNSPACED
from familiar_connect.support.name_forms import find_other_forms
from familiar_connect.support.text import is_meant_as_name, without_surrogates

MAX_QUESTION_CHARS = 2_000
"""A longer text is searched for by its beginning and its end: that is where people put what they want."""
MAX_WORDS = 40
MAX_WORD_CHARS = 40
"""A longer word is found by its beginning."""
MAX_LABEL_CHARS = 80
"""A label, such as who says a line, ends before this."""
MOST_PLACES_TOLD = 3
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
hi hello hey hiya yo bye please thanks thank
"""
STOP_WORDS = frozenset(_STOP.split())
_ONESELF = re.compile(
    r"(?<!\w)(?:i|i['’](?:m|ve|d|ll)|my|mine|me|myself|we|our|ours|us|ich|mich|mir|mein\w{0,2}|wir|uns\w{0,3}|je|j['’]\w+|"
    r"moi|mon|ma|mes|nous|nos|notre|yo|mi|mis|nosotros|nuestr[oa]s?)(?!\w)",
    re.IGNORECASE,
)
_OTHER_STOP = (
    """
    aber als am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des die dir doch du ein
    eine einem einen einer er es für hat hatte hast haben ich ihr im in ist ja kein keine man mein mich mir mit
    nach nicht noch nur oder ob schon sein seine sich sie sind so um und uns unser von vor war waren was weil
    wem wen wenn wer wie wird wir wo zu zum zur wann warum welche welcher welches wurde
    """,
    """
    à au aux avec ce ces cette dans de des du elle en est et eu il ils je la le les leur lui ma mais me même mes
    moi mon ne nos notre nous on ou où par pas pour quand que quel quelle quels quelles qui quoi sa se ses son
    sont sur ta te tes toi ton tu un une vos votre vous été a ont avait était c'est d'un d'une qu'est j'ai
    comment pourquoi
    """,
    """
    a al algo como con cuando cuándo cuál cómo de del desde donde dónde el ella ellos en entre era es esa ese
    eso esta está este esto fue ha han hay la las le les lo los más me mi mis muy no nos o para pero por porque
    qué que quién quien se ser si sin sobre son su sus te tiene tu un una uno y ya yo
    """,
    """
    a ao aos as com como da das de dele dela do dos e ela ele em entre era essa esse esta este eu foi há isso já
    lhe mais mas me meu minha na nas não no nos o os ou para pela pelo por porque qual quando que quem se sem
    ser seu sua são também te tem um uma você
    """,
    """
    aan als bij dan dat de der des die dit door dus een en er had heb hebben heeft hem het hij hoe ik in is je
    kan maar me met mij mijn na naar niet nog nu of om omdat ons ook op over te tot u uit van voor waar was wat
    we wel wie wordt ze zich zij zijn zo wanneer waarom welke
    """,
)
_OTHER_STOP_WORDS = tuple(frozenset(words.split()) for words in _OTHER_STOP)
"""German, French, Spanish, Portuguese and Dutch; each counts only where the question is in that language."""
_ASKS_WHEN = re.compile(
    r"\b(?:when|what (?:date|day|month|year|time)|how (?:long|often)|which (?:day|date|month|year|week)|wann|wie lange?"
    r"|an welchem tag|quand|combien de temps|quel(?:le)? (?:jour|date|heure|année|mois)|cuándo|cuando|cuánto tiempo"
    r"|qué (?:día|fecha|hora|año|mes)|quando|wanneer|hoe lang)\b|いつ",
    re.I,
)
_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|old|long|far|big|tall|often)|what number|prices?|costs?|wie ?viele?|wie (?:alt|lange?|oft)"
    r"|combien|quel âge|cuánt[oa]s?|quant[oa]s?|hoeveel|hoe oud)\b|いくつ|いくら|何[人個歳回]",
    re.I,
)
_ASKS_WHERE = re.compile(
    r"\b(?:where|(?:what|which) (?:\w+ )?(?:city|cities|towns?|country|countries|states?|places?|villages?|islands?"
    r"|continents?|regions?)|wo|woher|wohin|où|dónde|onde|waar)\b|どこ",
    re.I,
)
_ASCII_GAPS = {code: " " for code in range(128) if not chr(code).isalnum()}
"""What stands between words: telling them apart so is several times as quick as by `_WORD`."""
_IN_CAPITALS = re.compile(r"""(?<=[a-zß-ÿ,'’"“]\s)["“'‘]?[A-ZÀ-Þ][a-zß-ÿ]+""")
_IN_A_PLACE = re.compile(
    r"\b(?:in|at|to|from|near|around|of|through|across|visit(?:ed|ing)?|nach|aus|à|en|de|para|naar|uit) (?:the )?"
    r"[A-ZÀ-Þ][a-zß-ÿ]"
)
_LABEL = re.compile(r"\s*(?:[-*+>]\s+)?(?:\[[^\]\n]{1,40}\]\s*)?[*_]{0,3}([^\W_][^:*\n]{0,40}?)[*_]{0,3}:[*_]{0,3}\s")
_JOINS_NAMES = re.compile(r"\s*(?:,\s*)?(?P<and>(?:and|or|und|oder|et|ou|y)\s+|[&+]\s*)|\s*,\s*", re.I)
"""What stands between two names of a list; its last two have a word between them."""
_STEM_CUTS = ((8, 3), (6, 2), (4, 1))
"""From so many letters on, how many at the end of a word may be its ending."""
_HANGUL = re.compile(r"[\uac00-\ud7a3]+\Z")
"""A word of Korean: its last signs are particles, which are written onto it."""
_POSSESSIVE = re.compile(r"['’]s\b|s['’](?!\w)")
_CAPITAL_WORD = re.compile(r"\b[A-Z][a-z]+")


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
    asks_when: bool = False
    asks_number: bool = False
    asks_where: bool = False
    in_any_form: bool = False
    """Whether words count in other forms than they have in the question: it is not English, whose forms are known."""
    first_named: frozenset[str] = frozenset()
    """Those of `names` that are named before all others: who does something stands before whom it is done to."""


def parse_query(utterance: str, *, names: Iterable[str], now: datetime) -> SearchQuery:
    """*utterance* taken apart; *names* are those people go by."""
    text, names = _shorten(utterance), list(names)
    mentioned = written = frozenset(_find_mentioned(text, names))
    others = not is_english(_without(text, mentioned))
    if others or not text.isascii() or not all(map(str.isascii, names)):
        unmentioned = [name for name in names if name.strip().lower() not in mentioned]
        declined = dict(find_other_forms(text, unmentioned, found=mentioned, with_endings=others))
        mentioned, written = mentioned.union(declined), written.union(declined.values())
    meaning = _without(text, written)
    spans, timeless = extract_times(text, now)
    words = dict.fromkeys(_telling(_without(timeless, written))) or dict.fromkeys(content_words(text))
    return SearchQuery(
        text,
        meaning or text,
        tuple(words)[:MAX_WORDS],
        mentioned,
        spans,
        asks_when=_ASKS_WHEN.search(text) is not None,
        asks_number=_ASKS_NUMBER.search(text) is not None,
        asks_where=_ASKS_WHERE.search(text) is not None,
        in_any_form=others,
    )


def find_first_named(text: str, names: frozenset[str]) -> frozenset[str]:
    """Those of *names* that stand before all others in *text*: one person's whole name and the words of it.

    "Ada, Bo and Cy" are named in one breath: none of them is asked for more than the others.
    """
    pattern = _name_pattern(names) if names else None
    if pattern is None or (match := pattern.search(text)) is None:
        return frozenset()
    joined, found = [match], [match]
    while (link := _JOINS_NAMES.match(text, joined[-1].end())) and (another := pattern.match(text, link.end())):
        joined.append(another)
        if link["and"]:  # "Ada, Bo says hello" speaks to one and of the other
            found = list(joined)
    first = [f" {' '.join(_POSSESSIVE.sub('', each[0].lower()).split())} " for each in found]
    return frozenset(name for name in names if any(f" {name} " in each for each in first))


def _telling(text: str) -> list[str]:
    """The content words of *text* without the stop words of the language it seems to be in."""
    words = list(content_words(text))
    all_of_it = all_words(text)
    most = max(_OTHER_STOP_WORDS, key=lambda stop: len(all_of_it & stop))
    if len(all_of_it & most) <= max(1, len(all_of_it & STOP_WORDS)):
        return words
    return [word for word in words if word not in most] or words


def concerns_speaker(utterance: str) -> bool:
    """Whether *utterance* speaks of the person who says it: "what is my cat's name?"."""
    return _ONESELF.search(utterance[:MAX_QUESTION_CHARS]) is not None


def content_words(text: str) -> Iterator[str]:
    """The words of *text* that say something, lower-cased."""
    for match in WORD.finditer(text):
        word = match[0].lower().replace("’", "'")
        bare = word.removesuffix("'s")
        if UNSPACED.search(bare):
            yield from _pairs(bare)
        elif bare and bare not in STOP_WORDS and word not in STOP_WORDS:
            yield bare


@lru_cache(maxsize=MAX_TAKEN_APART)
def count_places_told(text: str) -> int:
    """How surely *text* names a place: by words with a capital in mid-sentence, and by what stands before them."""
    capitals = len(_IN_CAPITALS.findall(text))
    return min(MOST_PLACES_TOLD - 1, capitals) + (_IN_A_PLACE.search(text) is not None)


def words_to_index(text: str) -> list[str]:
    """The words by which *text* is found, each once: those that say something, and common ones that are a name there.

    Of scripts without spaces these are pairs of characters, then the single ones.
    """
    text = without_surrogates(text)
    found = dict.fromkeys(word[:MAX_WORD_CHARS] for word in content_words(text))
    if not text.isascii():
        found |= dict.fromkeys(UNSPACED.findall(text))
    for match in _CAPITAL_WORD.finditer(text):
        low = match[0].lower()
        if low in STOP_WORDS and is_meant_as_name(low, text):
            found[low] = None
    return list(found)


def match_expression(word: str, *, in_any_form: bool = False) -> str:
    """What to look for in a word index for *word*: all the words that it is taken apart into; nothing: it has none.

    *in_any_form*: words that begin as it does count too, where so much of it is left that they are forms of it.
    """
    if in_any_form and (stem := stem_of(word)):
        return f'"{stem}"*'
    pieces = [match[0].lower() for match in PIECE.finditer(without_surrogates(word).removesuffix("'s"))]
    wanted = (each for piece in pieces for each in (_pairs(piece) if UNSPACED.search(piece) else [piece]))
    return " AND ".join(f'"{each[:MAX_WORD_CHARS]}"' for each in wanted)


def stem_of(word: str) -> str:
    """What other forms of *word* begin with, in languages that change its end; nothing where it is too short."""
    if _HANGUL.match(word):
        return word[: min(max(2, len(word) - 1 - (len(word) > 3)), MAX_WORD_CHARS)] if len(word) > 1 else ""
    cut = next((cut for length, cut in _STEM_CUTS if len(word) >= length), 0)
    return word[: min(len(word) - cut, MAX_WORD_CHARS)] if cut and word.isalpha() and not UNSPACED.search(word) else ""


def _pairs(word: str) -> Iterator[str]:
    """The pairs of neighbouring characters of *word*, or its only one."""
    signs = split_clusters(word)
    yield from ("".join(signs[at : at + 2]) for at in range(max(1, len(signs) - 1)))


def line_label(line: str) -> str | None:
    """Who or what a line is labelled with ("- **Ada:** …"), lower-cased; None without a label."""
    match = _LABEL.match(line[:MAX_LABEL_CHARS])
    return match[1].strip().lower() if match else None


@lru_cache(maxsize=MAX_TAKEN_APART)
def plain_words(text: str) -> tuple[str, ...]:
    """The words of *text* in order, lower-cased, without the label it may open with."""
    label = _LABEL.match(text[:MAX_LABEL_CHARS])
    return every_word(text[label.end() :] if label else text)


def every_word(text: str) -> tuple[str, ...]:
    """The words of *text* in order, lower-cased."""
    if text.isascii():
        low = text.lower()
        return tuple(WORD.findall(low) if "'" in low else low.translate(_ASCII_GAPS).split())
    return tuple(word.lower() for word in WORD.findall(text))


def all_words(text: str) -> set[str]:
    """Every word of *text*, lower-cased, possessives without their ending."""
    return {match[0].lower().replace("’", "'").removesuffix("'s") for match in WORD.finditer(text)}


def _shorten(utterance: str) -> str:
    utterance = utterance.strip()
    if len(utterance) <= MAX_QUESTION_CHARS:
        return utterance
    half = MAX_QUESTION_CHARS // 2
    start, end = utterance[:half].rsplit(None, 1)[0], utterance[-half:].split(None, 1)[-1]
    return f"{start} {end}".strip()


def _find_mentioned(text: str, names: Iterable[str]) -> Iterator[str]:
    """Those of *names* that stand in *text* as whole words, or anywhere in a script without spaces."""
    words = all_words(text)
    flat = " ".join(match[0] for match in WORD.finditer(text.lower()))
    for name in names:
        low = name.strip().lower()
        if low in STOP_WORDS:
            if low in words and is_meant_as_name(low, text):
                yield low
            continue
        is_within = len(low) > 1 and low in flat and (" " in low or UNSPACED.search(low))
        if (low in words and len(low) > 1) or (is_within and (UNSPACED.search(low) or f" {low} " in f" {flat} ")):
            yield low


def _without(text: str, names: frozenset[str]) -> str:
    if not names:
        return text
    return re.sub(r"\s+", " ", _name_pattern(names).sub(" ", text)).strip()


@lru_cache(maxsize=64)
def _name_pattern(names: frozenset[str]) -> re.Pattern[str]:
    # "When will Will come": of a name that is a common word only the capital one is the name.
    by_length = sorted(names, key=len, reverse=True)
    spaced = "|".join(
        f"(?-i:{re.escape(name.capitalize())})" if name in STOP_WORDS else re.escape(name)
        for name in by_length
        if not UNSPACED.search(name)
    )
    unspaced = [re.escape(name) for name in by_length if UNSPACED.search(name)]
    return re.compile("|".join([*([rf"(?<!\w)(?:{spaced})(?:['’]s)?(?!\w)"] if spaced else []), *unspaced]), re.I)


@lru_cache(maxsize=MAX_TAKEN_APART)
def word_counts(text: str) -> frozenset[int]:
    """How many words of *text* say something: with what it may be labelled by, and without."""
    label = line_label(text)
    bare = text.split(":", 1)[1] if label is not None else text
    return frozenset(sum(1 for _ in content_words(each)) for each in {text, bare})


def author_names(author: Author) -> str:
    """What a person may be called in a question: their names, and the words of a longer one."""
    found: dict[str, None] = {}
    for name in (author.display_name, author.username, *sorted(author.aliases)):
        low = (name or "").lower().strip()
        words = [word for word in low.split() if len(word) > 2 and word not in STOP_WORDS]
        found |= dict.fromkeys(part for part in (low, *words) if part)
    return without_surrogates("\n".join(found))


@lru_cache(maxsize=MAX_TAKEN_APART)
def find_time_and_number(text: str) -> tuple[bool, bool]:
    """Whether *text* tells a time, and a number."""
    words = plain_words(text)
    return tells_time(text, words), tells_number(text, words)


@lru_cache(maxsize=MAX_TAKEN_APART)
def find_times(text: str, said_at: float) -> tuple[TimeSpan, ...]:
    """The stretches of time that *text* names, for whoever heard it then."""
    return extract_times(text, datetime.fromtimestamp(said_at, UTC))[0]
