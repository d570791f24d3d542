"""The tool `send_sticker`: one of the server's stickers, sent with a reply."""

from __future__ import annotations

from collections.abc import Mapping

from familiar_connect.chat.scene import Scene
from familiar_connect.support.text import fold_name
from familiar_connect.tools.types import (
    SEND_STICKER,
    Outcome,
    Refusal,
    SendSticker,
    Status,
    Tool,
    text_argument,
    tool_spec,
)


class SendStickerTool:
    """Sends one of the server's stickers; one for each reply."""

    def __init__(self, send: SendSticker, scene: Scene) -> None:
        self._send = send
        self._scene = scene
        self._done = False

    def tool(self) -> Tool:
        return Tool(
            tool_spec(
                SEND_STICKER, "Send one of this server's stickers, by its name.", "name", name={"type": "string"}
            ),
            self.run,
        )

    async def run(self, given: Mapping[str, object]) -> Outcome:
        wanted = fold_name(text_argument(given, "name").strip("\"':"))
        sticker = next((each for each in reversed(self._scene.stickers) if fold_name(each.name) == wanted), None)
        if sticker is None:
            raise Refusal(Status.not_found, "this server has no sticker of that name")
        if self._done:
            raise Refusal(Status.limit, "one sticker is enough for a reply")
        self._done = True
        await self._send(sticker)
        return Outcome(Status.sent, "the sticker was sent; go on without mentioning it")
