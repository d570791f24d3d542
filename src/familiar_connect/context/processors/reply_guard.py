"""ReplyGuard: ends a reply that has collapsed, while it is written.

Small models fall into loops, rows of signs, or their last replies over again, and would read that in every later
prompt. A reply is held back while it may still turn out so: what is shown is never taken back. It looks at signs and
words alone, in any script, and at no more than the end of a long reply.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from familiar_connect.llm.types import Message

LAST_REPLIES = 5
"""How many replies back nothing is said again."""
KNOWN_REPLIES = 40
"""How many replies back a small model says none of their sentences again."""
COPY_SHARE = 0.8
"""Of its runs of three words, how many a copy shares with the earlier reply."""
HOLD_SHARE = 0.5
"""How many it shares so far where it is held back until it ends or differs."""
LEAST_COPY_WORDS = 8
"""Shorter replies are copies only where they are the same to the word."""
LEAST_COPIED_WORDS = 7
"""A sentence of fewer words may be like an earlier one."""
LEAST_SAME_WORDS = 4
"""And one of still fewer the same. "What's" counts as two."""
SHORT_WORDS = 2
"""Replies of so few words may come again, but not twice in a row."""
FIRST_WORDS = 6
"""So many are held back at first where replies are compared, and looked at together."""

LOOK_EVERY_CHARS = 16
MAX_TAIL_CHARS = 600
MAX_UNIT_WORDS = 16
ROW_OF_SIGNS = 60
"""One sign so often in a row is no line in a text."""
LEAST_SIGNS = 12
"""So few signs without a word may be a face."""
LEAST_SAME = 4
"""One sign so often, and nothing else, is none."""
MOST_EMPTY_LINES = 2
"""The same line without a word may stand so often in a row: more are a table of nothing."""
WORD_SHARE = 0.35
"""Of its signs, how many belong to words or pictures in a reply that says something."""

_CODE = "```"

END_MARK = re.compile(r"<[ \t]*/?(?:end|eos|eot)(?:[ _-][^<>\n]{0,60})?>", re.IGNORECASE)
"""How models write that a turn is over, where the mark of their template fails them: `<end message>`."""
_MARK_BEGUN = re.compile(r"<[ \t]*/?(?:e(?:nd?|o[st]?)?|(?:end|eos|eot)[ _-][^<>\n]{0,60})?\Z", re.IGNORECASE)

_SCRAP = re.compile(
    r"(?<=\n)[ \t|]*(?:[A-Z]:[ \t]|</?[A-Za-z][\w -]{0,30}>[ \t]*$|[\[{(]?\d{4}-\d\d\b)", re.MULTILINE | re.ASCII
)
"""How a line begins that belongs to a quiz, a page or a log that the model read: `A: `, `<meme>`, `[2026-11-18`."""
_SCRAP_BEGUN = re.compile(r"\n[ \t|]*(?:[A-Z]:?|</?(?:[A-Za-z][\w -]{0,30})?>?[ \t]*|[\[{(]?[\d-]{0,7})?\Z", re.ASCII)
_STOPS = ".!?…؟۔।॥။።。！？｡"
_SENTENCE = re.compile(rf"[^{_STOPS}\n]+(?:[{_STOPS}]+[\"'”’)」』]*|\n+|\Z)\s*")

_ENDS = re.compile(rf"[{_STOPS}\n]")
_REST = re.compile(rf"[^{_STOPS}\n]*(?:[{_STOPS}]+[\"'”’)」』]*|\n+|\Z)\s*")
"""What follows of a sentence that was shown in part."""

ENDED = "it wrote that its turn is over"
SCRAPS = "it wrote scraps of something else it read"
LOOPS = "it said the same words over and over"
NO_WORDS = "it wrote signs instead of words"
COPIES = "it said an earlier reply again"
ONE_PARAGRAPH = "so small a model says one paragraph"

_PARAGRAPH = re.compile(r"\s*\S[^\n]*(?=\n)")
_RUN = re.compile(r"([^\w\s])\1*|\d+|[^\W\d_]+(?:['’][^\W\d_]+)*", re.UNICODE)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_OF_A_SIGN, _OF_A_LETTER = 0.5, 0.25
"""What one sign of Chinese or Japanese, and one letter of Thai and its like, is of a word."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_APOSTROPHE = re.compile("['’]")
_BEFORE_WORDS = re.compile(r"^(?:\[[^\]\n]{1,40}\]\s*)?(?:[^\n:]{1,40}:\s+(?=\S))?")
"""A time stamp and a name before the words of a reply, as a prompt may have them."""


def last_replies(messages: Sequence[Message]) -> list[str]:
    """The words of the last replies in a prompt, the newest at the end."""
    replies = [each.content for each in messages if each.role == "assistant" and each.content.strip()]
    return [_BEFORE_WORDS.sub("", reply, count=1) for reply in replies[-KNOWN_REPLIES:]]


class ReplyGuard:
    """One attempt's guard: feed it pieces, show what it returns, stop when there is a `fault`."""

    def __init__(
        self,
        earlier: Sequence[str] | None = None,
        *,
        wants_words: bool = True,
        by_sentence: bool = False,
        one_paragraph: bool = False,
    ) -> None:
        """*earlier*: the last replies of a model that falls into them again; None: it may say again what it likes.

        *wants_words*: signs alone are no reply. A drawing is, where somebody asked for one.
        *by_sentence*: a single sentence is not said again either; the reply ends before it.
        *one_paragraph*: it ends with its first line.
        """
        self._earlier = [list_words(reply) for reply in (earlier or ())[-LAST_REPLIES:]]
        compared = (earlier or ())[-KNOWN_REPLIES:] if by_sentence else ()
        self._known_runs = [_runs(list_words(reply)) for reply in compared]
        self._known_sentences = {tuple(list_words(each[0])) for reply in compared for each in _SENTENCE.finditer(reply)}
        self._one_paragraph = one_paragraph
        self._finds_scraps = earlier is not None
        self._held_words = 1 if earlier is None else FIRST_WORDS
        self._wants_words = wants_words
        self._said = ""
        self._held = ""
        self._is_begun = False
        self._goes_round = False
        self._unseen = 0
        self.is_over = False
        """What follows is no reply."""
        self.end_reason = ENDED
        """Why it is over, where it is."""
        self.fault: str | None = None
        """Why the reply ends here; None: nothing is wrong with it."""

    def feed(self, piece: str) -> str:
        """What may be shown now of what came so far."""
        if self.fault is not None or self.is_over:
            return ""
        self._held += piece
        if (mark := END_MARK.search(self._held)) is not None:
            self._held = self._held[: mark.start()].rstrip()
            rest = self.close()
            self.is_over = True
            return rest
        if self._one_paragraph and (line := _PARAGRAPH.match(self._held if not self._is_begun else "-" + self._held)):
            return self._end_paragraph(line.end() - self._is_begun)
        self._unseen += len(piece)
        if self._unseen >= LOOK_EVERY_CHARS or not self._is_begun or not any(map(str.isalnum, piece)):
            self._judge()
        if self.fault is not None or self._goes_round or _MARK_BEGUN.search(self._held):
            return ""
        if not self._is_begun and (self._is_short() or self._may_be_copy()):
            return ""
        return self._show_or_end(is_last=False)

    def _end_paragraph(self, at: int) -> str:
        """End the reply at *at* of what is held, where its first line ends."""
        self._held = self._held[:at].rstrip()
        rest = self.close()
        if not self.is_over:
            self.is_over, self.end_reason = True, ONE_PARAGRAPH
        return rest

    def _show_or_end(self, *, is_last: bool) -> str:
        """What is shown now where scraps and copied sentences of a small model end its reply."""
        ended = self._end_before_scraps(is_last=is_last) if self._finds_scraps else None
        if ended is None and self._known_runs:
            ended = self._end_before_copy(is_last=is_last)
        return self._show() if ended is None else ended

    def _end_before_scraps(self, *, is_last: bool) -> str | None:
        """What is shown where scraps of something else follow, or may follow; None: none do."""
        before = self._said[-1:] or "\n"
        if (scrap := _SCRAP.search(before + self._held)) is not None:
            return self._end_at(scrap.start() - 1, SCRAPS)
        return "" if not is_last and _SCRAP_BEGUN.search(before + self._held) else None

    def _end_before_copy(self, *, is_last: bool) -> str | None:
        """What is shown where a sentence of an earlier reply follows, or may follow; None: none does.

        One that was shown in part began as no other did, and is not torn where its end is like another's.
        """
        rest = _REST.match(self._held) if list_words(_ENDS.split(self._said)[-1]) else None
        for sentence in _SENTENCE.finditer(self._held, rest.end() if rest is not None else 0):
            words = list_words(sentence[0])
            is_whole = is_last or sentence.end() < len(self._held) or sentence[0].rstrip()[-1:] in _STOPS
            if is_whole and self._is_known(words):
                return self._end_at(sentence.start(), COPIES)
            if not is_whole and (len(words) < FIRST_WORDS or self._knows(words, HOLD_SHARE)):
                return ""
        return None

    def _is_known(self, words: Sequence[str]) -> bool:
        if _count_words(words) >= LEAST_COPIED_WORDS and self._knows(words, COPY_SHARE):
            return True
        parts = _count_words([part for word in words for part in _APOSTROPHE.split(word)])
        return parts >= LEAST_SAME_WORDS and tuple(words) in self._known_sentences

    def _knows(self, words: Sequence[str], share: float) -> bool:
        runs = _runs(words)
        return bool(runs) and any(len(runs & known) >= share * len(runs) for known in self._known_runs)

    def _end_at(self, at: int, fault: str) -> str:
        """End the reply at *at* of what is held; where nothing of it stands before, it has the *fault*."""
        self._held = self._held[:at].rstrip()
        if not self._is_begun and (not list_words(self._held) or self._is_copy()):
            self.fault = fault
            return ""
        rest = self._show() if self._held else ""
        self.is_over, self.end_reason = True, fault
        return rest

    def close(self) -> str:
        """What was held back and is fit to be shown."""
        if self.fault is not None or self.is_over:
            return ""
        if not self._is_begun and self._is_copy():
            self.fault = COPIES
            return ""
        self._judge()
        if self.fault is not None:
            return ""
        return self._show_or_end(is_last=True)

    def _show(self) -> str:
        self._is_begun = True
        shown, self._held = self._held, ""
        self._said = (self._said + shown)[-MAX_TAIL_CHARS:]
        return shown

    def _judge(self) -> None:
        """Find what is wrong by now."""
        self._unseen = 0
        tail = (self._said + self._held)[-MAX_TAIL_CHARS:]
        tokens = _tokens(tail)
        empty_lines = _count_empty_lines(tail)
        goes_round = _repeats(tokens, hold=True)
        self._goes_round = goes_round or empty_lines > 0
        if (
            (goes_round and _repeats(tokens, hold=False))
            or _has_row_of_signs(tail)
            or (self._wants_words and empty_lines > MOST_EMPTY_LINES)
        ):
            self.fault = LOOPS
        elif not self._is_begun and self._wants_words and is_without_words(tail):
            self.fault = NO_WORDS

    def _is_short(self) -> bool:
        return len(list_words(self._held)) < self._held_words

    def _may_be_copy(self) -> bool:
        """Whether a reply that began so may still turn out to be an earlier one."""
        words = list_words(self._held)
        return any(_is_like(words, each, HOLD_SHARE) or each[: len(words)] == words for each in self._earlier)

    def _is_copy(self) -> bool:
        words = list_words(self._held)
        longer = [each for each in self._earlier[:-1] if _count_words(each) > SHORT_WORDS]
        compared = longer + self._earlier[-1:]
        if any(words == each for each in compared):
            return True
        return _count_words(words) >= LEAST_COPY_WORDS and any(
            _is_like(words, each, COPY_SHARE) for each in self._earlier
        )


def list_words(text: str) -> list[str]:
    """The words of *text*, folded; of scripts that do not part words, each sign."""
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        found += list(word) if _UNSPACED.search(word) else [word]
    return found


def _count_words(words: Sequence[str]) -> float:
    """About how many words *words* are: of scripts that do not part them each sign stands there by itself."""
    unspaced = [word for word in words if _UNSPACED.match(word)]
    signs = sum(word >= "\u3000" for word in unspaced)
    return len(words) - len(unspaced) + _OF_A_SIGN * signs + _OF_A_LETTER * (len(unspaced) - signs)


def is_without_words(text: str) -> bool:
    """Whether *text* is mostly signs that are neither words nor pictures."""
    signs = [char for char in text if not char.isspace()]
    if not set(signs) - set(".!?…") or _CODE in text:
        return False
    if len(signs) < LEAST_SIGNS:
        return len(signs) >= LEAST_SAME and len(set(signs)) == 1 and not (signs[0].isalnum() or _is_picture(signs[0]))
    meant = sum(char.isalnum() or unicodedata.category(char)[0] == "M" or _is_picture(char) for char in signs)
    return meant < WORD_SHARE * len(signs)


def _is_picture(char: str) -> bool:
    return unicodedata.category(char) in ("So", "Sk")


def _is_like(words: Sequence[str], earlier: Sequence[str], share: float) -> bool:
    runs = _runs(words)
    return bool(runs) and len(runs & _runs(earlier)) >= share * len(runs)


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """The runs of three words."""
    return set(zip(words, words[1:], words[2:], strict=False))


def _tokens(text: str) -> list[str]:
    """Words and runs of signs."""
    found: list[str] = []
    for match in _RUN.finditer(text.casefold()):
        word = match[0]
        found += list(word) if _UNSPACED.search(word) else [word[0] if match[1] else word]
    return found


def _repeats(tokens: Sequence[str], *, hold: bool) -> bool:
    """Whether *tokens* end in one run of words over and over; *hold*: often enough to wait for what follows."""
    for size in range(1, min(MAX_UNIT_WORDS, len(tokens) // 2) + 1):
        if tokens[-1] != tokens[-1 - size]:
            continue
        times, unit, end = 1, tokens[-size:], len(tokens) - size
        while end >= size and tokens[end - size : end] == unit:
            times, end = times + 1, end - size
        if times >= _most_times(unit, hold=hold):
            return True
    return False


def _most_times(unit: Sequence[str], *, hold: bool) -> int:
    """How often a run of words may stand in a row: laughter is longer than a refrain."""
    if len(unit) == 1:
        return 8 if hold else 24 if not unit[0].isalpha() or _UNSPACED.match(unit[0]) else 14
    if len(unit) == 2:
        return 4 if hold else 8
    return 2 if hold else 4


def _count_empty_lines(text: str) -> int:
    """How often *text* ends in the same line of signs, where that has no word; none in code."""
    if _CODE in text:
        return 0
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    if not last or any(char.isalnum() or _is_picture(char) for char in last):
        return 0
    return next((at for at, line in enumerate(reversed(lines)) if line != last), len(lines))


def _has_row_of_signs(text: str) -> bool:
    stripped = text.rstrip()
    return len(stripped) >= ROW_OF_SIGNS and len(set(stripped[-ROW_OF_SIGNS:])) == 1
