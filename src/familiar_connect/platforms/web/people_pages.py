"""PeoplePages: who the familiar knows, under which names, and who may hear what of them; the links between files."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import MemoryStoreError
from familiar_connect.familiar import Familiar
from familiar_connect.identity import PrivacyLevel
from familiar_connect.memory.maintenance.export_person import export_person
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.person_lookup import Person, files_of_person, list_people
from familiar_connect.memory.versioning.provenance import Provenance
from familiar_connect.platforms.web.memory_links import (
    HEIGHT,
    WIDTH,
    FileLink,
    all_links,
    around,
    draw_links,
    file_link,
)
from familiar_connect.platforms.web.memory_pages import MAX_PATH_CHARS
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form
from familiar_connect.reply.inspection.turn_view import describe_audience
from familiar_connect.slash.own_records import erase_person, look_up_records
from familiar_connect.support.aio import off_loop
from familiar_connect.support.no_follow import load_bytes

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

PEOPLE_SHOWN = 200
MAX_EXPORT_BYTES = 500_000_000
LINKS_LISTED = 500
PRIVACY = {
    PrivacyLevel.MINIMAL: "",
    PrivacyLevel.PARTIAL: "asked for privacy: no personal notes are kept",
    PrivacyLevel.FULL: "asked for full privacy: nothing they say is heard, kept or repeated",
}


@dataclass(frozen=True, kw_only=True)
class HeardFile:
    """A file, and who may hear it."""

    file: FileLink
    heard_by: str


@dataclass(frozen=True, kw_only=True)
class KnownPerson:
    """Somebody as the page shows them."""

    label: str
    key: str
    names: tuple[str, ...]
    turns: int
    privacy: str
    files: tuple[HeardFile, ...]


GRAPH_MARGIN = 60
"""Room above and below the drawn files, in the units of the drawing."""


class PeoplePages:
    """The routes `/memory/people` and `/memory/graph`."""

    def __init__(self, familiar: Familiar, renderer: PageRenderer) -> None:
        self._familiar = familiar
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/memory/people", self.list_known, "GET"),
            ("/memory/people/export", self.export, "GET"),
            ("/memory/people/forget", self.show_forgetting, "GET"),
            ("/memory/people/forget", self.forget, "POST"),
            ("/memory/graph", self.show_graph, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def list_known(self, request: Request) -> Response:
        """Everyone who spoke or has a file, most recently heard first; or those whose names hold a word."""
        wanted = request.query_params.get("q", "")[:100].strip()
        return await off_loop(self._list, wanted)

    def _list(self, wanted: str, done: str = "") -> Response:
        store = self._familiar.memory_store
        everyone = list_people(familiar_id=self._familiar.id, history=self._familiar.history_store, store=store)
        people = [person for person in everyone if _is_called(person, wanted)]
        files = markdown_files(store)
        shown = [self._known(person, files) for person in people[:PEOPLE_SHOWN]]
        return self._renderer.page(
            "people.html", title="People", people=shown, more=len(people) - len(shown), wanted=wanted, done=done
        )

    def _known(self, person: Person, files: Collection[str]) -> KnownPerson:
        own = {person.file} & set(files) | set(files_of_person(person, files))
        return KnownPerson(
            label=person.author.label,
            key=person.author.canonical_key,
            names=tuple(name for name in person.names if name != person.author.label),
            turns=person.turns,
            privacy=PRIVACY.get(self._familiar.stores.privacy.get(person.author), ""),
            files=tuple(
                HeardFile(file=file_link(path), heard_by=self._heard_by(path))
                for path in sorted(own, key=lambda path: (path != person.file, path))
            ),
        )

    def _heard_by(self, path: str) -> str:
        try:
            return describe_audience(self._familiar.stores.audiences.audiences(path)) or "nobody"
        except MemoryStoreError as error:
            return str(error)

    async def export(self, request: Request) -> Response:
        """Everything kept of somebody, as a zip for them."""
        from starlette.responses import Response

        content = await off_loop(self._export, request.query_params.get("key", ""))
        headers = {"content-disposition": 'attachment; filename="everything-kept.zip"'}
        return Response(content, media_type="application/zip", headers=headers)

    def _export(self, key: str) -> bytes:
        familiar = self._familiar
        with tempfile.TemporaryDirectory(prefix="familiar-export-") as folder:
            done = export_person(
                self._find(key),
                Path(folder) / "person.zip",
                familiar_id=familiar.id,
                history=familiar.history_store,
                store=familiar.memory_store,
                provenance=Provenance(FamiliarFolder(familiar.root).audit),
                progress=lambda words: None,
            )
            return load_bytes(done.path, MAX_EXPORT_BYTES)

    def _find(self, key: str) -> Person:
        """Who goes by that key; a sentence where nobody does."""
        familiar = self._familiar
        known = list_people(familiar_id=familiar.id, history=familiar.history_store, store=familiar.memory_store)
        found = next((each for each in known if each.author.canonical_key == key), None)
        if found is None:
            raise MemoryStoreError("no one is known by that name; People lists who is")
        return found

    async def show_forgetting(self, request: Request) -> Response:
        """What would go, and a field to confirm it."""
        await self._familiar.reply_path.recorder.wait_until_idle()
        return await off_loop(self._show_forgetting, request.query_params.get("key", ""), "")

    def _show_forgetting(self, key: str, problem: str) -> Response:
        person = self._find(key)
        return self._renderer.page(
            "forget.html",
            status=400 if problem else 200,
            title=f"Forget {person.author.label}",
            whom=person,
            key=key,
            found=look_up_records(person, self._familiar),
            problem=problem,
        )

    async def forget(self, request: Request) -> Response:
        """Erase everything kept of somebody, once their name was typed."""
        fields = await read_form(request)
        key = fields.get("key", "")
        person = await off_loop(self._find, key)
        if fields.get("name", "").strip() != person.author.label.strip():
            return await off_loop(self._show_forgetting, key, "That is not the name")
        familiar = self._familiar
        async with familiar.intake.queue.pause():
            await familiar.reply_path.recorder.wait_until_idle()
            told = await erase_person(person, familiar)
        return await off_loop(self._list, "", f"{person.author.label} is forgotten. {told}")

    async def show_graph(self, request: Request) -> Response:
        """All links between files, drawn and as a list; or only those around one file."""
        path = request.query_params.get("path", "")[:MAX_PATH_CHARS].strip()
        return await off_loop(self._graph, path)

    def _graph(self, path: str) -> Response:
        store = self._familiar.memory_store
        if path and path not in markdown_files(store):
            raise MemoryStoreError("there is no such memory file; Memory lists those there are")
        links = all_links(store)
        links = around(links, path) if path else links
        files, lines = draw_links(links)
        listed = [(file_link(each), [file_link(target) for target in targets]) for each, targets in links.items()]
        return self._renderer.page(
            "memory_graph.html",
            title=f"Links around {path}" if path else "Links",
            path=path,
            files=files,
            lines=lines,
            listed=sorted(listed, key=lambda row: row[0].path)[:LINKS_LISTED],
            count=len({path for each, targets in links.items() for path in (each, *targets)}),
            width=int(WIDTH),
            top=max(0, int(min((file.y for file in files), default=0)) - GRAPH_MARGIN),
            bottom=min(int(HEIGHT), int(max((file.y for file in files), default=0)) + GRAPH_MARGIN),
        )


def _is_called(person: Person, wanted: str) -> bool:
    names = (person.author.label, person.author.canonical_key, *person.names)
    return not wanted or any(wanted.casefold() in name.casefold() for name in names)
