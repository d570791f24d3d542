"""Text helpers: shortening at sentences and words, and removing control characters.

Names: one folding to tell whether two are the same, one form for the names of files, one set of invisible signs.

Terminal escapes: sequences that command a terminal, taken out of what a model wrote, whole or while it streams.

Colours, titles, clipboard writes and the like (CSI, OSC, DCS and single escapes, in seven or eight bits), and every
other control character but tab and line end.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

_SENTENCE_END = re.compile(r"""(?<![.!?…])[.!?…؟۔।॥။።]+["'”’)\]*_]*(?=\s|$)|[。！？｡]+[」』”’）]*""")
"""Looks back once, so that a page of dots costs no more than a page of words."""
MOST = 0.8
"""Part of its limit that a cut keeps: only in the rest is the end of a sentence, a line or a word looked for."""
_LOOK_AHEAD = 64
"""Characters read past a limit, to see whether a mark there ends a sentence."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Moves the cursor, recolours the screen or turns the line around; tabs and line ends do not count."""
_JOINERS = {"\u200c", "\u200d", "\ufe0e", "\ufe0f", "\u20e3", "\u0e33", "\u0eb3", "\uff9e", "\uff9f"}
"""Written onto the letter before them without being marks: joiners, keycaps, a few vowels and voicing signs."""
_VIRAMA = 9
"""Class of the sign that binds two consonants of an Indic script into one letter."""


def list_some(words: Sequence[str], most: int) -> str:
    """The first *most* of *words*, and how many more there are."""
    shown = ", ".join(words[:most])
    return f"{shown} and {len(words) - most:,} more" if len(words) > most else shown


def pluralize(count: int, what: str) -> str:
    """*count* of *what*, for a sentence."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def how_often(count: int) -> str:
    """How many times, for a sentence."""
    return "once" if count == 1 else f"{count:,} times"


def shorten(text: str, limit: int) -> str:
    """*text*, or its beginning within *limit* characters and a sign that there is more."""
    return text if len(text) <= limit else f"{truncate_chars(text, limit)} …"


def truncate_chars(text: str, limit: int) -> str:
    """The beginning of *text* within *limit* characters, and at least most of them.

    It ends with a sentence where one ends near the limit, else with a line, else with a word, else anywhere.
    """
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    least = math.ceil(limit * MOST)
    if (end := _sentence_end_between(text, least, limit)) is not None:
        return text[:end]
    line_end = text.rfind("\n", 0, limit + 1)
    if line_end >= least and (lines := text[:line_end].rstrip()):
        return lines
    window = text[: limit + 1]  # one more character, to see whether a word ends at the limit
    if window[-1].isspace() and window.strip():
        return window.rstrip()
    words = window.rsplit(None, 1)
    if len(words) > 1 and len(words[0]) >= least:
        return words[0]
    return text[: grapheme_boundary(text, limit)]


def _sentence_end_between(text: str, least: int, limit: int) -> int | None:
    marks = _SENTENCE_END.finditer(text, max(0, least - _LOOK_AHEAD), limit + _LOOK_AHEAD)
    ends = [min(mark.end(), limit) for mark in marks if mark.start() < limit]
    return ends[-1] if ends and ends[-1] >= least else None


def last_sentence_end(text: str) -> str:
    """*text* up to its last finished sentence; all of it when none is finished."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]] if ends else text


def grapheme_boundary(text: str, at: int) -> int:
    """*at* or a little before, so that no accent, joiner or flag is torn from its base; never 0 for at > 0."""
    cut = at
    while cut > 0 and cut < len(text) and _continues(text, cut):
        cut -= 1
        if at - cut > 32:  # a cluster this long is nobody's writing
            return at
    return cut or at


def _continues(text: str, at: int) -> bool:
    """Whether the character at *at* belongs to the one before it."""
    here, before = text[at], text[at - 1]
    if here in _JOINERS or before == "\u200d" or unicodedata.category(here) in ("Mn", "Mc", "Me"):
        return True
    if "\U0001f3fb" <= here <= "\U0001f3ff" or "\U000e0020" <= here <= "\U000e007f":  # skin tones, flags of regions
        return True
    if (before, here) == ("\r", "\n") or (unicodedata.combining(before) == _VIRAMA and here.isalpha()):
        return True
    if _is_flag_half(here):
        return _flag_halves_before(text, at) % 2 == 1
    return _joins_syllable(before, here)


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    start = at
    while start > 0 and _is_flag_half(text[start - 1]):
        start -= 1
    return at - start


def _joins_syllable(before: str, here: str) -> bool:
    """Whether two letters of Hangul stand in one syllable."""
    vowel, tail = "\u1160" <= here <= "\u11a7", "\u11a8" <= here <= "\u11ff"
    if "\u1100" <= before <= "\u115f":
        return vowel or "\u1100" <= here <= "\u115f" or "\uac00" <= here <= "\ud7a3"
    if "\u1160" <= before <= "\u11a7" or "\uac00" <= before <= "\ud7a3":
        return vowel or tail
    return "\u11a8" <= before <= "\u11ff" and tail


def shorten_middle(text: str, limit: int) -> str:
    """*text* with its middle left out, saying how much, when it is longer than *limit* characters."""
    if len(text) <= limit:
        return text
    head = grapheme_boundary(text, limit * 2 // 3)
    tail = grapheme_boundary(text, len(text) - (limit - limit * 2 // 3))
    return f"{text[:head]}\n[… {tail - head:,} characters left out …]\n{text[tail:]}"


def printable(text: str) -> str:
    """*text* without characters that command a terminal, its line ends plain."""
    return without_controls(text.replace("\r\n", "\n").replace("\r", "\n"))


def without_controls(text: str) -> str:
    """*text* without characters that command a terminal, carriage returns among them."""
    return _CONTROL.sub("", text)


def escape_controls(text: str) -> str:
    """*text* with characters that command a terminal written out, as JSON writes them."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def without_surrogates(text: str) -> str:
    """*text* as UTF-8 can hold it: halves of characters joined, and one that stands alone as U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def one_line(text: str) -> str:
    """*text* with every run of white space as one space."""
    return " ".join(text.split())


def sentences(text: str) -> list[str]:
    """*text* as its sentences, stripped; an unfinished rest counts as one."""
    return [text[start:end].strip() for start, end in _spans(text, 0, len(text))]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Where each sentence of *text* begins and ends; a line's end ends one too."""
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        found += _spans(text, start, start + len(line))
        start += len(line)
    return found


def _spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for match in _SENTENCE_END.finditer(text, start, end):
        found.append((start, match.end()))
        start = match.end()
    found.append((start, end))
    return [(first, last) for first, last in found if text[first:last].strip()]


def utf16_length(text: str) -> int:
    """Length in UTF-16 units: a character beyond the basic plane counts twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def describe_wait(seconds: float) -> str:
    """A span of time as a person says it."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Zero-width characters, direction marks, fillers and tags, to stand in a character class: no text needs them."""
JOINERS = "\u200c\u200d\ufe00-\ufe0f"
"""Invisible too, but emojis and some scripts are written with them: they are left in text and ignored in comparing."""

_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_MOST_NAME_BYTES = 180
"""A file's name has room for 255 on most systems, endings and numbers among them."""
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_IGNORED = re.compile(f"[{INVISIBLE}{JOINERS}]+")
_BLANK = "\u2800"
"""A sign of Braille that shows nothing."""
_IS_A_TIME_BEFORE = re.compile(
    r"(?:\b(?:in|of|last|this|next|during|since|by|until|early|late|mid)|\d(?:st|nd|rd|th)?)[\s-]+$", re.I
)
_IS_A_TIME_AFTER = re.compile(r"\.?,?\s+\d")
_POSSESSIVE = re.compile(r"['’]s\b|s['’](?!\w)")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;])[\W_]*$")
_LATIN_SPELLINGS = str.maketrans(
    dict(zip("äöüæœøåłđðþß", ("ae", "oe", "ue", "ae", "oe", "oe", "a", "l", "d", "d", "th", "ss"), strict=True))
    | dict(zip("ÄÖÜÆŒØÅŁĐÐÞẞ", ("Ae", "Oe", "Ue", "Ae", "Oe", "Oe", "A", "L", "D", "D", "Th", "SS"), strict=True))
)
"""How letters are spelled that lose their meaning, or vanish, without their mark."""


def fold_name(name: str) -> str:
    """*name*, or a text to look for names in, as it is compared: one case, one width, no invisible characters."""
    if name.isascii():
        return one_line(name.casefold())
    folded = _IGNORED.sub("", unicodedata.normalize("NFD", name)).casefold()
    folded = _IGNORED.sub("", unicodedata.normalize("NFKC", folded)).casefold()
    return one_line(unicodedata.normalize("NFKC", folded))


def to_slug(words: str, most: int | None = None) -> str:
    """*words* as a piece of a file's name: Latin letters and digits in lower case, dashes between; *most*: how long."""
    return _NOT_SLUG.sub("-", words.lower()).strip("-")[:most].strip("-")


def to_file_slug(words: str, most: int) -> str:
    """*words* as a file's name of at most *most* letters: those of any script stay, Latin ones lose their accents.

    Whatever else is in them becomes dashes, so that the name is one on every system and leads nowhere.
    """
    kept: list[str] = []
    for char in unicodedata.normalize("NFKC", without_invisible(words)):
        kind = unicodedata.category(char)[0]
        plain = spell_in_latin(char) if kind in "LN" else ""
        kept.append(plain or (char if kind in "LN" or (kind == "M" and kept and kept[-1] != "-") else "-"))
    slug = unicodedata.normalize("NFC", re.sub("[-_]+", "-", "".join(kept).lower())).strip("-")
    cut = slug if len(slug) <= most else slug[: grapheme_boundary(slug, most)]
    while len(cut.encode("utf-8", "replace")) > _MOST_NAME_BYTES:
        cut = cut[: grapheme_boundary(cut, len(cut) - 1)]
    return cut.strip("-")


def spell_in_latin(words: str) -> str:
    """*words* in letters without accents, ü as ue and ß as ss; letters of other scripts are left out."""
    spelled = unicodedata.normalize("NFC", words).translate(_LATIN_SPELLINGS)
    return unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()


def join_names(names: Sequence[str]) -> str:
    """*names* as a sentence has them: "Wren", "Wren and Ember", "Wren, Ember and Mira"."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def without_invisible(text: str) -> str:
    """*text* without characters nobody sees; joiners stay."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def has_visible(text: str) -> bool:
    """Whether anything of *text* can be seen."""
    if text.isascii() and text.isprintable():  # as nearly every name, and a room's are asked for at every message
        return bool(text.strip(" "))
    return any(char != _BLANK and unicodedata.category(char)[0] not in "CZM" for char in _IGNORED.sub("", text))


def is_meant_as_name(word: str, text: str) -> bool:
    """Whether *word*, such as "will" or "may", is somebody's name in *text*: by its capital, and no month."""
    for match in re.finditer(rf"(?<!\w){re.escape(word.capitalize())}(?!\w)", text):
        if _POSSESSIVE.match(text, match.end()):
            return True
        before = text[max(0, match.start() - 40) : match.start()]
        is_time = _IS_A_TIME_BEFORE.search(before) or _IS_A_TIME_AFTER.match(text, match.end())
        if not is_time and not _SENTENCE_START.search(before):
            return True
    return False


MAX_HELD = 4_096
"""A sequence that has not ended after so many characters is none: its first character goes, the rest is text."""

_STRING = r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4096}"
_SEQUENCE = re.compile(
    rf"(?:\x1b\[|\x9b)[\x30-\x3f]{{0,256}}[\x20-\x2f]{{0,16}}[\x40-\x7e]|{_STRING}(?:\x07|\x9c|\x1b\\)"
    r"|\x1b[\x20-\x2f]{1,16}[\x30-\x7e]|\x1b[\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e]"
)
_BEGUN = re.compile(
    rf"(?:\x1b|(?:\x1b\[|\x9b)[\x30-\x3f]{{0,256}}[\x20-\x2f]{{0,16}}|{_STRING}\x1b?|\x1b[\x20-\x2f]{{1,16}})\Z"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INTRODUCERS = frozenset("\x1b\x90\x98\x9b\x9d\x9e\x9f\r")


def without_escapes(text: str) -> str:
    """*text* without anything that commands a terminal; its line ends plain."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _CONTROLS.sub("", _SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


class EscapeFilter:
    """`without_escapes` for text that comes in pieces: what may be the beginning of a sequence waits for its end."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        cut = self._find_begun(text)
        self._held = text[cut:]
        return without_escapes(text[:cut])

    def close(self) -> str:
        """What was held back and is text after all."""
        rest, self._held = self._held, ""
        return without_escapes(rest)

    @staticmethod
    def _find_begun(text: str) -> int:
        """Where a sequence begins that has not ended yet; the end where none does."""
        if _INTRODUCERS.isdisjoint(text):
            return len(text)
        plain = _SEQUENCE.sub(lambda found: "\0" * len(found[0]), text)
        begun = _BEGUN.search(plain, max(0, len(plain) - MAX_HELD))
        if begun is not None:
            return begun.start()
        return len(text) - 1 if text.endswith("\r") else len(text)
