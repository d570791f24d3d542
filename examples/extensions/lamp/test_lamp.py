"""The tests of this example: run them with `pytest`."""

from __future__ import annotations

import asyncio

from familiar_lamp import extension

from familiar_connect.api.testing import LastPrompt, ScriptedFamiliar, ShownBlock, ToolCallReply, start_familiar


def read_light(prompt: LastPrompt) -> str:
    """What the familiar was told of the lamp."""
    block: ShownBlock = prompt.block("lamp.light")
    return block.text


async def talk(familiar: ScriptedFamiliar) -> None:
    assert await familiar.say("Hello") == ["it is dark now"]
    assert read_light(familiar.prompt) == "In the room, the lamp gives warm light."
    assert await familiar.say("And now?") == ["hi there"]
    assert read_light(familiar.prompt) == "In the room, the lamp is dark."
    assert await familiar.use_command("lamp switch") == "The lamp is lit."
    assert await familiar.say("And now?") == ["Hi There"]


def test_the_familiar_switches_the_lamp_and_whispers_in_the_dark() -> None:
    """Its tool, its block, its processor and its command, one after the other."""

    async def run() -> None:
        switch = ToolCallReply(calls=(("lamp_switch", {}),))
        replies: list[str | ToolCallReply] = [switch, "It Is Dark Now", "Hi There", "Hi There"]
        settings = 'tools = ["lamp.switch"]\ndefault_mode = "text_conversation_rp"\n'
        async with start_familiar(extension, replies=replies, settings=settings) as familiar:
            await talk(familiar)

    asyncio.run(run())
