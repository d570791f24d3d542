"""Retrievers: an utterance in, pieces of memory out.

`EmbeddingRetriever` looks for chunks of files by meaning alone. `MemoryRetriever` looks through files and through
everything ever said, by words and by meaning, ranks all of it in one list and can say why. Neither raises for a
cold, partial, locked or broken index: then there is nothing to recall. Nothing is loaded inside a reply.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from familiar_connect.memory.index.embeddings import EmbeddingIndex
from familiar_connect.memory.index.protocols import (
    EmbeddingModel,
    ExplainedScore,
    NumberedChunk,
    RecallScope,
    Recollection,
    RetrievedChunk,
    Retriever,
)
from familiar_connect.memory.index.query import SearchQuery, concerns_speaker, parse_query
from familiar_connect.memory.index.ranking import (
    MAX_CANDIDATES,
    SignalWeights,
    UnitFacts,
    candidates,
    rank_units,
    score_words,
)
from familiar_connect.memory.index.snippets import as_chunk, format_snippets, without_repeats
from familiar_connect.memory.index.storage import IndexUnavailable, Vector, Vectors
from familiar_connect.memory.index.turns import TurnIndex
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock, SystemClock

__all__ = ["EmbeddingRetriever", "MemoryRetriever", "RetrievedChunk", "Retriever", "format_snippets"]

DEFAULT_LIMIT = 40
NEAR_BY_MEANING = 1_000
IN_A_SPAN = 400
MAX_SPANS = 3
WIDER = (1, 4, 16)
"""Times as many candidates are looked at where what may not be told left too few."""
SHOWN_BEYOND_LIMIT = 2
"""Times as many are looked at as are asked for: some turn out to be the same thing said and written."""

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
            _log.warning("memory index cannot be used now", extra={"error": str(exc)})
            return []


class UnitSource(Protocol):
    """A collection of units that can be searched by words and by meaning."""

    vectors: Vectors

    def counts(self) -> tuple[int, int]: ...
    def postings(self, word: str) -> list[int]: ...
    def units_between(self, start: float, end: float, limit: int) -> list[int]: ...
    def facts(self, units: Sequence[int], scope: RecallScope, names: frozenset[str]) -> dict[int, UnitFacts]: ...
    def show(self, hits: Sequence[tuple[int, ExplainedScore]], scope: RecallScope) -> list[Recollection]: ...


class MemoryRetriever:
    """Files and turns of one familiar, searched together. Answers nothing until `warm` has run."""

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
        self._warm = threading.Event()
        self._by_meaning = False

    @property
    def is_warm(self) -> bool:
        return self._warm.is_set()

    def warm(self) -> None:
        """Load the embedder and the vectors; slow, so never called in a reply. Without an embedder words remain."""
        try:
            self._model.embed(["ready"])
            self._by_meaning = True
        except Exception as exc:  # whatever a model's library throws: searching by words goes on
            _log.warning("memory is searched by words alone", extra={"error": str(exc)})
        try:
            if self._files is not None:
                self._files.warm()
        except IndexUnavailable as exc:
            _log.warning("memory index cannot be used now", extra={"error": str(exc)})
        self._warm.set()

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
        names = self._known_names(scope)
        question = _with_people_meant(parse_query(utterance, names=names, now=now), scope)
        vector = self._model.embed([question.meaning])[0] if self._by_meaning else None
        scope = replace(scope, names=names)
        found: list[Recollection] = []
        for source in self._sources(scope):
            try:
                found += self._search(source, question, vector, scope, now, limit * SHOWN_BEYOND_LIMIT)
            except IndexUnavailable as exc:
                _log.warning("memory index cannot be used now", extra={"error": str(exc)})
        found.sort(key=lambda hit: (-hit.score, hit.key))
        return without_repeats(found)[:limit]

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
        try:
            return files.query_folder(self._model.embed([utterance])[0], top_k, folder)
        except IndexUnavailable as exc:
            _log.warning("memory index cannot be used now", extra={"error": str(exc)})
            return []

    def _known_names(self, scope: RecallScope) -> frozenset[str]:
        names = {name.lower() for name in (*scope.names, *self._names())}
        try:
            return frozenset(names | (self._turns.names() if self._turns is not None else set()))
        except IndexUnavailable:
            return frozenset(names)

    def _sources(self, scope: RecallScope) -> list[UnitSource]:
        files = self._files.passages if self._files is not None and scope.files else None
        turns = self._turns if scope.turns else None
        return [source for source in (turns, files) if source is not None]

    def _search(
        self,
        source: UnitSource,
        question: SearchQuery,
        vector: Vector | None,
        scope: RecallScope,
        now: datetime,
        limit: int,
    ) -> list[Recollection]:
        total, stretches = source.counts()
        if not total:
            return []
        lexical = score_words(
            {word: source.postings(word) for word in question.words}, total=total, stretches=stretches
        )
        facts: dict[int, UnitFacts] = {}
        for wider in WIDER if scope.is_narrowed else WIDER[:1]:
            near = source.vectors.nearest(vector, NEAR_BY_MEANING * wider) if vector is not None else []
            brought = [unit for unit, _ in near]
            for span in question.spans[:MAX_SPANS]:
                brought += source.units_between(span.start.timestamp(), span.end.timestamp(), IN_A_SPAN * wider)
            wanted = candidates(lexical, brought, MAX_CANDIDATES * wider).tolist()
            facts = source.facts(wanted, scope, question.names)
            if len(facts) >= limit or len(wanted) >= total:
                break
        beside = list({unit + step for unit in facts for step in (-1, 0, 1)})
        hits = rank_units(
            facts,
            lexical,
            source.vectors.cosines(vector, beside) if vector is not None else {},
            question,
            now=now,
            limit=limit,
            channel_id=scope.channel_id,
            weights=self._weights,
        )
        return source.show(hits, scope)


def _with_people_meant(question: SearchQuery, scope: RecallScope) -> SearchQuery:
    """*question* with the names of those whose words it asks for."""
    asker = scope.asker if concerns_speaker(question.text) else frozenset()
    return replace(question, names=(question.names - scope.answerer) | asker)
