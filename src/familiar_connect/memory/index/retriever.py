"""Retrievers: an utterance in, pieces of memory out.

`EmbeddingRetriever` looks for chunks of files by meaning alone. `MemoryRetriever` looks through files and through
everything ever said, by words and by meaning, ranks all of it in one list and can say why. Neither raises for a
cold, partial, locked or broken index: then there is nothing to recall.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from familiar_connect.memory.index.embeddings import EmbeddingIndex
from familiar_connect.memory.index.protocols import (
    EmbeddingModel,
    ExplainedScore,
    NumberedChunk,
    RecallScope,
    Recollection,
    RetrievedChunk,
    Retriever,
    Source,
)
from familiar_connect.memory.index.query import (
    MOST_PLACES_TOLD,
    SearchQuery,
    concerns_speaker,
    count_places_told,
    find_first_named,
    find_time_and_number,
    find_times,
    parse_query,
)
from familiar_connect.memory.index.ranking import (
    MAX_CANDIDATES,
    OTHER_LANGUAGES,
    Floats,
    LexicalScores,
    RankedUnits,
    SignalWeights,
    UnitFacts,
    candidates,
    no_cosines,
    no_likeness,
    rank_units,
    score_words,
)
from familiar_connect.memory.index.snippets import as_chunk, format_snippets, without_repeats
from familiar_connect.memory.index.storage import IndexClosed, IndexUnavailable, Numbers, Similarities, Vector, Vectors
from familiar_connect.memory.index.time_expressions import share_in
from familiar_connect.memory.index.turns import TurnIndex
from familiar_connect.memory.index.vectors.nearness import compare_on_level, cosines_or_words
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.lru import LruCache

__all__ = ["EmbeddingRetriever", "MemoryRetriever", "RetrievedChunk", "Retriever", "format_snippets"]

DEFAULT_LIMIT = 40
NEAR_BY_MEANING = 1_000
IN_A_SPAN = 400
SPAN_SPARE = 16
"""Times as many units of a span are looked at where only some of them may be told."""
MAX_SPANS = 3
QUESTIONS_KEPT = 96
"""Questions, and words nobody said, whose vector is kept, for those who ask the same in the same turn."""
MOST_WORDS_COMPARED = 12
"""Words of a question, the first, that are compared with those that were said, one by one."""
MOST_UNSAID = 2
"""Of these, those that nobody ever said: embedding them costs half as much again as the question. A third finds no
more."""
ENOUGH_SAID = 4
"""Where so many words of a question were said, embedding those that were not finds hardly any more."""
SPARE_SHARE, LEAST_SPARE = 4, 10
"""A fourth of what is asked for, and so many at least, take the place of passages that repeat what was said."""
MOST_TRIED = 4_000
"""Turns that are looked at in one go, whether they may be told."""
FILES_TRIED = 24
"""Passages whose files are asked at once whether they may be told."""
_NOTHING: dict[str, float] = {}
_EVERYWHERE = RecallScope()

_log = logging.getLogger(__name__)


class EmbeddingRetriever:
    """Chunks of files whose meaning is nearest."""

    def __init__(self, *, index: EmbeddingIndex, model: EmbeddingModel) -> None:
        self._index = index
        self._model = model

    async def query(self, utterance: str, top_k: int, *, exclude_paths: set[str] | None = None) -> list[RetrievedChunk]:
        """At most *top_k* chunks, best first, none of *exclude_paths*."""
        if not utterance.strip() or top_k <= 0:
            return []
        return await off_loop(self._query, utterance, top_k, frozenset(exclude_paths or ()))

    def _query(self, utterance: str, top_k: int, exclude_paths: frozenset[str]) -> list[RetrievedChunk]:
        try:
            vector = self._model.embed([utterance])[0]
            wanted = top_k
            while True:
                hits = self._index.query(vector, wanted)
                kept = [hit for hit in hits if hit.rel_path not in exclude_paths]
                if len(kept) >= top_k or len(hits) < wanted:
                    return kept[:top_k]
                wanted *= 4
        except IndexUnavailable as exc:
            _log_unavailable(exc)
            return []


class UnitSource(Protocol):
    """A collection of units that can be searched by words and by meaning."""

    vectors: Vectors

    def counts(self) -> tuple[int, int]: ...
    def postings(self, word: str, *, in_any_form: bool) -> Numbers: ...
    def best_sentences(self, vector: Vector, units: Numbers, whole: Floats) -> Floats: ...
    def compare_words(self, asked: Mapping[str, Vector], units: Numbers) -> tuple[Floats, Floats]: ...
    def units_between(self, start: float, end: float, limit: int) -> Numbers: ...
    def facts(
        self, units: Numbers, scope: RecallScope, names: frozenset[str], first_named: frozenset[str]
    ) -> UnitFacts: ...
    def tellable_units(self, scope: RecallScope) -> Numbers: ...
    def tellable_texts(self, units: Sequence[int], scope: RecallScope) -> dict[int, tuple[str, str]]: ...
    def show(self, hits: Sequence[tuple[int, ExplainedScore]], scope: RecallScope) -> list[Recollection]: ...


class _AskedQuestion(NamedTuple):
    """A question and what it means; without an embedder nothing is known of that."""

    query: SearchQuery
    vector: Vector | None
    words: dict[str, Vector]


class _Candidate(NamedTuple):
    """A unit that may be told, before anything is made of it but its words."""

    source: Source
    key: str
    text: str
    score: float
    at: int
    """Its place in the order of its own source."""
    ranked: RankedUnits
    told: dict[str, float]
    """What its text adds to the score because it tells the kind of thing that is asked for."""

    @property
    def fits(self) -> bool:
        """Whether it has anything to do with the question."""
        return self.at < self.ranked.fitting


class MemoryRetriever:
    """Files and turns of one familiar, searched together. Answers nothing until `warm_words` or `warm` has run."""

    def __init__(
        self,
        *,
        model: EmbeddingModel,
        files: EmbeddingIndex | None = None,
        turns: TurnIndex | None = None,
        names: Callable[[], Iterable[str]] | None = None,
        clock: Clock | None = None,
        weights: SignalWeights | None = None,
    ) -> None:
        self._model = model
        self._files = files
        self._turns = turns
        self._names = names or (lambda: ())
        self._clock = clock or SystemClock()
        self._weights = weights or SignalWeights()
        self._other_weights = weights or OTHER_LANGUAGES
        self._warm = threading.Event()
        self._by_meaning = False
        self._embedding = threading.Lock()
        self._embedded: LruCache[str, Vector] = LruCache(QUESTIONS_KEPT)

    @property
    def is_warm(self) -> bool:
        return self._warm.is_set()

    @property
    def finds_meaning(self) -> bool:
        """Whether an embedder is there and works."""
        return self._by_meaning

    def warm_words(self) -> None:
        """Load what was embedded before; from here on memory is searched, by words alone until `warm` has run."""
        with _unavailable_logged():
            if self._files is not None:
                self._files.warm()
        self._warm.set()

    def warm(self, question: str = "") -> None:
        """`warm_words`, and load the embedder; slow, so never called on the loop. Without an embedder words remain.

        It is tried with *question*, which need not be embedded again where it is asked next.
        """
        self.warm_words()
        prepare: Callable[[], None] | None = getattr(self._model, "prepare", None)
        try:
            _ = prepare() if prepare is not None and not question else self._embed(question or "ready")
            self._by_meaning = True
        except Exception as exc:  # whatever a model's library throws: searching by words goes on
            _log.warning("memory is searched by words alone", extra={"error": str(exc)})

    async def recall(
        self, utterance: str, *, limit: int = DEFAULT_LIMIT, scope: RecallScope | None = None
    ) -> list[Recollection]:
        """What may bear on *utterance*, best first, each with the share of every signal."""
        if not utterance.strip() or limit <= 0 or not self.is_warm:
            return []
        return await off_loop(self.recall_now, utterance, limit=limit, scope=scope)

    def recall_now(
        self, utterance: str, *, limit: int = DEFAULT_LIMIT, scope: RecallScope | None = None
    ) -> list[Recollection]:
        """`recall` for plain synchronous code."""
        scope = scope or RecallScope()
        now = self._clock.now()
        names = self._list_known_names(scope)
        question = _with_people_meant(parse_query(utterance, names=names, now=now), scope)
        asked = _AskedQuestion(question, None, {})
        with _unavailable_logged():  # where an embedder's server is away, words are found
            asked = _AskedQuestion(question, *self._embed_question(question, scope)) if self._by_meaning else asked
        scope = replace(scope, names=names)
        sources = self._sources(scope)
        told: list[_Candidate] = []
        for kind, source in sources.items():
            with _unavailable_logged():
                told += self._search(kind, source, asked, scope, now, _with_spare(limit))
        told.sort(key=lambda hit: (-hit.score, hit.key))
        return self._choose(told, limit, sources, scope)

    def _choose(
        self, told: list[_Candidate], limit: int, sources: dict[Source, UnitSource], scope: RecallScope
    ) -> list[Recollection]:
        """The best of *told*, each thing once. What turns out not to be told, or to be gone, makes room for others."""
        unasked = [hit.text for hit in told if hit.source == "turn" and not hit.fits]
        for last in (False, False, True):
            chosen = without_repeats([hit for hit in told if hit.fits], _with_spare(limit), also_said=unasked)
            chosen = self._without_said(chosen, scope)[:limit]
            found: list[Recollection] = []
            for kind, source in sources.items():
                with _unavailable_logged():
                    found += source.show(_explain([hit for hit in chosen if hit.source == kind]), scope)
            if last or len(found) == len(chosen):
                break
            gone = {hit.key for hit in chosen} - {hit.key for hit in found}
            told = [hit for hit in told if hit.key not in gone]
        return sorted(found, key=lambda hit: (-hit.score, hit.key))

    def _without_said(self, chosen: list[_Candidate], scope: RecallScope) -> list[_Candidate]:
        """*chosen* without passages that repeat what was said, however far from the question that was ranked."""
        passages = [hit for hit in chosen if hit.source == "file"]
        if self._turns is None or not scope.turns or not passages:
            return chosen
        said: list[str] = []
        with _unavailable_logged():
            moments = [(hit.text, float(hit.ranked.said_at[hit.at])) for hit in passages]
            said += self._turns.texts_repeated(moments, scope)
        left = {hit.key for hit in without_repeats(passages, also_said=said)}
        return [hit for hit in chosen if hit.source == "turn" or hit.key in left]

    async def query(self, utterance: str, top_k: int, *, exclude_paths: set[str] | None = None) -> list[RetrievedChunk]:
        """The same as plain chunks; something said has `history` for a path and its moment for a heading."""
        scope = RecallScope(exclude_paths=frozenset(exclude_paths or ()))
        return [as_chunk(hit) for hit in await self.recall(utterance, limit=top_k, scope=scope)]

    async def query_folder(self, utterance: str, top_k: int, *, folder: str, least: float = 0.0) -> list[NumberedChunk]:
        """Chunks of the files in *folder*, such as `documents/`, whose cosine is at least *least*, best first.

        By meaning alone: nothing without an embedder, without an index, or before `warm` has run.
        """
        if not utterance.strip() or top_k <= 0 or not (self.is_warm and self._by_meaning) or self._files is None:
            return []
        found = await off_loop(self._query_folder, self._files, utterance, top_k, folder)
        return [chunk for chunk in found if chunk.score >= least]

    def _query_folder(self, files: EmbeddingIndex, utterance: str, top_k: int, folder: str) -> list[NumberedChunk]:
        with _unavailable_logged():
            if files.has_folder(folder):
                names = self._list_known_names(RecallScope())
                question = parse_query(utterance, names=names, now=self._clock.now())
                return files.query_folder(self._embed(question.meaning), top_k, folder)
        return []

    def _embed(self, text: str) -> Vector:
        """The vector of a question; whoever else asks the same in a turn gets the one that was made."""
        return self._embed_all([text])[0]

    def _embed_all(self, texts: list[str]) -> list[Vector]:
        with self._embedding:
            held = {text: self._embedded.get(text) for text in texts}
            missing = [text for text, vector in held.items() if vector is None]
            made = dict(zip(missing, self._model.embed(missing), strict=True)) if missing else {}
            for text, vector in made.items():
                self._embedded.put(text, vector)
            return [made[text] if (vector := held[text]) is None else vector for text in texts]

    def _embed_question(self, question: SearchQuery, scope: RecallScope) -> tuple[Vector, dict[str, Vector]]:
        """The vector of *question*, and those of its words: made now as far as they were never said."""
        if self._turns is None or not scope.turns or not len(self._turns.words):
            return self._embed(question.meaning), {}
        wanted = question.words[:MOST_WORDS_COMPARED]
        words = self._turns.words.vectors_of(wanted)
        unsaid = [word for word in wanted if word not in words][: MOST_UNSAID if len(words) < ENOUGH_SAID else 0]
        words |= zip(unsaid, self._embed_all(unsaid), strict=True)  # apart: a word among sentences costs as much as one
        return self._embed(question.meaning), {word: words[word] for word in wanted if word in words}

    def _list_known_names(self, scope: RecallScope) -> frozenset[str]:
        names = {name.lower() for name in (*scope.names, *self._names())}
        try:
            return frozenset(names | (self._turns.names() if self._turns is not None else set()))
        except IndexUnavailable:
            return frozenset(names)

    def _sources(self, scope: RecallScope) -> dict[Source, UnitSource]:
        found: dict[Source, UnitSource] = {}
        if self._turns is not None and scope.turns:
            found["turn"] = self._turns
        if self._files is not None and scope.files:
            found["file"] = self._files.passages
        return found

    def _search(
        self,
        kind: Source,
        source: UnitSource,
        asked: _AskedQuestion,
        scope: RecallScope,
        now: datetime,
        limit: int,
    ) -> list[_Candidate]:
        """The best *limit* units of one source that may be told, best first."""
        question, vector = asked.query, asked.vector
        total, stretches = source.counts()
        if not total:
            return []
        postings = {word: source.postings(word, in_any_form=question.in_any_form) for word in question.words}
        lexical = score_words(postings, total=total, stretches=stretches)
        near, sentences = compare_on_level(source.vectors, source.best_sentences, vector)
        cosines = no_cosines if near is None else cosines_or_words(near, lexical)
        likeness = partial(source.compare_words, asked.words) if asked.words else no_likeness
        found: list[_Candidate] = []
        # Where little may be told, as in a hidden room of a large server, the best are nearly all of others: then the
        # second look is at nothing else than what may be told. To know all of that costs more than most questions.
        for only_told in (False, True) if scope.is_narrowed else (False,):
            wanted = _bring_up(source, question, lexical, near, source.tellable_units(scope) if only_told else None)
            facts = source.facts(wanted, scope, question.names, question.first_named)
            ranked = rank_units(
                facts,
                lexical,
                cosines,
                question,
                now=now,
                weights=self._other_weights if question.in_any_form else self._weights,
                sentences=sentences,
                likeness=likeness,
            )
            found = self._tellable(kind, source, ranked, question, scope, limit)
            if len(found) >= limit or len(wanted) >= total:
                break
        return found

    def _tellable(
        self,
        kind: Source,
        source: UnitSource,
        ranked: RankedUnits,
        question: SearchQuery,
        scope: RecallScope,
        limit: int,
    ) -> list[_Candidate]:
        """The best *limit* of *ranked* that may be told.

        What does not fit is among them in a narrowed scope, to be counted, and where files are searched too, so that
        no file tells again what was said. Whether a file may be told costs reading it: where all of the first few may,
        the others are asked only once they are chosen.
        """
        found: list[_Candidate] = []
        asks = question.asks_when or question.asks_number or question.asks_where or bool(question.spans)
        everything = scope.is_narrowed or (kind == "turn" and scope.files)
        count = len(ranked.units) if everything else ranked.fitting
        is_costly, checked, start = kind == "file" and scope.is_narrowed, scope, 0
        step = FILES_TRIED if is_costly else limit
        while start < count and len(found) < limit:
            end = min(count, start + step)
            step = min(2 * step, max(limit, MOST_TRIED))  # few may be told here
            units, scores = ranked.units[start:end].tolist(), ranked.scores[start:end].tolist()
            moments = ranked.said_at[start:end].tolist()
            texts = source.tellable_texts(units, checked)
            for at, (unit, score, moment) in enumerate(zip(units, scores, moments, strict=True), start):
                if unit in texts:
                    key, text = texts[unit]
                    told = self._weigh_told(text, moment, question) if asks else _NOTHING
                    found.append(_Candidate(kind, key, text, score + sum(told.values()), at, ranked, told))
            start = end
            checked = _EVERYWHERE if is_costly and len(found) == end else scope
        return found[:limit]

    def _weigh_told(self, text: str, said_at: float, question: SearchQuery) -> dict[str, float]:
        """What *text* adds because it tells a time, a number or a place that is asked for, or of the time named."""
        told: dict[str, float] = {}
        if question.asks_where and (places := count_places_told(text)):
            told["tells a place"] = self._weights.tells_where * places / MOST_PLACES_TOLD
        if not (question.spans or question.asks_when or question.asks_number):
            return told
        time, number = find_time_and_number(text)
        if question.spans and time and said_at >= 0:
            share = share_in(find_times(text, said_at), question.spans)
            if share > 0:
                told["tells of then"] = self._weights.tells_of_then * share
        if question.asks_when and time:
            told["tells a time"] = self._weights.tells_when
        if question.asks_number and number:
            told["tells a number"] = self._weights.tells_number
        return told


def _bring_up(
    source: UnitSource,
    question: SearchQuery,
    lexical: LexicalScores,
    near: Similarities | None,
    told: Numbers | None,
) -> Numbers:
    """The units that words, meaning and time bring up; of *told* alone, where it is given."""
    if told is not None:
        lexical, near = lexical.only(told), near.only(told) if near is not None else None
    brought = [near.nearest_ids(NEAR_BY_MEANING)] if near is not None else []
    for span in question.spans[:MAX_SPANS]:
        most = IN_A_SPAN if told is None else IN_A_SPAN * SPAN_SPARE
        units = source.units_between(span.start.timestamp(), span.end.timestamp(), most)
        brought.append(units if told is None else units[np.isin(units, told)])
    return candidates(lexical, np.concatenate(brought) if brought else (), MAX_CANDIDATES)


def _with_spare(limit: int) -> int:
    """How many are looked at where *limit* are asked for: some turn out to be the same thing said and written."""
    return limit + max(LEAST_SPARE, limit // SPARE_SHARE)


def _explain(hits: Sequence[_Candidate]) -> list[tuple[int, ExplainedScore]]:
    """*hits* of one source as units, each with what its score is made of."""
    if not hits:
        return []
    ranked, places = hits[0].ranked, [hit.at for hit in hits]
    rows = zip(hits, ranked.units[places].tolist(), ranked.shares(places), strict=True)
    return [(unit, ExplainedScore(hit.score, shares | hit.told)) for hit, unit, shares in rows]


def _log_unavailable(error: IndexUnavailable) -> None:
    # what a closed index misses is no news
    level = logging.DEBUG if isinstance(error, IndexClosed) else logging.WARNING
    _log.log(level, "memory index cannot be used now", extra={"error": str(error)})


@contextmanager
def _unavailable_logged() -> Iterator[None]:
    """An index that cannot be used now costs its own hits and a line in the log."""
    try:
        yield
    except IndexUnavailable as exc:
        _log_unavailable(exc)


def _with_people_meant(question: SearchQuery, scope: RecallScope) -> SearchQuery:
    """*question* with the names of those whose words it asks for."""
    asker = scope.asker if concerns_speaker(question.text) else frozenset()
    others = question.names - scope.answerer
    return replace(question, names=others | asker, first_named=find_first_named(question.text, others) | asker)
