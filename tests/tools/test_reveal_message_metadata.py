"""When the messages of a conversation were sent."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from familiar_connect.memory.store import MemoryStore
from tests.fakes.chat import minutes
from tests.fakes.context import BO
from tests.fakes.toolbox import a_toolbox, call_tool, entry, tools_request


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


async def test_every_message_of_a_merged_turn_is_told_with_its_time(store: MemoryStore) -> None:
    """E24, D5: one line for each, under handles, once; no id of a platform among them."""
    merged = entry(
        id_=500100,
        created_at=minutes(1),
        combined_message_ids=("500100", "500102"),
        combined_created_ats=(minutes(1), None),
    )
    request = tools_request(merged, entry(BO, "hi", 500103, created_at=minutes(3)))
    tools = a_toolbox(store, zone=UTC).for_turn(request)
    told = await call_tool(tools, "reveal_message_metadata")
    again = await call_tool(tools, "reveal_message_metadata")

    assert told["messages"] == [
        "ref_1 Ada 2026-03-01 12:01:00",
        "ref_2 Ada at an unknown time",
        "ref_3 Bo 2026-03-01 12:03:00",
    ]
    assert "5001" not in str(told)
    assert again["status"] == "limit"


async def test_one_turn_can_be_asked_about_by_its_handle(store: MemoryStore) -> None:
    """E24: a handle nobody has is not found."""
    request = tools_request(entry(), entry(BO, "hi", 2))
    assert request.turn is not None
    handle = request.turn.message_ids.register("2")
    tools = a_toolbox(store).for_turn(request)
    wrong = await call_tool(tools, "reveal_message_metadata", ref="ref_9")
    told = await call_tool(tools, "reveal_message_metadata", ref=handle)

    assert (wrong["status"], told["messages"]) == ("not_found", ["ref_1 Bo 2026-03-01 12:02:00"])
