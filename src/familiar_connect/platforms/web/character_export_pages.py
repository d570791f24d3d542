"""CharacterExportPages: the character as a card, and all lore as a lorebook, to take along to SillyTavern."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.errors import HomeError
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.render import PageRenderer, make_routes
from familiar_connect.support.aio import off_loop
from familiar_connect.support.no_follow import load_bytes

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_EXPORT_BYTES = 200_000_000
CARDS = {"png": "image/png", "json": "application/json", "charx": "application/zip"}


class CharacterExportPages:
    """The routes `/character/export` and `/lore/export`."""

    def __init__(self, familiar_id: str, program: OwnProgram, renderer: PageRenderer) -> None:
        self._familiar_id = familiar_id
        self._program = program
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (("/character/export", self.export_card, "GET"), ("/lore/export", self.export_lore, "GET"))
        return make_routes(handlers, self._renderer)

    async def export_card(self, request: Request) -> Response:
        form = request.query_params.get("form", "png")
        if form not in CARDS:
            raise HomeError("a card is saved as png, json or charx")
        return await self._export("card", f"{self._familiar_id}.{form}", CARDS[form])

    async def export_lore(self, request: Request) -> Response:
        return await self._export("lorebook", f"{self._familiar_id}-lore.json", "application/json")

    async def _export(self, what: str, name: str, kind: str) -> Response:
        """What the command line's own verb writes."""
        from starlette.responses import Response

        with tempfile.TemporaryDirectory(prefix="familiar-export-") as folder:
            target = Path(folder) / name
            await self._program.read_json("export", what, "--familiar", self._familiar_id, "-o", str(target))
            content = await off_loop(load_bytes, target, MAX_EXPORT_BYTES)
        return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})
