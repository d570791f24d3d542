"""judge_address: whether a name in a message is called, or only talked about.

"Ember, what time is it?" is said to Ember; "Ember said it was late" and "one last ember glowed" are not. What stands
around the name decides: the sentence it opens or ends, commas, and the words beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from familiar_connect.conversation.addressing.glued_names import judge_glued
from familiar_connect.conversation.addressing.words import (
    AFTER_MENTION,
    ASKED_TO_ASK,
    BEFORE_MENTION,
    CLOSERS,
    COMMANDS,
    DEMONSTRATIVES,
    GREETINGS,
    OPENERS,
    OPENING_PAIRS,
    OTHER_WORDS,
    PAST_TIMES,
    PRAISE,
    PRONOUNS_OF_OTHERS,
    QUESTION_WORDS,
    REPORTS,
    VOCATIVES_AFTER,
    VOCATIVES_BEFORE,
    YOU,
)
from familiar_connect.conversation.name_match import (
    MAX_SEARCHED_CHARS,
    contains_any_name,
    name_spans,
    without_addresses,
)
from familiar_connect.support.text import fold_name

MAX_SPANS = 8
"""Places of a name that are looked at: who is named more often is judged by the first ones."""
MAX_OPENERS = 4
MAX_PRAISE = 3

_LETTERS = r"(?:[^\W_]|[\u0300-\u036f\u064b-\u065f\u0900-\u0dff])+"
"""Vowel signs and accents are part of a word, though Python does not count them as letters."""
_WORD = re.compile(rf"{_LETTERS}(?:['’]{_LETTERS})*")
_HELD_DOWN = re.compile(r"([^\W\d_])\1{2,}")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？…;\n])\s+|\n+|(?<=[。！？])")
_ACTION = re.compile(r"(?<!\*)\*(?!\*)[^*\n]{1,300}\*(?!\*)")
_QUOTATION = re.compile(r"[\"“«„][^\"”»“]{1,300}[\"”»“]")
_COMMA = ",:،、，;—–"
_STOP = "!?.…！？。~؟;"
_NO_FIRST_NAMES = OPENERS | COMMANDS | BEFORE_MENTION | QUESTION_WORDS | YOU | {"i"}
_COMMAND_LINE = re.compile(r"(?:^|\s)(?:[!/.$][a-z]\w*|`)")
_AND = frozenset(("and", "und", "et", "y", "e", "och", "en", "и", "та", "ve", "και", "dan", "và"))
_ASKING = frozenset(("do", "are", "can", "could", "will", "would", "did", "have", "is", "was", "does", "has", "should"))
_ASKED_ABOUT = YOU | frozenset(("it", "a", "the", "there", "this", "that", "he", "she", "we", "they", "i", "my"))
_APPOSED = frozenset(("is", "was", "has", "had", "says", "said", "who", "ist", "est", "es", "är"))


_CALL_SIGN = re.compile(r"(?<!\w)@$")
"""Typed before a name, where a platform made no mention of it."""


class AddressKind(Enum):
    """What a name in a message is there for."""

    called = "called"
    """It is said to whoever bears the name."""
    mentioned = "mentioned"
    """It is said about them, or the name is another word there."""


@dataclass(frozen=True)
class Address:
    """How a message uses a name. One that is not sure is worth a second opinion."""

    kind: AddressKind
    is_sure: bool

    @property
    def is_call(self) -> bool:
        return self.kind is AddressKind.called


_CALLED, _MENTIONED = Address(AddressKind.called, True), Address(AddressKind.mentioned, True)
_PERHAPS_CALLED, _PERHAPS_MENTIONED = Address(AddressKind.called, False), Address(AddressKind.mentioned, False)


@dataclass(frozen=True)
class _Surroundings:
    """A name in its sentence, all of it folded."""

    name: str
    before: str
    after: str
    sentence: str
    is_longer_name: bool

    @property
    def words_before(self) -> list[str]:
        return _find_words(self.before)

    @property
    def words_after(self) -> list[str]:
        return _find_words(self.after)

    @property
    def mark_before(self) -> str:
        """The comma or colon right before the name."""
        return _mark(self.before.rstrip()[-1:])

    @property
    def mark_after(self) -> str:
        """The comma, colon or end of the sentence right behind it."""
        return _mark(self.after.lstrip()[:1])

    @property
    def says_you(self) -> bool:
        return any(word in YOU for word in _find_words(self.sentence))


def judge_address(text: str, names: Iterable[str]) -> Address | None:
    """How *text* uses the first of *names* that is called in it, or else mentioned; None: it holds none of them."""
    shown, names = without_addresses(text[:MAX_SEARCHED_CHARS]), list(names)
    if not contains_any_name(shown, names):  # as in most messages, and every one is judged
        return None
    found = [_judge(each) for each in _find_surroundings(shown, names)]
    if found:
        told = next((each for each in found if each.is_call and each.is_sure), None)
        return told or next((each for each in found if each.is_call), found[0])
    is_done_to_them = contains_any_name(" ".join(_ACTION.findall(shown)), names)
    return _PERHAPS_CALLED if is_done_to_them else _MENTIONED


def _find_surroundings(text: str, names: Sequence[str]) -> list[_Surroundings]:
    """Each place of a name that is neither in a quotation nor in what is done in a game of roles."""
    spoken = _ACTION.sub(" ", text)
    if spoken == text and _WORD.search(_QUOTATION.sub(" ", text)):  # who plays a role speaks in quotation marks
        spoken = _QUOTATION.sub(" ", text)
    found: list[_Surroundings] = []
    for sentence in filter(str.strip, _SENTENCE_END.split(spoken)):
        folded = fold_name(sentence)
        for start, end in name_spans(folded, names)[: MAX_SPANS - len(found)]:
            is_longer = _is_part_of_longer_name(sentence, folded[start:end])
            found.append(_Surroundings(folded[start:end], folded[:start], folded[end:], folded, is_longer))
    return found


def _is_part_of_longer_name(sentence: str, name: str) -> bool:
    """Whether a capitalised word stands right before or behind a capitalised *name*, as in "Rose Tyler"."""
    folded = sentence.casefold()
    at = folded.find(name)
    if at < 0 or len(folded) != len(sentence) or not sentence[at : at + len(name)].istitle():
        return False
    behind = re.match(r" ([^\W\d_]+)", sentence[at + len(name) :])
    if behind and behind[1].istitle() and fold_name(behind[1]) not in YOU | QUESTION_WORDS | COMMANDS | {"i"}:
        return True
    before = re.search(r"([^\W\d_]+) $", sentence[:at])
    return before is not None and before[1].istitle() and fold_name(before[1]) not in _NO_FIRST_NAMES


def _judge(at: _Surroundings) -> Address:
    found = _judge_words(at)
    return _CALLED if found.is_call and _CALL_SIGN.search(at.before) else found


def _judge_words(at: _Surroundings) -> Address:
    if (glued := judge_glued(at.before, at.after)) is not None:
        is_call, is_sure = glued
        return Address(AddressKind.called if is_call else AddressKind.mentioned, is_sure)
    before, after = at.words_before, at.words_after
    if (before[-1:] and before[-1] in VOCATIVES_BEFORE) or (after[:1] and after[0] in VOCATIVES_AFTER):
        return _CALLED
    if re.match(r"['’][^\W\d_]|\s*\(", at.after) or at.is_longer_name or _COMMAND_LINE.search(at.before):
        return _MENTIONED
    if not before and not after:
        return _CALLED
    if len(before) <= MAX_OPENERS and all(word in OPENERS for word in _without_pairs(before)):
        return _judge_opening(at)
    if at.mark_before and at.mark_before in _COMMA:
        return _judge_behind_comma(at)
    return _judge_inside(at)


def _without_pairs(words: Sequence[str]) -> list[str]:
    """*words* without "tell me" and its like at their start, and without the "you" of "thank you"."""
    rest = words[2:] if tuple(words[:2]) in OPENING_PAIRS else words
    return [word for before, word in zip(("", *rest), rest, strict=False) if not (before == "thank" and word in YOU)]


def _judge_opening(at: _Surroundings) -> Address:
    """The name opens the sentence, perhaps behind a greeting."""
    before, after = at.words_before, at.words_after
    follows = after[0] if after else ""
    is_greeted = any(word in GREETINGS for word in before)
    if at.mark_after and at.mark_after in _COMMA and _AND.intersection(after[:2]) and not at.says_you:
        return _PERHAPS_MENTIONED  # "Ember, and I …", "Ember, Lena and I …"
    if at.mark_after or not after:
        return _CALLED
    if follows in OTHER_WORDS.get(at.name, ()) and not is_greeted:
        return _MENTIONED
    if at.name in OTHER_WORDS and before and not is_greeted:
        return _PERHAPS_MENTIONED
    if is_greeted:
        return _PERHAPS_CALLED if _is_told(follows) else _CALLED
    if follows in _AND:
        return _PERHAPS_CALLED if at.says_you else _PERHAPS_MENTIONED
    if follows in YOU or follows == "i" or any(word in YOU for word in after[1:2]):
        return _CALLED
    if any(word in REPORTS for word in after) and not at.says_you:
        return _MENTIONED
    if any(word in PAST_TIMES for word in after[:3]) and not at.says_you:
        return _PERHAPS_MENTIONED
    if follows in _ASKING and after[1:2] and after[1] in _ASKED_ABOUT:
        return _PERHAPS_CALLED
    if follows in QUESTION_WORDS | COMMANDS | GREETINGS | CLOSERS and (follows not in AFTER_MENTION or at.says_you):
        return _CALLED
    if follows in AFTER_MENTION:
        if before and follows in QUESTION_WORDS:  # "wie" asks in German and tells in Polish
            return _PERHAPS_CALLED
        return _PERHAPS_MENTIONED if at.says_you or follows in CLOSERS else _MENTIONED
    return _PERHAPS_MENTIONED if _is_told(follows) else _PERHAPS_CALLED


def _is_told(word: str) -> bool:
    """Whether *word*, right behind a name, looks like what is told of somebody."""
    return re.fullmatch(r"[a-z]{2,}(?:ing|ed|es)", word) is not None


def _judge_behind_comma(at: _Surroundings) -> Address:
    """A comma stands before the name: mostly it is called, if it is not one of a list or goes on as a subject."""
    after = at.words_after
    if _is_in_list(at) and not at.says_you:
        return _MENTIONED
    if at.mark_after or not after:
        return _MENTIONED if at.mark_after in _COMMA and after and after[0] in _APPOSED else _CALLED
    if all(word in CLOSERS for word in after):
        return _CALLED
    if after[0] in AFTER_MENTION:
        return _PERHAPS_MENTIONED if at.says_you else _MENTIONED
    if _calls_somebody_else(at) and after[0] not in YOU:
        return _MENTIONED
    return _judge_opening(replace(at, before=""))


def _is_in_list(at: _Surroundings) -> bool:
    """Whether the name stands among single words between commas, or behind a colon that begins such a list."""
    opening, colon, rest = at.sentence.rpartition(":")
    pieces = re.split(r"[,،、，]", rest)
    return sum(len(piece.split()) == 1 for piece in pieces) >= (2 if colon and opening else 3)


def _judge_inside(at: _Surroundings) -> Address:
    """The name stands in the sentence without a comma before it."""
    before, after = at.words_before, at.words_after
    last, follows = before[-1], after[0] if after else ""
    ends = bool(at.mark_after) or all(word in CLOSERS for word in after)
    if at.name in OTHER_WORDS and not ends and last not in GREETINGS:
        return _MENTIONED
    asks_you = before[0] in _ASKING and any(word in YOU for word in before[1:2])
    if last in DEMONSTRATIVES:
        return _PERHAPS_CALLED if ends or asks_you else _PERHAPS_MENTIONED
    if last in YOU and (ends or follows in QUESTION_WORDS):
        return _CALLED
    if last in BEFORE_MENTION:
        return _MENTIONED
    if last in GREETINGS:
        return _PERHAPS_CALLED if _is_told(follows) else _CALLED
    if _calls_somebody_else(at):
        return _MENTIONED
    if follows in YOU or (after[1:2] and after[1] in YOU and follows in _ASKING):
        return _CALLED
    if any(word in PRONOUNS_OF_OTHERS for word in after):
        return _MENTIONED
    if before[0] in ASKED_TO_ASK:
        return _MENTIONED
    if ends:
        return _judge_ending(at)
    if (before[0] in _ASKING and before[1:2] and before[1] in YOU) or (
        before[0] in PRAISE and len(before) <= MAX_PRAISE
    ):
        return _PERHAPS_CALLED  # and what follows is another sentence
    return _MENTIONED if follows in AFTER_MENTION else _PERHAPS_MENTIONED


def _judge_ending(at: _Surroundings) -> Address:
    """The name ends the sentence, or a comma follows, and none stands before it."""
    before = at.words_before
    asks = before[0] in QUESTION_WORDS | COMMANDS or any(word in COMMANDS for word in before[:2])
    if before[-1].endswith("ing") or at.name in OTHER_WORDS:
        return _PERHAPS_CALLED if at.says_you else _PERHAPS_MENTIONED
    return _CALLED if at.says_you or asks else _PERHAPS_CALLED


def _calls_somebody_else(at: _Surroundings) -> bool:
    """Whether the sentence opens with a mention of somebody, or with another name and a comma."""
    opening = re.match(r"\W*?(?:@\w+|([^\W_]+),)", at.before)
    return opening is not None and opening[1] not in OPENERS


def _find_words(text: str) -> list[str]:
    """The words of *text*; letters that somebody held down stand once."""
    return _WORD.findall(_HELD_DOWN.sub(r"\1", text))


def _mark(char: str) -> str:
    return char if char and char in _COMMA + _STOP else ""
