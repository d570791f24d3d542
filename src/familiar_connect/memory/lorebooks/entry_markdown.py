"""A lorebook entry as a Markdown file: file name, rendering and parsing.

# The Cascade Event

> Trigger keywords (looked for under `sillytavern`, else by meaning):
> - cascade
> - collapse

In 2042, …
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from familiar_connect.memory.file_audience import without_front_matter
from familiar_connect.memory.pins import PINNED_HEAD, read_pin
from familiar_connect.support.markdown import read_headings
from familiar_connect.support.text import grapheme_boundary, one_line, to_file_slug, to_slug, without_surrogates

MAX_STEM = 50
FALLBACK = "entry"
KEYWORDS = "Trigger keywords"
WHEN = "looked for under `sillytavern`, else by meaning"

_RESERVED = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
"""File names Windows keeps for devices."""


@dataclass(frozen=True)
class EntryParts:
    """What a file says."""

    title: str | None
    keys: tuple[str, ...] | None
    """None where there is no list of keywords."""
    content: str
    pin: bool | None = None
    """Whether it says that it is pinned, or that it is not."""

    @property
    def is_pinned(self) -> bool:
        return self.pin is True


def entry_title(entry: dict[str, object]) -> str:
    """What to call an entry: its comment, its first key, its number, or just `entry`."""
    comment = entry.get("comment")
    if isinstance(comment, str) and comment.strip():
        return one_line(without_surrogates(comment))
    keys = entry_keys(entry)
    if keys:
        return keys[0]
    uid = entry.get("uid")
    return (
        f"uid {one_line(without_surrogates(str(uid)))}" if isinstance(uid, int | str) and str(uid).strip() else FALLBACK
    )


def entry_keys(entry: dict[str, object]) -> list[str]:
    """The keys that say something, each on one line; a lone text counts as a list with commas."""
    found = entry.get("key")
    listed = found.split(",") if isinstance(found, str) else found if isinstance(found, list) else []
    words = [one_line(without_surrogates(str(key))) for key in listed if isinstance(key, str | int | float)]
    return [word for word in words if word]


def render_entry(entry: dict[str, Any]) -> str:
    """The file of *entry*, whose content is text."""
    blocks = [f"{PINNED_HEAD if entry.get('constant') else ''}# {entry_title(entry)}"]
    keys = entry_keys(entry)
    if keys:
        listed = "\n".join(f"> - {key}" for key in keys)
        blocks.append(f"> {KEYWORDS} ({WHEN}):\n{listed}")
    content = without_surrogates(entry["content"])
    if content.strip():
        blocks.append(content)
    text = "\n\n".join(blocks)
    return text if text.endswith("\n") else f"{text}\n"


def parse_entry(text: str) -> EntryParts:
    """What the file says, whoever wrote it."""
    pin = read_pin(text)
    lines = without_front_matter(text).replace("\r\n", "\n").split("\n")
    title, at = None, _past_blanks(lines, 0)
    if at < len(lines) and [each.level for each in read_headings([lines[at]])] == [1]:
        title, at = lines[at].strip()[1:].strip(), _past_blanks(lines, at + 1)  # marks that close it are words of it
    end = at
    while end < len(lines) and lines[end].startswith(">"):
        end += 1
    block = [line[1:].strip() for line in lines[at:end]]
    keys = None
    if block and KEYWORDS.lower() in block[0].lower():
        keys = tuple(word for line in block if line[:2] in ("- ", "* ") and (word := line[2:].strip()))
        at = _past_blanks(lines, end)
    return EntryParts(title or None, keys, "\n".join(lines[at:]).rstrip("\n"), pin)


def file_stem(title: str) -> str:
    """A file name, without its ending, that every system takes; letters of any script stay."""
    return _unreserved(to_file_slug(title, MAX_STEM) or FALLBACK)


def latin_stem(title: str) -> str:
    """The same of Latin letters alone, as every file was named once."""
    return _unreserved(to_slug(title, MAX_STEM) or FALLBACK)


def _unreserved(stem: str) -> str:
    return f"{stem}-{FALLBACK}" if _RESERVED.fullmatch(stem) else stem


class FileNames:
    """Gives out file names; a name that is taken gets `-2`, `-3`, … behind it."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def take(self, title: str) -> str:
        stem = file_stem(title)
        name = stem
        while name in self._taken:
            number = self._next.get(stem, 2)
            self._next[stem] = number + 1
            ending = f"-{number}"
            name = f"{stem[: grapheme_boundary(stem, MAX_STEM - len(ending))].rstrip('-')}{ending}"
        self._taken.add(name)
        return f"{name}.md"


def _past_blanks(lines: list[str], at: int) -> int:
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at
