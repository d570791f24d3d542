"""When something that somebody says takes the place of what they said before: a new home, another date, "not any more".

A statement answers questions that have one answer at a time, such as where somebody lives. A later answer replaces an
earlier one when it gives another value for the same person. So does one that takes the earlier back in so many words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from familiar_connect.memory.weighing.clauses import clauses_of, mask_foreign, plain_form
from familiar_connect.memory.weighing.lasting_words import LASTING, MONTH, RELATION, any_of
from familiar_connect.memory.weighing.vocabulary import PET
from familiar_connect.support.text import sentence_spans

MAX_CHARS = 600
KEPT_READINGS = 1_024
"""Lines whose reading is kept: each line of a list is compared with each that is new."""
SHARED_WORDS = 0.5
"""Part of the words of the shorter that a line and one that takes it back have in common."""

_I = re.IGNORECASE
_OWN = re.compile(r"^(?:\w+ly |now |then )?(?:i|i'm|i've|i'd|i'll|my|me|we|we're|we've|we'll|our|us)\b", _I)
_KIN = re.compile(rf"^(?:my|our|his|her) (?:[\w-]+ ){{0,2}}?(?P<who>{RELATION})\b", _I)
_NAMED = re.compile(r"^(?P<who>[A-Z][\w-]+)\b")
_ELIDED = re.compile(r"^(?:moved|moving|living|live|work|working|started|got|found|bought|signed|back in)\b", _I)
"""How a sentence about oneself begins where people leave themselves out."""
_PLACE = (
    r"(?!(?:an?|the|my|our|his|her|their|this|that|one|two|town|fear|peace|sin|days|nights|part|bed|another|new|same"
    r"|there|here|it)\b)([\w'-]+)"
)
_ONE_ANSWER: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "home",
        any_of(
            rf"(?<!used to )\b(?:live|lives|living|based|settled) (?:back |now |here )?(?:in|near"
            rf"|outside) (?:the )?{_PLACE}"
        ),
    ),
    ("home", any_of(rf"\bmoved (?:back |over |away |out |here )?(?:from [\w' -]{{2,30}}? )?(?:to|into) {_PLACE}")),
    (
        "home",
        any_of(
            rf"\b(?:signed for|found|bought|rent(?:ed|ing)?) (?:\w+ ){{0,3}}?(?:house|flat|apartment"
            rf"|place) in {_PLACE}"
        ),
    ),
    ("home", any_of(rf"\bdon't live in (?:the )?{_PLACE}")),
    ("home", any_of(rf"\b(?:i'm|we're|we are|i am|^)(?:\w+ly |now |all )? ?moving (?:back |over )?to {_PLACE}")),
    ("age", any_of(r"^i'm (?:only |just |now |already )?(\d{1,2})(?: years old| now)?(?=\W|$)(?! ?(?:min|%|km))")),
    ("name", any_of(r"^my name (?:is|'s) (\w+)")),
    ("employer", any_of(r"\bi (?:now )?work (?:at|for) (?:the |a |an )?([\w'-]+)")),
    (
        "employer",
        any_of(
            r"\b(?:i (?:just )?start(?:ed)?|got (?:the|a) job|i'm (?:now )?working)"
            r" (?:at|for|with) (?:the |a |an )?([\w'-]+)"
        ),
    ),
    (
        "status",
        any_of(
            r"\b(single|engaged|married|divorced|separated|widowed|broke up|split up|a thing now|dating|official"
            r"|a couple|going out|(?:we're|been|are) together|seeing (?:someone|somebody|each other)"
            r"|met some(?:one|body)|in love|(?:is|are) my (?:girlfriend|boyfriend)"
            r"|(?:have|got|'ve) a (?:new )?(?:girlfriend|boyfriend))\b"
        ),
    ),
)
_FAVOURITE = re.compile(r"\bfavou?rite (?P<what>\w+)(?: \w+)? (?:is|are|was) (?P<value>[\w' -]+)", _I)
_COUNT = re.compile(
    rf"\bhave (?:got )?(?P<value>\d+|one|two|three|four|five|six|seven|eight|nine|ten) (?:\w+ )?(?P<what>{PET}|kids"
    rf"|children)\b",
    _I,
)
_OCCASION = re.compile(
    r"\b(?P<what>wedding|married|exam|surgery|operation|knee|hip|appointment|interview|scan|gig|concert|flight|due"
    r"|trial"
    r"|deadline|portfolio|funeral|party|landlord|audition|race|barn|viewing|ceremony)\b",
    _I,
)
_DATES = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}|{MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?)?|the \d{{1,2}}(?:st|nd"
    rf"|rd|th))\b",
    _I,
)
_TAKES_BACK = re.compile(
    r"^\W*(?:actually|wait|no wait|correction|sorry|scratch that|scrap that|i meant|update)\b|\b(?:any ?more|no longer"
    r"|instead|after all|not (?:the )?(?!\w+ing\b)\w+\W*$)"
    r"|\b(?:chang(?:ed|ing) (?:my|our) minds?|call(?:ed|ing) (?:\w+ ){0,2}off|fell through"
    r"|(?:is|it's|was|been) (?:now )?(?:off|cancelled|canceled|postponed|moved)"
    r"|decided against|dropped (?:the|that|out)|gave up|given up|backed out)\b",
    _I,
)
_RULED_OUT = re.compile(
    r"(?:^|[.!;,] ?)(?:and |but |so )?not (?:the |in |at |on |to )?(\w{3,}),?"
    r" (?:tho|though|after all|any ?more|now|then)\b",
    _I,
)
_WISH = re.compile(
    r"\b(?:need|needs|want|wants|wanted|look(?:ing)? for|search(?:ing)? for|hop(?:e|ing) for|sav(?:e|ing)(?: up)? for"
    r"|dream(?:ing)? of|apply(?:ing)? for|applied for|bid(?:ding)? (?:on|for)|waiting for)\b",
    _I,
)
_GRANTED = re.compile(
    r"\b(?:got|found|bought|signed|moved into|moving into|adopted|picked up|have the keys|took|landed|we have|i have"
    r"|we've got|i've got|accepted)\b",
    _I,
)
_WISHED = re.compile(
    r"\b(?P<what>flat|apartment|house|home|place|room|job|car|bike|van|boat|dog|cat|puppy|kitten|visa|loan|flatmate"
    r"|roommate|babysitter|nanny|therapist|dentist|allotment|internship|apprenticeship)s?\b",
    _I,
)
_SAME_WISH = {"apartment": "flat", "house": "flat", "home": "flat", "place": "flat", "puppy": "dog", "kitten": "cat"}
_WORD = re.compile(r"[^\W_]{3,}|\d+")
_SMALL_WORDS = frozenset(
    """
    the and for with not now any more anymore longer actually wait sorry correction meant instead scratch that
    this have has had was were are our his her its they them from into out but just really still since been will
    would can don't dont didn't doesn't isn't i'm i've you your she him all too also only very about because
    there here then than what when where who how changed change mind minds fell through called cancelled canceled
    postponed decided against dropped gave given backed getting
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Answer:
    """The value that somebody gives for a question about one person."""

    about: str
    question: str
    value: str


@dataclass(frozen=True)
class _Reading:
    """What a line says, as far as it matters here."""

    answers: tuple[Answer, ...]
    words: frozenset[str]
    takes_back: bool
    wishes: frozenset[str]
    granted: frozenset[str]
    """What somebody looks for, and what they now have."""
    ruled_out: frozenset[str]
    """"Not the mill though": what it is not to be any more."""


def replaces(new: str, old: str) -> bool:
    """Whether *new*, said later by the same person, takes the place of *old*."""
    if new.casefold() == old.casefold():
        return False
    later, earlier = _read(new[:MAX_CHARS]), _read(old[:MAX_CHARS])
    given = {(answer.about, answer.question): answer.value for answer in later.answers}
    if any(given.get((answer.about, answer.question), answer.value) != answer.value for answer in earlier.answers):
        return True
    if earlier.wishes & later.granted or (later.ruled_out - earlier.ruled_out) & earlier.words:
        return True
    return later.takes_back and _says_the_same(later.words, earlier.words)


@lru_cache(maxsize=KEPT_READINGS)
def _read(text: str) -> _Reading:
    plain = mask_foreign(text.replace("\u2019", "'"))
    answers = tuple(answer for start, end in sentence_spans(plain) for answer in _answers(plain[start:end]))
    things = frozenset(_SAME_WISH.get(name, name) for name in map(str.casefold, _WISHED.findall(plain)))
    wishes = things if _WISH.search(plain) else frozenset()
    return _Reading(
        answers=answers,
        words=_words(plain),
        takes_back=bool(_TAKES_BACK.search(plain)),
        wishes=wishes,
        granted=things - wishes if _GRANTED.search(plain) else frozenset(),
        ruled_out=frozenset(name.casefold() for name in _RULED_OUT.findall(plain)),
    )


def _answers(sentence: str) -> Iterator[Answer]:
    about = ""
    is_dated = any(LASTING[kind][1].search(sentence) for kind in ("duration", "exact date"))
    for clause in clauses_of(sentence):
        text = plain_form(clause.text)
        about = _whom(text) or about or ("oneself" if _ELIDED.search(text) else "")
        if not about:
            continue
        for question, pattern in _ONE_ANSWER:
            if question == "status" and is_dated:
                continue  # the day of a wedding stays true
            if found := pattern.search(text):
                yield Answer(about, question, next(value for value in found.groups() if value).casefold())
        for kind, several in (("favourite", _FAVOURITE), ("count", _COUNT)):
            if found := several.search(text):
                yield Answer(about, f"{kind} {found['what'].casefold()}", found["value"].casefold().strip())
    when = _DATES.search(sentence)
    if when is not None and LASTING["exact date"][1].search(sentence):
        for occasion in _OCCASION.finditer(sentence):
            yield Answer("", f"date of {occasion['what'].casefold()}", when[0].casefold())


def _whom(clause: str) -> str:
    """Whom *clause* is about; empty where it does not say."""
    if kin := _KIN.search(clause):
        return kin["who"].casefold()
    if _OWN.search(clause):
        return "oneself"
    named = _NAMED.search(clause)
    return named["who"].casefold() if named else ""


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(plain_form(text).casefold())) - _SMALL_WORDS


def _says_the_same(new: frozenset[str], old: frozenset[str]) -> bool:
    least = min(len(new), len(old))
    return least > 0 and len(new & old) >= max(1, least * SHARED_WORDS)
