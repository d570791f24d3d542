"""PartAudiences: whom each part of a memory file was said to.

A file that says its audience has it as a whole. In any other, a part made from what was said is told only where
each of its turns may be; a part without known sources is everyone's where nothing in the file came from a
conversation (the owner or an author wrote it), else it is told only where all known sources of the file may be.
What the familiar wrote without known sources, in homes made before sources were kept, is the owner's.

Whoever asked for full privacy is out of all of it: parts made from their words, and files of a direct message with
them, are told nowhere. Parts of a server's file whose channel was hidden since belong to that channel.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from familiar_connect.audience import EVERYONE, OWNER, Audience, AudienceKind
from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import EVERYTHING_ALLOWED, Privacy
from familiar_connect.memory.audit import LOG_NAME
from familiar_connect.memory.audit_lines import entry_from_line, file_key_in_line, path_key
from familiar_connect.memory.file_audience import (
    CLOSE_KINDS,
    mark_path,
    mark_path_distinctly,
    read_audience,
    without_audience,
)
from familiar_connect.memory.people import ALIASES_PATH
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import WRITER_SOURCE
from familiar_connect.memory.versioning.provenance import Provenance, parts_of
from familiar_connect.support.lru import LruCache
from familiar_connect.support.no_follow import open_to_read

TOOL_SOURCE = "memory_tool"
"""What the audit calls the tools by which a model writes memory during a reply."""
MAX_CUT_FILES = 2_000
"""Files whose parts are held in memory, the most recently used."""

_WRITES = tuple(f'"source":"{source}"'.encode() for source in (WRITER_SOURCE, TOOL_SOURCE))
_NO_SOURCES: Mapping[str, tuple[int, ...]] = {}

MayTell = Callable[[frozenset[Audience]], bool]
"""Whether something made from what was said to these audiences may be told in a place."""


class TurnHeaders(Protocol):
    """What is asked of the history."""

    def turns_without_words(self, *, familiar_id: str, turn_ids: Iterable[int]) -> dict[int, HistoryTurn]: ...


@dataclass(frozen=True)
class VisibleText:
    """What of a file may be told in a place."""

    text: str
    audiences: frozenset[Audience]
    """Those its parts were said to."""
    is_whole: bool
    """Whether nothing was left out."""


@dataclass(frozen=True)
class _CutFile:
    """A file without the lines that say its audience, and where its parts stand in it."""

    text: str
    audience: Audience | None
    parts: tuple[tuple[str, int, int], ...]
    """Hash, first line, and the line after the last."""


_AllSources = dict[str, dict[str, tuple[int, ...]]]
"""By file and by the hash of a part: the turns it was made from."""


@dataclass(frozen=True)
class _Judged:
    """The audiences of a file: of each part by its place in `_CutFile.parts`, and of all other lines."""

    parts: tuple[frozenset[Audience] | None, ...]
    """None: told nowhere."""
    rest: frozenset[Audience] | None


class PartAudiences:
    """The memory of one familiar, judged part by part. Safe to use from any thread."""

    def __init__(
        self,
        store: MemoryStore,
        history: TurnHeaders | None = None,
        *,
        familiar_id: str = "",
        privacy: Privacy = EVERYTHING_ALLOWED,
    ) -> None:
        self.store = store
        self._history = history
        self._familiar_id = familiar_id
        self._privacy = privacy
        folder = store.audit.folder if store.audit is not None else None
        self._provenance = Provenance(folder) if folder is not None else None
        self._log = folder / LOG_NAME if folder is not None else None
        self._lock = threading.Lock()
        self._cut: LruCache[str, tuple[object, _CutFile]] = LruCache(MAX_CUT_FILES)
        self._sources: tuple[object, _AllSources] = (None, {})
        self._program_files: tuple[int, frozenset[bytes]] = (0, frozenset())
        self._log_stamp: object = None
        """Of the log when all of it had been read, up to its last line end."""

    def visible(self, rel_path: str, may_tell: MayTell) -> VisibleText:
        """What of the file may be told; a file that cannot be read is an error, as it is for the store."""
        return self.visible_text(rel_path, None, may_tell)

    def visible_text(self, rel_path: str, text: str | None, may_tell: MayTell) -> VisibleText:
        """As `visible`, for *text* read from the file by other means."""
        sources = self._all_sources()
        cut = self._cut_file(rel_path, sources) if text is None else _cut(text)
        judged = self._judge(rel_path, cut, sources)
        return _visible(cut, judged, may_tell)

    def audiences(self, rel_path: str) -> frozenset[Audience]:
        """Those the whole file was said to, parts that are told nowhere left out."""
        judged = self._judge(rel_path, self._cut_file(rel_path))
        return frozenset().union(*(each for each in (*judged.parts, judged.rest) if each is not None))

    def audience_of_text(self, rel_path: str, text: str) -> Audience | None:
        """The one audience that all of *text*, read from the file, was said to; None where there are several.

        None as well where nobody knows, for want of the turns it was made of.
        """
        judged = self._judge(rel_path, _cut(text))
        found = {judged.rest, *judged.parts}
        only = next(iter(found)) if len(found) == 1 and self._history is not None else None
        return next(iter(only)) if only is not None and len(only) == 1 else None

    def source_audiences(self, rel_path: str) -> frozenset[Audience]:
        """Those the known sources of what the file says now were said to."""
        sources = self._all_sources().get(rel_path, _NO_SOURCES)
        cut = self._cut_file(rel_path)
        turns = self._turns(turn for part, _, _ in cut.parts for turn in sources.get(part, ()))
        return frozenset(_audience_of(turn) for turn in turns.values())

    def is_program_written(self, rel_path: str) -> bool:
        """Whether the familiar itself ever wrote to the file."""
        return path_key(rel_path) in self._paths_by_program()

    def choose_path(self, base: str, audience: Audience) -> str:
        """Where something that was said to *audience* is written, given the open path *base*.

        Nothing but the audience and what stands in the files decides.
        """
        if audience.kind not in CLOSE_KINDS and self._takes(base, audience):
            return base
        return self.choose_beside(base, audience)

    def choose_beside(self, base: str, audience: Audience) -> str:
        """The file of *audience* beside the open one *base*."""
        marked = mark_path(base, audience)
        if not self.store.exists(marked) or read_audience(self._beginning(marked)) == audience:
            return marked
        return mark_path_distinctly(base, audience)

    def _takes(self, base: str, audience: Audience) -> bool:
        """Whether the open file may hold what was said to *audience*."""
        if not self.store.exists(base):
            return True
        said = read_audience(self._beginning(base))
        if said is not None:
            return said == audience
        try:
            sources = self.source_audiences(base)
        except MemoryStoreError:
            return False  # what cannot be read cannot be added to
        if sources:
            return sources == {audience}
        return audience.kind is AudienceKind.EVERYONE and not self.is_program_written(base)

    def _beginning(self, rel_path: str) -> str:
        return self.store.read_bytes(rel_path)[:65_536].decode("utf-8", "replace")

    # Judging

    def _judge(self, rel_path: str, cut: _CutFile, all_sources: _AllSources | None = None) -> _Judged:
        sources = (self._all_sources() if all_sources is None else all_sources).get(rel_path, _NO_SOURCES)
        full = self._privacy.full_privacy_keys()
        if not sources and cut.audience is None:
            rest = self._rest(rel_path, [], {})
            return _Judged((rest,) * len(cut.parts), rest)
        if cut.audience is not None and not full and cut.audience.kind is not AudienceKind.SERVER:
            only = frozenset({cut.audience})  # whatever its parts were made of
            return _Judged((only,) * len(cut.parts), only)
        ids = [sources.get(part, ()) for part, _, _ in cut.parts]
        turns = self._turns(turn for each in ids for turn in each) if any(ids) else {}
        if cut.audience is not None and not cut.audience.people.isdisjoint(full):
            return _Judged(tuple(None for _ in cut.parts), None)
        parts: list[frozenset[Audience] | None] = []
        for each in ids:
            made_of = [turns.get(turn) for turn in each]
            is_private = any(turn is not None and _is_private(turn, full) for turn in made_of)
            said_to = frozenset(_audience_of(turn) for turn in made_of)
            parts.append(None if is_private else _of_part(cut.audience, said_to))
        rest = frozenset({cut.audience}) if cut.audience is not None else self._rest(rel_path, ids, turns)
        return _Judged(tuple(each if each is None or each else rest for each in parts), rest)

    def _rest(self, rel_path: str, ids: list[tuple[int, ...]], turns: Mapping[int, HistoryTurn]) -> frozenset[Audience]:
        """Of lines without known sources, in a file that does not say its audience."""
        known = frozenset(_audience_of(turns.get(turn)) for each in ids for turn in each)
        if known:
            return known
        by_program = rel_path != ALIASES_PATH and self.is_program_written(rel_path)
        return frozenset({OWNER if by_program else EVERYONE})

    def _turns(self, ids: Iterable[int]) -> dict[int, HistoryTurn]:
        wanted = set(ids)
        if not wanted or self._history is None:
            return {}
        return self._history.turns_without_words(familiar_id=self._familiar_id, turn_ids=wanted)

    # What is read once and kept

    def _cut_file(self, rel_path: str, all_sources: _AllSources | None = None) -> _CutFile:
        has_sources = rel_path in (self._all_sources() if all_sources is None else all_sources)
        stamp = self.store.stamp(rel_path)
        held = self._cut.get(rel_path)
        if held is not None and stamp is not None and held[0] == (stamp, has_sources):
            return held[1]
        cut = _cut(self.store.read_file(rel_path), in_parts=has_sources)
        self._cut.put(rel_path, ((stamp, has_sources), cut))
        return cut

    def _all_sources(self) -> _AllSources:
        if self._provenance is None:
            return {}
        stamp = _stamp(self._provenance.path)
        with self._lock:
            if self._sources[0] != stamp:
                self._sources = (stamp, self._provenance.all_sources())
            return self._sources[1]

    def _paths_by_program(self) -> frozenset[bytes]:
        """Keys of the files that the writer or a tool ever wrote to, as the audit's log names them."""
        if self._log is None:
            return frozenset()
        with self._lock:
            stamp = _stamp(self._log)
            if stamp is not None and stamp == self._log_stamp:
                return self._program_files[1]
            if stamp is None and not os.path.lexists(self._log):
                return frozenset()  # asked for every file that a search brings up: nothing is opened in vain
            read_to, found = self._program_files
            try:
                with open_to_read(self._log) as file:
                    size = os.fstat(file.fileno()).st_size
                    if size == read_to:
                        self._log_stamp = stamp
                        return found
                    if size < read_to:  # a person was erased from it
                        read_to, found = 0, frozenset()
                    file.seek(read_to)
                    data = file.read()
            except FileNotFoundError:
                return frozenset()
            whole = data[: data.rfind(b"\n") + 1]
            self._program_files = (read_to + len(whole), found | _hash_program_lines(whole))
            return self._program_files[1] | _hash_program_lines(data[len(whole) :])


def _hash_program_lines(data: bytes) -> frozenset[bytes]:
    lines = (raw for raw in data.split(b"\n") if any(mark in raw for mark in _WRITES))
    return frozenset(
        key
        for raw in lines
        if (key := file_key_in_line(raw)) is not None
        and (entry := entry_from_line(raw)) is not None
        and entry.source in (WRITER_SOURCE, TOOL_SOURCE)
    )


def _of_part(file_audience: Audience | None, said_to: frozenset[Audience]) -> frozenset[Audience]:
    """Of a part with known sources; empty: as the rest of the file."""
    if file_audience is None:
        return said_to
    if file_audience.kind in (AudienceKind.SERVER, AudienceKind.OWNER):
        is_owners = file_audience.kind is AudienceKind.OWNER
        hidden = {each for each in said_to if each.is_sealed or (each.kind is AudienceKind.CHANNEL and not is_owners)}
        return frozenset({file_audience, *hidden}) if hidden else frozenset()
    return frozenset()


def _audience_of(turn: HistoryTurn | None) -> Audience:
    """A turn that the history no longer holds was said to nobody knows whom: it is the owner's."""
    return OWNER if turn is None else turn.audience


def _is_private(turn: HistoryTurn, full: frozenset[str]) -> bool:
    said_by = turn.author.canonical_key if turn.author is not None else None
    return said_by in full or not turn.audience.people.isdisjoint(full)


def _cut(text: str, *, in_parts: bool = True) -> _CutFile:
    """*text* taken apart; as one piece where nothing is known of its parts, nor said of its audience."""
    bare, audience = without_audience(text), read_audience(text)
    if not in_parts and audience is None:
        return _CutFile(bare, None, ())
    parts = []
    at = line = 0
    for part in parts_of(bare):
        line += bare.count("\n", at, part.start)
        end = line + bare.count("\n", part.start, part.end) + 1
        parts.append((part.hash, line, end))
        at = part.start
    return _CutFile(bare, audience, tuple(parts))


def _visible(cut: _CutFile, judged: _Judged, may_tell: MayTell) -> VisibleText:
    if all(said_to is judged.rest for said_to in judged.parts):  # as nearly every file, and a search asks about all
        shown = judged.rest is not None and may_tell(judged.rest)
        return VisibleText(cut.text if shown else "", (judged.rest if shown else None) or frozenset(), shown)
    decided: dict[frozenset[Audience] | None, bool] = {None: False}
    for said_to in (judged.rest, *judged.parts):
        if said_to is not None and said_to not in decided:
            decided[said_to] = may_tell(said_to)
    told = [part for part, said_to in zip(cut.parts, judged.parts, strict=True) if decided[said_to]]
    audiences = frozenset[Audience]().union(*(said_to for said_to in judged.parts if said_to and decided[said_to]))
    if decided[judged.rest] and len(told) == len(cut.parts):
        return VisibleText(cut.text, audiences | (judged.rest or frozenset()), True)
    if not told:
        return VisibleText("", frozenset(), False)
    lines = cut.text.split("\n")
    in_parts = {number for _, first, end in cut.parts for number in range(first, end)}
    kept = {number for _, first, end in told for number in range(first, end)}
    if decided[judged.rest]:
        kept |= set(range(len(lines))) - in_parts
        audiences |= judged.rest or frozenset()
    else:
        kept |= {number for number, line in enumerate(lines) if not line.strip()}
    closed = [part for part, said_to in zip(cut.parts, judged.parts, strict=True) if not decided[said_to]]
    kept -= {number for _, first, end in closed for number in range(first, end)}  # two parts may share a line
    text = "\n".join(line for number, line in enumerate(lines) if number in kept)
    return VisibleText(text.strip("\n") + "\n", audiences, False)


def _stamp(path: Path) -> object:
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
