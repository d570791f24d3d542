"""Path policy: which file a proposed name may mean, and which text may stand in one.

A pass writes people files of those who took part, topics, and its own session; everything else is
refused with the reason. The character's own files are out of reach by construction: no category leads there. Which
audience a file is of is no part of a name that a model can say: the batch decides it.
"""

from __future__ import annotations

import re
import unicodedata

from familiar_connect.memory.writing.batch import Batch

MAX_FILE_BYTES = 65_536
"""Largest text one edit may bring."""
MAX_TOPIC_CHARS = 80

_OTHER_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_NOT_WORD = re.compile(r"[\W_]+")
_STEERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{name}{digit}" for name in ("com", "lpt") for digit in range(1, 10))]
)


class EditRefused(Exception):
    """A proposal that is not carried out; the message says why."""


def path_for_proposal(category: str, name: str, batch: Batch) -> str:
    """The file a proposal means, or `Refused`."""
    if has_control_characters(name):
        raise EditRefused("its name holds control characters")
    stem = name[:-3] if name.lower().endswith(".md") else name
    if _OTHER_SUFFIX.search(stem):
        raise EditRefused("only Markdown files are written")
    if stem.startswith((".", "_", "~")):
        raise EditRefused("names that begin so are kept for the program")
    if category == "people":
        return _person(stem, batch)
    if category == "topics":
        return batch.place(_topic(stem))
    raise EditRefused("it stands in neither the people nor the topics section")


def check_text(text: str) -> None:
    """`Refused` for text no edit may bring."""
    if has_control_characters(text):
        raise EditRefused("its text holds control characters")
    if len(text.encode("utf-8")) > MAX_FILE_BYTES:
        raise EditRefused(f"its text is larger than {MAX_FILE_BYTES} bytes")


def has_control_characters(text: str) -> bool:
    """Whether *text* holds what steers a terminal, hides or turns text around, or is no character at all."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return False
    return any(
        character in _STEERING or (unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t")
        for character in text
    )


def _person(stem: str, batch: Batch) -> str:
    slug = stem.strip().lower()
    for person in batch.roster:
        if person.slug == slug:
            if not person.may_note:
                raise EditRefused("this person asked for no notes about them")
            return person.rel_path
    raise EditRefused("nobody of this transcript has that slug")


def _topic(stem: str) -> str:
    name = _NOT_WORD.sub("-", unicodedata.normalize("NFC", stem).casefold()).strip("-")[:MAX_TOPIC_CHARS].strip("-")
    if not name or name in _DEVICES or len(name.encode("utf-8")) > 200:
        raise EditRefused("a topic needs a name of letters and digits")
    return f"topics/{name}.md"
