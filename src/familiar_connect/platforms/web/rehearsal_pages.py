"""RehearsalPages: a file of `familiar rehearse` opened, played in a home of its own, and each step looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.errors import FamiliarError
from familiar_connect.platforms.web.rehearsal_runs import MAX_BYTES, RehearsalRuns
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_NAME_CHARS = 200
EXAMPLE = """{
  "people": {"bo": {"name": "Bo"}},
  "places": {"tea": {"kind": "text", "server": "Tea House", "name": "lounge"}},
  "models": {"main_prose": {"say": ["Hello, Bo!"]}},
  "steps": [
    {"at": "2026-03-01T08:00:00+00:00", "in": "tea", "by": "bo", "say": "Ember, what's new?", "mention": true},
    {"expect": {"reply_in": "tea", "said_has": ["Hello"], "prompt_has": ["Bo"]}}
  ]
}
"""


class RehearsalPages:
    """The routes under `/rehearsals`."""

    def __init__(self, runs: RehearsalRuns, renderer: PageRenderer) -> None:
        self._runs = runs
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/rehearsals", self.open, "GET"),
            ("/rehearsals", self.play, "POST"),
            ("/rehearsals/stop", self.stop, "POST"),
            ("/rehearsals/{id}", self.show, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def open(self, request: Request) -> Response:
        """A form to paste a file into; with the name of one of the owner's, that one."""
        name = request.query_params.get("file", "")[:MAX_NAME_CHARS]
        text = await off_loop(self._runs.read_file, name) if name else EXAMPLE
        return await off_loop(self._form, text, name, "")

    def _form(self, text: str, name: str, problem: str) -> Response:
        return self._renderer.page(
            "rehearsals.html",
            status=400 if problem else 200,
            title="Rehearsals",
            text=text,
            name=name,
            files=self._runs.list_files(),
            folder=self._runs.folder,
            runs=self._runs.list_runs(),
            problem=problem,
            most=MAX_BYTES,
        )

    async def play(self, request: Request) -> Response:
        fields = await read_form(request)
        text, name = fields.get("text", "").replace("\r\n", "\n"), fields.get("file", "")[:MAX_NAME_CHARS]
        try:
            run = await self._runs.start(text, name, is_scripted=fields.get("scripted") == "1")
        except FamiliarError as error:
            return await off_loop(self._form, text[:MAX_BYTES], name, str(error))
        return redirect(f"/rehearsals/{run.id}")

    async def show(self, request: Request) -> Response:
        """How far it is; the page looks again by itself while it is being played."""
        run = self._runs.find(request.path_params["id"][:MAX_NAME_CHARS])
        return await off_loop(self._renderer.page, "rehearsal.html", title=f"Rehearsal of {run.name}", run=run)

    async def stop(self, request: Request) -> Response:
        current = self._runs.current
        await self._runs.stop()
        return redirect(f"/rehearsals/{current.id}" if current is not None else "/rehearsals")
