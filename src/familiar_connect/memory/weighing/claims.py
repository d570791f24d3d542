"""What a clause claims of somebody, so far that it can be told from its opposite: its words, and whether it says "not".

"I don't eat meat any more" flips "I eat meat"; "sold the Volvo" ends "I drive an old Volvo". The rules read English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from familiar_connect.support.lazy_pattern import LazyPattern

_I = re.IGNORECASE
_WORD = LazyPattern(r"[^\W_]+(?:'[a-z]+)?", _I)
_NEGATION = LazyPattern(
    r"\b(?:not|never|no longer|any ?more|no (?=\w)|don't|doesn't|isn't|aren't|won't|can't|cannot)", _I
)
_PAST_NEGATION = LazyPattern(
    r"\b(?:didn't|wasn't|weren't|hadn't|haven't|hasn't|did not|was not|not yet|couldn't)\b", _I
)
"""What was not so on one day says nothing of the others."""
_ALWAYS = LazyPattern(
    r"\b(?:not|n't) (?:only|just|even|always|all|really sure|sure)\b|\bnot (?:that|so|too|very)\b", _I
)
"""A "not" that does not say the opposite."""
_CHANGE = LazyPattern(
    r"\b(?:any ?more|no longer|again|now|finally|after all|actually|these days|stopped|meanwhile)\b", _I
)
_BE = {
    "i'm",
    "am",
    "is",
    "are",
    "was",
    "were",
    "he's",
    "she's",
    "it's",
    "we're",
    "they're",
    "be",
    "been",
    "isn't",
    "aren't",
}
_HAVE = {"have", "has", "had", "got", "i've", "we've", "own", "owns", "they've"}
_CAN = {"can", "can't", "cannot", "could"}
_SMALL = frozenset(
    """
    i we me us my our he she they his her their him them it its you your the a an of to in at on for with from by and
    or but that this not no never any more anymore longer do does don't doesn't did now again finally after all actually
    really just still so very too even either these days stopped meanwhile yet won't will would i'd i'll we'll
    """.split()  # noqa: SIM905
)
_PLAIN_VERBS = frozenset({"be", "have", "can", "go", "get", "want", "like", "know", "think", "come", "say", "mean"})
"""By themselves they claim nothing that could be told from anything else."""

_HAS = LazyPattern(r"\b(?:have|has|got|own|owns|keep|keeps|drive|drives|ride|rides|rent|renting|rents|use|uses)\b", _I)
_DOES = LazyPattern(
    r"\b(?:have|has|play|plays|take|takes|taking|do|does|go to|goes to|learn|learning|learns|study|studying|studies"
    r"|sing|sings|member|train|training|practise|smoke|smokes|drink|drinks|eat|eats|run|runs|am in|i'm in|i'm on|is in"
    r"|is on|work|works|working|volunteer|volunteers|teach|teaches|collect|collects)\b",
    _I,
)
_WHAT = (
    r" (?!(?:at|by|for|in|on|to|it|here|there|off|over|me|him|her|them|us|you)\b)(?P<what>(?:[\w'-]+ ?){1,4}?)"
    r"(?=$|[^\w' -]| ?\b(?:to|for|and|in|on|at|last|this|yesterday|because|since|when|now|after|before|so|today)\b)"
)
_GIVES_AWAY = LazyPattern(
    rf"\b(?:sold|selling|gave away|giving away|given away|got rid of|scrapped|gave up|given up){_WHAT}", _I
)
_ENDS = LazyPattern(
    r"\b(?:quit|quitting|gave up|giving up|given up|stopped|dropped out of|switched from|cancelled|canceled"
    r"|(?:left|leaving)(?= (?:(?:the|my|our|that) )?(?:\w+ )?(?:choir|band|team|club|church|party|group|company|course"
    rf"|orchestra|union|board)\b)){_WHAT}",
    _I,
)
_NOT_YET = LazyPattern(
    r"\b(?:not|never|n't|want to|wanna|might|may|should|could|would|thinking of|think of|considering)\b", _I
)


@dataclass(frozen=True)
class Claim:
    """What a clause says of one person."""

    about: str
    words: frozenset[str]
    is_negated: bool
    is_change: bool
    """Whether it says that it was not always so: "now", "again", "any more"."""
    has: bool
    does: bool
    """Whether it is about something that somebody has, or does and takes part in."""


@dataclass(frozen=True)
class LetGo:
    """What somebody no longer has, or no longer does: who sells a cello may play another."""

    about: str
    word: str
    is_thing: bool


def claim_of(about: str, clause: str) -> Claim:
    """What *clause* says of *about*."""
    is_past = bool(_PAST_NEGATION.search(clause) or _ALWAYS.search(clause))
    return Claim(
        about=about,
        words=frozenset() if is_past else frozenset(_stems(clause)),
        is_negated=bool(_NEGATION.search(clause)),
        is_change=bool(_CHANGE.search(clause)),
        has=bool(_HAS.search(clause)),
        does=bool(_DOES.search(clause)),
    )


def is_flipped(new: Claim, old: Claim) -> bool:
    """Whether *new* is *old* with a "not" in it, or *old* without its "not" since something changed."""
    if new.about != old.about or new.is_negated is old.is_negated:
        return False
    if new.is_negated:
        is_plain = len(new.words) > 1 or new.is_change or new.words == old.words
        return is_plain and new.words <= old.words and bool(new.words - _PLAIN_VERBS)
    return new.is_change and old.words <= new.words and bool(old.words - _PLAIN_VERBS)


def things_let_go(about: str, clause: str) -> Iterator[LetGo]:
    """What *about* no longer has or does, as *clause* tells."""
    for pattern, is_thing in ((_GIVES_AWAY, True), (_ENDS, False)):
        for found in pattern.finditer(clause):
            words = list(_stems(found["what"]))
            if words and "old" not in words and not _NOT_YET.search(clause[: found.start()]):
                yield LetGo(about, words[-1], is_thing)


def has_ended(thing: LetGo, old: Claim) -> bool:
    """Whether *old* tells of having or doing the *thing* that was let go."""
    is_meant = old.has if thing.is_thing else old.does
    return old.about == thing.about and is_meant and not old.is_negated and thing.word in old.words


def _stems(clause: str) -> Iterator[str]:
    for found in _WORD.finditer(clause.casefold()):
        word = found[0]
        if word in _BE:
            yield "be"
        elif word in _HAVE:
            yield "have"
        elif word in _CAN:
            yield "can"
        elif word not in _SMALL:
            yield _stem(word)


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in ("ing", "ies", "ed", "es", "s", "e", "y"):
        if len(word) - len(ending) >= 3 and word.endswith(ending) and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word
