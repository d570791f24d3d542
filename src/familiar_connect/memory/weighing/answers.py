"""When something that somebody says takes the place of what they said before: a new home, another date, "not any more".

A statement answers questions that have one answer at a time, such as where somebody lives. A later answer replaces an
earlier one when it gives another value for the same person. So does one that takes the earlier back in so many words,
that says the same with a "not" in it, or that tells of the end of what the earlier has. The rules read English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from familiar_connect.memory.weighing.claims import Claim, LetGo, claim_of, has_ended, is_flipped, things_let_go
from familiar_connect.memory.weighing.first_person import HYPOTHETICAL, JOKE, clauses_of, mask_foreign, plain_form
from familiar_connect.memory.weighing.lasting_words import LASTING, MONTH, RELATION, any_of
from familiar_connect.memory.weighing.vocabulary import PET
from familiar_connect.support.lazy_pattern import LazyPattern
from familiar_connect.support.text import sentence_spans

MAX_CHARS = 600
KEPT_READINGS = 1_024
"""Lines whose reading is kept: each line of a list is compared with each that is new."""
SHARED_WORDS = 0.5
"""Part of the words of the shorter that a line and one that takes it back have in common."""

_I = re.IGNORECASE
_OWN = LazyPattern(r"^(?:\w+ly |now |then )?(?:i|i'm|i've|i'd|i'll|my|me|we|we're|we've|we'll|our|us)\b", _I)
_KIN = LazyPattern(rf"^(?:my|our|his|her) (?:[\w-]+ ){{0,2}}?(?P<who>{RELATION})\b", _I)
_SURE = LazyPattern(rf"oneself|{RELATION}", _I)
_NAMED = LazyPattern(
    r"^(?!(?:The|An?|It|It's|Its|That|That's|This|These|Those|There|There's|No|Not|Never|Still|Just|Only|All|Both|One|Two"
    r"|Turns|Had|Has|Have|Been|Was|Is|Are|Were|Will|Can|And|But|So|Then|Now|Today|Tomorrow|Yesterday|He|She|They)\b)"
    r"(?P<who>[A-Z][\w-]+)\b"
)
_ELIDED = LazyPattern(
    r"^(?:moved|moving|living|live|work|working|started|got|found|bought|signed|back in|sold|selling|quit|gave up"
    r"|given up|stopped|switched|dropped|left|turned|not)\b",
    _I,
)
"""How a sentence about oneself begins where people leave themselves out."""
_PLACE = (
    r"(?!(?:an?|the|my|our|his|her|their|this|that|one|two|town|fear|peace|sin|days|nights|part|bed|another|new|same"
    r"|there|here|it)\b)([\w'-]+)"
)
_ONE_ANSWER: tuple[tuple[str, LazyPattern], ...] = (
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
    ("age", any_of(r"^(?:i|i've|i have|(?:my|our) [\w ]{2,30}?) (?:just |finally )?turned (\d{1,2})\b")),
    ("age", any_of(r"^(?:my|our) [\w ]{2,30}? is (?:only |just |now |already )?(\d{1,2})(?: years old| now)?[.!]*$")),
    ("name", any_of(r"^my name (?:is|'s) (\w+)")),
    ("pronouns", any_of(r"^my pronouns are (?:now )?([\w/]+)")),
    ("employer", any_of(r"\bi (?:now )?work (?:at|for) (?:the |a |an )?([\w'-]+)")),
    (
        "employer",
        any_of(
            r"\b(?:i (?:just )?start(?:ed)?|got (?:the|a) job|i'm (?:now )?working)"
            r" (?:at|for|with) (?:the |a |an )?([\w'-]+)"
        ),
    ),
    ("profession", any_of(r"\b(?:work|works|working) as (?:an? )?([\w-]+)")),
    ("subject", any_of(r"\b(?:study|studies|studying) (?!(?:for|at|in|hard|a|the|and|with|so|here|now)\b)([\w-]+)")),
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
_HOME = r"(?:this|my|our|the) (?:own |old )?(?:house|flat|home|place|apartment|city|town|village)"
_STAYS = any_of(
    rf"\b(?:stay|staying|remain|live|die) (?:on )?(?:here|in {_HOME})\b"
    r"(?=.*\b(?:until|till|forever|for good|as long as|rest of|always)\b)",
    rf"\b(?:intend|plan|want|mean|hope|going) to (?:stay|remain|die) (?:on )?(?:here|in {_HOME})\b",
    rf"\b(?:never|not|won't) (?:going to |gonna )?(?:be )?(?:leav|mov|sell|giv)(?:e|ing)?(?: up| out of)? {_HOME}\b",
)
_LEAVES = any_of(
    r"(?<!not )(?<!never )(?<!n't )"
    rf"\b(?:sell|selling|sold|giving up|gave up|moving out of|moved out of|leaving) {_HOME}\b",
    r"\b(?:put|have|got) (?:my|our|his|her) names? (?:down )?on (?:the|a|their) (?:waiting )?list"
    r"(?: for (?:a|an|the|one) (?:[\w-]+ )?(?:room|flat|apartment|home|place|house))?[.!]*$",
    r"\b(?:move|moving|moved|going) into (?:an? |the )?(?:\w+ )?(?:home|care|sheltered|retirement|assisted)\b",
    r"\bsigned (?:the contract|the lease|a lease|up) for (?:an? |the |my |our )?(?:new )?(?:\w+ )?"
    r"(?:room|flat|apartment|home|place|house)\b",
)
"""Who means to stay where they live, and what they say once they do not."""
_LIKES = LazyPattern(
    r"\b(?:(?P<likes>love|adore|like|enjoy)s?|(?P<hates>hate|loathe|detest|dislike)s?"
    r"|(?P<no_more>can't stand|cannot stand|went off|gone off|sick of|fed up with)) (?P<what>[\w-]+(?: [\w-]+){0,2})",
    _I,
)
_NO_OBJECT = frozenset(
    """
    the a an my our his her it that this to how when what you him them all now again though
    """.split()  # noqa: SIM905
)
_FAVOURITE = LazyPattern(r"\bfavou?rite (?P<what>\w+)(?: \w+)? (?:is|are|was) (?P<value>[\w' -]+)", _I)
_COUNT = LazyPattern(
    rf"\bhave (?:got )?(?P<value>\d+|one|two|three|four|five|six|seven|eight|nine|ten) (?:\w+ )?(?P<what>{PET}|kids"
    rf"|children)\b",
    _I,
)
_OCCASION = LazyPattern(
    r"\b(?P<what>wedding|married|exam|surgery|operation|knee|hip|appointment|interview|scan|gig|concert|flight|due"
    r"|trial"
    r"|deadline|portfolio|funeral|party|landlord|audition|race|barn|viewing|ceremony)\b",
    _I,
)
_DATES = LazyPattern(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}|{MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?)?|the \d{{1,2}}(?:st|nd"
    rf"|rd|th))\b",
    _I,
)
_NEW_DAY = LazyPattern(
    rf"\b(?:on|in|to|until|till|for|next) (?:the )?(?P<when>(?:mon|tues|wednes|thurs|fri|satur|sun)day|{MONTH})\b", _I
)
_DAY = "day of "
_OWNER_OF_DAY = LazyPattern(rf"\b(?:my|our|his|her) (?:[\w-]+ )?(?P<who>{RELATION})'s\b", _I)
_SLIP = LazyPattern(
    r"\W*(?:(?:haha\w*|lol|sorry|oops|no|nah|wait|ok)\W+)*(?:jk|j/k|(?:(?:i'?m|i was) )?(?:just |only )?kidding"
    r"|(?:(?:i'?m|i was) )?(?:just |only )?joking|(?:scratch|scrap|ignore) that|forget (?:that|i said that|what i said)"
    r"|not really|that was a (?:joke|lie)|that'?s not true)(?:\W+(?:lol|haha\w*|sorry|please))*\W*",
    _I,
)
_CHANGES_DAY = LazyPattern(
    r"\b(?:now|instead|moved|postponed|rescheduled|changed|(?:pushed|put|moved) back|brought forward|delayed|after all"
    r"|not (?:on |in )?\w+\W*$)\b",
    _I,
)
"""Without these a weekday or a month tells of one of several: there are many appointments in a life."""
_TAKES_BACK = LazyPattern(
    r"^\W*(?:actually|wait|no wait|correction|sorry|scratch that|scrap that|i meant|update)\b|\b(?:any ?more|no longer"
    r"|instead|after all|not (?:the )?(?!\w+ing\b)\w+\W*$)"
    r"|\b(?:chang(?:ed|ing) (?:my|our) minds?|call(?:ed|ing) (?:\w+ ){0,2}off|fell through"
    r"|(?:is|it's|was|been|got|were|are) (?:now )?(?:off|cancelled|canceled|postponed|moved|rescheduled|pushed back)"
    r"|decided against|dropped (?:the|that|out)|gave up|given up|backed out)\b",
    _I,
)
_RULED_OUT = LazyPattern(
    r"(?:^|[.!;,] ?)(?:and |but |so )?not (?:the |in |at |on |to )?(\w{3,}),?"
    r" (?:tho|though|after all|any ?more|now|then)\b",
    _I,
)
_WISH = LazyPattern(
    r"\b(?:need|needs|want|wants|wanted|look(?:ing)? for|search(?:ing)? for|hop(?:e|ing) for|sav(?:e|ing)(?: up)? for"
    r"|dream(?:ing)? of|apply(?:ing)? for|applied for|bid(?:ding)? (?:on|for)|waiting for)\b",
    _I,
)
_GRANTED = LazyPattern(
    r"\b(?:got|found|bought|signed|moved into|moving into|adopted|picked up|have the keys|took|landed|we have|i have"
    r"|we've got|i've got|accepted)\b",
    _I,
)
_WISHED = LazyPattern(
    r"\b(?P<what>flat|apartment|house|home|place|room|job|car|bike|van|boat|dog|cat|puppy|kitten|visa|loan|flatmate"
    r"|roommate|babysitter|nanny|therapist|dentist|allotment|internship|apprenticeship)s?\b",
    _I,
)
_SAME_WISH = {"apartment": "flat", "house": "flat", "home": "flat", "place": "flat", "puppy": "dog", "kitten": "cat"}
_SAME_WORD = {
    "married": "wedding",
    "marry": "wedding",
    "marrying": "wedding",
    "surgery": "operation",
    "apartment": "flat",
    "holiday": "trip",
    "vacation": "trip",
    "journey": "trip",
}
_WORD = LazyPattern(r"[^\W_]{3,}|\d+")
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
    """What a line says, as far as it matters here. All of it is made ready: each line is compared with many others."""

    answers: tuple[Answer, ...]
    given: Mapping[tuple[str, str], str]
    """By whom and question, what it answers if it is the later line."""
    words: frozenset[str]
    takes_back: bool
    wishes: frozenset[str]
    granted: frozenset[str]
    """What somebody looks for, and what they now have."""
    ruled_out: frozenset[str]
    """"Not the mill though": what it is not to be any more."""
    claims: tuple[Claim, ...]
    flips: tuple[Claim, ...]
    """Those of the claims that can take an earlier one back."""
    let_go: tuple[LetGo, ...]
    abouts: frozenset[str]
    """Whom it is about for sure: a name may be that of a place."""

    @property
    def can_take_back(self) -> bool:
        return self.takes_back or bool(self.ruled_out or self.flips or self.let_go)


def replaces(new: str, old: str) -> bool:
    """Whether *new*, said later by the same person, takes the place of *old*."""
    if new.casefold() == old.casefold():
        return False
    later, earlier = _read(new[:MAX_CHARS]), _read(old[:MAX_CHARS])
    for answer in earlier.answers:
        if later.given.get((answer.about, answer.question), answer.value) != answer.value:
            return True
    return not earlier.wishes.isdisjoint(later.granted) or _takes_back(later, earlier)


def gives_one_answer(text: str) -> bool:
    """Whether *text* answers a question that has one answer at a time, so that a later line may take its place."""
    return bool(_read(text[:MAX_CHARS]).answers)


def takes_back(message: str, old: str) -> bool:
    """Whether *message*, of which nothing is worth keeping, says in so many words that *old* does not hold."""
    if message.casefold() == old.casefold():
        return False
    text = message[:MAX_CHARS]
    told = [text[start:end] for start, end in sentence_spans(text)]
    plain = " ".join(each for each in told if not _is_no_statement(each))
    return bool(plain) and _takes_back(_read(plain), _read(old[:MAX_CHARS]))


def is_slip(message: str) -> bool:
    """Whether *message* only takes back what its speaker said just before: "jk", "scratch that"."""
    return bool(_SLIP.fullmatch(message[:MAX_CHARS]))


def _is_no_statement(sentence: str) -> bool:
    return sentence.rstrip().endswith(("?", "？")) or bool(HYPOTHETICAL.search(sentence) or JOKE.search(sentence))


def _takes_back(later: _Reading, earlier: _Reading) -> bool:
    if not later.can_take_back:
        return False
    if later.abouts and earlier.abouts and later.abouts.isdisjoint(earlier.abouts):
        return False
    if (later.ruled_out - earlier.ruled_out) & earlier.words:
        return True
    if later.takes_back and _says_the_same(later.words, earlier.words):
        return True
    if any(is_flipped(new, old) for new in later.flips for old in earlier.claims):
        return True
    return any(has_ended(thing, old) for thing in later.let_go for old in earlier.claims)


@lru_cache(maxsize=KEPT_READINGS)
def _read(text: str) -> _Reading:
    plain = mask_foreign(text.replace("\u2019", "'"))
    sentences = [plain[start:end] for start, end in sentence_spans(plain)]
    clauses = [clause for sentence in sentences for clause in _clauses_about(sentence)]
    answers = tuple(answer for sentence in sentences for answer in _answers(sentence))
    things = frozenset(_SAME_WISH.get(name, name) for name in map(str.casefold, _WISHED.findall(plain)))
    wishes = things if _WISH.search(plain) else frozenset()
    claims = tuple(claim_of(about, text) for about, text in clauses)
    changes_day = bool(_CHANGES_DAY.search(plain))
    return _Reading(
        answers=answers,
        given={
            (answer.about, answer.question): answer.value
            for answer in answers
            if changes_day or not answer.question.startswith(_DAY)
        },
        words=_words(plain),
        takes_back=bool(_TAKES_BACK.search(plain)),
        wishes=wishes,
        granted=things - wishes if _GRANTED.search(plain) else frozenset(),
        ruled_out=frozenset(name.casefold() for name in _RULED_OUT.findall(plain)),
        claims=claims,
        flips=tuple(claim for claim in claims if claim.is_negated or claim.is_change),
        let_go=tuple(thing for about, text in clauses for thing in things_let_go(about, text)),
        abouts=frozenset(claim.about for claim in claims if _SURE.fullmatch(claim.about)),
    )


def _clauses_about(sentence: str) -> Iterator[tuple[str, str]]:
    """The clauses of *sentence*, each with whom it is about; those that do not say are left out."""
    about = ""
    for clause in clauses_of(sentence):
        text = plain_form(clause.text)
        about = _whom(text) or about or ("oneself" if _ELIDED.search(text) else "")
        if about:
            yield about, text


def _answers(sentence: str) -> Iterator[Answer]:
    is_dated = any(LASTING[kind][1].search(sentence) for kind in ("duration", "exact date"))
    for about, text in _clauses_about(sentence):
        for question, pattern in _ONE_ANSWER:
            if question == "status" and is_dated:
                continue  # the day of a wedding stays true
            if found := pattern.search(text):
                yield Answer(about, question, next(value for value in found.groups() if value).casefold())
        for kind, several in (("favourite", _FAVOURITE), ("count", _COUNT)):
            if found := several.search(text):
                yield Answer(about, f"{kind} {found['what'].casefold()}", found["value"].casefold().strip())
        if _LEAVES.search(text) or _STAYS.search(text):
            yield Answer(about, "staying", "no" if _LEAVES.search(text) else "yes")
        yield from _likings(about, text)
    yield from _dates(sentence)


def _likings(about: str, clause: str) -> Iterator[Answer]:
    found = _LIKES.search(clause)
    what = " ".join(word for word in found["what"].casefold().split() if word not in _NO_OBJECT) if found else ""
    if found and what:
        likes = bool(found["likes"]) is not claim_of(about, clause).is_negated and not found["no_more"]
        yield Answer(about, f"liking {what}", "yes" if likes else "no")


def _dates(sentence: str) -> Iterator[Answer]:
    """When something is to be: a day of the calendar, or a weekday or month that another one was changed to."""
    when = _DATES.search(sentence)
    days = [when[0]] if when is not None and LASTING["exact date"][1].search(sentence) else []
    new = _NEW_DAY.search(sentence)
    whose = _OWNER_OF_DAY.search(sentence)
    about = whose["who"].casefold() if whose else ""
    for found in _OCCASION.finditer(sentence):
        occasion = _SAME_WORD.get(found["what"].casefold(), found["what"].casefold())
        for day in days:
            yield Answer(about, f"date of {occasion}", day.casefold())
        if new is not None and not days:
            yield Answer(about, f"{_DAY}{occasion}", new["when"].casefold())


def _whom(clause: str) -> str:
    """Whom *clause* is about; empty where it does not say."""
    if kin := _KIN.search(clause):
        return kin["who"].casefold()
    if _OWN.search(clause):
        return "oneself"
    named = _NAMED.search(clause)
    return named["who"].casefold() if named else ""


def _words(text: str) -> frozenset[str]:
    found = _WORD.findall(plain_form(text).casefold())
    return frozenset(_SAME_WORD.get(word, word) for word in found) - _SMALL_WORDS


def _says_the_same(new: frozenset[str], old: frozenset[str]) -> bool:
    least = min(len(new), len(old))
    return least > 0 and len(new & old) >= max(1, least * SHARED_WORDS)
