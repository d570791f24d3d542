"""Which of what was found bears on a message at all: a floor, so that small talk recalls nothing.

A search always finds something; the ranking says what is nearest, not whether it is near. Here the message must ask
or tell something, one hit must clearly belong to it, and the others must not be far behind the best. A floor for each
hit alone cost a tenth of the evidence in informal chat, so there is none.

Padding is taken out too: a session file lists where it was and who was there, and quotes turns that are found by
themselves. A familiar's own remark ("I hear you.") is near everything it was said to; it counts only where its own
words or its meaning were asked for, or where it is the question that a hit answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from familiar_connect.memory.index.protocols import Recollection, RetrievedChunk
from familiar_connect.memory.index.query import concerns_speaker, content_words, every_word, plain_words
from familiar_connect.memory.index.vectors.spelling import is_read_by_spelling

CLEAR_COSINE = 0.3
"""So near in meaning, a hit belongs to the message though they share no word."""
CLEAR_COSINE_WITH_WORDS = 0.15
CLEAR_COSINE_NEARBY = 0.2
"""The same where a word is shared next to it, or the message names its speaker or its time."""
LEAST_SHARE = 0.35
"""Of the best hit's score; what has less is there by chance."""
MEANING_WEIGHT = 6.0
"""What `ranking.SignalWeights` multiplies a cosine with."""

_SMALL_TALK = """
hi hello hey hiya howdy yo morning evening night afternoon good bye goodbye later see ya cya thanks thank thx ty please
welcome lol lmao rofl haha hahaha hehe heh hah xd ok okay k kk cool nice great awesome amazing sure yep yup yeah yes
nope nah no right true indeed exactly guess think know really wow whoa oh ah hmm hm mm mhm uh um huh well fine brb gtg
afk alright way maybe perhaps lovely sounds tell say said like want anything something nothing thing things day today
tonight got get go going come feel feels feeling love much lot bit again talk joke up keep mind course more bored tired
"""
SMALL_TALK = frozenset(_SMALL_TALK.split())
"""Words that fill a conversation and say nothing to search for."""

_ADDRESSING = frozenset(
    ("you", "your", "yours", "you're", "you've", "du", "dein", "deine", "dir", "dich", "tu", "ton", "ta")
)
"""Words that speak to somebody."""
_TOGETHER = frozenset(
    ("we", "our", "ours", "us", "we're", "we've", "wir", "uns", "unser", "unsere", "nous", "notre", "nos")
)
"""Words of somebody who speaks for several."""
SESSIONS_FOLDER = "sessions/"
SESSION_LISTS = ("> Context", "> Who was there")
"""Headings in session files under which nothing stands that was said."""
_QUOTE_OF_TURN = re.compile(r"^[ \t]*[-*] [^:\n]{1,80} said: .*$", re.MULTILINE)
_BARE_ITEM = re.compile(r"^[ \t]*[-*] (?:\[[^\]\n]*\]\([^)\n]*\)|[^\s:]+)[ \t]*$", re.MULTILINE)

Hit = Recollection | RetrievedChunk
H = TypeVar("H", bound=Recollection | RetrievedChunk)


LONGEST_REPEATED = 20_000
"""Characters: nothing that is found is as long, so a longer utterance cannot be what is found."""


def topic_words(text: str) -> set[str]:
    """The words of *text* that say what it is about, lower-cased."""
    return {word for word in content_words(text) if word not in SMALL_TALK}


def only_relevant(utterance: str, hits: Sequence[H]) -> list[H]:
    """Those of *hits*, in their order, that bear on *utterance*; never the utterance itself, said before."""
    about = any(word not in SMALL_TALK for word in content_words(utterance))
    same = plain_words(utterance[:LONGEST_REPEATED])
    told = [
        hit for hit in hits if (about or _is_asked_for(hit)) and plain_words(hit.text) != same and topic_words(hit.text)
    ]
    spelt = is_read_by_spelling(utterance[:LONGEST_REPEATED])
    if not any(_is_clear(hit) or (spelt and _is_met(hit)) for hit in told):
        return []
    least = max(hit.score for hit in told) * LEAST_SHARE
    return [hit for hit in told if hit.score >= least]


def _signals(hit: Recollection | RetrievedChunk) -> dict[str, float]:
    return hit.explained.signals if isinstance(hit, Recollection) else {}


def _is_asked_for(hit: Recollection | RetrievedChunk) -> bool:
    """Whether the message names who said it or when."""
    signals = _signals(hit)
    return signals.get("who", 0.0) > 0 or signals.get("when", 0.0) > 0


def _is_clear(hit: Recollection | RetrievedChunk) -> bool:
    """Whether its meaning is near enough for the words it shares; a plain chunk says only that somebody chose it."""
    signals = _signals(hit)
    if not signals:
        return True
    cosine = signals.get("meaning", 0.0) / MEANING_WEIGHT
    if signals.get("words", 0.0) > 0 and cosine >= CLEAR_COSINE_WITH_WORDS:
        return True
    is_near = signals.get("words around", 0.0) > 0 or _is_asked_for(hit)
    return cosine >= CLEAR_COSINE or (is_near and cosine >= CLEAR_COSINE_NEARBY)


def _is_met(hit: Recollection | RetrievedChunk) -> bool:
    """Whether it has a word of the message, or is of whom it names: where meaning is spelling, that is all there is."""
    return _signals(hit).get("words", 0.0) > 0 or _is_asked_for(hit)


def without_known(hits: Iterable[H], known: Iterable[str]) -> list[H]:
    """*hits* whose words do not all stand, in their order, in one of the *known* texts, nor in a hit before them."""
    shown = [f" {' '.join(plain_words(line))} " for whole in known for line in (whole, *whole.splitlines())]
    found: list[H] = []
    for hit in hits:
        words = f" {' '.join(plain_words(hit.text))} "
        if not words.strip() or any(words in line for line in shown):
            continue
        shown.append(words)
        found.append(hit)
    return found


def without_padding(hits: Iterable[Hit], *, own_name: str) -> list[Hit]:
    """*hits* that tell something, in their order, each without the familiar's own remarks beside it."""
    found: list[Hit] = []
    for hit in hits:
        if not isinstance(hit, Recollection):
            found.append(hit)
        elif hit.source == "file":
            if (rest := _without_session_lists(hit)) is not None:
                found.append(rest)
        elif hit.speaker != own_name or _is_asked_for_itself(hit):
            found.append(_without_own_remarks(hit, own_name))
    return found


def without_others_selves(utterance: str, hits: Sequence[Hit], *, asker: frozenset[str]) -> list[Hit]:
    """*hits* for somebody who asks about themselves: without what others said of themselves.

    "I'm saving for a trip" of one person is the wrong answer to "what am I saving for?" of another, and a small model
    takes it. What names the asker, speaks to them or was said by somebody whom the message names stays, and so does
    all of it where the asker never said anything that was found. *asker*: their names, in lower case.
    """
    if not _is_of_one_self(utterance) or not any(_speaker_of(hit) in asker for hit in hits):
        return list(hits)
    named = set(every_word(utterance))
    return [hit for hit in hits if not _is_of_another_self(hit, asker, named)]


def _is_of_another_self(hit: Hit, asker: frozenset[str], named: set[str]) -> bool:
    speaker = _speaker_of(hit)
    if not speaker or speaker in asker or named & set(every_word(speaker)) or not _is_of_one_self(hit.text):
        return False
    words = set(every_word(hit.text))
    return not words & _ADDRESSING and not any(words & set(every_word(name)) for name in asker)


def _is_of_one_self(text: str) -> bool:
    """Whether *text* speaks of whoever says it, and not of them together with others."""
    return concerns_speaker(text) and not _TOGETHER & set(every_word(text))


def _speaker_of(hit: Hit) -> str:
    """Who said *hit*, in lower case; empty where it was written."""
    return (hit.speaker or "").lower() if isinstance(hit, Recollection) and hit.source == "turn" else ""


def without_neighbours(hit: Hit) -> Hit:
    """*hit* alone."""
    return replace(hit, before=(), after=()) if isinstance(hit, Recollection) else hit


def _without_session_lists(hit: Recollection) -> Recollection | None:
    """*hit* without a session file's lists; None where nothing else is in it."""
    if not (hit.rel_path or "").startswith(SESSIONS_FOLDER):
        return hit
    if hit.heading_path.endswith(SESSION_LISTS):
        return None
    text = _BARE_ITEM.sub("", _QUOTE_OF_TURN.sub("", hit.text)).strip()
    if not text or text == hit.text.strip():
        return hit if text else None
    return replace(hit, text=text)


def _is_asked_for_itself(hit: Recollection) -> bool:
    signals = hit.explained.signals
    return signals.get("words", 0.0) > 0 or signals.get("meaning", 0.0) / MEANING_WEIGHT >= CLEAR_COSINE


def _without_own_remarks(hit: Recollection, own_name: str) -> Recollection:
    before = tuple(each for each in hit.before if each.speaker != own_name or "?" in each.text)
    after = tuple(each for each in hit.after if each.speaker != own_name)
    return replace(hit, before=before, after=after)
