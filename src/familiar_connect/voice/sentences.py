"""A reply cut into sentences as it is written, each as soon as nothing that follows can change it.

Where a text is cut depends on the text alone, never on the pieces it came in.

Text as somebody would say it: without actions, markup, emoji and code.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from dataclasses import dataclass

from familiar_connect.context.processors.spoken_text import to_spoken_text
from familiar_connect.support.aio import closing_stream

CODE_WORDS = "Some code."
LINK_WORDS = "a link"

_CODE_FENCE = re.compile(r"(`{3,}|^~{3,}).*?(?:\1`*|\Z)", re.DOTALL | re.MULTILINE)
_INLINE_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*\)")
_ADDRESS = re.compile(
    r"<?\b(?:https?://|www\.)[^\s<>。！？、「」]*[^\s<>。！？、「」.,!?;:)\]\"'”*_~|]/?>?", re.IGNORECASE
)
_MENTION = re.compile(r"<(?:[@#][!&]?\d+|a?:\w+:\d+|t:\d+(?::\w)?|id:\w+)>")
_EMOJI_NAME = re.compile(r"(?<!\w):(?:[A-Za-z][\w+-]{0,40}|[+-]1):(?!\w)")
_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z][^<>\n]{0,200}>", re.DOTALL)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,40}\]:?")
_CHECKBOX = re.compile(r"^([ \t]*[-*+][ \t]+)\[[ xX]\][ \t]+", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:(?:[-*_=][ \t]*){2,}|[ \t|:-]*\|[ \t|:-]*)$", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*\|(.*?)\|?[ \t]*$", re.MULTILINE)
_STRAY = re.compile(r"[*~|`#\\]+|(?<!\w)_+|_+(?!\w)")
_SPACES = re.compile(r"\s+")
_BEFORE_STOP = re.compile(r"[,;:\s]+(?=[.!?](?:\s|$))|\s+(?=[,;:](?:\s|$))")
_NOT_A_LINE_START = "\u2060"
"""Nothing that is seen or spoken; it keeps a text in the middle of a line from being taken for the start of one."""
_SIGNS = (
    (re.compile(r"\s?°\s?C\b|\s?℃"), " degrees Celsius"),
    (re.compile(r"\s?°\s?F\b|\s?℉"), " degrees Fahrenheit"),
    (re.compile(r"\s?°"), " degrees"),
    (re.compile(r"(?<=\d)\s*[*×]\s*(?=\d)"), " times "),
    (re.compile(r"(?<=\w)\^(?=\w)"), " to the power of "),
    (re.compile(r"(?:#|№\s?)(?=\d)"), "number "),
)
"""Signs that are said in words; the rest of their kind is dropped."""
_SELECTORS = {*map(chr, range(0xFE00, 0xFE10)), "\u20e3"}


def make_speakable(text: str, *, is_line_start: bool = True) -> str:
    """*text* as somebody would say it; empty where there is nothing to say."""
    text = _CODE_FENCE.sub(f" {CODE_WORDS} ", text)
    text = _LINK.sub(lambda found: found[1] or LINK_WORDS, text)
    text = _MENTION.sub("", text)
    text = _ADDRESS.sub(LINK_WORDS, text)
    text = _EMOJI_NAME.sub("", text)
    text = _TAG.sub("", text)
    text = _INLINE_CODE.sub(lambda found: _plain(found[1]), text)
    text = _FOOTNOTE.sub("", text)
    for sign, words in _SIGNS:
        text = sign.sub(words, text)
    text = to_spoken_text(_without_line_marks(text if is_line_start else _NOT_A_LINE_START + text))
    text = _STRAY.sub(" ", text)
    text = "".join(char for char in text if not _is_silent(char))
    spoken = _BEFORE_STOP.sub("", _SPACES.sub(" ", text)).strip()
    return spoken if any(char.isalnum() for char in spoken) else ""


def _without_line_marks(text: str) -> str:
    """Rules, quotes and boxes go; the cells of a table are listed."""
    text = _QUOTE.sub("", text)
    text = _RULE.sub("", text)
    text = _CHECKBOX.sub(r"\1", text)
    text = _ROW.sub(lambda found: ", ".join(cell for each in found[1].split("|") if (cell := each.strip())), text)
    return re.sub(r" \| ", ", ", text)


def _plain(code: str) -> str:
    """Code within a line is read out; what would be markup elsewhere is none here."""
    return re.sub(r"[*_~|#<>\[\]\\]+", " ", code)


def _is_silent(char: str) -> bool:
    """Pictures and invisible characters; currency and mathematics are spoken."""
    kind = unicodedata.category(char)
    return kind in ("So", "Sk", "Cf", "Cs", "Co", "Cn") or (kind == "Cc" and not char.isspace()) or char in _SELECTORS


MAX_SENTENCE_CHARS = 300
"""A sentence without an end is spoken in pieces of this length."""

_FENCE = re.compile(r"`{3,}|\A~{3,}")
_STOPS = re.compile(r"[.!?…؟۔।॥။።]+[\"'”’»)\]*_]*")
_CJK_STOPS = re.compile(r"[。！？｡]+[」』”）]*")
_MARKS = re.compile(r"[`!\[<*:|.?…؟۔।॥။።。！？｡,;、，；：\n]|\b[hHwW]")
_MARKS_AND_BLANKS = re.compile(rf"{_MARKS.pattern}|\s")
_PAUSE = re.compile(r"[,;:、，；：]|\s[–—-](?=\s)")
_NO_END = re.compile(
    r"(?:mrs?|ms|dr|prof|st|[sj]r|vs|e\.g|i\.e|z\.b|bzw|ca|approx|fig|mt|ft|lt|col|gen|rev|capt|sgt|\d{1,2}|[^\W\di])"
)
"""Words, in small letters, whose full stop ends no sentence: titles, initials, the numbers of a list."""
_SOFT_END = re.compile(r"(?:etc|no|vol|inc|ltd|co|dept|est|min|max|\d+|(?:[^\W\d]\.)+[^\W\d])")
"""Words whose full stop ends a sentence only where the next word begins like one."""


@dataclass(frozen=True)
class _Span:
    """A stretch in which no sentence ends: a link, code, something between asterisks."""

    opening: str
    whole: re.Pattern[str]
    may_grow: re.Pattern[str]
    """What it looks like while its end has not come."""


_ADDRESS_CHAR = r"[^\s。！？、「」]"
_SPANS = (
    _Span("`", re.compile(r"`[^`\n]{1,200}`"), re.compile(r"`{1,2}\Z|`[^`\n]{0,200}\Z")),
    _Span(
        "!",
        re.compile(r"!\[[^\[\]\n]{0,300}\]\([^()\s]{0,2000}\)"),
        re.compile(r"!\Z|!\[[^\[\]\n]{0,300}(?:\Z|\]\Z|\]\([^()\s]{0,2000}\Z)"),
    ),
    _Span(
        "[",
        re.compile(r"\[[^\[\]\n]{0,300}\]\((?:[^()\s]|\([^()\s]{0,200}\)){0,2000}\)"),
        re.compile(r"\[[^\[\]\n]{0,300}(?:\Z|\]\Z|\]\((?:[^()\s]|\([^()\s]{0,200}\)){0,2000}(?:\([^()\s]{0,200})?\Z)"),
    ),
    _Span("<", re.compile(r"<[A-Za-z/@#:!][^<>\n]{0,200}>"), re.compile(r"<(?:[A-Za-z/@#:!][^<>\n]{0,200})?\Z")),
    _Span(
        "*",
        re.compile(r"\*(?=[^\s*])[^*\n]{0,300}(?<!\s)\*(?!\*)"),
        re.compile(r"\*(?:(?=[^\s*])[^*\n]{0,300}\*?)?\Z"),
    ),
    _Span(":", re.compile(r":[A-Za-z+-][\w+-]{0,40}:"), re.compile(r":(?:[A-Za-z+-][\w+-]{0,40})?\Z")),
    _Span(
        "hHwW",
        re.compile(
            rf"(?:https?://|www\.){_ADDRESS_CHAR}{{0,2000}}?(?=[.,!?;:)\]\"'”*_]*(?:\s|[。！？、「」]))", re.IGNORECASE
        ),
        re.compile(rf"(?:ht?t?p?s?:?/?|w{{1,3}})\Z|(?:https?://|www\.){_ADDRESS_CHAR}{{0,2000}}\Z", re.IGNORECASE),
    ),
    _Span("|", re.compile(r"\|[^\n]{0,500}(?=\n)"), re.compile(r"\|[^\n]{0,500}\Z")),
)


class SentenceCutter:
    """Cuts sentences off a text that grows. A block of code is named once and passed over.

    Of a text that is nothing but an action the words are spoken, so that a reply is never silent for that alone.
    """

    def __init__(self) -> None:
        self._waiting = ""
        self._is_line_start = True
        self._fence = ""
        """The fence that the code which is being written will end with."""
        self._silent = ""
        """What was passed over while nothing has been spoken yet."""
        self._has_spoken = False

    def feed(self, piece: str) -> list[str]:
        """The sentences that *piece* completes, speakable."""
        self._waiting += piece
        return list(self._take(is_final=False))

    def finish(self) -> list[str]:
        """What is left when the text has ended."""
        left = [*self._take(is_final=True)]
        if self._fence:
            self._waiting = ""
        left += self._speak(len(self._waiting))
        if not self._has_spoken and (words := make_speakable(self._silent.replace("*", ""))):
            left.append(words)
        return left

    def _take(self, *, is_final: bool) -> Iterator[str]:
        while True:
            if self._fence and not self._skip_code():
                return
            cut, fence = _Scan(self._waiting, is_final=is_final, is_line_start=self._is_line_start).run()
            if cut is None:
                return
            yield from self._speak(cut)
            if fence:
                self._waiting, self._fence = self._waiting[len(fence) :], fence
                self._is_line_start, self._has_spoken = False, True
                yield CODE_WORDS

    def _speak(self, cut: int) -> Iterator[str]:
        raw, self._waiting = self._waiting[:cut], self._waiting[cut:]
        sentence = make_speakable(raw, is_line_start=self._is_line_start)
        if raw:
            self._is_line_start = raw.endswith("\n")
        if sentence:
            self._has_spoken = True
            yield sentence
        elif not self._has_spoken:
            self._silent = (self._silent + raw)[:MAX_SENTENCE_CHARS]

    def _skip_code(self) -> bool:
        """Pass over code; whether it has ended."""
        end = self._waiting.find(self._fence)
        if end < 0:
            kept = len(self._fence) - 1
            self._waiting = self._waiting[-kept:] if kept else ""
            return False
        self._waiting, self._fence = self._waiting[end + len(self._fence) :], ""
        return True


class _Scan:
    """Looks for the first place where a text may be cut, whatever follows it."""

    def __init__(self, text: str, *, is_final: bool, is_line_start: bool) -> None:
        self._text = text
        self._is_final = is_final
        self._is_line_start = is_line_start
        self._pause = 0
        self._has_pause = False

    def run(self) -> tuple[int | None, str]:
        """Where to cut, None where that is not known yet; and the fence that stands there."""
        at = 0
        while at < len(self._text):
            if (fence := _FENCE.match(self._text, at)) and (fence[0][0] == "`" or self._is_line_start):
                if fence.end() == len(self._text) and not self._is_final:
                    return None, ""
                return at, fence[0]
            after = self._after_span(at)
            if after is None:
                return None, ""
            if after > MAX_SENTENCE_CHARS and at:
                return self._pause or at, ""
            if after == at and (end := self._end(at)) is not None:
                return (None if end < 0 else end), ""
            if after == at:
                self._note_pause(at)
                after = at + 1
            at = self._next(after)
        return None, ""

    def _next(self, at: int) -> int:
        """The next place worth a look."""
        found = (_MARKS if at < MAX_SENTENCE_CHARS // 2 else _MARKS_AND_BLANKS).search(self._text, at)
        ahead = found.start() if found else len(self._text)
        return min(ahead, max(at, MAX_SENTENCE_CHARS // 2 if at < MAX_SENTENCE_CHARS // 2 else MAX_SENTENCE_CHARS + 1))

    def _after_span(self, at: int) -> int | None:
        """The end of the span that begins *at*; *at* itself where none does, None where it is not known yet."""
        text = self._text
        for span in _SPANS:
            if text[at] not in span.opening or not self._may_open(at):
                continue
            whole = span.whole.match(text, at)
            if whole and (self._is_final or whole.end() < len(text)):
                return whole.end()
            if not self._is_final and (whole or span.may_grow.match(text, at)):
                return None
        return at

    def _may_open(self, at: int) -> bool:
        before = self._text[at - 1] if at else " "
        match self._text[at]:
            case "|":
                return self._begins_line(at)
            case "*":
                return not (before.isalnum() or before == "*")
            case ":":
                return not before.isalnum()
            case char:
                return not (char.isalpha() and before.isalnum())

    def _begins_line(self, at: int) -> bool:
        before = self._text[:at].rpartition("\n")
        return not before[2].strip() and (bool(before[1]) or self._is_line_start)

    def _end(self, at: int) -> int | None:
        """Where the sentence ends that has its full stop *at*; None where it has none, -1 where that is not known."""
        text = self._text
        if text[at] == "\n":
            return at + 1
        if stops := _CJK_STOPS.match(text, at):
            return stops.end() if stops.end() < len(text) or self._is_final else -1
        if not (stops := _STOPS.match(text, at)):
            return None
        if stops.end() == len(text):
            return stops.end() if self._is_final else -1
        if not text[stops.end()].isspace():
            return None
        return stops.end() if stops[0] != "." else self._end_after_word(at, stops.end())

    def _end_after_word(self, at: int, end: int) -> int | None:
        word = re.split(r"[\s(\"'“‘*_]", self._text[:at])[-1].lower()
        if _NO_END.fullmatch(word):
            return None
        if not _SOFT_END.fullmatch(word):
            return end
        following = self._text[end:].lstrip(" \t")
        if not following and not self._is_final:
            return -1
        return None if following[:1].islower() or following[:1].isdigit() else end

    def _note_pause(self, at: int) -> None:
        """Remember where a sentence that is too long may be cut: after a pause, or else between words."""
        if at < MAX_SENTENCE_CHARS // 2:
            return
        pause = _PAUSE.match(self._text, at)
        is_pause = pause is not None and (pause[0] not in ",;:" or self._text[at + 1 : at + 2].isspace())
        if is_pause or (self._text[at].isspace() and not self._has_pause):
            self._pause = at + 1
            self._has_pause = is_pause or self._has_pause


async def cut_sentences(pieces: AsyncIterable[str]) -> AsyncIterator[str]:
    """Speakable sentences, each as soon as it is complete."""
    cutter = SentenceCutter()
    async with closing_stream(pieces) as stream:
        async for piece in stream:
            for sentence in cutter.feed(piece):
                yield sentence
    for sentence in cutter.finish():
        yield sentence
