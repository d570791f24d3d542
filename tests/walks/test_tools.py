"""Stories of a familiar that acts while it answers."""

from __future__ import annotations

import json
from pathlib import Path

from familiar_connect.llm.scripted import Answer, ToolCallReply
from familiar_connect.llm.types import Capabilities
from tests.fakes.scripted_familiar import ScriptedFamiliar, scripted_familiar

ABLE = Capabilities(tools=True)
TEA = ToolCallReply((("remember", {"content": "{user} likes green tea", "scope": "target_user", "target": "Ana"}),))


async def with_tools(home: Path, line: str) -> None:
    """A familiar is made, and its owner writes *line* into its settings."""
    async with scripted_familiar(home):
        pass
    path = home / "familiars" / "ember" / "character.toml"
    path.write_text(f"{line}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")


def written(house: ScriptedFamiliar) -> list[str]:
    return [entry.rel_path for entry in house.familiar.memory_store.audit_entries if entry.source == "memory_tool"]


async def test_by_default_a_model_only_speaks(tmp_path: Path) -> None:
    """G9: it is told of no tools, and what it wants all the same is not done."""
    async with scripted_familiar(tmp_path, [TEA, "Green, then."], capabilities=ABLE) as house:
        await house.talk("I like green tea")

        assert (set(house.model.offered), written(house)) == ({()}, [])
        assert house.place.sent == ["Green, then."]


async def test_a_model_that_may_remembers_and_answers(tmp_path: Path) -> None:
    """G9: the fact is in the person's file, the words are in the channel, and the trace names the tool."""
    await with_tools(tmp_path, 'tools = ["remember", "forget_memory"]')
    replies: list[Answer] = [TEA, "Green it is."]
    async with scripted_familiar(tmp_path, replies, capabilities=ABLE) as house:
        await house.talk("I like green tea, remember that", guild_id=7)
        told = json.loads(house.model.calls[1][-1].content)

        assert (house.place.sent, told["status"]) == (["Green it is."], "saved")
        assert house.model.offered[0] == ("remember", "forget_memory")
        assert written(house) == ["people/discord-111.md"]
        assert "[id:1] {user} likes green tea" in house.familiar.memory_store.read_file("people/discord-111.md")


async def test_a_model_that_cannot_use_tools_is_spared_them(tmp_path: Path) -> None:
    """The embedded one, for a start."""
    await with_tools(tmp_path, "tools = true")
    async with scripted_familiar(tmp_path, ["Hello."]) as house:
        await house.talk("Hello")

        assert (house.model.offered, house.place.sent) == ([()], ["Hello."])
