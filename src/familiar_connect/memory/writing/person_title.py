"""The heading of a person's file follows the name they gave; the file's own name and links to it stay."""

from __future__ import annotations

from collections.abc import Callable, Container

from familiar_connect.identity import LOCAL_PLATFORMS, UNNAMED
from familiar_connect.memory.people import ALIASES_HEADING
from familiar_connect.memory.writing.batch import BatchParticipant
from familiar_connect.memory.writing.markdown_sections import bullets_under
from familiar_connect.memory.writing.plan import LineRemoval
from familiar_connect.support.markdown import read_headings


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
