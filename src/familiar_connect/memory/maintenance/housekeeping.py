"""Housekeeping: what a careful owner would notice in the memory, and edits they may want.

Links that lead nowhere, files nobody links to, two files about the same thing, names that point at several
people, notes that deserve a file, files near their size limit, lines that contradict each other, plans that passed,
facts told twice. It changes nothing: where an edit is safe to suggest, it is put before the owner as a proposal.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import combinations
from typing import Literal, cast

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.file_audience import open_path
from familiar_connect.memory.maintenance.beliefs import DoubtfulLine, find_doubtful_lines
from familiar_connect.memory.maintenance.links import BrokenLink, LinkGraph, link_graph
from familiar_connect.memory.maintenance.reshape_files import FULL_ENOUGH, FileReshaper
from familiar_connect.memory.note_paths import is_archive
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.people import harvest_aliases, read_aliases
from familiar_connect.memory.search import say_cut
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.blame import blame_lines
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.writing.apply import text_hash
from familiar_connect.memory.writing.plan import LineRemoval, Plan, PlannedWrite
from familiar_connect.memory.writing.rewrite import without_removals
from familiar_connect.support.markdown import document_title, read_headings
from familiar_connect.support.text import pluralize, to_file_slug

SOURCE = "housekeeping"
NOTES = "notes.md"
SETTLED_AFTER = timedelta(days=7)
"""Notes left alone this long are done."""
MIN_NOTE_CHARS = 120
ALIKE = 0.7
"""Share of three-word runs two files have in common from which they count as alike."""
SKETCH = 48
"""Three-word runs looked at per file: the smallest by hash, so that alike files have the same ones."""
MAX_NAME_CHARS = 60
MAX_SHARED_RUN = 20
"""A run found in more files than this tells nothing about any two of them."""

_WORD = re.compile(r"\w+")

FindingKind = Literal[
    "unreadable",
    "broken link",
    "orphan",
    "duplicate people",
    "duplicate topics",
    "shared alias",
    "note",
    "large file",
    "contradiction",
    "stale",
    "duplicate",
]


@dataclass(frozen=True, kw_only=True)
class MemoryFinding:
    """One thing to look at; `edits` is what would mend it, where that is safe to say."""

    kind: FindingKind
    files: tuple[str, ...]
    says: str
    edits: tuple[PlannedWrite, ...] = ()


def examine_memory(
    store: MemoryStore,
    *,
    now: datetime,
    doubts: Sequence[DoubtfulLine] = (),
    audiences: PartAudiences | None = None,
    people: Collection[str] | None = None,
) -> list[MemoryFinding]:
    """Everything worth a look, the graver first; with the *doubts* that somebody else has.

    *audiences*, which know who was told what, let more files be split. *people*: the open files of those whose lines
    are compared with each other, which takes most of the time; None: of all.
    """
    graph = link_graph(store)
    reshaper = FileReshaper(store, audiences)
    found = [MemoryFinding(kind="unreadable", files=(), says=sentence) for sentence in graph.unreadable]
    found += _broken(graph)
    cut = set(store.files_over_cap())
    found += [each for each in _large(store, graph, reshaper) if cut.isdisjoint(each.files)]
    found += _shared_aliases(store)
    found += _duplicates(reshaper, graph)
    told = {path: text for path, text in graph.texts.items() if people is None or open_path(path) in people}
    found += _doubtful(told, now, doubts)
    found += _notes(store, graph, now)
    found += _orphans(graph)
    # What is known of a cut file is not all of it: an edit would lose the rest.
    found = [replace(each, edits=()) if cut & {edit.rel_path for edit in each.edits} else each for each in found]
    return [*(_cut_file(store, path, reshaper) for path in sorted(cut)), *found]


def proposal(findings: Sequence[MemoryFinding], *, familiar_id: str, now: datetime) -> Plan | None:
    """All suggested edits as one plan, each file once; None when there are none."""
    writes: dict[str, PlannedWrite] = {}
    for finding in findings:
        if not any(edit.rel_path in writes for edit in finding.edits):
            writes |= {edit.rel_path: edit for edit in finding.edits}
        elif len(finding.edits) == 1 and _only_takes_out(edit := finding.edits[0], writes[edit.rel_path]):
            writes[edit.rel_path] = _both_out(writes[edit.rel_path], edit)
    if not writes:
        return None
    mark = zlib.crc32("".join(f"{w.rel_path}\0{w.content}\0" for w in writes.values()).encode())
    return Plan(
        run_id=f"housekeeping-{mark:08x}",  # by what it says: one that was rejected is not proposed again
        familiar_id=familiar_id,
        turn_range=(0, 0),
        created_at=now.isoformat(),
        writes=tuple(writes.values()),
        source=SOURCE,
    )


def _only_takes_out(edit: PlannedWrite, other: PlannedWrite) -> bool:
    """Whether both do nothing but take lines out of the same text."""
    return edit.before == other.before and all(each.removed and not each.parts for each in (edit, other))


def _both_out(one: PlannedWrite, other: PlannedWrite) -> PlannedWrite:
    text = without_removals(one.content, other.removed)
    return replace(one, content=text, removed=(*one.removed, *other.removed))


def _doubtful(texts: Mapping[str, str], now: datetime, others: Sequence[DoubtfulLine]) -> Iterator[MemoryFinding]:
    """Lines about people that may have to go, each once and with the file without it."""
    own = find_doubtful_lines(texts, now=now)
    known = {(doubt.rel_path, doubt.text) for doubt in own}
    for doubt in (*own, *(each for each in others if (each.rel_path, each.text) not in known)):
        text = texts.get(doubt.rel_path, "")
        removal = LineRemoval(text=doubt.text, reason="outdated" if doubt.kind != "duplicate" else "duplicate")
        without = without_removals(text, [removal])
        edits: tuple[PlannedWrite, ...] = ()
        if doubt.may_be_suggested and without != text:
            edits = (replace(_edit(doubt.rel_path, text, without), removed=(removal,)),)
        files = tuple(dict.fromkeys((doubt.rel_path, doubt.other_path)))
        yield MemoryFinding(kind=cast(FindingKind, doubt.kind), files=files, says=doubt.says, edits=edits)


def _broken(graph: LinkGraph) -> Iterator[MemoryFinding]:
    """Links to nowhere; one whose file only moved is mended."""
    by_name: dict[str, list[str]] = {}
    for path in graph.texts:
        by_name.setdefault(posixpath.basename(path), []).append(path)
    for link in graph.broken:
        says = f"{link.rel_path}:{link.line} links to {link.target}: {link.reason}"
        moved = by_name.get(posixpath.basename(link.target.split("#")[0]), [])
        edits: tuple[PlannedWrite, ...] = ()
        if len(moved) == 1 and moved[0] != link.rel_path and _may_edit(link.rel_path):
            says += f"; it may mean {moved[0]}"
            edits = (_retargeted(graph, link, moved[0]),)
        yield MemoryFinding(kind="broken link", files=(link.rel_path,), says=says, edits=edits)


def _retargeted(graph: LinkGraph, link: BrokenLink, target: str) -> PlannedWrite:
    text = graph.texts[link.rel_path]
    lines = text.splitlines(keepends=True)
    lines[link.line - 1] = lines[link.line - 1].replace(f"({link.target}", f"({_relative(link.rel_path, target)}")
    return _edit(link.rel_path, text, "".join(lines))


def _cut_file(store: MemoryStore, path: str, reshaper: FileReshaper) -> MemoryFinding:
    """A file over its cap, and how it could be split; read whole, as nothing else reads it."""
    limit = store.limits.max_file_bytes
    try:
        text = store.read_if_present(path, whole=True) or ""
    except MemoryStoreError:  # not to be read as text, or larger than any copy is kept of
        text = ""
    edits = reshaper.split(path, text, room=limit)
    says = say_cut(path, limit)
    if edits:
        says += f": into {path} and {pluralize(len(edits) - 1, 'file')} beside it"
    return MemoryFinding(kind="large file", files=(path,) if edits else (), says=says, edits=edits)


def _large(store: MemoryStore, graph: LinkGraph, reshaper: FileReshaper) -> Iterator[MemoryFinding]:
    limit = store.limits.max_file_bytes
    for path, text in graph.texts.items():
        size = len(text.encode())
        if size > limit * FULL_ENOUGH:
            says = f"{path} is {size:,} bytes of {limit:,} allowed: move parts of it to files of their own"
            edits = reshaper.split(path, text, room=limit)
            yield MemoryFinding(kind="large file", files=(path,), says=says, edits=edits)


def _shared_aliases(store: MemoryStore) -> Iterator[MemoryFinding]:
    for name, slugs in sorted(read_aliases(store).items()):
        if len(slugs) > 1:
            files = tuple(f"people/{slug}.md" for slug in slugs)
            says = f"{name!r} may mean {', '.join(files)}: the most recently active one counts"
            yield MemoryFinding(kind="shared alias", files=files, says=says)


def _duplicates(reshaper: FileReshaper, graph: LinkGraph) -> Iterator[MemoryFinding]:
    """Pairs of people, or of topics, that seem to be one and do not know each other.

    Topics are merged. Two accounts of one person are only linked: what each said must stay theirs to take back.
    """
    kinds: tuple[tuple[str, FindingKind], ...] = (("people/", "duplicate people"), ("topics/", "duplicate topics"))
    for folder, kind in kinds:
        texts = {path: text for path, text in graph.texts.items() if path.startswith(folder) and not is_archive(path)}
        reasons = {**_alike(texts), **_same_name(texts, with_aliases=folder == "people/")}
        for (one, other), reason in sorted(reasons.items()):
            if open_path(one) != open_path(other) and not graph.are_linked(one, other):
                says = f"{one} and {other} {reason} and do not link to each other: merge them, or link them"
                edits = reshaper.merge(one, other, graph.texts) if folder == "topics/" else ()
                edits = edits or (_linked(graph, one, other), _linked(graph, other, one))
                yield MemoryFinding(kind=kind, files=(one, other), says=says, edits=edits)


def _same_name(texts: Mapping[str, str], *, with_aliases: bool) -> dict[tuple[str, str], str]:
    by_name: dict[str, list[str]] = {}
    for path, text in texts.items():
        names = {document_title(text) or "", *(harvest_aliases(text) if with_aliases else ())}
        for name in {to_file_slug(name, MAX_NAME_CHARS).replace("-", " ") for name in names} - {""}:
            by_name.setdefault(name, []).append(path)
    return {
        (one, other): f"are both called {name!r}"
        for name, paths in by_name.items()
        if len(paths) <= MAX_SHARED_RUN
        for one, other in combinations(sorted(paths), 2)
    }


def _alike(texts: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Pairs with nearly the same words, found by the runs they share, so that not all pairs are compared."""
    sketches = {path: _sketch(text) for path, text in texts.items()}
    holders: dict[int, list[str]] = {}
    for path, sketch in sketches.items():
        for run in sketch:
            holders.setdefault(run, []).append(path)
    shared: dict[tuple[str, str], int] = {}
    for paths in holders.values():
        if 1 < len(paths) <= MAX_SHARED_RUN:
            for pair in combinations(sorted(paths), 2):
                shared[pair] = shared.get(pair, 0) + 1
    found = {}
    for (one, other), count in shared.items():
        share = count / len(sketches[one] | sketches[other])
        if share >= ALIKE:
            found[one, other] = f"say nearly the same ({share:.0%})"
    return found


def _sketch(text: str) -> frozenset[int]:
    words = _WORD.findall(text.casefold())
    runs = {zlib.crc32(" ".join(words[at : at + 3]).encode()) for at in range(len(words) - 2)}
    return frozenset(sorted(runs)[:SKETCH])


def _notes(store: MemoryStore, graph: LinkGraph, now: datetime) -> Iterator[MemoryFinding]:
    """Sections of the scratchpad that have grown and come to rest."""
    text = graph.texts.get(NOTES)
    if text is None:
        return
    lines = text.splitlines(keepends=True)
    ages = _last_change(store, text)
    places = [(each.line, each.text) for each in read_headings(text.splitlines()) if each.level == 2]
    for index, (start, words) in enumerate(places):
        end = places[index + 1][0] if index + 1 < len(places) else len(lines)
        body = "".join(lines[start + 1 : end]).strip()
        target = f"topics/{to_file_slug(words, MAX_NAME_CHARS)}.md"
        youngest = max(ages[start:end])
        if len(body) < MIN_NOTE_CHARS or now - youngest < SETTLED_AFTER or target == "topics/.md":
            continue
        says = f"{NOTES}: the notes on {words!r} rest since {youngest:%Y-%m-%d} and could become {target}"
        edits: tuple[PlannedWrite, ...] = ()
        if target not in graph.texts and not store.exists(target):
            left = "".join([*lines[:start], f"- [{words}]({target})\n\n", *lines[end:]])
            promoted = PlannedWrite(rel_path=target, content=f"# {words}\n\n{body}\n", before=None)
            edits = (promoted, _edit(NOTES, text, left))
        yield MemoryFinding(kind="note", files=(NOTES,), says=says, edits=edits)


def _last_change(store: MemoryStore, text: str) -> list[datetime]:
    """When each line of the notes came; by the file's own time where no version tells."""
    modified = next(entry.modified for entry in store.list_dir() if entry.name == NOTES)
    if store.audit is None:
        return [modified] * len(text.splitlines())
    lines = blame_lines(Versions(store.audit), NOTES, text)
    return [line.version.entry.timestamp if line.version else modified for line in lines]


def _orphans(graph: LinkGraph) -> Iterator[MemoryFinding]:
    """Topics and sessions that nobody links to and that link to nobody: search finds them, a reader does not."""
    for path, sources in graph.backlinks().items():
        if path.startswith(("topics/", "sessions/")) and not sources and not graph.outgoing.get(path):
            yield MemoryFinding(kind="orphan", files=(path,), says=f"{path} has no links, and none lead to it")


def _may_edit(rel_path: str) -> bool:
    """Canon is the owner's: looked at, never edited."""
    return not rel_path.startswith(("self/", "lore/"))


def _linked(graph: LinkGraph, rel_path: str, other: str) -> PlannedWrite:
    text = graph.texts[rel_path]
    name = re.sub(r"[\[\]]", "", document_title(graph.texts[other]) or "") or posixpath.basename(other)
    return _edit(rel_path, text, f"{text.rstrip()}\n\nSee also [{name}]({_relative(rel_path, other)}).\n")


def _relative(source: str, target: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(source) or ".")


def _edit(rel_path: str, old: str, new: str) -> PlannedWrite:
    return PlannedWrite(rel_path=rel_path, content=new, before=text_hash(old))
