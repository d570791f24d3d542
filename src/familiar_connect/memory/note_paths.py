"""Where the notes on a person stand, and the files beside another: its archives, and the pages of its months.

`people/irc-1.archive.md` stands beside `people/irc-1.md`, and `people/irc-1.archive-2.md` follows when the first is
full; `people/irc-1.month-2026-05.md` looks back at a month. These go with the file they stand beside. Search
reads them like any other file; nothing else puts them into a prompt. `people/irc-1@dm-irc-1.md` holds what only some
may hear (`memory.file_audience`, `memory.visible_memory.MarkedFiles`).
"""

from __future__ import annotations

import re

from familiar_connect.memory.file_audience import MARK, open_path

PEOPLE = "people"
_ARCHIVE = re.compile(r"\.(?:archive(?:-\d{1,6})?|month-\d{4}-\d\d)\.md\Z")


def archive_path(rel_path: str, number: int = 1) -> str:
    """Where the archive of a file stands; *number* counts from 1."""
    return f"{rel_path.removesuffix('.md')}.archive{'' if number == 1 else f'-{number}'}.md"


def month_path(rel_path: str, month: str) -> str:
    """Where the page stands that looks back at *month*, such as 2026-05, of a file."""
    return f"{rel_path.removesuffix('.md')}.month-{month}.md"


def is_archive(rel_path: str) -> bool:
    """Whether a file stands beside the one it belongs to: an archive, or the page of a month."""
    return _ARCHIVE.search(rel_path) is not None


def original_path(rel_path: str) -> str:
    """The file that an archive or a month's page belongs to; any other path as it is."""
    return _ARCHIVE.sub(".md", rel_path)


def people_path(slug: str) -> str:
    """Where the notes on a person stand."""
    return f"{PEOPLE}/{slug}.md"


def people_path_prefixes(slug: str) -> tuple[str, ...]:
    """How the paths of all notes on a person begin: open ones, archives and months, and those of smaller circles."""
    path = people_path(slug)
    months = month_path(path, "").removesuffix(".md")
    return path, archive_path(path).removesuffix(".md"), months, f"{PEOPLE}/{slug}{MARK}"


def slug_of_path(rel_path: str) -> str:
    """Whom a file of the people folder is about."""
    return open_path(original_path(rel_path)).removeprefix(f"{PEOPLE}/").removesuffix(".md")
