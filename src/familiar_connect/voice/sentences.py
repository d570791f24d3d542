"""A reply made speakable: a stream of text becomes sentences, without markup, links, emoji names and code."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncIterable, AsyncIterator

MAX_SENTENCE_CHARS = 300
"""A sentence without an end is spoken in pieces of this length."""
CODE_WORDS = "Some code."

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_INLINE_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*\)")
_ADDRESS = re.compile(r"<?\b(?:https?://|www\.)\S+>?")
_CUSTOM_EMOJI = re.compile(r"<a?:(\w+):\d+>|(?<!\w):[a-z][a-z0-9_+-]*:(?!\w)", re.IGNORECASE)
_MENTION = re.compile(r"<[@#][!&]?\d+>")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_LINE_HEAD = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d+[.)][ \t]+|(?:[-*_][ \t]*){3,}$)", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3}|~~|\|\|)(?=\S)(.+?)(?<=\S)\1", re.DOTALL)
_STRAY = re.compile(r"[*~|`#]+|(?<!\w)_+|_+(?!\w)")
_SPACES = re.compile(r"\s+")
_END = re.compile(r"[.!?…。！？]+[\"'”’»)\]*_]*(?=\s)|[。！？]+[」』”]*|\n+")
_ABBREVIATION = re.compile(
    r"(?:mrs?|ms|dr|prof|st|[sj]r|vs|etc|e\.g|i\.e|z\.b|bzw|ca|approx|fig|no|vol|inc|ltd|co|mt|ft|lt|col|gen|rev)"
)
_PAUSES = (",", ";", ":", " – ", " - ", " ")


def make_speakable(text: str) -> str:
    """*text* as somebody would say it; empty where there is nothing to say."""
    text = _FENCE.sub(f" {CODE_WORDS} ", text)
    text = _LINK.sub(r"\1", text)
    text = _ADDRESS.sub("", text)
    text = _CUSTOM_EMOJI.sub("", text)
    text = _MENTION.sub("", text)
    text = _INLINE_CODE.sub(r"\1", text)
    text = _TAG.sub("", text)
    text = _LINE_HEAD.sub("", text)
    for _ in range(3):
        text = _EMPHASIS.sub(r"\2", text)
    text = _STRAY.sub(" ", text)
    text = "".join(char for char in text if not _is_silent(char))
    spoken = _SPACES.sub(" ", text).strip()
    return spoken if any(char.isalnum() for char in spoken) else ""


def _is_silent(char: str) -> bool:
    """Pictures and invisible characters; currency and mathematics are spoken."""
    return unicodedata.category(char) in ("So", "Sk", "Cf", "Cs", "Co", "Cn") or (
        unicodedata.category(char) == "Cc" and not char.isspace()
    )


class SentenceCutter:
    """Cuts sentences off a text that grows. A code block is passed on whole."""

    def __init__(self) -> None:
        self._waiting = ""

    def feed(self, piece: str) -> list[str]:
        """The sentences that *piece* completes, speakable."""
        self._waiting += piece
        done = []
        while (cut := self._cut_at()) is not None:
            sentence, self._waiting = make_speakable(self._waiting[:cut]), self._waiting[cut:]
            if sentence:
                done.append(sentence)
        return done

    def finish(self) -> list[str]:
        """What is left when the text has ended."""
        left, self._waiting = make_speakable(self._waiting), ""
        return [left] if left else []

    def _cut_at(self) -> int | None:
        text = self._waiting
        fence = text.find("```")
        if fence == 0 or (fence > 0 and not text[:fence].strip()):
            closed = text.find("```", fence + 3)
            return closed + 3 if closed >= 0 else None
        limit = fence if fence > 0 else len(text)
        for found in _END.finditer(text, 0, limit):
            if "\n" in found[0] or not _is_abbreviation(text[: found.start()]):
                return found.end()
        if fence > 0:
            return fence
        return _pause_before(text, MAX_SENTENCE_CHARS) if len(text) > MAX_SENTENCE_CHARS else None


def _is_abbreviation(before: str) -> bool:
    """Whether the full stop after *before* ends no sentence: an abbreviation, an initial, a number in a list."""
    word = re.split(r"\s", before)[-1].lstrip("(\"'“‘*_").lower()
    return (
        _ABBREVIATION.fullmatch(word) is not None
        or (len(word) == 1 and word.isalpha() and word != "i")
        or word.isdigit()
    )


def _pause_before(text: str, limit: int) -> int:
    for pause in _PAUSES:
        at = text.rfind(pause, limit // 2, limit)
        if at >= 0:
            return at + len(pause)
    return limit


async def cut_sentences(pieces: AsyncIterable[str]) -> AsyncIterator[str]:
    """Speakable sentences, each as soon as it is complete."""
    cutter = SentenceCutter()
    async for piece in pieces:
        for sentence in cutter.feed(piece):
            yield sentence
    for sentence in cutter.finish():
        yield sentence
