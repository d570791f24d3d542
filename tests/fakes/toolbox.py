"""Actors of the tools room: a turn with company, and a toolbox over a real memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from familiar_connect.chat.scene import Member
from familiar_connect.chat.types import SaidMessage, SimplifiedMessage, Turn
from familiar_connect.context.types import ContextRequest
from familiar_connect.identity import Author
from familiar_connect.llm.types import ToolCall
from familiar_connect.memory.store import MemoryStore
from familiar_connect.tools.toolbox import Toolbox, TurnTools
from familiar_connect.tools.types import ALL_TOOLS, MemoryChange
from tests.fakes.chat import TEA_HOUSE, minutes
from tests.fakes.context import ADA, BO, a_request


def entry(author: Author = ADA, text: str = "hello", id_: int = 1, **more: Any) -> SimplifiedMessage:
    facts: dict[str, Any] = {
        "id": str(id_),
        "author_id": author.user_id,
        "author_name": author.label,
        "author_type": "user",
        "content": text,
        "created_at": minutes(id_),
    }
    return SimplifiedMessage(**facts | more)


def a_turn(*messages: SimplifiedMessage, **more: Any) -> Turn:
    """Ada and Bo talk to Wren, or whoever wrote *messages* does."""
    facts: dict[str, Any] = {
        "familiar_id": "wren",
        "channel_id": 7,
        "guild_id": 5,
        "said": (SaidMessage(author=ADA, text="hello", timestamp=minutes(3)),),
        "messages": messages or (entry(), entry(BO, "hi", 2)),
        "speaker": ADA,
        "persona": "Wren",
    }
    return Turn(**facts | more)


def tools_request(*messages: SimplifiedMessage, **more: Any) -> ContextRequest:
    facts: dict[str, Any] = {"guild_id": 5, "turn": a_turn(*messages), "scene": TEA_HOUSE}
    return a_request(**facts | more)


def with_member(request: ContextRequest, author: Author, **facts: Any) -> ContextRequest:
    """*request* in a place where more is known of *author*."""
    assert request.scene is not None
    scene = replace(request.scene, members=(*request.scene.members, Member(author=author, **facts)))
    return replace(request, scene=scene)


class ChangeListener(list[MemoryChange]):
    """Whoever is told of changes."""

    async def __call__(self, change: MemoryChange) -> None:
        self.append(change)


def a_toolbox(store: MemoryStore, **more: Any) -> Toolbox:
    return Toolbox(ALL_TOOLS, store=store, **more)


async def call_tool(tools: TurnTools | None, name: str, /, **arguments: Any) -> Mapping[str, Any]:
    """What a model is told when it calls *name*."""
    assert tools is not None
    told = json.loads(await tools.call(ToolCall("a", name, json.dumps(arguments))))
    assert isinstance(told, dict)
    return told
