"""TurnWithdrawal: takes what was taken back out of everything that was made of it. The one operation behind a deleted,
edited or purged message, a ban, full privacy, an undone exchange, and, followed by the rows themselves, erasing.

The history says what is to be done (`history.withdrawal`), until everything here is done: memory files with their
archives and earlier versions, proposals and what the writer keeps beside them, orders and reminders, our own answers
that repeat the words, and whatever else keeps a copy (`CopyKeeper`). Run again, it finishes what was cut.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.authors import remove_reminders_and_posts
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import RemovalCause
from familiar_connect.history.withdrawal.withdrawals import Withdrawals, WithdrawnTurn
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.file_audience import read_audience
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.mentions import is_link_to, without_parts
from familiar_connect.memory.part_audiences import TOOL_SOURCE
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.types import WRITER_SOURCE
from familiar_connect.memory.versioning.blame import OUR_SOURCES
from familiar_connect.memory.versioning.provenance import MarkdownPart, Provenance, part_hash, parts_of
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.withdrawal.clean_lines import LineCleaner, WithdrawnWords, find_words
from familiar_connect.memory.withdrawal.returning_lines import return_lines
from familiar_connect.memory.withdrawal.writer_copies import clean_writer_copies
from familiar_connect.memory.writing.archiving import MANAGED
from familiar_connect.memory.writing.extractive import PRESENT_HEADING
from familiar_connect.memory.writing.journal import PENDING
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.markdown import read_headings

SOURCE = "withdrawal"
KEPT_BY_PROGRAM = (*MANAGED, PRESENT_HEADING)
"""Sections of links and names, which say nothing by themselves: a file of which only these are left goes."""
AUTHORED = ("self/", "lore/", "documents/")
"""Folders of texts that come from no conversation."""
SLACK = timedelta(days=1)
"""Clocks of platforms and ours differ: what was made so long before a turn was said is not made of it."""

logger = logging.getLogger(__name__)


class CopyKeeper(Protocol):
    """Something that keeps copies of what was said, and can be told to let go of some."""

    def forget_words(self, is_meant: Callable[[object], bool], *, since: datetime) -> int:
        """Let go of whatever was made since then and holds plain data that *is_meant*; how much went."""
        ...


@dataclass(frozen=True, kw_only=True)
class WithdrawalResult:
    """What was changed."""

    files: list[str] = field(default_factory=list)
    versions: int = 0
    copies: int = 0
    replies: list[int] = field(default_factory=list)
    """Our own turns that repeated what was taken back, and were taken back too."""
    newest: int = 0


_OURS = OUR_SOURCES | {TOOL_SOURCE}


class PartWriters:
    """Which parts the program wrote. A file is read once, when it is first asked about."""

    def __init__(self, audit: AuditLog | None) -> None:
        self._audit = audit
        self._ours: dict[str, frozenset[str]] = {}

    def is_ours(self, rel_path: str, part: str) -> bool:
        """Whether the program was the first to write the part of that hash; of what nobody knows, no."""
        if rel_path not in self._ours:
            self._ours[rel_path] = self._parts_of_ours(rel_path)
        return part in self._ours[rel_path]

    def _parts_of_ours(self, rel_path: str) -> frozenset[str]:
        if self._audit is None:
            return frozenset()
        versions = Versions(self._audit)
        known: set[str] = set()
        ours: set[str] = set()
        for version in versions.log(rel_path):
            try:
                text = versions.text(version)
            except MemoryStoreError:  # lost: told by the versions around it
                continue
            headings = (heading.text for heading in read_headings(text.splitlines()))
            parts = {*(part.hash for part in parts_of(text)), *map(part_hash, headings)}
            if version.entry.source in _OURS:
                ours |= parts - known
            known |= parts
        return frozenset(ours)


class TurnWithdrawal:
    """Brings everything that one familiar made of what was said level with the history. Synchronous.

    The caller sees to it that nobody writes memory meanwhile.
    """

    def __init__(
        self,
        store: MemoryStore,
        history: HistoryStore,
        familiar_id: str,
        *,
        clock: Clock | None = None,
        privacy: Privacy = EVERYTHING_ALLOWED,
        keepers: Sequence[CopyKeeper] = (),
        progress: Callable[[int, int], None] | None = None,
        removes_empty: bool = True,
    ) -> None:
        """*progress* is told how many of how many files were looked at; *removes_empty*: a file without a line goes."""
        self._store = store
        self._history = history
        self._familiar_id = familiar_id
        self._privacy = privacy
        self._keepers = keepers
        self._progress = progress
        self._removes_empty = removes_empty
        self._has_begun = False
        self.rows = Withdrawals(history, familiar_id, clock=clock or SystemClock())
        self._folder = store.audit.folder if store.audit is not None else None
        self._provenance = Provenance(self._folder) if self._folder is not None else None

    def carry_out(self) -> WithdrawalResult:
        """Do everything that is still to be done; the files that changed."""
        if not self._has_begun:
            self.rows.reopen_for_unfinished_replies()
            self._has_begun = True
        private = self._withdraw_private_people()
        pending = self.rows.pending()
        if pending is None:
            return WithdrawalResult(files=private)
        if not pending.turns:
            self.rows.mark_done(pending.newest)
            return WithdrawalResult(files=private, newest=pending.newest)
        words = self.words_of(pending.turns)
        replies = self.rows.withdraw(self.repeating(pending.turns), RemovalCause.repeated)
        turns = pending.turns
        if replies and (more := self.rows.pending()) is not None:
            pending, turns = more, more.turns
            words = words.with_phrases(self.words_of([turn for turn in turns if turn.id in set(replies)]))
        self.rows.drop_made_of(turn.id for turn in turns)
        result = self.clean(turns, words)
        self.rows.mark_done(pending.newest)
        if result.files or result.copies or private:
            facts = {"turns": len(turns), "files": len(result.files), "copies": result.copies}
            logger.info("what was taken back left memory", extra=facts)
        return WithdrawalResult(
            files=[*private, *result.files],
            versions=result.versions,
            copies=result.copies,
            replies=replies,
            newest=pending.newest,
        )

    def words_of(self, turns: Sequence[WithdrawnTurn]) -> WithdrawnWords:
        """The words that only *turns* said."""
        return find_words(turns, self.rows, self._read_authored_texts)

    def clean(
        self, turns: Sequence[WithdrawnTurn], words: WithdrawnWords | None = None, *, source: str = SOURCE
    ) -> WithdrawalResult:
        """Take what *turns* said out of every copy; the history itself is left as it is."""
        if not turns:
            return WithdrawalResult()
        words = words if words is not None else self.words_of(turns)
        since = min(turn.said_at for turn in turns) - SLACK
        cleaner = self._cleaner(turns, words)
        returned = self._return_lines(turns)
        files = self._clean_files(cleaner, source)
        files += [path for path in returned if path not in files]
        versions = self._clean_versions(cleaner, words, since)
        copies = clean_writer_copies(self._store, cleaner, words, [turn.id for turn in turns])
        if words:
            copies += remove_reminders_and_posts(
                self._history.database, self._familiar_id, words.is_in, self._history.outbox.last_piece
            )
            for keeper in self._keepers:
                copies += keeper.forget_words(words.is_in_any, since=since)
        return WithdrawalResult(files=files, versions=versions, copies=copies)

    def is_outdated(self, since: int, made_of: Iterable[str]) -> bool:
        """Whether something of the texts *made_of* was taken back after the change *since*."""
        pending = self.rows.pending(since)
        if pending is None or not pending.turns:
            return False
        words = find_words(pending.turns, self.rows)
        texts = list(made_of)
        return any(words.is_in(text) for text in texts)

    def _withdraw_private_people(self) -> list[str]:
        """Whoever asked for full privacy is out of everything, also of what was said before; the files that went."""
        full = self._privacy.full_privacy_keys()
        for key in sorted(full):
            platform, _, user_id = key.partition(":")
            turns = self.rows.turns_with(Author(platform, user_id, None, None))
            if turns:
                self.rows.withdraw(turns, RemovalCause.private)
        doomed = [path for path in markdown_files(self._store) if "@" in path and self._is_told_to(path, full)]
        for path in doomed if full else ():
            self._store.delete_file(path, source=SOURCE)
        return doomed

    def _is_told_to(self, path: str, people: Set[str]) -> bool:
        """Whether a file is of a direct message with one of *people*; the path of such a file says so."""
        try:
            said_to = read_audience(self._store.read_file(path)) if people else None
        except MemoryStoreError:  # what cannot be read is told nowhere
            return False
        return said_to is not None and not said_to.people.isdisjoint(people)

    def repeating(self, turns: Sequence[WithdrawnTurn]) -> list[int]:
        """What we ourselves said after *turns* with words that only people said in them; our own words are ours."""
        said = [turn for turn in turns if not turn.is_ours]
        # Of ours only what they read now counts: a line that was moved still says what another one said before.
        told = [replace(turn, texts=()) if turn.is_ours else turn for turn in turns]
        words = self.words_of(told) if said else WithdrawnWords()
        if not words:
            return []
        ours = self.rows.own_turns_after(min(turn.id for turn in said))
        return [turn.id for turn in ours if words.is_in(turn.content) or words.is_in(turn.view or "")]

    def _cleaner(self, turns: Sequence[WithdrawnTurn], words: WithdrawnWords) -> LineCleaner:
        return LineCleaner(
            turns=turns,
            words=words,
            sources=self._sources_by_part(),
            texts_of=self._texts_of,
            is_ours=PartWriters(self._store.audit).is_ours,
        )

    def _texts_of(self, turn_ids: Set[int]) -> Mapping[int, str]:
        return self.rows.texts_of(turn_ids)

    def _sources_by_part(self) -> dict[str, frozenset[int]]:
        """Part hash → every turn it came from, in whatever file it stands by now."""
        found: dict[str, set[int]] = {}
        for parts in self._provenance.all_sources().values() if self._provenance is not None else ():
            for part, ids in parts.items():
                found.setdefault(part, set()).update(ids)
        return {part: frozenset(ids) for part, ids in found.items()}

    def _read_authored_texts(self) -> Iterable[str]:
        for path in markdown_files(self._store):
            if path.startswith(AUTHORED):
                try:
                    yield self._store.read_file(path)
                except MemoryStoreError:  # what cannot be read says nothing
                    continue

    # Files

    def _clean_files(self, cleaner: LineCleaner, source: str) -> list[str]:
        """Clean every file; those that changed or went. Links to one that went go too."""
        paths = [path for path in markdown_files(self._store) if not path.startswith(AUTHORED)]
        changed = []
        for count, path in enumerate(paths, start=1):
            if self._progress is not None:
                self._progress(count, len(paths))
            changed += [path] if self._clean_file(path, cleaner, source) else []
        gone = frozenset(path for path in changed if not self._store.exists(path))
        for path in paths if gone else ():
            if path not in gone and self._remove_links(path, gone, source, cleaner) and path not in changed:
                changed.append(path)
        return changed

    def _return_lines(self, turns: Sequence[WithdrawnTurn]) -> list[str]:
        """Put back what *turns* took the place of, where they say nothing any more; the files that changed."""
        gone = {turn.id for turn in turns if not turn.stands}
        if self._store.audit is None or not gone:
            return []
        changed = []
        try:
            for path, text in return_lines(
                self._store, self._store.audit, gone, self._sources_by_part(), self._texts_of
            ):
                self._store.write_file(path, text, source=WRITER_SOURCE)
                changed.append(path)
        except MemoryStoreError as error:
            logger.warning("lines that hold again could not be put back", extra={"error": str(error)})
        return changed

    def _clean_file(self, path: str, cleaner: LineCleaner, source: str) -> bool:
        try:
            text = self._store.read_file(path)
            if not cleaner.may_touch(text):
                return False
            cleaned = cleaner.clean(path, text)
            if cleaned.text == text:
                return False
            if self._provenance is not None and cleaned.parts:
                self._provenance.record(path, cleaned.parts, SOURCE)
            self._put(path, cleaned.text, source, cleaner)
        except MemoryStoreError as error:
            logger.warning("a memory file keeps parts of talk that was taken back", extra={"error": str(error)})
            return False
        return True

    def _remove_links(self, path: str, gone: Set[str], source: str, cleaner: LineCleaner) -> bool:
        try:
            text = self._store.read_file(path)
            links = [part for part in parts_of(text) if is_link_to(part, path, gone)]
            if links:
                self._put(path, without_parts(text, links), source, cleaner)
        except MemoryStoreError:  # what cannot be read keeps its link
            return False
        return bool(links)

    def _put(self, path: str, text: str, source: str, cleaner: LineCleaner) -> None:
        is_empty = all(map(_says_nothing, parts_of(text))) and not cleaner.has_parts(text)
        if self._removes_empty and is_empty:
            self._store.delete_file(path, source=source)
        else:
            self._store.write_file(path, text, source=source)

    def _clean_versions(self, cleaner: LineCleaner, words: WithdrawnWords, since: datetime) -> int:
        audit = self._store.audit
        if audit is None:
            return 0
        full = self._privacy.full_privacy_keys()

        def clean(path: str, data: bytes) -> bytes:
            text = data.decode("utf-8", "surrogateescape")
            if full and (said_to := read_audience(text)) is not None and not said_to.people.isdisjoint(full):
                return b""
            if path.startswith(f"{PENDING}/"):
                return b"" if words.is_in(text) else data
            if not path.endswith(".md") or path.startswith(AUTHORED) or not cleaner.may_touch(text):
                return data
            return cleaner.clean(path, text).text.encode("utf-8", "surrogateescape")

        changed = audit.rewrite(clean, since=since, is_doomed=lambda data: words.is_in(data.decode("utf-8", "replace")))
        if changed:
            audit.objects.flush_deleted()
        return changed


def _says_nothing(part: MarkdownPart) -> bool:
    """Whether a part is a link or a name that the program keeps. A sentence says something wherever it was added."""
    is_link = part.text.startswith("[") and part.text.endswith(")")
    return part.heading in KEPT_BY_PROGRAM and (is_link or not part.text.endswith((".", "!", "?", "…", ":")))
