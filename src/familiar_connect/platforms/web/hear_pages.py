"""Speaking instead of typing on the page: a recording comes in, its words go back into the field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.chat.protocols import Transcriber
from familiar_connect.errors import HomeError
from familiar_connect.platforms.web.render import PageRenderer, answer_json, make_routes

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute


class HearPages:
    """The route under `/hear`; there is none where nobody can listen."""

    def __init__(self, transcriber: object, renderer: PageRenderer) -> None:
        self._transcriber = transcriber if isinstance(transcriber, Transcriber) else None
        self._renderer = renderer

    @property
    def may_listen(self) -> bool:
        return self._transcriber is not None

    def routes(self) -> list[BaseRoute]:
        return make_routes((("/hear", self.hear, "POST"),), self._renderer) if self._transcriber is not None else []

    async def hear(self, request: Request) -> Response:
        """The words of a recording."""
        assert self._transcriber is not None
        sound = await request.body()
        if not sound:
            raise HomeError("nothing was recorded: hold the button while you speak")
        try:
            words = await self._transcriber.transcribe(sound, request.headers.get("content-type", ""))
        except (ValueError, RuntimeError, OSError) as error:
            raise HomeError("that could not be made out: speak again, or type it") from error
        if not words.strip():
            raise HomeError("no words were heard: speak closer to the microphone, or type it")
        return answer_json({"text": words.strip()})
