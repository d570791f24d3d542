"""What a sentence in a language other than English weighs: the kinds are those of English, by words of its own."""

from __future__ import annotations

import re
from functools import lru_cache

from familiar_connect.memory.weighing.languages.rules import (
    CODES,
    FADING_WEIGHTS,
    LASTING_WEIGHTS,
    LanguageRules,
    load_other_small_words,
    load_rules,
)

STRONG = frozenset({"event", "health", "identity"})
"""Kinds that what fades cannot outweigh so easily, and that weigh more where room is short."""
STRONG_BONUS = 2
NEVER_SPARED = frozenset({"hyperbole", "peeve"})
"""Kinds that no event of a life outweighs."""
LEAST_WEIGHT = 2
MAX_CHARS = 600
"""A longer stretch without a full stop is no sentence."""
MAX_GUESSED_CHARS = 400
"""So much of a message shows its language."""
GUESSES_KEPT = 4_096
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_QUOTED = re.compile(r"[「『“«][^「『“«」』”»]{6,300}[」』”»]")
"""Somebody else's words; what is shorter is a name."""
_CLOSERS = " \t\n\"'”’»)]*_~`!！.。…〜～wｗ笑"
_LETTER = re.compile(r"[^\W\d_]")


@lru_cache(maxsize=GUESSES_KEPT)
def find_rules(text: str) -> LanguageRules | None:
    """The rules for the language that *text* is in; None: English, or one that has none."""
    text = text[:MAX_GUESSED_CHARS].casefold()
    letters = _LETTER.findall(text)
    if not letters:
        return None
    if not text.isascii():
        for rules in map(load_rules, CODES):  # kana before the signs that Japanese and Chinese share
            if rules.script is not None and len(rules.script.findall(text)) * 4 >= len(letters):
                return rules
    words = _WORD.findall(text)
    best, most = None, max(sum(word in small for word in words) for small in load_other_small_words())
    for rules in map(load_rules, CODES):
        if not rules.small_words:
            continue
        score = sum(word in rules.small_words for word in words) + sum(
            letter in rules.letters for letter in set(letters)
        )
        if score > most and (score > 1 or len(words) < 5):
            best, most = rules, score
    return best


def weigh_sentence(sentence: str, rules: LanguageRules, *, message: str = "") -> int:
    """What *sentence* weighs; less than `LEAST_WEIGHT`: it is not worth keeping.

    Whom it is about may have been said elsewhere in its *message*.
    """
    text = _QUOTED.sub("", sentence.casefold())
    if len(text) > MAX_CHARS or text.rstrip(_CLOSERS).endswith(("?", "？")):
        return 0
    if rules.asks.search(text) or rules.supposes.search(text):
        return 0
    stated = {kind for kind, pattern in rules.states.items() if pattern.search(text)}
    kinds = set(stated)
    if rules.leaves_out_subject or rules.person.search(message.casefold() or text):
        kinds |= {kind for kind, pattern in rules.tells.items() if pattern.search(text)}
    fading = {kind for kind, pattern in rules.fades.items() if pattern.search(text)}
    if kinds & {"liking", "health"}:
        fading -= {"food"}
    spared = sum(FADING_WEIGHTS[kind] for kind in fading - NEVER_SPARED)
    if kinds & STRONG:
        spared //= 2
    weight = sum(LASTING_WEIGHTS[kind] for kind in kinds) + bool(stated) - spared
    weight -= sum(FADING_WEIGHTS[kind] for kind in fading & NEVER_SPARED)
    return weight + STRONG_BONUS if weight >= LEAST_WEIGHT and kinds & STRONG else max(weight, 0)
