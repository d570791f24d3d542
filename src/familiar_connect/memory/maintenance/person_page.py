"""PersonPage: what is known of one person as one page, however many files their audiences need.

Each file of theirs that may be told is a part of it, the open one first, and says who may hear it. Nothing is read
but through the gate that the reader's memory already has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from familiar_connect.audience import Audience
from familiar_connect.memory.file_audience import without_front_matter
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.support.markdown import document_title

MAX_PARTS = 100
"""Audiences of one person whose files a page shows; more are counted."""

DescribeAudience = Callable[[frozenset[Audience]], str]


@dataclass(frozen=True, kw_only=True)
class PagePart:
    """One file of the person's."""

    rel_path: str
    heard_by: str
    """In words, who may hear it."""
    text: str
    """Without front matter and title."""


@dataclass(frozen=True, kw_only=True)
class PersonPage:
    """All parts under one title."""

    title: str
    parts: tuple[PagePart, ...]
    left_out: int = 0
    """Parts there was no room for."""

    @property
    def text(self) -> str:
        """The page as Markdown."""
        blocks = [f"# {self.title}"]
        blocks += [f"[may be heard by {part.heard_by}: {part.rel_path}]\n\n{part.text}" for part in self.parts]
        if self.left_out:
            blocks.append(f"[and {self.left_out} more files]")
        return "\n\n".join(blocks) + "\n"


def build_person_page(memory: VisibleMemory, base: str, describe: DescribeAudience) -> PersonPage | None:
    """The page of the person whose open file is *base*; None where nothing of them may be told."""
    paths = memory.files_of(base)
    parts: list[PagePart] = []
    title = ""
    for path in paths[:MAX_PARTS]:
        shown = memory.look(path)
        text = without_front_matter(shown.text)
        title = title or document_title(text) or ""
        parts.append(PagePart(rel_path=path, heard_by=describe(shown.audiences), text=below_title(text).strip()))
    if not parts:
        return None
    name = base.rpartition("/")[2].removesuffix(".md")
    return PersonPage(title=title or name, parts=tuple(parts), left_out=len(paths) - len(parts))


def below_title(text: str) -> str:
    """*text* without the title that begins it."""
    first, _, rest = text.lstrip().partition("\n")
    return rest if first.startswith("# ") else text
