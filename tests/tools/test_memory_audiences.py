"""What tools keep is told where it was said: each audience has a file of its own, and numbers stay unique."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.audience import Readers, hidden_channel, whole_server
from familiar_connect.memory.file_audience import read_audience
from familiar_connect.memory.store import MemoryStore
from tests.fakes.toolbox import a_toolbox, call_tool, tools_request

SERVER, STAFF = whole_server("discord", 5), hidden_channel("discord", 9, 5)
IN_SERVER = Readers(SERVER, platform="discord", channel_id=7, server_id=5)
IN_STAFF = Readers(STAFF, platform="discord", channel_id=9, server_id=5)
OPEN, BESIDE = "people/discord-1.md", "people/discord-1@channel-discord-9.md"


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory", audit_dir=tmp_path / "audit")


async def use(store: MemoryStore, here: Readers, name: str, **given: object) -> object:
    tools = a_toolbox(store).for_turn(tools_request(readers=here, channel_id=here.channel_id))
    return await call_tool(tools, name, **given)


async def remember(store: MemoryStore, here: Readers, content: str) -> object:
    return await use(store, here, "remember", content=content, scope="target_user", target="Ada")


async def test_what_is_kept_in_a_hidden_channel_stands_beside_the_open_file(store: MemoryStore) -> None:
    """Both say whose they are; the second number follows the first."""
    first = await remember(store, IN_SERVER, "Ada likes tea.")
    second = await remember(store, IN_STAFF, "Ada will be a moderator.")

    assert (first["id"], second["id"]) == (1, 2)  # type: ignore[index]
    assert (read_audience(store.read_file(OPEN)), read_audience(store.read_file(BESIDE))) == (SERVER, STAFF)
    assert "moderator" not in store.read_file(OPEN)


async def test_a_change_in_a_smaller_circle_does_not_reach_the_wider_one(store: MemoryStore) -> None:
    """The new words stay there; what they replace is gone."""
    await remember(store, IN_SERVER, "Ada likes tea.")
    changed = await use(store, IN_STAFF, "update_memory", id=1, content="Ada hates tea.", target="Ada")

    assert changed["status"] == "updated"  # type: ignore[index]
    assert "tea" not in store.read_file(OPEN)
    assert "[id:1] Ada hates tea." in store.read_file(BESIDE)


async def test_what_may_not_be_told_here_can_neither_be_found_nor_changed(store: MemoryStore) -> None:
    """By its number it is as if it were not there."""
    await remember(store, IN_STAFF, "Ada will be a moderator.")
    gone = await use(store, IN_SERVER, "forget_memory", id=1, target="Ada")

    assert gone["status"] == "not_found"  # type: ignore[index]
    assert "moderator" in store.read_file(BESIDE)


async def test_a_server_and_its_hidden_channel_keep_notes_apart(store: MemoryStore) -> None:
    """A direct message has a file of its own anyway."""
    for here, content in ((IN_SERVER, "Tea at five."), (IN_STAFF, "Raise at six.")):
        await use(store, here, "remember", content=content, scope="server_wide")

    assert "Raise" not in store.read_file("servers/discord-5.md")
    assert "Raise" in store.read_file("servers/discord-5@channel-discord-9.md")
