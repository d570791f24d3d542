"""MemoryPages: what is remembered, to read, to search with reasons, and to ask why something was not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from familiar_connect.errors import FamiliarError, MemoryStoreError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.file_audience import open_path, without_front_matter
from familiar_connect.memory.index.protocols import SIGNALS, Recollection
from familiar_connect.memory.maintenance.links import markdown_files
from familiar_connect.memory.maintenance.person_page import below_title, build_person_page
from familiar_connect.memory.note_paths import PEOPLE, is_archive
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.visible_memory import VisibleMemory, owner_scope
from familiar_connect.observe.trace import TurnTrace
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.platforms.web.memory_links import (
    file_address,
    file_link,
    link_wiki_names,
    links_from,
    links_to,
)
from familiar_connect.platforms.web.render import PageRenderer, with_problems
from familiar_connect.reply.inspection.recall_check import STRONGER_MODEL, PastTurn, RecallCheck
from familiar_connect.reply.inspection.turn_view import describe_audience
from familiar_connect.support.aio import off_loop
from familiar_connect.support.markdown import document_title
from familiar_connect.support.markdown_html import markdown_to_html
from familiar_connect.support.text import truncate_chars

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_QUESTION_CHARS = 1_000
MAX_PATH_CHARS = 1_000
HITS = 20
MORE_HITS = 100
READ_IN_LIST = 300
"""Files of the list that are shown with their title and how they begin; the others by name."""
BEGINNING_CHARS = 140
INDEX_WAIT_S = 20.0
OPEN_FOLDER = "lore"
"""Where a new file lies that everybody may hear of, unless its first lines say otherwise."""
_NOT_IN_NAME = re.compile(r"[\W_]+")
LATEST_TURNS = 20
"""Turns that may be chosen by hand; any other is chosen from its own page."""

DONE = {
    "saved": "Saved. The earlier text is kept as a version.",
    "merged": "Saved. The file had changed meanwhile: it has both changes.",
    "unchanged": "Nothing was changed.",
}


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """A memory file in the list: its title and how it begins, where it was read."""

    href: str
    name: str
    title: str
    beginning: str = ""


@dataclass(frozen=True, kw_only=True)
class ShownPart:
    """Another file about the same person, and who may hear it."""

    path: str
    href: str
    heard_by: str
    html: str


@dataclass(frozen=True, kw_only=True)
class FoundSignal:
    """What one signal gave to a hit, and what it means."""

    name: str
    share: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class FoundPiece:
    """Something a search found, and why."""

    place: int
    where: str
    href: str | None
    text: str
    score: str
    signals: tuple[FoundSignal, ...]


class MemoryPages:
    """The routes under `/memory`, and `/why`."""

    def __init__(self, familiar: Familiar, renderer: PageRenderer) -> None:
        self._familiar = familiar
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        from starlette.routing import Route

        handlers = (
            ("/memory", self.browse),
            ("/memory/file", self.show_file),
            ("/why", self.explain),
        )
        return [Route(path, with_problems(handler, self._renderer)) for path, handler in handlers]

    async def browse(self, request: Request) -> Response:
        """Every file by folder; with a question, what a search for it finds."""
        question = request.query_params.get("q", "")[:MAX_QUESTION_CHARS].strip()
        if question:
            await self._wait_for_index()
        most = MORE_HITS if request.query_params.get("more") == "1" else HITS
        return await off_loop(self._browse, question, most)

    def _browse(self, question: str, most: int) -> Response:
        store = self._familiar.memory_store
        folders: dict[str, list[ListedFile]] = {}
        files = markdown_files(store)
        for number, path in enumerate(_one_for_each_person(files)):
            listed = _list_file(store, path, reads=number < READ_IN_LIST)
            folders.setdefault(path.rpartition("/")[0], []).append(listed)
        retriever = self._familiar.index.retriever
        is_ready = retriever is not None and retriever.is_warm
        hits: list[Recollection] = []
        if question and retriever is not None and is_ready:
            scope = owner_scope(self._familiar.stores.audiences, self._familiar.config.telling_policy)
            hits = retriever.recall_now(question, limit=most + 1, scope=scope)
        return self._renderer.page(
            "memory.html",
            title="Memory",
            folders=folders,
            question=question,
            is_ready=is_ready,
            hits=[_found(place, hit) for place, hit in enumerate(hits[:most], 1)],
            has_more=len(hits) > most,
            may_show_more=most < MORE_HITS,
        )

    async def show_file(self, request: Request) -> Response:
        path = request.query_params.get("path", "")[:MAX_PATH_CHARS]
        return await off_loop(self._show_file, path, DONE.get(request.query_params.get("done", ""), ""))

    def _show_file(self, path: str, done: str) -> Response:
        store = self._familiar.memory_store
        files = markdown_files(store)
        if path not in files:
            raise MemoryStoreError("there is no such memory file; Memory lists those there are")
        text = store.read_file(path)
        return self._renderer.page(
            "memory_file.html",
            title=document_title(text) or path,
            path=path,
            html=link_wiki_names(markdown_to_html(below_title(without_front_matter(text))), files),
            raw=text,
            done=done,
            heard_by=describe_audience(self._familiar.stores.audiences.audiences(path)),
            leads_to=[file_link(each) for each in links_from(store, path, files)],
            named_in=[file_link(each) for each in links_to(store, path, files)],
            others=self._other_parts(path, files),
        )

    def _other_parts(self, path: str, files: list[str]) -> list[ShownPart]:
        """What is known of the same person to other audiences."""
        if not path.startswith(f"{PEOPLE}/") or is_archive(path):
            return []
        visible = VisibleMemory(self._familiar.stores.audiences, lambda _: True)  # the page is the owner's
        page = build_person_page(visible, open_path(path), describe_audience)
        return [
            ShownPart(
                path=part.rel_path,
                href=file_address(part.rel_path),
                heard_by=part.heard_by,
                html=link_wiki_names(markdown_to_html(part.text), files),
            )
            for part in (page.parts if page is not None else ())
            if part.rel_path != path
        ]

    async def explain(self, request: Request) -> Response:
        """Why something was not remembered."""
        wanted = request.query_params.get("q", "")[:MAX_QUESTION_CHARS].strip()
        trace_id = request.query_params.get("turn", "")[:MAX_PATH_CHARS]
        if wanted:
            await self._wait_for_index()
        return await off_loop(self._explain, wanted, trace_id)

    async def _wait_for_index(self) -> None:
        """Just after a start the index is being loaded: who asks then waits for it."""
        await self._familiar.index.wait_until_awake(INDEX_WAIT_S)

    def _explain(self, wanted: str, trace_id: str) -> Response:
        path = self._familiar.reply_path
        traces = path.collector.recent_traces(familiar_id=self._familiar.id, limit=LATEST_TURNS)
        chosen = path.collector.trace(trace_id) if trace_id else next(iter(traces), None)
        if chosen is not None and all(chosen.trace_id != each.trace_id for each in traces):
            traces = [chosen, *traces]
        found = self._check().explain(wanted, self._past(chosen)) if wanted else None
        return self._renderer.page(
            "why.html",
            title="Why not?",
            wanted=wanted,
            found=found,
            mend=_mend(found.answer.leads_to, found.wanted) if found is not None else None,
            chat=self._chat_of(chosen),
            chosen=chosen.trace_id if chosen is not None else None,
            turns=[(each.trace_id, self._label(each)) for each in traces],
        )

    def _chat_of(self, trace: TurnTrace | None) -> str | None:
        """The chat in which a turn was, with the turn in view; None where it was elsewhere."""
        chats = {chat.channel_id for chat in self._familiar.stores.chats.all(CHANNEL_ID)}
        if trace is None or trace.channel_id not in chats:
            return None
        return f"/chats/{trace.channel_id}?turn={quote(trace.trace_id, safe='')}"

    def _check(self) -> RecallCheck:
        familiar = self._familiar
        return RecallCheck(
            familiar_id=familiar.id,
            history=familiar.history_store,
            audiences=familiar.stores.audiences,
            retriever=familiar.index.retriever,
            searches_files=familiar.config.search_files,
            searches_turns=familiar.config.search_turns,
        )

    def _past(self, trace: TurnTrace | None) -> PastTurn | None:
        if trace is None:
            return None
        return PastTurn(trace=trace, record=self._familiar.reply_path.replays.find(trace.trace_id))

    def _label(self, trace: TurnTrace) -> str:
        """A turn by its time and, where that is kept, by what was asked."""
        try:
            record = self._familiar.reply_path.replays.find(trace.trace_id)
        except FamiliarError:
            record = None
        asked = f" · {record.request.utterance[:60]}" if record is not None else ""
        return f"{trace.timestamp[:16].replace('T', ' ')}{asked}"


def _list_file(store: MemoryStore, path: str, *, reads: bool) -> ListedFile:
    name = path.rpartition("/")[2]
    title, beginning = name.removesuffix(".md").replace("_", " "), ""
    if reads:
        try:
            text = without_front_matter(store.read_file(path))
        except MemoryStoreError:  # it may go while it is listed
            text = ""
        title = document_title(text) or title
        beginning = next(
            (words for line in below_title(text).splitlines() if (words := line.lstrip("#>*- \t").rstrip())), ""
        )
    return ListedFile(
        href=file_address(path),
        name=name,
        title=truncate_chars(title, BEGINNING_CHARS),
        beginning=truncate_chars(beginning, BEGINNING_CHARS),
    )


def _mend(leads_to: str, wanted: str) -> tuple[str, str] | None:
    """The button that leads to where something is mended: its address and its words."""
    kind, _, name = leads_to.partition(":")
    if kind == "review":
        return f"/review/{quote(name, safe='')}", "Look at it in Review"
    if kind in ("new", "open"):
        path = f"{OPEN_FOLDER}/{_NOT_IN_NAME.sub('-', wanted.casefold()).strip('-')[:60].strip('-') or 'note'}.md"
        return (
            f"/memory/edit?path={quote(path, safe='')}",
            "Share it: write it into an open file" if kind == "open" else "Write it into a memory file",
        )
    if kind == "file":
        return f"/memory/edit?path={quote(name, safe='')}", f"Edit {name}"
    if leads_to == STRONGER_MODEL:
        return "/connect", "Choose another model"
    if kind == "setting":
        return f"/settings/edit?key={quote(name, safe='')}", f"Change {name}"
    return None


def _one_for_each_person(files: list[str]) -> list[str]:
    """*files* with one of each person: its page shows the others, of other audiences."""
    shown: set[str] = set()
    found = []
    for path in sorted(files, key=lambda path: path != open_path(path)):  # the open one first
        if path.startswith(f"{PEOPLE}/") and not is_archive(path):
            if open_path(path) in shown:
                continue
            shown.add(open_path(path))
        found.append(path)
    return sorted(found)


def _found(place: int, hit: Recollection) -> FoundPiece:
    when = f" {hit.when:%Y-%m-%d}" if hit.when is not None else ""
    said = f"said{when}{f' by {hit.speaker}' if hit.speaker else ''}"
    signals = sorted(hit.explained.signals.items(), key=lambda part: -abs(part[1]))
    return FoundPiece(
        place=place,
        where=said if hit.rel_path is None else f"{hit.rel_path}{f' · {hit.heading_path}' if hit.heading_path else ''}",
        href=file_address(hit.rel_path) if hit.rel_path is not None else None,
        text=below_title(hit.text),
        score=f"{hit.score:.2f}",
        signals=tuple(
            FoundSignal(name=name, share=f"{value:+.2f}", meaning=SIGNALS.get(name, ""))
            for name, value in signals
            if abs(value) >= 0.005
        ),
    )
