"""AloudPages: a line of a chat as sound, in the voice that the familiar's settings name."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.errors import HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.render import PageRenderer, make_routes
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

ReadAloud = Callable[[Path, str], AsyncGenerator[bytes, None]]
"""The sound of words, as a WAV file in pieces, in the voice of the familiar in that folder."""


class AloudPages:
    """The route `/chats/ID/messages/ID/aloud`; there is none where nothing can speak."""

    def __init__(
        self, familiar: Familiar, chats: WebChats, read_aloud: ReadAloud | None, renderer: PageRenderer
    ) -> None:
        self._familiar = familiar
        self._chats = chats
        self._read_aloud = read_aloud
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        if self._read_aloud is None:
            return []
        return make_routes((("/chats/{id:number}/messages/{turn:number}/aloud", self.speak, "GET"),), self._renderer)

    async def speak(self, request: Request) -> Response:
        """The sound begins with the first sentence, while the others are made."""
        from starlette.responses import StreamingResponse

        assert self._read_aloud is not None
        chat = await off_loop(self._chats.require, request.path_params["id"])
        text = await off_loop(self._chats.whole_text, chat.channel_id, request.path_params["turn"])
        if text is None:
            raise HomeError("that line was removed")
        sound = self._read_aloud(self._familiar.root, text)
        first = await anext(sound)

        async def pieces() -> AsyncIterator[bytes]:
            async with aclosing(sound):
                yield first
                async for piece in sound:
                    yield piece

        return StreamingResponse(pieces(), media_type="audio/wav")
