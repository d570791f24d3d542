"""The name that somebody gives themselves in a message: "I'm Sam", "my name is Sam", "call me Sam", "ich heiße Sam"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from familiar_connect.chat.other_introductions import asks_name_elsewhere, find_given_names, is_no_name_elsewhere
from familiar_connect.support.letters import LETTER

MAX_NAME_CHARS = 40
MAX_READ_CHARS = 2_000
MAX_ANSWER_WORDS = 4

_BEGINS = r"(?:^|[\n.!?,;:]\s*|\b(?:and|but|so|hey|hi|hello|hiya|btw|well|oh|ok|okay|actually|no|please|just|now) )"
_ENDS = (
    r"(?=\s*$|\s*[\n,.!;:()]|\s+-|\s+(?:and|but|btw|by the way|now|please|from|here|instead|not|these days|for short"
    r"|though|nice|lol|haha|then|what|who|how|pleased|hi|hello|again)\b)"
)
_NAME = (
    rf"(?P<name>(?:{LETTER})+(?:['’-](?:{LETTER}){{2,}}){{0,2}}\.?"
    rf"(?: [A-Z](?:{LETTER})+(?:['’-](?:{LETTER}){{2,}})?){{0,2}})"
)
_SAID = re.compile(
    _BEGINS + r"(?:my (?:first |real |full )?name(?:['’]?s| is)|(?:the )?name(?:['’]s| is)"
    r"|(?:please |just |you can |you may |everyone |everybody |people |friends |my friends |they )?call(?:s)? me"
    r"|i go by|i(?:['’]?m| am) called) " + _NAME + _ENDS,
    re.IGNORECASE,
)
_AM = re.compile(_BEGINS + r"(?:i(?:['’]?m| am)|this is) " + _NAME + _ENDS, re.IGNORECASE)
_PLAYED = re.compile(
    r"^\s*[>*_\"“„«「『(/]|\b(?:pretend|imagine|suppose|let['’]?s say|if|what if|once upon)\b|[\"“”„«»「」『』]",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:your name|(?:should|shall|may|do|can) i call you|who are you)\b[^.!?\n]{0,40}\?\W*$", re.IGNORECASE
)
# Names of several words are written with capitals: "nice kettle" is a remark, as most of what is said in two words.
_ANSWER = re.compile(
    r"^\s*(?i:(?:it['’]?s|i['’]?m|i am|the name is|just) )?"
    + _NAME
    + r"(?i: here)?(?:[.!,。！]*"
    + r"|[.!,]?\s+(?i:(?:and )?(?:you|yours?|what['’]?s yours|who are you|hi|hello|hey)[?!.]*))\s*$"
)
_NO_NAMES = frozenset(
    """
    hi hello hey yes no yeah nope nah why thanks thank please guess idk lol haha bye stop quit help none me you
    anonymous a an the not so just very too back here there home sorry sure fine good great ok okay well happy
    sad tired bored hungry sick ill lost done ready busy late early afraid glad curious serious kidding joking
    new old young alone right wrong it that this what who how maybe later crazy tomorrow today tonight when if
    whatever stupid anytime nobody someone nothing something everything hard easy secret unknown on in at from
    with my your his her their our going coming trying looking thinking working learning god human american
    british english scottish irish welsh canadian australian german french italian spanish portuguese dutch
    belgian swiss austrian swedish norwegian danish finnish icelandic polish czech slovak hungarian romanian
    bulgarian greek turkish russian ukrainian serbian croatian chinese japanese korean indian pakistani thai
    vietnamese indonesian filipino malaysian brazilian mexican argentinian chilean colombian peruvian cuban
    egyptian nigerian ghanaian kenyan ethiopian moroccan israeli lebanese iranian iraqi arab african asian
    european latina latino jewish christian muslim catholic protestant hindu buddhist sikh atheist vegan
    vegetarian gay straight bi trans autistic male female single married divorced pregnant retired unemployed
    cool nice lovely wow whoa great awesome amazing sweet neat interesting pretty beautiful cute perfect wonderful
    brilliant funny weird strange charming adorable cosy cozy warm cold hot hmm hm uh um er ah oh aha huh yo sup howdy
    greetings welcome morning evening afternoon night goodnight cheers ta ping test testing go start begin continue
    next more again wait look listen tell ask say show same neither both never always really indeed exactly
    absolutely definitely certainly probably perhaps nevermind pass skip undefined null anon
    aries taurus gemini cancer virgo libra scorpio sagittarius capricorn aquarius pisces
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Introduction:
    """A name, and whether it was given as one."""

    name: str
    is_plain: bool
    """True for "my name is" and "call me"; "I'm Sam" may mean something else."""


def asks_for_name(text: str) -> bool:
    """Whether *text* ends by asking somebody what they are called."""
    text = text[-MAX_READ_CHARS:]
    return bool(_ASKED.search(text)) or asks_name_elsewhere(text)


def read_introduction(text: str, *, was_asked: bool = False) -> Introduction | None:
    """The name in *text* by which its speaker goes; None where none is given. Who *was_asked* may say nothing else."""
    text = text[:MAX_READ_CHARS]
    if _PLAYED.search(text):
        return None
    if (name := _find(_SAID, text, plain=True)) is not None:
        return Introduction(name, True)
    if (given := _find_elsewhere(text, was_asked=was_asked)) is not None and given.is_plain:
        return given
    answer = _ANSWER.match(text) if was_asked and len(text.split()) <= MAX_ANSWER_WORDS else None
    if answer is not None and (name := _clean(answer["name"], plain=True)):
        return Introduction(name, True)
    name = _find(_AM, text, plain=False)
    return Introduction(name, False) if name is not None else given


def _find_elsewhere(text: str, *, was_asked: bool) -> Introduction | None:
    """The first name that is given in *text* in another language than English, and that is not asked about."""
    for given in find_given_names(text, was_asked=was_asked):
        name = _clean(given.name, plain=True)
        if name and text[given.end :].lstrip()[:1] not in ("?", "？", "؟"):
            return Introduction(name, given.is_plain)
    return None


def _find(pattern: re.Pattern[str], text: str, *, plain: bool) -> str | None:
    """The first name that *pattern* finds in *text*, and that is not asked about."""
    for found in pattern.finditer(text):
        name = _clean(found["name"], plain=plain)
        if name and not text[found.end() :].lstrip().startswith("?"):
            return name
    return None


def _clean(name: str, *, plain: bool) -> str | None:
    """*name* as one writes it; None for a word that is none."""
    first, *others = name.rstrip(".").split()
    if (
        first.casefold() in _NO_NAMES
        or is_no_name_elsewhere(first)
        or len(name) > MAX_NAME_CHARS
        or re.search(r"['’]s$", name)
    ):
        return None
    if not plain and not first[0].isupper():
        return None
    first = first[0].upper() + first[1:] if first.islower() else first
    return " ".join([first, *(other for other in others if not other[0].islower())])
