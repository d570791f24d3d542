"""Forgetting a person: lists everything that is kept of them, and removes it once the owner confirms.

What they said goes wherever a copy of it is kept, by the one operation that takes words back (`memory.withdrawal`);
here also goes what is about them, and their turns themselves. Rows go in one transaction and last, because they tell
the names that the rest is found by. What is to be done is written down before the first removal, so a run that was
cut is finished by the next. Nothing of their words is left in free pages, write-ahead logs or earlier versions. This
is the one exception to "nothing is ever deleted".
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.history.message_metadata import find_metadata
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.mentions import Mention, mentions_of, without_parts
from familiar_connect.memory.maintenance.person_lookup import Person, files_of_person
from familiar_connect.memory.maintenance.review import Review, unescape_json
from familiar_connect.memory.people import ALIASES_PATH, read_aliases, rebuild_aliases
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance
from familiar_connect.memory.versioning.versions import Versions
from familiar_connect.memory.withdrawal.copies import copy_keepers
from familiar_connect.memory.withdrawal.withdraw_turns import TurnWithdrawal
from familiar_connect.memory.writing.journal import PENDING, RunLog, writer_lock
from familiar_connect.observe.person_match import mentions_person
from familiar_connect.observe.replay_store import ReplayStore
from familiar_connect.observe.spending import SpendingStore
from familiar_connect.support.fetch.attachments import SCHEME, AttachmentStore, find_attachment_names
from familiar_connect.support.files import atomic_write, sync_folder
from familiar_connect.support.no_follow import load_bytes, remove_file
from familiar_connect.support.serialize import from_plain, to_plain

SOURCE = "forget"
UNFINISHED_NAME = "forgetting.json"
_WRITER_FILES = ("writer-journal.json", "writer-journal.damaged", "writer-attempts.json")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PersonRecords:
    """Everything kept of one person, before any of it goes."""

    person: Person
    turns: int
    files: tuple[str, ...]
    """Their own files: the open one, those of smaller circles, those of direct messages with them."""
    versions: int
    aliases: tuple[str, ...]
    pending: tuple[str, ...]
    pages: tuple[str, ...]
    """Last prompts, and what the writer left, that speak of them."""
    replays: int
    """Past turns kept for replay that speak of them."""
    summaries: int
    caches: tuple[str, ...]
    """Derived files that may hold their words and are made anew."""
    quotes: tuple[Mention, ...]
    """Parts of other files that tell what they said, and links to their file; they go."""
    mentions: tuple[Mention, ...]
    """Parts of other files that speak of them otherwise; they stay unless the owner wants them gone too."""

    @property
    def other_paths(self) -> tuple[str, ...]:
        """Files of others that quote or name them, in path order."""
        return tuple(sorted({each.rel_path for each in (*self.quotes, *self.mentions)}))

    @property
    def mention_paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(mention.rel_path for mention in self.mentions))


@dataclass(frozen=True, kw_only=True)
class ErasureResult:
    """What was erased."""

    turns: int
    versions: int
    replays: int
    edited: tuple[str, ...]
    complete: bool
    """False while another program still reads the databases: their old pages go when it ends and this runs again."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What the owner asked for, kept until it is done."""

    person: Person
    also_mentions: bool = False
    edited: tuple[str, ...] = ()
    """Files of others that parts are taken out of: their earlier versions go too, also after a crash."""


class PersonEraser:
    """Looks up and removes what the familiar in *root* keeps of a person.

    *caches* tells which files and folders outside the familiar may hold words of a person.
    """

    def __init__(
        self,
        root: Path,
        *,
        store: MemoryStore,
        history: HistoryStore,
        caches: Callable[[Person], Iterable[Path]] = lambda _: (),
        progress: Callable[[str], None] = lambda _: None,
        keeps_index: bool = False,
    ) -> None:
        """*keeps_index*: somebody has the search index open and empties it themselves."""
        self._root = root
        self._familiar_id = root.name
        self._store = store
        self._history = history
        self._audit_folder = FamiliarFolder(root).audit
        self._provenance = Provenance(self._audit_folder)
        self._review = Review(store, provenance=self._provenance)
        self._replays = ReplayStore(FamiliarFolder(root).traces)
        self._caches = caches
        self._progress = progress
        self._keeps_index = keeps_index

    def look_up(self, person: Person) -> PersonRecords:
        """Everything there is of *person*; nothing is changed."""
        who = person.author
        turns = set(self._history.authors.ids_of(familiar_id=self._familiar_id, author=who))
        audit = self._store.audit
        mentions = self._mentions_of(person, turns)
        return PersonRecords(
            person=person,
            turns=len(turns),
            files=tuple(files_of_person(person, markdown_files(self._store))),
            versions=sum(len(Versions(audit).log(path)) for path in self._list_known_files(person)) if audit else 0,
            aliases=tuple(name for name, slugs in sorted(read_aliases(self._store).items()) if person.slug in slugs),
            pending=tuple(self._pending_of(person, turns)),
            pages=tuple(path.name for path in self._pages_of(person)),
            replays=self._replays.count_person(who),
            summaries=self._history.summaries.count(familiar_id=self._familiar_id),
            caches=tuple(sorted(file.name for file in self._list_cached_files(person))),
            quotes=tuple(mention for mention in mentions if mention.is_quote),
            mentions=tuple(mention for mention in mentions if not mention.is_quote),
        )

    def pending_order(self) -> Order | None:
        """What an earlier run was cut in."""
        try:
            return from_plain(Order, json.loads(load_bytes(self._audit_folder / UNFINISHED_NAME)))
        except FileNotFoundError:
            return None
        except ValueError:
            _log.warning("a note about an unfinished erasure cannot be read and was passed over")
            return None

    def forget(self, person: Person, *, also_mentions: bool = False) -> ErasureResult:
        """Remove all of it. Run again after a crash, it finishes."""
        with writer_lock(self._audit_folder):
            own = self._list_known_files(person)
            turns = set(self._history.authors.ids_of(familiar_id=self._familiar_id, author=person.author))
            edited = self._begin(person, self._list_doomed(person, turns, also_mentions), also_mentions)
            kept = len(self._replays.ids())
            also = self._withdraw(turns)
            doomed = self._list_doomed(person, turns, also_mentions)
            pending = self._forget_pages(person, turns)
            self._replays.erase_person(person.author)
            replays = kept - len(self._replays.ids())  # those that repeat their words went above
            self._forget_mentions(doomed)
            versions = self._forget_files(person, own, pending, edited)
            self._progress("sources of each part")
            for path in own:
                self._provenance.erase(turn_ids=turns, rel_path=path)
                RunLog(self._audit_folder).erase(turns, path)
            self._review.decisions.erase(lambda line: not own.isdisjoint(line.get("files") or ()))
            SpendingStore(FamiliarFolder(self._root).metrics_db, self._familiar_id).erase(person.author.canonical_key)
            self._progress("turns")
            gone = self._history.erase_author(familiar_id=self._familiar_id, author=person.author, also=also)
            self._forget_pictures()
            self._progress("free pages")
            complete = self._compact()
            if complete:
                remove_file(self._audit_folder / UNFINISHED_NAME)
                sync_folder(self._audit_folder)
        facts = {"turns": gone, "versions": versions, "replays": replays, "complete": complete}
        _log.info("a person was forgotten", extra=facts)
        return ErasureResult(turns=gone, versions=versions, replays=replays, edited=edited, complete=complete)

    def _list_doomed(self, person: Person, turns: set[int], also_mentions: bool) -> list[Mention]:
        return [mention for mention in self._mentions_of(person, turns) if mention.is_quote or also_mentions]

    def _withdraw(self, theirs: set[int]) -> list[int]:
        """Take what they said out of everything made of it; turns of ours that repeat it."""
        self._progress("what was made of their words")
        folder = FamiliarFolder(self._root)
        keepers = copy_keepers(folder, with_exports=True)
        withdrawal = TurnWithdrawal(self._store, self._history, self._familiar_id, keepers=keepers, removes_empty=False)
        turns = withdrawal.rows.describe(theirs)
        words = withdrawal.words_of(turns)
        earlier = {turn_id for turn_id, said in withdrawal.rows.own_earlier_words() if words.is_in(said)}
        ours = withdrawal.rows.describe({*withdrawal.repeating(turns), *earlier})
        words = words.with_phrases(withdrawal.words_of(ours)) if ours else words
        withdrawal.clean((*turns, *ours), words, source=SOURCE)
        shutil.rmtree(folder.home.trial, ignore_errors=True)
        return [turn.id for turn in ours]

    def _begin(self, person: Person, doomed: list[Mention], also_mentions: bool) -> tuple[str, ...]:
        """Write down what is to be done; which files parts are taken out of, by this run and one that was cut."""
        cut = self.pending_order()
        earlier = cut.edited if cut is not None and cut.person.slug == person.slug else ()
        edited = tuple(dict.fromkeys((*earlier, *(mention.rel_path for mention in doomed))))
        order = Order(person=person, also_mentions=also_mentions, edited=edited)
        atomic_write(self._audit_folder / UNFINISHED_NAME, json.dumps(to_plain(order)), mode=0o600)
        return edited

    def _forget_pages(self, person: Person, turns: set[int]) -> list[str]:
        """Proposals, pages and caches: whatever can be made again from what stays."""
        self._progress("proposals, last prompts, caches")
        pending = list(self._pending_of(person, turns))
        self._review.remove(pending)
        for path in (*self._pages_of(person), *self._list_cached_files(person)):
            remove_file(path)
        return pending

    def _forget_mentions(self, doomed: list[Mention]) -> None:
        """Take parts out of other files."""
        self._progress("what is quoted in other files")
        by_file: dict[str, list[Mention]] = {}
        for mention in doomed:
            by_file.setdefault(mention.rel_path, []).append(mention)
        for rel_path, found in by_file.items():
            text = without_parts(self._store.read_file(rel_path), [mention.part for mention in found])
            self._store.write_file(rel_path, text, source=SOURCE)

    def _list_known_files(self, person: Person) -> set[str]:
        """Their files, those that were deleted since included."""
        audit = self._store.audit
        logged = {entry.rel_path for entry in audit.entries()} if audit is not None else set()
        return {person.file, *files_of_person(person, {*logged, *markdown_files(self._store)})}

    def _forget_files(self, person: Person, own: set[str], pending: list[str], edited: tuple[str, ...]) -> int:
        """Their files, their aliases, and every version of what was about them."""
        self._progress("files and their versions")
        for rel_path in (*sorted(own), ALIASES_PATH):
            if self._store.exists(rel_path):
                self._store.delete_file(rel_path, source=SOURCE)
        removed = 0
        if self._store.audit is not None:
            folders = tuple(f"{PENDING}/{run_id}/" for run_id in pending)
            known = {entry.rel_path for entry in self._store.audit.entries()}
            gone = {path for path in known if path.startswith(folders)} | {*own, ALIASES_PATH}
            removed = self._store.audit.erase(
                gone, but_latest=edited, leftovers=lambda data: _speaks_of(data.decode("utf-8", "replace"), person)
            )
        others = [speaker.author for speaker in self._history.authors.speakers(familiar_id=self._familiar_id)]
        rebuild_aliases(self._store, [other for other in others if other.slug != person.slug], source=SOURCE)
        return removed

    def _forget_pictures(self) -> None:
        """Pictures that came with messages, where no message is left that they came with."""
        left = find_metadata(self._history.database, SCHEME, familiar_id=self._familiar_id)
        names = {name for facts in left for name in find_attachment_names(facts)}
        AttachmentStore(FamiliarFolder(self._root).attachments).remove_all_but(names)

    def _compact(self) -> bool:
        kept = self._store.audit.objects.compact() if self._store.audit is not None else True
        return self._history.database.compact() and kept

    def _mentions_of(self, person: Person, turns: set[int]) -> list[Mention]:
        def text_of(turn_id: int) -> str:
            turn = self._history.turn_by_id(familiar_id=self._familiar_id, turn_id=turn_id)
            return turn.actual_words if turn is not None else ""

        found = mentions_of(
            person.author,
            store=self._store,
            provenance=self._provenance,
            turns=turns,
            but=self._list_known_files(person),
            text_of=text_of,
        )
        return list(found)

    def _pending_of(self, person: Person, turns: set[int]) -> list[str]:
        """Proposals that speak of them, or were made of their turns."""
        found = []
        for pending in self._review.list():
            first, last = pending.turn_range
            made_of = any(first <= turn <= last for turn in turns) if last else False
            if (
                made_of
                or files_of_person(person, pending.files)
                or _speaks_of(self._review.pending_text(pending.id), person)
            ):
                found.append(pending.id)
        return found

    def _pages_of(self, person: Person) -> list[Path]:
        pages = FamiliarFolder(self._root).last_context_files()
        left = [self._audit_folder / name for name in _WRITER_FILES]
        return [path for path in (*pages, *left) if path.is_file() and _file_speaks_of(path, person)]

    def _list_cached_files(self, person: Person) -> list[Path]:
        """The search index, and what else is only a copy."""
        index = () if self._keeps_index else (FamiliarFolder(self._root).index,)
        caches = (*index, *self._caches(person))
        found = [file for cache in caches for file in (cache, *cache.rglob("*"))]
        return [file for file in found if file.is_file()]


def finish_erasure(root: Path, store: MemoryStore, history: HistoryStore) -> None:
    """Finish what an earlier run was cut in, or could not clear while others read the databases."""
    eraser = PersonEraser(root, store=store, history=history)
    cut = eraser.pending_order()
    if cut is not None:
        eraser.forget(cut.person, also_mentions=cut.also_mentions)


def _speaks_of(text: str, person: Person) -> bool:
    return mentions_person(text, person.author)


def _file_speaks_of(path: Path, person: Person) -> bool:
    """What cannot be read counts as yes."""
    try:
        return _speaks_of(unescape_json(load_bytes(path).decode("utf-8", "replace")), person)
    except OSError:
        return True
