"""TurnIndex: everything ever said, found again by its words, and the newest of it by its meaning too.

Derived from `history.db` and kept beside it in a file that may be deleted at any time. It follows the history by
turn id: what is new is taken in, what was edited is taken in anew, what was deleted goes. Nothing is handed out that
the history no longer holds, or whose author no longer allows it.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

import numpy as np

from familiar_connect.audience import Audience
from familiar_connect.history.rows import TURN_COLUMNS, turn_from_row
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.turn_visibility import TurnGroups
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import EVERYTHING_ALLOWED, Privacy
from familiar_connect.memory.index.chunking import split_long
from familiar_connect.memory.index.protocols import EmbeddingModel, ExplainedScore, Neighbour, RecallScope, Recollection
from familiar_connect.memory.index.query import author_names, word_counts
from familiar_connect.memory.index.ranking import MAX_PLACE, Floats, UnitFacts, stretch_of
from familiar_connect.memory.index.storage import (
    DerivedFile,
    Numbers,
    RowCache,
    Vector,
    Vectors,
    read_ids,
    sync_vectors,
)
from familiar_connect.memory.index.turn_rows import (
    DAY_S,
    PIECE_CHARS,
    READ_TURNS,
    ROW_BITS,
    SEARCHED_MARKS,
    NewUnit,
    SentenceVectors,
    TurnFacts,
    UnitTexts,
    create_tables,
    delete_units,
    embed_units,
    has_words,
    insert_sentences,
    insert_units,
    insert_vectors,
    is_in_prompt,
    mark_text,
    newest_edit_mark,
    next_unit_number,
    read_edited_turns,
    read_state,
)
from familiar_connect.memory.index.turn_rows import MAX_STRETCH as MAX_STRETCH
from familiar_connect.memory.index.vectors.blobs import Bits, from_small_blobs
from familiar_connect.memory.index.vectors.word_index import from_rows, read_postings
from familiar_connect.memory.index.vectors.word_parts import WordParts
from familiar_connect.memory.index.vectors.word_vectors import WordVectors, drop_unheld
from familiar_connect.support.sqlite import Row

TURNS_FILE = "turns.sqlite"
VERSION = "7"
"""Another one makes the index anew."""
NEWEST_BY_MEANING = 50_000
"""Units with vectors; at 384 numbers each they take 77 MB of memory."""
WITH_NEIGHBOURS = 24
"""Of so many hits, the first, what stands beside them is looked up: prompts show it of fewer."""
VECTOR_BITS: Bits = 2
"""Of each number of a vector. With one, a point less was found in the dialogues of `benchmarks.recall`."""
EMBED_BATCH = 32
MOST_REPEATED = 500
"""Turns that are compared with passages of files that may repeat them."""
LONG_TURN_WORDS = 25
"""A turn of so many words may stand in a file in several passages; shorter ones stand there whole."""
MAX_POSTINGS = 5_000
"""Of a word that stands in more units than this, the newest count; it tells little anyway."""

_log = logging.getLogger(__name__)


class _ShownUnit(NamedTuple):
    """A unit as it may be told, and as it stands beside another; empty where it does not, or the prompt holds it."""

    text: str
    source: HistoryTurn
    label: str | None
    audience: Audience
    beside: tuple[Neighbour, ...]


class TurnIndex:
    """The turns of one familiar, searchable. Safe to use from any thread."""

    def __init__(
        self,
        path: Path,
        *,
        history: HistoryStore,
        familiar_id: str,
        dim: int,
        model_name: str,
        own_name: str = "",
        newest_by_meaning: int = NEWEST_BY_MEANING,
        privacy: Privacy = EVERYTHING_ALLOWED,
    ) -> None:
        self._history = history
        self._familiar_id = familiar_id
        self._groups = TurnGroups(history, familiar_id)
        self._own_name = own_name
        self._newest = newest_by_meaning
        self._privacy = privacy
        identity = {"version": VERSION, "familiar": familiar_id, "model": model_name, "dim": str(dim)}
        self._file = DerivedFile(Path(path), create=create_tables, identity=identity)
        self.vectors = Vectors(dim)
        self._sentences = SentenceVectors(self._file, dim)
        self.words = WordVectors(self._file, dim)
        self._word_parts = WordParts(self._file)
        self._facts = TurnFacts(self._file)
        self._texts = UnitTexts(self._file, history, familiar_id)
        self._rows = RowCache(self._texts.read)
        self._loaded = (0, 0)

    def sync(
        self,
        model: EmbeddingModel | None,
        *,
        go_on: Callable[[], bool] = lambda: True,
        progress: Callable[[int, int], None] | None = None,
        words_progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Follow the history: forget what is gone or reworded, take in what is new by words, the newest by meaning.

        *go_on* is asked between batches; it may wait, and ends the work by saying no. Returns how many turns came in.
        Without a *model* nothing is taken in by meaning.
        """
        self._file.reopen_if_replaced()
        self._forget_the_deleted()
        self._follow_the_revised()
        taken = 0
        total = self._count_new() if words_progress is not None else 0
        while go_on() and (count := self._take_in()):
            taken += count
            if words_progress is not None:
                words_progress(taken, max(taken, total))
        self._load()
        embedded = self._embed_newest(model, go_on, progress) if model is not None else 0
        self._file.compact_once_level(taken + embedded, "words")
        return taken

    def follow_withdrawals(self) -> None:
        """Forget what was taken back, and leave nothing of it in the file."""
        self._follow_the_revised()
        self._file.flush_deleted("words")

    def _count_new(self) -> int:
        last = self._file.read("SELECT last_turn_id FROM totals")[0][0]
        held = self._history.database.read(
            "SELECT COUNT(*) FROM turns WHERE familiar_id = ? AND id > ?", (self._familiar_id, last)
        )
        return int(held[0][0])

    def count_without_meaning(self) -> int:
        """How many of the units that are to be found by meaning are not yet."""
        units, vectors = self._file.read("SELECT (SELECT units FROM totals), (SELECT COUNT(*) FROM vectors)")[0]
        return max(0, min(int(units), self._newest) - int(vectors))

    def counts(self) -> tuple[int, int]:
        """How many units there are, and how many conversations."""
        units, stretches = self._file.read("SELECT units, stretches FROM totals")[0]
        return int(units), int(stretches)

    def names(self) -> set[str]:
        """The names people were called when they spoke, lower-cased."""
        return {
            name for (names,) in self._file.read("SELECT names FROM speakers") for name in names.split("\n") if name
        }

    def best_sentences(self, vector: Vector, units: Numbers, whole: Floats) -> Floats:
        """How near to *vector* the best sentence of each of *units* is, which lie as near as *whole* says."""
        return self._sentences.best_of(vector, units, whole)

    def compare_words(self, asked: Mapping[str, Vector], units: Numbers) -> tuple[Floats, Floats]:
        """How far words like those *asked* for stand in each of *units*, and around it."""
        return self.words.score(asked, units)

    def postings(self, word: str, *, in_any_form: bool = False) -> Numbers:
        """The newest units that hold *word*; in any form: or another form of it, or a word that it is a part of."""
        around = self._word_parts.words_around(word) if in_any_form else ()
        rows = read_postings(self._file, "words", word, MAX_POSTINGS, in_any_form=in_any_form, around=around)
        return from_rows(rows, ROW_BITS)

    def units_between(self, start: float, end: float, limit: int) -> Numbers:
        """Units said in a stretch of time, newest first."""
        return self._facts.between(start, end, limit)

    def facts(
        self, units: Numbers, scope: RecallScope, names: frozenset[str], first_named: frozenset[str] = frozenset()
    ) -> UnitFacts:
        """What is known of *units*, but those that the prompt holds already.

        The words of people in *names* are wanted, and more so those of whoever is *first_named*, if they ever spoke.
        """
        called = self._speakers_called(names)
        return self._facts.of(units, scope, called, self._speakers_called(first_named) or called)

    def tellable_units(self, scope: RecallScope) -> Numbers:
        """All units that may be told."""
        units, turns = self._facts.all_turns()
        told = self._tellable(turns.tolist(), scope)
        return units if told is None else units[np.isin(turns, list(told))]

    def tellable_texts(self, units: Sequence[int], scope: RecallScope) -> dict[int, tuple[str, str]]:
        """The key and the text of each of *units* that may be told, and still reads as it was taken in."""
        turns = self._facts.turns_of(units)
        told = self._tellable(turns.values(), scope)
        wanted = [unit for unit, turn_id in turns.items() if told is None or turn_id in told]
        rows = self._rows.get(wanted, self._facts.level()).values()
        return {unit: (_key(turn_id, unit), text) for unit, turn_id, _, text in rows if turn_id == turns[unit]}

    def texts_repeated(self, passages: Sequence[tuple[str, float]], scope: RecallScope) -> list[str]:
        """Texts of turns that may be told and that *passages* of files may repeat, each given with its moment.

        They were said within a day of it and have as many words, or so many that a file may cut them.
        """
        wanted = ((int(moment // DAY_S), count) for text, moment in passages for count in word_counts(text))
        units = self._facts.as_long_on(wanted, LONG_TURN_WORDS, MOST_REPEATED)
        return [text for _, text in self.tellable_texts(units, scope).values()] if units else []

    def show(self, hits: Sequence[tuple[int, ExplainedScore]], scope: RecallScope) -> list[Recollection]:
        """*hits* with their text, the first of them with their neighbours, as the history holds them now."""
        near = {unit + step for unit, _ in hits[:WITH_NEIGHBOURS] for step in (-1, 1)}
        rows = self._rows.get(near.union(unit for unit, _ in hits), self._facts.level())
        shown = self._show(list(rows.values()), scope, near)
        together: dict[tuple[int, ...], frozenset[Audience]] = {}
        found: list[Recollection] = []
        for at, (unit, explained) in enumerate(hits):
            if unit not in shown:
                continue
            text, source, label, audience, _ = shown[unit]
            before, after = (shown.get(unit - 1), shown.get(unit + 1)) if at < WITH_NEIGHBOURS else (None, None)
            told = [audience, *(each.audience for each in (before, after) if each is not None and each.beside)]
            who = tuple(map(id, told))  # the same few again and again: far cheaper to tell apart than to compare
            if who not in together:
                together[who] = frozenset(told)
            stretch, place = stretch_of(unit)
            found.append(
                Recollection(
                    source="turn",
                    key=_key(source.id, unit),
                    text=text,
                    explained=explained,
                    speaker=label,
                    when=source.timestamp,
                    turn_id=source.id,
                    channel_id=source.channel_id,
                    place=(f"turns:{stretch}", place),
                    before=before.beside if before is not None else (),
                    after=after.beside if after is not None else (),
                    audiences=together[who],
                )
            )
        return found

    def _show(self, rows: Sequence[Row], scope: RecallScope, near: Set[int]) -> dict[int, _ShownUnit]:
        """Those of *rows* that may be told and still read so; those in *near* also as they stand beside another.

        A turn that was edited a moment ago is not shown in the words the index still has of it.
        """
        said = self._still_said({turn_id for _, turn_id, _, _ in rows})
        told = {turn_id: _find_audience_told(source, scope) for turn_id, source in said.items()}
        found: dict[int, _ShownUnit] = {}
        for unit, turn_id, channel, text in rows:
            source, audience = said.get(turn_id), told.get(turn_id)
            if source is None or audience is None or text not in source.actual_words:
                continue
            label = source.author.label if source.author else self._own_name or None
            is_beside = unit in near and not is_in_prompt(turn_id, channel, scope)
            beside = (Neighbour(unit & MAX_PLACE, text, label),) if is_beside else ()
            found[unit] = _ShownUnit(text, source, label, audience, beside)
        return found

    def _tellable(self, turn_ids: Iterable[int], scope: RecallScope) -> set[int] | None:
        """Those of the turns that may be told where the question comes from; None: all of them."""
        if scope.audience_of_turn is None:
            return None
        tell_as = scope.audience_of_turn
        return self._groups.only_tellable(turn_ids, lambda turn: tell_as(turn) is not None, scope.groups_told)

    def _speakers_called(self, names: frozenset[str]) -> set[str]:
        """Keys of those who go by one of *names*."""
        rows = self._file.read("SELECT key, names FROM speakers") if names else []
        return {key for key, called in rows if not names.isdisjoint((called or "").split("\n"))}

    def forget(self) -> None:
        """Throw the index away: it is made again without whatever was erased from the history meanwhile."""
        self._file.reset("something was erased")
        self._clear()

    def close(self) -> None:
        self._file.close()

    def _still_said(self, turn_ids: Iterable[int]) -> dict[int, HistoryTurn]:
        rows = self._history.database.read(
            f"SELECT {TURN_COLUMNS} FROM turns WHERE +familiar_id = ? AND id IN (SELECT value FROM json_each(?))",
            (self._familiar_id, json.dumps(sorted(turn_ids))),
        )
        full = self._privacy.full_privacy_keys()
        found = map(turn_from_row, rows)
        return {
            said.id: said
            for said in found
            if said.mark in SEARCHED_MARKS
            and (not full or said.author is None or said.author.canonical_key not in full)
        }

    def _take_in(self) -> int:
        """The next few hundred turns, by their words."""
        with self._file.transaction() as connection:
            before = read_state(connection)
            rows = self._history.database.read(
                f"SELECT {TURN_COLUMNS} FROM turns WHERE familiar_id = ? AND id > ? ORDER BY id LIMIT ?",
                (self._familiar_id, before[0], READ_TURNS),
            )
            units: list[NewUnit] = []
            for said in map(turn_from_row, rows):
                if self._may_hold(said):
                    units += self._add(connection, said)
            added = insert_units(connection, units)
            if rows:
                connection.execute(
                    "UPDATE totals SET last_turn_id = ?, turns_seen = turns_seen + ?", (rows[-1][0], len(rows))
                )
            after = read_state(connection)
        self._facts.follow(before, after, (), added)
        return len(rows)

    def _add(self, connection: sqlite3.Connection, said: HistoryTurn) -> list[NewUnit]:
        """The units of *said*, under new numbers; whose words they are is noted."""
        key = said.author.canonical_key if said.author else ""
        names = author_names(said.author) if said.author else self._own_name.lower()
        connection.execute(
            "INSERT INTO speakers (key, names) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET names = excluded.names",
            (key, names),
        )
        return [
            NewUnit(next_unit_number(connection, said), said, piece, text)
            for piece, text in enumerate(split_long(said.actual_words, PIECE_CHARS))
        ]

    def _may_hold(self, said: HistoryTurn) -> bool:
        return has_words(said) and (said.author is None or not self._privacy.is_full(said.author))

    def _embed_newest(
        self, model: EmbeddingModel, go_on: Callable[[], bool], progress: Callable[[int, int], None] | None
    ) -> int:
        """Give the newest units their vectors; how many had none."""
        newest = self._facts.ids()[-self._newest :]
        self._drop_vectors_before(int(newest[0]) if len(newest) == self._newest else 0)
        missing = np.setdiff1d(newest, self.vectors.ids(), assume_unique=True)[::-1].tolist()
        for start in range(0, len(missing), EMBED_BATCH):
            if not go_on():
                return start
            self._embed_batch(model, missing[start : start + EMBED_BATCH])
            if progress is not None:
                progress(min(start + EMBED_BATCH, len(missing)), len(missing))
        return len(missing)

    def _embed_batch(self, model: EmbeddingModel, units: list[int]) -> None:
        """What is held in memory is what was stored, so that a later start finds the same."""
        texts = {unit: text for unit, _, _, text in self._texts.read(units)}
        select = "SELECT id, words FROM units WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
        kept = [row for row in self._file.read(select, (json.dumps(units),)) if row[0] in texts]
        if not kept:
            return
        vectors, sentences, sentence_vectors = embed_units(model, [(unit, texts[unit]) for unit, _ in kept])
        words = self.words.embed_new(model, [(unit, texts[unit], numbers) for unit, numbers in kept])
        numbers = [unit for unit, _ in kept]
        with self._file.transaction() as connection:
            whole = insert_vectors(connection, numbers, vectors, VECTOR_BITS)
            parts = insert_sentences(connection, sentences, sentence_vectors, VECTOR_BITS)
            self.words.insert(connection, words)
        self.words.hold(words)
        self.vectors.put(numbers, whole)
        self._sentences.put(sentences, parts)
        self._sentences.trim()

    def _drop_vectors_before(self, oldest: int) -> None:
        held = self.vectors.ids()
        old = held[held < oldest].tolist()
        if old:
            with self._file.transaction() as connection:
                drop_vectors = "UPDATE units SET vector = NULL, sentences = NULL WHERE id < ? AND vector NOT NULL"
                connection.execute(drop_vectors, (oldest,))
            self._drop(old)

    def _clear(self) -> None:
        for held in (self.vectors, self._sentences, self.words):
            held.clear()

    def _drop(self, units: Sequence[int]) -> None:
        for drop in (self.vectors.drop, self._sentences.drop_units, self.words.drop_units):
            drop(units)

    def _load(self) -> None:
        """Bring what is in memory level with the file: at first all of it, later what another process changed."""
        self._facts.catch_up()
        version = self._file.foreign_version()
        if version == self._loaded:
            return
        if version[0] != self._loaded[0]:
            self._clear()
        stored = read_ids(self._file, "SELECT id FROM vectors")
        select = "SELECT id, vector FROM vectors WHERE id IN (SELECT value FROM json_each(?))"
        sync_vectors(self.vectors, self._file, stored, select, from_small_blobs)
        self._sentences.load()
        self.words.load()
        self._loaded = version

    def _forget_the_deleted(self) -> None:
        """Take out turns that the history no longer holds; told by their number, found by their ids."""
        last, seen = self._file.read("SELECT last_turn_id, turns_seen FROM totals")[0]
        held = self._history.database.read(
            "SELECT COUNT(*) FROM turns WHERE familiar_id = ? AND id <= ?", (self._familiar_id, last)
        )[0][0]
        if held == seen:
            return
        rows = self._history.database.read("SELECT id FROM turns WHERE familiar_id = ?", (self._familiar_id,))
        there = {row[0] for row in rows}
        gone = [unit for unit, turn_id in self._file.read("SELECT id, turn_id FROM units") if turn_id not in there]
        with self._file.transaction() as connection:
            before = read_state(connection)
            delete_units(connection, gone)
            drop_unheld(connection)
            connection.execute("UPDATE totals SET turns_seen = ?", (held,))
            after = read_state(connection)
        self._facts.follow(before, after, gone, ())
        self._drop(gone)
        _log.info("turns left the index with the history", extra={"units": len(gone)})

    def _follow_the_revised(self) -> None:
        """Take in anew what reads differently by now; what was taken back goes."""
        mark = newest_edit_mark(self._history)
        if self._file.read("SELECT value FROM meta WHERE key = 'revised'") == [(mark,)] or not mark:
            return
        changed: list[int] = []
        added: list[Row] = []
        with self._file.transaction() as connection:
            before = read_state(connection)
            turns = {each.id: each for each in read_edited_turns(self._history, self._familiar_id, before[0])}
            held: dict[int, list[tuple[int, int]]] = {turn_id: [] for turn_id in turns}
            for unit, turn_id, mark_held in connection.execute(
                "SELECT id, turn_id, mark FROM units WHERE turn_id IN (SELECT value FROM json_each(?)) ORDER BY id",
                (json.dumps(list(turns)),),
            ):
                held[turn_id].append((unit, mark_held))
            for turn_id, said in turns.items():
                added += self._take_anew(connection, said, held[turn_id], changed)
            drop_unheld(connection)
            connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('revised', ?)", (mark,))
            after = read_state(connection)
        self._facts.follow(before, after, changed, added)
        self._drop(changed)

    def _take_anew(
        self, connection: sqlite3.Connection, said: HistoryTurn, held: list[tuple[int, int]], changed: list[int]
    ) -> list[Row]:
        """Put *said* in the place of what is *held* of it, by marks; units whose words are others now join *changed*.

        Returns what `TurnFacts` holds of the new ones.
        """
        wanted = split_long(said.actual_words, PIECE_CHARS) if self._may_hold(said) else []
        texts = [*wanted[: len(held) - 1], "".join(wanted[len(held) - 1 :])] if held else wanted
        texts = [text for text in texts if text]
        if [mark for _, mark in held] == [mark_text(text) for text in texts]:
            return []
        if not held:
            return insert_units(connection, self._add(connection, said))
        gone = [unit for unit, _ in held]
        delete_units(connection, gone)
        changed += gone
        units = [NewUnit(unit, said, piece, text) for piece, (unit, text) in enumerate(zip(gone, texts, strict=False))]
        connection.execute("UPDATE totals SET units = units + ?", (len(units),))
        return insert_units(connection, units)


def _key(turn_id: int, unit: int) -> str:
    return f"turn:{turn_id}:{unit}"


def _find_audience_told(turn: HistoryTurn, scope: RecallScope) -> Audience | None:
    """As whose a turn is told; None when it may not be told where the question comes from."""
    return turn.audience if scope.audience_of_turn is None else scope.audience_of_turn(turn)
