"""Stickers the familiar sends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.message_parts import Sticker
from familiar_connect.config.types import PlaceSettings
from familiar_connect.memory.store import MemoryStore
from tests.fakes.chat import TEA_HOUSE
from tests.fakes.toolbox import a_toolbox, call_tool, tools_request

WAVE = Sticker(name="Wave", sticker_id="12")


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


class Sent(list[Sticker]):
    async def __call__(self, sticker: Sticker) -> None:
        self.append(sticker)


async def test_a_sticker_is_sent(store: MemoryStore) -> None:
    """B44: by its name in any case; one for each reply, and only those the server has."""
    sent = Sent()
    request = tools_request(scene=replace(TEA_HOUSE, stickers=(WAVE,)))
    tools = a_toolbox(store).for_turn(request, send_sticker=sent)
    told = [(await call_tool(tools, "send_sticker", name=name))["status"] for name in ("bow", '"wave"', "Wave")]

    assert (told, sent) == (["not_found", "sent", "limit"], [WAVE])


@pytest.mark.parametrize(
    "request_",
    [
        tools_request(),
        tools_request(scene=replace(TEA_HOUSE, stickers=(WAVE,), is_dm=True)),
        tools_request(scene=replace(TEA_HOUSE, stickers=(WAVE,)), settings=PlaceSettings(sticker_usage_enabled=False)),
    ],
)
def test_stickers_are_offered_only_where_there_are_some_to_send(store: MemoryStore, request_: Any) -> None:
    """B45: not in direct messages, nor where the owner wants none, nor where nobody can send them."""
    tools = a_toolbox(store).for_turn(request_, send_sticker=Sent())
    nobody = a_toolbox(store).for_turn(tools_request(scene=replace(TEA_HOUSE, stickers=(WAVE,))))

    assert tools is not None
    assert nobody is not None
    assert "send_sticker" not in tools.names | nobody.names
