"""A summary of the conversation, kept for some hours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.types import TurnFlags
from familiar_connect.config.types import PlaceSettings
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.short_term import ShortTermNotes
from familiar_connect.memory.store import MemoryStore
from tests.fakes.context import ADA
from tests.fakes.toolbox import a_toolbox, a_turn, call_tool, tools_request


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


class Summaries:
    """Keeps what it is given, and says how often."""

    def __init__(self, *, keeps: bool = True) -> None:
        self.written: list[tuple[str, dict[str, Any]]] = []
        self._keeps = keeps

    def write_summary(
        self, text: str, *, familiar_id: str, persona: str, channel_id: int, guild_id: int | None, author: Author
    ) -> bool:
        self.written.append((text, {"persona": persona, "channel": channel_id, "guild": guild_id, "author": author}))
        return self._keeps


async def test_the_conversation_is_summed_up_once(store: MemoryStore) -> None:
    """G8: cut in silence to its length, once in a turn."""
    summaries = Summaries()
    tools = a_toolbox(store, summaries=summaries).for_turn(tools_request())
    first = await call_tool(tools, "short_term_note", summary="x" * 5000)
    again = await call_tool(tools, "short_term_note", summary="y")

    assert (first["status"], again["status"]) == ("saved", "limit")
    assert [(len(text), facts) for text, facts in summaries.written] == [
        (1500, {"persona": "Wren", "channel": 7, "guild": 5, "author": ADA})
    ]


async def test_the_summary_goes_into_both_notes(store: MemoryStore) -> None:
    """G8: the person's and the server's, with unknown placeholders made harmless."""
    history = HistoryStore(":memory:")
    notes = ShortTermNotes(history)
    await call_tool(
        a_toolbox(store, summaries=notes).for_turn(tools_request()), "short_term_note", summary="{user} talks {thing}"
    )
    (shared,) = notes.server_notes(familiar_id="wren", persona="Wren", guild_id=5)
    (own,) = notes.person_notes(familiar_id="wren", persona="Wren", author=ADA)
    history.close()

    assert (shared.summary, own.summary) == ("{user} talks thing",) * 2


@pytest.mark.parametrize("summary", ["", "  ", None, 7])
async def test_an_empty_summary_is_none(store: MemoryStore, summary: Any) -> None:
    """G8."""
    summaries = Summaries()
    told = await call_tool(
        a_toolbox(store, summaries=summaries).for_turn(tools_request()), "short_term_note", summary=summary
    )

    assert (told["status"], summaries.written) == ("invalid_arguments", [])


@pytest.mark.parametrize(
    "request_",
    [
        tools_request(turn=a_turn(flags=TurnFlags(explicit_long_term_memory_intent=True))),
        tools_request(turn=a_turn(flags=TurnFlags(disable_short_term_memory_update=True))),
        tools_request(settings=PlaceSettings(short_term_memory_enabled=False)),
    ],
)
async def test_the_summary_is_withheld(store: MemoryStore, request_: Any) -> None:
    """G8, G16: while something is to be kept for good, and where the owner wants none."""
    summaries = Summaries()
    tools = a_toolbox(store, summaries=summaries).for_turn(request_)

    assert tools is not None
    assert "short_term_note" not in tools.names
    assert "remember" in tools.names
    assert (await call_tool(tools, "short_term_note", summary="x"))["status"] == "disabled"
    assert summaries.written == []


def test_the_list_of_tools_stays_from_turn_to_turn(store: MemoryStore) -> None:
    """It is the beginning of what a model reads: a turn that may not use one is offered it all the same."""
    turns = [
        tools_request(),
        tools_request(turn=a_turn(flags=TurnFlags(explicit_long_term_memory_intent=True))),
        tools_request(turn=a_turn(flags=TurnFlags(disable_short_term_memory_update=True))),
    ]
    box = a_toolbox(store, summaries=Summaries())
    lists = {tuple(spec.name for spec in tools.specs) for each in turns if (tools := box.for_turn(each)) is not None}

    assert len(lists) == 1
