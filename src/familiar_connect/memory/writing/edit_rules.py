"""Stray lines: what a model wrote under a heading that code keeps goes where the file has its own lines.

A model that repeats a file and adds what is new at its end adds it below the last list, which is one of links or of
names. There nobody looks for it, nothing asks whether it was said, and its turns are not kept.

Path policy: which file a proposed name may mean, and which text may stand in one.

A pass writes people files of those who took part, topics, and its own session; everything else is
refused with the reason. The character's own files are out of reach by construction: no category leads there. Which
audience a file is of is no part of a name that a model can say: the batch decides it.

The heading of a person's file follows the name they gave; the file's own name and links to it stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Sequence

from familiar_connect.identity import LOCAL_PLATFORMS, UNNAMED
from familiar_connect.memory.people import ALIASES_HEADING
from familiar_connect.memory.writing.archiving import LINKS_HEADING, MANAGED, SESSIONS_HEADING
from familiar_connect.memory.writing.batch import Batch, BatchParticipant
from familiar_connect.memory.writing.extractive import ABOUT_HEADING, SAID_HEADING
from familiar_connect.memory.writing.line_units import LineUnit, split_units, unit_key
from familiar_connect.memory.writing.markdown_sections import bullet_of, bullets_under
from familiar_connect.memory.writing.plan import LineRemoval
from familiar_connect.support.markdown import read_headings

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


def aliases_to_list(person: BatchParticipant) -> list[str]:
    """The names a person used, without the word that stands for none."""
    return [name for name in person.names if name != UNNAMED or not _names_themselves(person)]


def rename_title(
    text: str, before: str, person: BatchParticipant, ours: Callable[[], Container[int]]
) -> tuple[str, tuple[LineRemoval, ...]]:
    """*text* under the name that *person* goes by now, and the heading that went; as it was where that is the owner's.

    Only for those who say what they are called: on other platforms a name changes with the place. *before* is the file
    as it stands, *ours* gives the numbers of its lines that the program wrote.
    """
    title = next((each for each in read_headings(before.splitlines()) if each.level == 1 and each.text), None)
    if title is None or not _names_themselves(person) or person.label in (UNNAMED, title.text):
        return text, ()
    if title.text not in (UNNAMED, *bullets_under(before, ALIASES_HEADING)) or title.line not in ours():
        return text, ()
    old = before.splitlines()[title.line]
    lines = text.splitlines()
    if old not in lines:
        return text, ()
    lines[lines.index(old)] = f"# {person.label}"
    return "\n".join(lines) + "\n", (LineRemoval(text=old, reason="renamed"),)


def _names_themselves(person: BatchParticipant) -> bool:
    return person.slug.startswith(tuple(f"{platform}-" for platform in LOCAL_PLATFORMS))


MAX_NAME_WORDS = 5

_LINKS = frozenset(map(unit_key, (SESSIONS_HEADING, LINKS_HEADING)))
_QUOTES = frozenset(map(unit_key, (ABOUT_HEADING, SAID_HEADING)))
_NAMES = unit_key(ALIASES_HEADING)
_KEPT_BY_CODE = _QUOTES | frozenset(map(unit_key, MANAGED))


def settle_strays(text: str, standing: str) -> str:
    """*text* with new lines out of the sections that code keeps, behind the last line of the file's own sections.

    Lines that are *standing* in the file stay where they are. A new link in a list of links goes: code makes those.
    """
    units = split_units(text)
    known = {unit_key(line) for line in standing.splitlines()}
    strays = [unit for unit in units if _is_stray(unit, known)]
    invented = [unit for unit in units if _is_new_link(unit, known)]
    if not strays and not invented:
        return text
    gone = {line for unit in (*strays, *invented) for line in range(unit.start, unit.end)}
    home = _home(units, gone)
    lines = text.splitlines()
    kept = [line for number, line in enumerate(lines[:home]) if number not in gone]
    rest = [line for number, line in enumerate(lines[home:], start=home) if number not in gone]
    moved = [line for unit in strays for line in unit.text.split("\n")]
    if moved and kept and kept[-1].strip() and bullet_of(kept[-1]) is None:
        kept.append("")
    return "\n".join([*kept, *moved, *([""] if moved and rest and rest[0].strip() else []), *rest]).rstrip() + "\n"


def _is_stray(unit: LineUnit, known: set[str]) -> bool:
    if unit.kind in ("heading", "front") or unit.section not in _KEPT_BY_CODE or unit.key in known:
        return False
    words = bullet_of(unit.text.partition("\n")[0])
    if unit.section in _QUOTES:
        return words is None or " said: " not in words
    if unit.section == _NAMES:
        return words is None or len(words.split()) > MAX_NAME_WORDS or ":" in words or words.endswith((".", "!", "?"))
    return not _is_new_link(unit, known)


def _is_new_link(unit: LineUnit, known: set[str]) -> bool:
    return unit.section in _LINKS and unit.kind == "bullet" and unit.key not in known and "](" in unit.text


def _home(units: Sequence[LineUnit], gone: set[int]) -> int:
    """The line behind the last unit of the file's own: under its title, or under a heading that is not code's."""
    own = [unit for unit in units if unit.start not in gone and _is_own(unit)]
    return own[-1].end if own else 0


def _is_own(unit: LineUnit) -> bool:
    """Whether what is the file's own may follow *unit*: its title, its front matter, a line of its own."""
    if unit.kind == "heading":
        return unit.level == 1
    return unit.kind == "front" or unit.section not in _KEPT_BY_CODE
