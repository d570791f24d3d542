"""Room in a file: its oldest lines of ours move to the archive beside it, before it grows past its cap.

The owner's lines, headings, front matter, names and links stay. Lists of quotes and of sessions have a length of
their own; what they lose goes the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.note_paths import archive_path
from familiar_connect.memory.people import ALIASES_HEADING
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.writing.apply import text_hash
from familiar_connect.memory.writing.extractive import (
    ABOUT_HEADING,
    ABOUT_LINES,
    SAID_HEADING,
    SAID_LINES,
    weigh_quote,
)
from familiar_connect.memory.writing.line_units import LineUnit, split_units, unit_key
from familiar_connect.memory.writing.plan import LineRemoval, PlannedWrite
from familiar_connect.memory.writing.rewrite import OurLines, is_ours, without_units
from familiar_connect.support.markdown import document_title

SESSIONS_HEADING = "Sessions"
LINKS_HEADING = "Links"
MANAGED = (ALIASES_HEADING, SESSIONS_HEADING, LINKS_HEADING)
"""Sections that code keeps: what stood there stays, whatever a model leaves out."""
MAX_SESSION_LINKS = 30
WORKING_BYTES = 32_768
"""A file that a pass makes larger than this loses its oldest lines of ours to the archive."""
KEPT_SHARE = 0.75
"""How much of the cap is left full then, so that not every pass has to move lines."""
MAX_ARCHIVES = 1_000


@dataclass(frozen=True, kw_only=True)
class FittedFile:
    """A text within its cap, and the archive with what it lost."""

    text: str
    removed: tuple[LineRemoval, ...] = ()
    archive: PlannedWrite | None = None


def fit_file(
    store: MemoryStore, rel_path: str, before: str | None, text: str, *, day: str, ours: OurLines
) -> FittedFile:
    """*text*, which is to replace *before*, with what is too much of it moved to the archive."""
    cap = min(WORKING_BYTES, store.limits.max_file_bytes)
    units = split_units(text)
    if before is None or (_size(text) <= cap and not _long_lists(units)):
        return FittedFile(text=text)
    ages = _ages(before, ours())
    chosen = {unit.start: unit for unit in _list_overflow(units, ages)}
    size = _size(text) - sum(_size(unit.text) + 1 for unit in chosen.values())
    if size > cap:
        managed = {unit_key(words) for words in MANAGED}
        movable = [unit for unit in units if unit.key in ages and unit.section not in managed]
        for unit in sorted(movable, key=lambda unit: (ages[unit.key], unit.start)):
            if size <= cap * KEPT_SHARE:
                break
            if chosen.setdefault(unit.start, unit) is unit:
                size -= _size(unit.text) + 1
    if not chosen:
        return FittedFile(text=text)
    moved = [chosen[start] for start in sorted(chosen)]
    return FittedFile(
        text=without_units(text, chosen),
        removed=tuple(LineRemoval(text=unit.text, reason="archived") for unit in moved),
        archive=_archive(store, rel_path, text, moved, day),
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


def _ages(before: str, owned: Mapping[int, int]) -> dict[str, int]:
    """Key of each unit of *before* that is ours, wherever it stands → the version that brought it."""
    ages: dict[str, int] = {}
    owners: set[str] = set()
    for unit in split_units(before):
        if is_ours(unit, owned):
            ages[unit.key] = max(owned[number] for number in range(unit.start, unit.end))
        else:
            owners.add(unit.key)
    return {key: age for key, age in ages.items() if key not in owners}


def _long_lists(units: Sequence[LineUnit]) -> dict[str, list[LineUnit]]:
    """Section → its bullets, where there are more than its list may have."""
    found: dict[str, list[LineUnit]] = {}
    limits = _list_limits()
    for unit in units:
        if unit.kind == "bullet" and unit.section in limits:
            found.setdefault(unit.section, []).append(unit)
    return {section: bullets for section, bullets in found.items() if len(bullets) > limits[section]}


def _list_limits() -> dict[str, int]:
    return {
        unit_key(SESSIONS_HEADING): MAX_SESSION_LINKS,
        unit_key(SAID_HEADING): SAID_LINES,
        unit_key(ABOUT_HEADING): ABOUT_LINES,
    }


def _list_overflow(units: Sequence[LineUnit], ages: Mapping[str, int]) -> list[LineUnit]:
    """Bullets of ours that a list has no room for: the oldest sessions, the quotes that weigh least."""
    found: list[LineUnit] = []
    for section, bullets in _long_lists(units).items():
        movable = [unit for unit in bullets if unit.key in ages]
        if section != unit_key(SESSIONS_HEADING):
            movable.sort(key=lambda unit: (weigh_quote(unit.text), unit.start))
        found += movable[: len(bullets) - _list_limits()[section]]
    return found


def _archive(store: MemoryStore, rel_path: str, text: str, moved: Sequence[LineUnit], day: str) -> PlannedWrite:
    """The archive file with *moved* in it; the next one where that would be too large."""
    for number in range(1, MAX_ARCHIVES):
        path = archive_path(rel_path, number)
        try:
            before = store.read_if_present(path)
        except MemoryStoreError:
            continue
        content = _with_units(before or _empty_archive(rel_path, text), moved, f"Moved here {day}")
        if _size(content) <= store.limits.max_file_bytes:
            return PlannedWrite(rel_path=path, content=content, before=text_hash(before))
        if before is None:
            break
    raise MemoryStoreError(f"there is no room for older lines of {rel_path} in an archive; move some of it elsewhere")


def _empty_archive(rel_path: str, text: str) -> str:
    """A new archive: the front matter of the file it belongs to, a title and a link back."""
    front = next((unit.text + "\n\n" for unit in split_units(text)[:1] if unit.kind == "front"), "")
    name = rel_path.rpartition("/")[2]
    title = document_title(text) or name.removesuffix(".md")
    return f"{front}# {title}: archive\n\nOlder lines of [{name}]({name}), moved when it grew too large.\n"


def _with_units(archive: str, moved: Sequence[LineUnit], heading: str) -> str:
    """*archive* with those of *moved* that it lacks, at its end."""
    known = {unit.text for unit in split_units(archive)}
    lines = archive.rstrip().splitlines()
    if not _ends_under(archive, heading):
        lines += ["", f"## {heading}"]
    before: LineUnit | None = None
    for unit in moved:
        if unit.text in known:
            continue
        if unit.kind != "bullet" or (before is not None and before.kind != "bullet"):
            lines.append("")
        lines += unit.text.split("\n")
        before = unit
    return "\n".join(lines) + "\n"


def _ends_under(archive: str, heading: str) -> bool:
    last = [unit for unit in split_units(archive) if unit.kind == "heading"]
    return bool(last) and last[-1].text == f"## {heading}"
