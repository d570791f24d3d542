"""Content search over the real index: what comes back, and what a sick index costs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.audience import Readers, between
from familiar_connect.context.providers.content_search.provider import ContentSearchProvider, SearchScope
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.retriever import MemoryRetriever
from familiar_connect.memory.index.turns import TURNS_FILE, TurnIndex
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.store import MemoryStore
from tests.fakes.retrieval import ADA, BO, a_filtered_question, a_memory, a_question

START = datetime(2025, 3, 1, 12, 0, tzinfo=UTC)
FILES = {
    "people/discord-1.md": "Ada keeps bees.",
    "self/description.md": "A small brown bird who once saw a green lighthouse.",
    "topics/boats.md": "# Boats\n\nThe green boat leaks near the lighthouse.",
}


class Home:
    """A memory, a history and an index over both, the way a familiar has them."""

    def __init__(self, root: Path) -> None:
        self.model = HashingModel()
        self.store: MemoryStore = a_memory(root / "memory", FILES)
        self.history = HistoryStore(root / "history.db")
        self.index_path = root / "memory" / ".index" / INDEX_FILE
        self.files = EmbeddingIndex(self.index_path, dim=self.model.dim, model_name=self.model.name)
        self.turns = TurnIndex(
            root / "memory" / ".index" / TURNS_FILE,
            history=self.history,
            familiar_id="wren",
            dim=self.model.dim,
            model_name=self.model.name,
        )
        self.retriever = MemoryRetriever(model=self.model, files=self.files, turns=self.turns)
        self._minutes = 0

    def say(self, content: str, who: Author = BO, channel_id: int = 7) -> int:
        self._minutes += 1
        turn = self.history.append_turn(
            familiar_id="wren",
            channel_id=channel_id,
            role="user",
            author=who,
            content=content,
            timestamp=START + timedelta(minutes=self._minutes),
        )
        return turn if isinstance(turn, int) else turn.id

    def index(self) -> None:
        self.files.build_if_stale(self.store, self.model)
        self.turns.sync(self.model)
        self.retriever.warm()

    def provider(self, llm_client: Any = None, **more: Any) -> ContentSearchProvider:
        return ContentSearchProvider(
            store=self.store, llm_client=llm_client, history_store=self.history, retriever=self.retriever, **more
        )

    def close(self) -> None:
        self.files.close()
        self.turns.close()
        self.history.close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.close()


async def test_a_file_comes_back_when_it_matters(home: Home) -> None:
    """With its path; what the character provider gives anyway is left out."""
    home.index()

    found = await home.provider().contribute(a_question("does the green boat leak?"))

    assert [c.source for c in found] == ["content_search.people", "content_search.rag"]
    assert "The green boat leaks" in found[1].text
    assert "topics/boats.md" in found[1].text
    assert "small brown bird" not in found[1].text


async def test_something_said_elsewhere_long_ago_comes_back(home: Home) -> None:
    """By somebody else, in another channel, hundreds of turns ago; with who and when."""
    home.say("I buried the silver spoon under the fig tree", BO, channel_id=99)
    for number in range(400):
        home.say(f"chatter number {number}", ADA)
    home.index()

    found = await home.provider().contribute(a_question("where is the silver spoon buried?"))

    assert "Bo: I buried the silver spoon under the fig tree" in found[-1].text
    assert "2025-03-01" in found[-1].text


async def test_what_the_prompt_shows_anyway_is_not_recalled(home: Home) -> None:
    """The newest turns of this channel and the message itself are left out; the same words elsewhere are not."""
    home.say("the silver spoon is lost", BO, channel_id=99)
    for number in range(19):
        home.say(f"spoon talk {number}")
    asked = home.say("where is the silver spoon?", ADA)
    home.index()

    found = await home.provider().contribute(a_question("where is the silver spoon?", before_id=asked))

    assert "the silver spoon is lost" in found[-1].text
    assert "spoon talk" not in found[-1].text
    assert "where is the silver spoon?" not in found[-1].text


async def test_the_filter_is_shown_what_was_said_and_what_was_written(home: Home) -> None:
    """Turns with their moment, files with their path."""
    home.say("I painted the boat green", BO, channel_id=99)
    home.index()
    model = ScriptedModel(["ANSWER: Bo painted it."])

    found = await home.provider(model).contribute(a_filtered_question("who painted the green boat?"))

    assert found[-1].text == "Bo painted it."
    assert "Bo: I painted the boat green" in model.calls[0][0].content
    assert "topics/boats.md" in model.calls[0][0].content


async def test_before_the_index_is_warm_there_is_the_floor(home: Home) -> None:
    """Nothing is loaded inside a reply."""
    found = await home.provider().contribute(a_question("does the green boat leak?"))

    assert [c.key for c in found] == ["discord-1"]


@pytest.mark.parametrize("harm", ["deleted", "emptied", "garbage", "locked", "closed"])
async def test_a_sick_index_costs_no_people(harm: str, home: Home) -> None:
    """Missing, corrupt, locked by another program or gone under our feet: the speaker's file is there."""
    home.index()
    other = None
    if harm == "deleted":
        for path in home.index_path.parent.iterdir():
            path.unlink()
    elif harm in ("emptied", "garbage"):
        home.files.close()
        home.index_path.write_bytes(b"" if harm == "emptied" else b"no database " * 500)
        home.files = EmbeddingIndex(home.index_path, dim=home.model.dim, model_name=home.model.name)
        home.retriever = MemoryRetriever(model=home.model, files=home.files, turns=home.turns)
        home.retriever.warm()
    elif harm == "locked":
        other = sqlite3.connect(home.index_path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
    else:
        home.files.close()
        home.turns.close()

    found = await home.provider().contribute(a_question("does the green boat leak?"))
    if other is not None:
        other.close()

    assert found[0].key == "discord-1"


async def test_what_was_said_between_two_is_not_told_to_others(home: Home) -> None:
    """Only where the same two talk; what is found says whom it was said to."""
    home.say("I buried the silver spoon under the fig tree", BO, channel_id=99)
    home.index()
    audiences = PartAudiences(home.store, home.history, familiar_id="wren")
    provider = home.provider(scope=SearchScope(audiences=audiences))
    ada, bo = (Readers(between([who.canonical_key]), platform="discord", channel_id=7) for who in (ADA, BO))

    found = await provider.contribute(a_question("where is the silver spoon?", readers=ada))
    own = await provider.contribute(a_question("where is the silver spoon?", author=BO, readers=bo))

    assert not any("fig tree" in piece.text for piece in found)
    assert any("fig tree" in piece.text and between([BO.canonical_key]) in (piece.audiences or ()) for piece in own)
