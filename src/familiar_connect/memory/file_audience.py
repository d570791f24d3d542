"""The audience of a memory file as its front matter and its name say it.

    ---
    audience: server:irc:2001
    ---

Whoever reads a file for a prompt or an index takes these lines off; other keys of the front matter stay. A file
that stands beside the open one of its person, topic or session has its audience in its name:
`people/irc-7@dm-irc-7.md`. Nothing here touches a disk.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from familiar_connect.audience import STRICT, Audience, AudienceKind, Readers, may_tell, parse_audience

MARK = "@"
"""Stands in a file's name between the name of the open file and the audience."""
MAX_FRONT_MATTER_LINES = 100
MAX_MARK_CHARS = 80
CLOSE_KINDS = (AudienceKind.PEOPLE, AudienceKind.CHANNEL)
"""What was said to some only: always kept in a file of its own."""

_KEY = re.compile(r"audience[ \t]*:(.*)", re.IGNORECASE | re.DOTALL)
_FENCE = "---"


def read_audience(text: str) -> Audience | None:
    """What the front matter of *text* says; None where it says nothing.

    An audience that cannot be read, or two that differ, is the owner's: nobody else hears the file.
    """
    lines = text.splitlines()
    found = {_value(lines[number]) for number in _key_lines(lines)}
    return None if not found else parse_audience(found.pop() if len(found) == 1 else None)


def without_audience(text: str) -> str:
    """*text* as it may be shown: without the lines that say its audience."""
    lines = text.splitlines(keepends=True)
    gone = set(audience_lines(text))
    return "".join(line for number, line in enumerate(lines) if number not in gone) if gone else text


def with_audience(text: str, audience: Audience) -> str:
    """*text* with *audience* in its front matter, whatever it said before."""
    bare = without_audience(text)
    line = f"audience: {audience}\n"
    lines = bare.splitlines(keepends=True)
    end = _front_matter_end(bare.splitlines())
    if end is not None and end < len(lines) and lines[end].rstrip() == _FENCE:
        return "".join([lines[0], line, *lines[1:]])
    return f"{_FENCE}\n{line}{_FENCE}\n{bare}"


def front_matter(text: str) -> list[str]:
    """The lines of the front matter of *text*, without the marks around them; none where it has none."""
    lines = text.splitlines()
    end = _front_matter_end(lines)
    return [] if end is None else lines[1:end]


def without_front_matter(text: str) -> str:
    """*text* below its front matter; one that is not closed is none."""
    lines = text.splitlines(keepends=True)
    end = _front_matter_end(text.splitlines())
    if end is None or end >= len(lines) or lines[end].rstrip() != _FENCE:
        return text
    return "".join(lines[end + 1 :])


def audience_lines(text: str) -> Sequence[int]:
    """Numbers of the lines that say the audience; all of the front matter where it says nothing else."""
    lines = text.splitlines()
    keys = list(_key_lines(lines))
    if not keys:
        return ()
    end = _front_matter_end(lines)
    assert end is not None
    inside = range(1, end)
    others = [number for number in inside if number not in keys and lines[number].strip()]
    closes = end < len(lines) and lines[end].strip() == _FENCE
    return keys if others else range(end + 1 if closes else end)


def _key_lines(lines: Sequence[str]) -> Iterable[int]:
    end = _front_matter_end(lines)
    return [] if end is None else [number for number in range(1, end) if _KEY.match(lines[number])]


def _front_matter_end(lines: Sequence[str]) -> int | None:
    """The line that ends the front matter; a block that nobody closed ends at the first blank line."""
    if not lines or lines[0].removeprefix("\ufeff").rstrip() != _FENCE:
        return None
    within = lines[1 : MAX_FRONT_MATTER_LINES + 1]
    closed = next((number for number, line in enumerate(within, 1) if line.rstrip() == _FENCE), None)
    if closed is not None:
        return closed
    return next((number for number, line in enumerate(within, 1) if not line.strip()), len(within) + 1)


def _value(line: str) -> str:
    found = _KEY.match(line)
    return found[1].strip().strip("\"'") if found else ""


# Names of files


def mark_path(base: str, audience: Audience) -> str:
    """The file of *audience* beside the open file *base*."""
    slug = audience.slug
    if len(slug) > MAX_MARK_CHARS:
        slug = f"{slug[: MAX_MARK_CHARS - 9]}-{_digest(slug)}"
    return f"{base.removesuffix('.md')}{MARK}{slug}.md"


def mark_path_distinctly(base: str, audience: Audience) -> str:
    """As `mark_path`, where another audience's file has that name already."""
    return f"{mark_path(base, audience).removesuffix('.md')}-{_digest(str(audience))}.md"


def is_marked(rel_path: str) -> bool:
    """Whether a file's name says its audience."""
    return MARK in PurePosixPath(rel_path).stem


def open_path(rel_path: str) -> str:
    """The path of the open file that *rel_path* stands beside; *rel_path* itself where it is open."""
    path = PurePosixPath(rel_path)
    if not is_marked(rel_path):
        return rel_path
    return str(path.with_name(f"{path.stem.partition(MARK)[0]}.md"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


# Whether one audience hears another's


def is_within(audience: Audience, other: Audience) -> bool:
    """Whether everybody of *audience*, and everybody it is shared with, may hear what was said to *other*.

    Who is on a server or in a channel now is not asked: only what follows from the audiences themselves.
    """
    if audience == other or other.kind is AudienceKind.EVERYONE:
        return True
    return may_tell(other, _readers_of(audience), STRICT) and audience.also <= other.also


def _readers_of(audience: Audience) -> Readers:
    is_channel = audience.kind is AudienceKind.CHANNEL
    server_id = audience.server_id if is_channel else audience.id
    channel_id = audience.id if is_channel and audience.id is not None else 0
    return Readers(audience, platform=audience.platform, channel_id=channel_id, server_id=server_id)
