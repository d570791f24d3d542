"""The people floor lands whatever tiers 2 and 3 do."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.context.gather import gather
from familiar_connect.context.providers.content_search import provider as provider_module
from familiar_connect.context.providers.content_search.provider import ContentSearchProvider
from familiar_connect.context.types import NO_DEADLINE, Modality, PendingTurn
from familiar_connect.errors import ModelError
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.index.protocols import RetrievedChunk
from familiar_connect.support.aio import off_loop
from tests.fakes.retrieval import (
    BO,
    NOTES,
    CallbackModel,
    CallbackRetriever,
    FixedRetriever,
    StuckThread,
    UncancellableWork,
    a_chunk,
    a_filtered_question,
    a_memory,
    answering,
    hang,
    raising,
)
from tests.fakes.waiting import until

TURN_S = 2.0
"""How long a turn may take: time enough to read two files on a busy machine, little to wait for what hangs."""
SABOTAGE: dict[str, Callable[[], Any]] = {
    "hangs": lambda: hang,
    "raises": lambda: raising(RuntimeError("broken")),
    "offline": lambda: raising(ModelError("no route to host")),
    "times out": lambda: raising(TimeoutError()),
    "cancels itself": lambda: raising(asyncio.CancelledError()),
    "is locked": lambda: raising(sqlite3.OperationalError("database is locked")),
    "answers rubbish": lambda: answering("\x00\udc80"),
    "answers None": lambda: _nothing,
    "ignores being cancelled": UncancellableWork,
    "blocks a thread": StuckThread,
}


async def _nothing() -> Any:
    return None


PAIRS = [
    *((second, "answers") for second in SABOTAGE),
    *((second, third) for second in ("finds", "is not there", "raises") for third in SABOTAGE),
    *((way, way) for way in SABOTAGE),
]


@pytest.mark.slow
@pytest.mark.parametrize(("second", "third"), PAIRS)
async def test_the_speakers_file_lands_whatever_the_others_do(
    second: str, third: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every way the retriever fails and every way the model fails: the provider ends by itself, in its own time."""
    monkeypatch.setattr(provider_module, "LEAST_FILTER_S", 0.01)
    searching = SABOTAGE[second]() if second in SABOTAGE else None
    judging = SABOTAGE[third]() if third in SABOTAGE else answering("ANSWER: yes")
    provider = ContentSearchProvider(
        store=a_memory(tmp_path),
        llm_client=CallbackModel(judging),
        retriever=CallbackRetriever(searching)
        if searching
        else FixedRetriever(a_chunk())
        if second == "finds"
        else None,
        index_build=raising(OSError()),
    )
    request = a_filtered_question(deadline_s=TURN_S, pending_turns=(PendingTurn(BO, "so"),))

    [outcome] = await gather([provider], request)
    for stuck in (searching, judging):
        if isinstance(stuck, UncancellableWork | StuckThread):
            stuck.free.set()
    await asyncio.sleep(0)

    assert "no answer within" not in (outcome.error_message or "")
    assert (outcome.status == "ok") == (second not in SABOTAGE), outcome.error_message
    assert [c.text for c in outcome.contributions][:2] == [NOTES["discord-1"], NOTES["discord-2"]]


@pytest.mark.parametrize("rubbish", [[object()], [None], 7, "text", [RetrievedChunk(None, None, None, 0.1)]])  # type: ignore[arg-type]
async def test_rubbish_from_a_retriever_costs_the_later_tiers_only(rubbish: Any, tmp_path: Path) -> None:
    """What is found is looked at with the floor already in hand."""

    async def find() -> Any:
        return rubbish

    provider = ContentSearchProvider(store=a_memory(tmp_path), llm_client=None, retriever=CallbackRetriever(find))

    found = await provider.contribute(a_filtered_question())

    assert [c.key for c in found] == ["discord-1"]


async def test_the_floor_needs_none_of_the_shared_threads(tmp_path: Path) -> None:
    """Whoever has blocked every thread of the program cannot hold it up."""
    free = threading.Event()
    blocked = [asyncio.create_task(off_loop(free.wait)) for _ in range(40)]
    blocked += [asyncio.create_task(asyncio.to_thread(free.wait)) for _ in range(40)]
    await asyncio.sleep(0)
    provider = ContentSearchProvider(store=a_memory(tmp_path), llm_client=None)

    found = await provider.contribute(a_filtered_question(deadline_s=TURN_S))
    free.set()
    await asyncio.gather(*blocked)

    assert [c.key for c in found] == ["discord-1"]


async def test_a_history_that_does_not_answer_costs_the_company_only(tmp_path: Path) -> None:
    """Locked or broken: the speaker is known without it."""
    free = threading.Event()

    class Locked(HistoryStore):
        def recent_distinct_authors(self, **kwargs: Any) -> Any:
            free.wait()
            raise sqlite3.OperationalError("database is locked")

    history = Locked(tmp_path / "history.db")
    provider = ContentSearchProvider(store=a_memory(tmp_path / "m"), llm_client=None, history_store=history)

    found = await provider.contribute(a_filtered_question(deadline_s=TURN_S))
    free.set()
    history.close()

    assert [c.key for c in found] == ["discord-1"]


@pytest.mark.slow
async def test_a_file_that_does_not_come_costs_those_after_it(tmp_path: Path) -> None:
    """A disk that hangs half-way leaves what was read before."""
    free = threading.Event()
    store = a_memory(tmp_path)

    class Hanging:
        def read_file(self, path: str) -> str:
            if path == "people/discord-2.md":
                free.wait()
            return store.read_file(path)

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

    hanging: Any = Hanging()
    provider = ContentSearchProvider(store=hanging, llm_client=None)
    request = a_filtered_question(deadline_s=TURN_S, pending_turns=(PendingTurn(BO, "so"),))

    found = await provider.contribute(request)
    free.set()

    assert [c.key for c in found] == ["discord-1"]


class GatedMemory:
    """A memory whose file of the speaker comes once the gate is open."""

    def __init__(self, root: Path) -> None:
        self._store = a_memory(root)
        self.gate = threading.Event()

    def read_file(self, path: str) -> str:
        if path == "people/discord-1.md":
            self.gate.wait()
        return self._store.read_file(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.mark.slow
async def test_the_speakers_file_is_there_where_the_provider_itself_is_late(tmp_path: Path) -> None:
    """Whoever gathers has less time than the provider thinks, or the machine is busy: what was read goes in."""
    provider = ContentSearchProvider(store=a_memory(tmp_path), llm_client=None, retriever=CallbackRetriever(hang))

    [outcome] = await gather([provider], a_filtered_question(), time_left_s=TURN_S)

    assert (outcome.status, [c.key for c in outcome.contributions]) == ("timeout", ["discord-1"])
    assert provider.peek_contributions(a_filtered_question()) == []


@pytest.mark.parametrize("modality", Modality)
async def test_the_speakers_file_is_waited_for_beyond_the_floors_own_deadline(
    modality: Modality, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a file may take its time; there is time left, so nobody is answered as a stranger."""
    monkeypatch.setattr(provider_module, "FLOOR_DEADLINE_S", 0.01)
    memory: Any = GatedMemory(tmp_path)
    provider = ContentSearchProvider(store=memory, llm_client=None)
    asking = asyncio.create_task(provider.contribute(a_filtered_question(modality=modality)))
    await asyncio.wait({asking}, timeout=0.1)
    assert not asking.done()
    memory.gate.set()

    assert [c.key for c in await asking] == ["discord-1"]


async def test_the_company_is_asked_for_after_the_speakers_file(tmp_path: Path) -> None:
    """Whoever was here lately comes from the history, which may be slow; the speaker is known without it."""
    order: list[str] = []

    class Slow(HistoryStore):
        def recent_distinct_authors(self, **_: Any) -> Any:
            order.append("company")
            return [BO]

    store = a_memory(tmp_path / "m")

    class Watched:
        def read_file(self, path: str) -> str:
            order.append(path)
            return store.read_file(path)

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

    watched: Any = Watched()
    history = Slow(tmp_path / "history.db")
    provider = ContentSearchProvider(store=watched, llm_client=None, history_store=history)
    found = await provider.contribute(a_filtered_question())
    history.close()

    assert [c.key for c in found] == ["discord-1", "discord-2"]
    assert order == ["people/discord-1.md", "company", "people/discord-2.md"]


async def test_the_speakers_file_does_not_wait_for_the_company_of_other_turns(tmp_path: Path) -> None:
    """Many turns at once, all of which wait to hear who else is there: each has the notes on its speaker by then."""
    free = threading.Event()

    class SlowHistory(HistoryStore):
        def recent_distinct_authors(self, **_: Any) -> Any:
            free.wait()
            return []

    history = SlowHistory(tmp_path / "history.db")
    provider = ContentSearchProvider(store=a_memory(tmp_path), llm_client=None, history_store=history)
    requests = [a_filtered_question(f"question {number}", deadline_s=NO_DEADLINE) for number in range(12)]
    turns = [asyncio.create_task(provider.contribute(request)) for request in requests]
    await until(lambda: all(provider.peek_contributions(request) for request in requests))
    free.set()

    assert {found[0].key for found in await asyncio.gather(*turns)} == {"discord-1"}
    history.close()
