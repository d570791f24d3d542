"""What a search of memory tells about itself: an empty answer is never taken for a search that found nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.context.gather import gather
from familiar_connect.context.providers.content_search.provider import ContentSearchProvider
from familiar_connect.context.types import ProviderOutcome
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.memory.index.protocols import RetrievedChunk, SearchReadiness
from familiar_connect.observe.trace import TraceBuilder
from tests.fakes.retrieval import FixedRetriever, a_chunk, a_filtered_question, a_memory, a_question

ASLEEP = SearchReadiness("asleep", "the index of memory was still being loaded")
WORDS = SearchReadiness("words", "memory was searched by words alone: the embedder was still being loaded")
BUILDING = SearchReadiness("building", "the index of memory was still being built: not all of it was searched")


class WakingSearch(FixedRetriever):
    """A retriever that can be waited for, and then is as far as it is told to be."""

    def __init__(self, *chunks: RetrievedChunk, ready: SearchReadiness, is_awake: bool = False) -> None:
        super().__init__(*chunks)
        self._ready = ready
        self.is_awake = is_awake
        self.waited: list[float] = []

    async def wait_until_awake(self, seconds: float) -> SearchReadiness:
        self.waited.append(seconds)
        return self._ready


async def search(tmp_path: Path, retriever: Any, **changes: Any) -> ProviderOutcome:
    """How a question fared with *retriever*."""
    model = changes.pop("model", None)
    provider = ContentSearchProvider(store=a_memory(tmp_path), llm_client=model, retriever=retriever)
    [outcome] = await gather([provider], changes.pop("question", a_question()))
    return outcome


async def test_a_search_of_what_is_not_loaded_is_asleep_and_not_ok(tmp_path: Path) -> None:
    """The trace says so too, with the reason; the notes on people are there all the same."""
    outcome = await search(tmp_path, WakingSearch(ready=ASLEEP))
    told: dict[str, Any] = {}
    TraceBuilder.add_provider_outcomes(told, [outcome])

    assert outcome.status == "asleep"
    assert told["provider_outcomes"][0]["status"] == "asleep"
    assert told["provider_outcomes"][0]["error"] == f"memory was not searched: {ASLEEP.why}"
    assert [piece.source for piece in outcome.contributions] == ["content_search.people"]


@pytest.mark.parametrize("ready", [WORDS, BUILDING])
async def test_what_a_search_had_to_do_without_is_noted(ready: SearchReadiness, tmp_path: Path) -> None:
    """By words alone, or not all of it: it answered, and the trace says what was missing."""
    outcome = await search(tmp_path, WakingSearch(a_chunk(), ready=ready))
    told: dict[str, Any] = {}
    TraceBuilder.add_provider_outcomes(told, [outcome])

    assert (outcome.status, outcome.notes) == ("ok", (ready.why,))
    assert told["provider_outcomes"][0]["notes"] == [ready.why]


async def test_a_search_with_everything_awake_has_nothing_to_tell(tmp_path: Path) -> None:
    """The usual case adds nothing to the trace."""
    outcome = await search(tmp_path, WakingSearch(a_chunk(), ready=SearchReadiness("awake"), is_awake=True))

    assert (outcome.status, outcome.error_message, outcome.notes) == ("ok", None, ())


async def test_the_first_question_may_wait_for_most_of_the_time_there_is(tmp_path: Path) -> None:
    """Of the fifteen seconds of the provider, ten at least; a later search keeps its two seconds."""
    first = WakingSearch(a_chunk(), ready=SearchReadiness("awake"))
    await search(tmp_path, first)

    assert 10.0 < first.waited[0] < 13.5


async def test_a_search_that_is_late_is_told_apart_from_one_that_found_nothing(tmp_path: Path) -> None:
    """Its status is not ok, and the floor stands."""

    class Hanging(FixedRetriever):
        async def query(self, *_: Any, **__: Any) -> list[RetrievedChunk]:
            await asyncio.Event().wait()
            return []

    outcome = await search(tmp_path, Hanging(), question=a_question(deadline_s=0.5))

    assert outcome.status == "timeout"
    assert "the search of memory" in (outcome.error_message or "")
    assert outcome.contributions


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (ScriptedModel([], capabilities=Capabilities(side_tasks=False)), "the model for it does no side work"),
        (ScriptedModel([RuntimeError("no")]), "it failed or was late"),
    ],
)
async def test_a_filter_that_was_skipped_is_noted(model: Any, why: str, tmp_path: Path) -> None:
    """With the reason; what was found goes in as it is."""
    outcome = await search(tmp_path, FixedRetriever(a_chunk()), model=model, question=a_filtered_question())

    assert outcome.notes == (f"the filter was skipped: {why}",)
    assert [piece.source for piece in outcome.contributions][-1] == "content_search.rag"
