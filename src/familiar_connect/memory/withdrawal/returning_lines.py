"""Lines that were out of date since a turn that is taken back: they hold again.

"I live in Graz" went when "I live in Vienna now" was said. Where Vienna is undone or deleted, Graz stands again, unless
something that still stands has taken its place, or its own turn was taken back too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import part_hash, parts_of
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.weighing.answers import replaces
from familiar_connect.memory.writing.extractive import ABOUT_HEADING, words_of_quote
from familiar_connect.memory.writing.line_units import unit_key
from familiar_connect.memory.writing.markdown_sections import bullet_of, bullets_under, with_bullets


def return_lines(
    store: MemoryStore,
    audit: AuditLog,
    gone: Set[int],
    sources: Mapping[str, frozenset[int]],
    texts_of: Callable[[Set[int]], Mapping[int, str]],
) -> Iterator[tuple[str, str]]:
    """Files with the text that each shall have, now that the turns *gone* say nothing any more.

    *sources*: the turns behind each part; *texts_of*: what turns say that are still shown. To be asked before the lines
    that *gone* said are taken out, or a file of which nothing else is left would go first.
    """
    versions = Versions(audit)
    for rel_path in sorted(_files_changed_by(versions, gone)):
        text = store.read_if_present(rel_path)
        if text is None:
            continue
        replaced = _replaced_lines(versions, rel_path)
        made_of = {line: sources.get(part_hash(line), frozenset()) for line in replaced}
        shown = texts_of({*replaced.values(), *(turn for turns in made_of.values() for turn in turns)})
        standing = [
            line
            for line in bullets_under(text, ABOUT_HEADING)
            if not (said_in := sources.get(part_hash(line), frozenset())) or not said_in <= gone
        ]
        known = {unit_key(part.text) for part in parts_of(text)}
        wanted = [
            line
            for line, turn in replaced.items()
            if turn not in shown
            and made_of[line]
            and made_of[line].issubset(shown)
            and unit_key(line) not in known
            and not any(replaces(words_of_quote(each), words_of_quote(line)) for each in standing)
        ]
        if wanted:
            yield rel_path, with_bullets(text, ABOUT_HEADING, wanted)


def _files_changed_by(versions: Versions, turns: Set[int]) -> set[str]:
    """Files that lost a line because of one of *turns*."""
    return {
        version.rel_path
        for version in versions.log()
        if any(each.reason == "outdated" and each.turn in turns for each in version.entry.removed)
    }


def _replaced_lines(versions: Versions, rel_path: str) -> dict[str, int]:
    """Quotes that a turn took out of a file and nobody put back since, without their mark, each with that turn."""
    found: dict[str, int] = {}
    for version in versions.log(rel_path):
        try:
            standing = {bullet_of(line) for line in versions.text(version).splitlines()}
        except MemoryStoreError:  # lost: told by the versions around it
            standing = set()
        found = {line: turn for line, turn in found.items() if line not in standing}
        for text, removed in versions.removals_of(version):
            line = bullet_of(text)
            if line and removed.reason == "outdated" and removed.turn is not None and words_of_quote(line) != line:
                found[line] = removed.turn
    return found
