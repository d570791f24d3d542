"""Text as somebody would say it: without actions, markup, emoji and code."""

from __future__ import annotations

import re
import unicodedata

from familiar_connect.context.processors.spoken_text import to_spoken_text

CODE_WORDS = "Some code."
LINK_WORDS = "a link"

_FENCE = re.compile(r"(`{3,}|^~{3,}).*?(?:\1`*|\Z)", re.DOTALL | re.MULTILINE)
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
    text = _FENCE.sub(f" {CODE_WORDS} ", text)
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
