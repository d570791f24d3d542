"""PeoplePages: who the familiar knows, under which names, and who may hear what of them; the links between files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from familiar_connect.errors import MemoryStoreError
from familiar_connect.familiar import Familiar
from familiar_connect.identity import PrivacyLevel
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.person_lookup import Person, files_of_person, list_people
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
from familiar_connect.platforms.web.render import PageRenderer, with_problems
from familiar_connect.reply.inspection.turn_view import describe_audience
from familiar_connect.support.aio import off_loop

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

PEOPLE_SHOWN = 200
LINKS_LISTED = 500
PRIVACY = {
    PrivacyLevel.MINIMAL: "",
    PrivacyLevel.PARTIAL: "asked for privacy: no personal notes are kept",
    PrivacyLevel.FULL: "asked for full privacy: nothing of theirs is heard, kept or told",
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
        from starlette.routing import Route

        handlers = (("/memory/people", self.list_known), ("/memory/graph", self.show_graph))
        return [Route(path, with_problems(handler, self._renderer)) for path, handler in handlers]

    async def list_known(self, request: Request) -> Response:
        """Everyone who spoke or has a file, most recently heard first; or those whose names hold a word."""
        wanted = request.query_params.get("q", "")[:100].strip()
        return await off_loop(self._list, wanted)

    def _list(self, wanted: str) -> Response:
        store = self._familiar.memory_store
        everyone = list_people(familiar_id=self._familiar.id, history=self._familiar.history_store, store=store)
        people = [person for person in everyone if _is_called(person, wanted)]
        files = markdown_files(store)
        shown = [self._known(person, files) for person in people[:PEOPLE_SHOWN]]
        return self._renderer.page(
            "people.html", title="People", people=shown, more=len(people) - len(shown), wanted=wanted
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
