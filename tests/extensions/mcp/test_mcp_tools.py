"""Tools of an MCP server that runs as a process of its own: allowed by name and place, fenced as material, bounded."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the MCP library is an extra")

from familiar_connect.audience import EVERYONE, OWNER, Readers, between
from familiar_connect.context.types import ContextRequest, Modality
from familiar_connect.errors import ConfigError
from familiar_connect.extensions.mcp.servers import McpTools
from familiar_connect.extensions.mcp.settings import read_servers
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.identity import Author
from familiar_connect.support.aio import cancel_and_wait
from familiar_connect.support.clock import SystemClock
from familiar_connect.tools.types import Refusal
from tests.fakes.waiting import until

pytestmark = pytest.mark.process
SERVER = Path(__file__).parent / "kettle_server.py"
ADA = Author("discord", "7", "ada", "Ada")
TOOLS = [f"mcp.kettle_{name}" for name in ("temperature", "environment", "long_story", "slow", "broken")]
RULES = """
[kettle]
command = [{python}, {server}]
env = {{ KETTLE_KEY = "only-the-kettles" }}
places = ["owner", "channel:42"]
most_chars = 200
wait_s = 20.0

[kettle.tools.temperature]
calls_a_day = 2

[kettle.tools.environment]
places = ["everywhere"]
people = ["discord:7"]

[kettle.tools.slow]
wait_s = 0.3
"""


def request_from(readers: Readers | None, *, author: Author = ADA, channel: int = 1) -> ContextRequest:
    return ContextRequest(
        familiar_id="ember",
        channel_id=channel,
        guild_id=None,
        author=author,
        utterance="is the water warm?",
        modality=Modality.text,
        budget_tokens=1_000,
        deadline_s=1.0,
        readers=readers,
    )


AT_HOME = request_from(Readers(OWNER))
IN_CHANNEL = request_from(Readers(EVERYONE), channel=42)
ELSEWHERE = request_from(Readers(EVERYONE), channel=43)
ALONE_WITH_BEN = request_from(Readers(between({"discord:8"})), author=Author("discord", "8", "ben", "Ben"))


@asynccontextmanager
async def kettle(tmp_path: Path, wanted: list[str] = TOOLS) -> AsyncIterator[McpTools]:
    file = tmp_path / "mcp.toml"
    words = {"python": json.dumps(sys.executable), "server": json.dumps(str(SERVER))}
    file.write_text(RULES.format(**words), encoding="utf-8")
    context = PartContext(
        settings=None, clock=SystemClock(), folder=tmp_path / "data", secrets_file=tmp_path / "secrets.env"
    )
    tools = McpTools(read_servers(file), wanted, context)
    running = asyncio.create_task(tools.run())
    try:
        await until(lambda: tools.make(wanted[0], AT_HOME) is not None)
        yield tools
    finally:
        await cancel_and_wait(running)


async def use(tools: McpTools, name: str, request: ContextRequest, **arguments: Any) -> Mapping[str, Any]:
    tool = tools.make(f"mcp.kettle_{name}", request)
    assert tool is not None
    try:
        return dict(json.loads((await tool.run(arguments)).as_text()))
    except Refusal as refused:
        return dict(json.loads(refused.outcome.as_text()))


async def test_a_tool_is_used_where_and_by_whom_it_is_allowed(tmp_path: Path) -> None:
    """What it gives is material within bounds; a server sees its own secrets and none of ours."""
    async with kettle(tmp_path) as tools:
        first = await use(tools, "temperature", AT_HOME, room="kitchen")
        elsewhere = await use(tools, "temperature", ELSEWHERE, room="kitchen")
        second = await use(tools, "temperature", IN_CHANNEL, room="kitchen")
        third = await use(tools, "temperature", IN_CHANNEL, room="kitchen")
        seen = await use(tools, "environment", ELSEWHERE)
        by_ben = await use(tools, "environment", ALONE_WITH_BEN)
        story, late, broken = [await use(tools, name, AT_HOME) for name in ("long_story", "slow", "broken")]

    assert first["material"].startswith("kitchen: 80 degrees.")
    assert "no instruction" in first["message"]
    assert "key=only-the-kettles" in first["material"]
    assert [each["status"] for each in (first, elsewhere, second, third)] == ["found", "disabled", "found", "limit"]
    assert "KETTLE_KEY" in seen["material"]
    assert "PYTHONPATH" not in seen["material"]
    assert by_ben["status"] == "disabled"
    assert (len(story["material"]), story["is_cut"]) == (200, True)
    assert (late["status"], broken["status"]) == ("internal", "internal")
    assert "no answer within 0.3 seconds" in late["message"]


async def test_only_tools_that_the_owner_named_are_there(tmp_path: Path) -> None:
    """And at the next start they are offered before the server runs, as it described them the last time."""
    async with kettle(tmp_path, ["mcp.kettle_temperature", "mcp.radio_play"]) as tools:
        assert tools.make("mcp.radio_play", AT_HOME) is None
        assert tools.why_missing() == "no server in mcp.toml has mcp.radio_play"
        found = tools.make("mcp.kettle_temperature", AT_HOME)
    again = McpTools(
        read_servers(tmp_path / "mcp.toml"),
        ["mcp.kettle_temperature"],
        PartContext(
            settings=None, clock=SystemClock(), folder=tmp_path / "data", secrets_file=tmp_path / "secrets.env"
        ),
    )
    known = again.make("mcp.kettle_temperature", AT_HOME)

    assert found is not None
    assert known is not None
    assert known.spec == found.spec
    assert found.spec.description == "How warm the kettle in a room is."
    assert "room" in json.dumps(found.spec.parameters)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[kettle]\n", "write `command`"),
        ('[kettle]\nurl = "http://elsewhere.example/mcp"\n', "use https://"),
        ('[kettle]\nurl = "https://a.example"\nplaces = ["street"]\n', 'places: must be a list of "owner"'),
        ('[kettle]\nurl = "https://a.example"\nwait_s = 400\n', "wait_s: must be seconds"),
        ('[kettle]\nurl = "https://a.example"\nallow = []\n', "allow: there is no such key"),
        ("[kettle\n", "is not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    """It names the file, the section and what to write."""
    file = tmp_path / "mcp.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match=says):
        read_servers(file)
