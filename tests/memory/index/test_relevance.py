"""The floor: what bears on a message at all, measured with the embedder that comes along."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.index.minilm import MiniLMModel, why_unavailable
from familiar_connect.memory.index.protocols import ExplainedScore, Recollection, RetrievedChunk
from familiar_connect.memory.index.ranking import SignalWeights
from familiar_connect.memory.index.relevance import MEANING_WEIGHT, only_relevant, without_known, without_others_selves
from familiar_connect.memory.index.retriever import MemoryRetriever
from familiar_connect.memory.index.turns import TurnIndex

SAM = Author("terminal", "1", "sam", "Sam")
FACTS = {
    "What's my sister's name?": "My sister is called Anna and she lives in Lisbon.",
    "What am I allergic to?": "I'm allergic to walnuts.",
    "what car do I drive?": "I drive a green Volvo from 1998.",
    "how old is the cat?": "Our cat Biscuit is twelve years old.",
    "which herb do I dislike?": "I can't stand coriander.",
    "where are we moving to?": "We are moving to Ghent in October.",
    "what's my locker code?": "My locker code is 4417.",
}
SMALL_TALK = ("hi", "lol ok", "good morning", "thanks!", "see you later", "haha true", "how are you?", "nice")
ANSWERS = ("Oh, lovely! I'll keep that in mind.", "That sounds nice. Tell me more.", "Got it!")


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryRetriever]:
    """A long chat: facts among small talk, with the replies they got."""
    if why_unavailable() is not None:
        pytest.skip("the embedder did not come along")
    root: Path = tmp_path_factory.mktemp("chat")
    history, model, at = HistoryStore(root / "history.db"), MiniLMModel(), datetime(2026, 3, 1, tzinfo=UTC)
    for number, fact in enumerate(FACTS.values()):
        said = (fact, ANSWERS[number % 3], SMALL_TALK[number], "Of course! What would you like to talk about?")
        for place, text in enumerate(said):
            at += timedelta(minutes=9)
            history.append_turn(
                familiar_id="wren",
                channel_id=7,
                role="assistant" if place % 2 else "user",
                author=None if place % 2 else SAM,
                content=text,
                timestamp=at,
            )
    turns = TurnIndex(root / "turns.sqlite", history=history, familiar_id="wren", dim=model.dim, model_name="m")
    turns.sync(model)
    found = MemoryRetriever(model=model, turns=turns)
    found.warm()
    yield found
    turns.close()
    history.close()


@pytest.mark.parametrize("question", FACTS)
def test_a_question_brings_its_fact_first_and_little_else(question: str, retriever: MemoryRetriever) -> None:
    """The rest of the chat stays where it is."""
    found = only_relevant(question, retriever.recall_now(question, limit=160))

    assert found[0].text == FACTS[question]
    assert len(found) <= 10


@pytest.mark.parametrize(
    "line",
    [*SMALL_TALK, "Hi Wren!", "ok cool", "lol", "good night", "what's up?", "hmm", "no way", "yes", "Sure, why not"],
)
def test_small_talk_brings_nothing(line: str, retriever: MemoryRetriever) -> None:
    """Though the same words were said before, and are as near as can be."""
    assert only_relevant(line, retriever.recall_now(line, limit=160)) == []


@pytest.mark.parametrize("line", ["can you write me a poem about the sea?", "what is 2+2?", "I had pasta for lunch"])
def test_a_message_about_something_else_brings_nothing(line: str, retriever: MemoryRetriever) -> None:
    """The nearest of what was said is not near."""
    assert only_relevant(line, retriever.recall_now(line, limit=160)) == []


def test_the_weight_of_meaning_is_that_of_the_ranking() -> None:
    """The floor reads cosines back out of the score."""
    assert SignalWeights().meaning == MEANING_WEIGHT


@given(st.lists(st.text(max_size=60), max_size=8), st.lists(st.text(max_size=60), max_size=3))
def test_each_piece_stands_once_and_nothing_known_again(texts: list[str], known: list[str]) -> None:
    """Whatever was found and whatever is known."""
    hits = [RetrievedChunk("notes.md", "", text, 0.5) for text in texts]

    kept = [hit.text for hit in without_known(hits, known)]

    assert len({text.lower() for text in kept}) == len(kept)
    assert not set(kept) & set(known)


def said_by(speaker: str, text: str) -> Recollection:
    return Recollection(source="turn", key=text, text=text, explained=ExplainedScore(1.0, {}), speaker=speaker)


BOAT, TRIP = said_by("Ada", "I'm saving up for a canal boat."), said_by("Bo", "I'm saving for a trip to Japan.")


def test_who_asks_about_themselves_is_not_told_what_others_are() -> None:
    """A small model takes the nearest answer, whoever it belongs to."""
    assert without_others_selves("what am I saving up for?", [TRIP, BOAT], asker=frozenset({"ada"})) == [BOAT]


@pytest.mark.parametrize(
    "text",
    ["I gave Ada my old van.", "I owe you forty euros.", "We save for the house.", "The van is red."],
)
def test_what_others_said_of_the_asker_or_of_both_stays(text: str) -> None:
    """It may be the answer."""
    other = said_by("Bo", text)

    assert without_others_selves("what is my van like?", [other, BOAT], asker=frozenset({"ada"})) == [other, BOAT]


@pytest.mark.parametrize(
    "question", ["what is Bo saving for?", "what are we saving for?", "and I, like Bo?", "saving?"]
)
def test_a_question_about_others_is_told_all(question: str) -> None:
    """Whoever is named, or meant together with the asker."""
    assert without_others_selves(question, [TRIP, BOAT], asker=frozenset({"ada"})) == [TRIP, BOAT]


def test_where_the_asker_said_nothing_all_stays() -> None:
    """Better somebody else's than none."""
    assert without_others_selves("what am I saving up for?", [TRIP], asker=frozenset({"ada"})) == [TRIP]
