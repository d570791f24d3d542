"""create_app: the routes of the page behind its guard, and the way in."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.web.access import SESSION_S, Doorkeeper
from familiar_connect.platforms.web.addresses import FamiliarDispatcher, pages_at
from familiar_connect.platforms.web.aloud_pages import AloudPages, ReadAloud
from familiar_connect.platforms.web.attached_files import AttachmentPages
from familiar_connect.platforms.web.character_export_pages import CharacterExportPages
from familiar_connect.platforms.web.character_pages import CharacterPages
from familiar_connect.platforms.web.chat_pages import ChatPages
from familiar_connect.platforms.web.chat_shelf_pages import ChatShelfPages
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.control_pages import ControlPages
from familiar_connect.platforms.web.familiar_pages import FamiliarPages
from familiar_connect.platforms.web.familiar_pictures import FamiliarPictures, PicturePages
from familiar_connect.platforms.web.gallery_pages import GalleryPages
from familiar_connect.platforms.web.group_pages import GroupPages
from familiar_connect.platforms.web.group_rooms import GroupRooms
from familiar_connect.platforms.web.guard import Guard
from familiar_connect.platforms.web.health_pages import HealthPages
from familiar_connect.platforms.web.hear_pages import HearPages
from familiar_connect.platforms.web.home_familiars import HomeFamiliars, OpenedPages
from familiar_connect.platforms.web.import_pages import ImportPages
from familiar_connect.platforms.web.look_pages import LookPages
from familiar_connect.platforms.web.lore_pages import LorePages
from familiar_connect.platforms.web.memory_edit_pages import MemoryEditPages
from familiar_connect.platforms.web.memory_pages import MemoryPages
from familiar_connect.platforms.web.model_pages import ModelPages
from familiar_connect.platforms.web.navigation import list_links
from familiar_connect.platforms.web.note_pages import NotePages
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.page_controls import PageControls
from familiar_connect.platforms.web.page_models import PageModels
from familiar_connect.platforms.web.people_pages import PeoplePages
from familiar_connect.platforms.web.persona_pages import PersonaPages
from familiar_connect.platforms.web.persona_pictures import PersonaPicturePages
from familiar_connect.platforms.web.place_pages import OtherPlaces, PlacePages
from familiar_connect.platforms.web.place_talk import PlaceTalk
from familiar_connect.platforms.web.place_talk_pages import PlaceTalkPages
from familiar_connect.platforms.web.preset_pages import PresetPages
from familiar_connect.platforms.web.regex_pages import RegexPages
from familiar_connect.platforms.web.rehearsal_pages import RehearsalPages
from familiar_connect.platforms.web.rehearsal_runs import RehearsalRuns
from familiar_connect.platforms.web.render import (
    PageRenderer,
    answer_json,
    is_script,
    read_form,
    redirect,
    with_problems,
)
from familiar_connect.platforms.web.request_failures import FailureLog, answer_failure
from familiar_connect.platforms.web.review_pages import ReviewPages
from familiar_connect.platforms.web.settings_pages import SettingsPages
from familiar_connect.platforms.web.side_call_pages import SideCallPages
from familiar_connect.platforms.web.turn_pages import TurnPages
from familiar_connect.support.aio import off_loop
from familiar_connect.support.http_server.checks import AsgiApp, PageAddress, RequestRate, client_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

REQUESTS_PER_S, REQUESTS_AT_ONCE = 50.0, 300
TRIES_PER_S, TRIES_AT_ONCE = 0.1, 5
"""How often somebody may try to be let in: five times, then once in ten seconds."""
RUN_BYTES = 8
FILES_FOR_S = 365 * 24 * 3600
"""How long a browser keeps a file of ours under its full address; under a bare one it asks each time."""


@dataclass(frozen=True)
class Visitors:
    """Who was let in, and what they know this run of the program by: both outlive that familiars are loaded again."""

    door: Doorkeeper
    run: str


@dataclass(frozen=True, kw_only=True)
class WebParts:
    """What the page is made of."""

    familiar: Familiar
    chats: WebChats
    address: PageAddress
    door: Doorkeeper
    program: OwnProgram
    """Runs verbs of the command line on this home."""
    rehearsals: RehearsalRuns
    models: PageModels
    """Of the whole home."""
    settings_at_start: Mapping[str, str] = field(default_factory=dict)
    """What counts until the program is started again, by the name of each setting."""
    familiars: HomeFamiliars | None = None
    """All of the home; None: this one alone is shown."""
    groups: GroupRooms | None = None
    """Several familiars of the home in one chat; None: there are no such."""
    read_aloud: ReadAloud | None = None
    """Speaks a line of a chat; None: nothing here can."""
    reload: asyncio.Event | None = None
    """Set to have the familiars loaded again, with what their settings say then; None: only a new start does that."""
    run: str = field(default_factory=lambda: secrets.token_hex(RUN_BYTES))
    """What this run of the program goes by, so that a page knows that it was started again."""


def create_app(parts: WebParts) -> AsgiApp:
    """The page as an ASGI application: the familiars of the home behind one guard."""
    from starlette.applications import Starlette

    clock = parts.familiar.clock
    rate = RequestRate(REQUESTS_PER_S, REQUESTS_AT_ONCE, clock)
    first = make_pages(parts)
    renderer = PageRenderer(familiar_name=lambda: parts.familiar.name)

    def ask_which(path: str, there: list[str]) -> bytes:
        return renderer.text("which.html", title="Which familiar?", path=path, there=there).encode()

    dispatcher = FamiliarDispatcher(
        first,
        parts.familiars,
        entry=Starlette(routes=_entry_routes(parts, renderer), exception_handlers={Exception: answer_failure}),
        ask_which=ask_which,
        run=parts.run,
    )
    return FailureLog(Guard(dispatcher, address=parts.address, door=parts.door, rate=rate))


def make_pages(parts: WebParts) -> OpenedPages:
    """The pages of one familiar."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    places, others = OtherPlaces(parts.familiar), parts.familiars
    history = parts.familiar.history_store.name()
    talk = PlaceTalk(parts.familiar, parts.chats)
    pictures = others.pictures if others is not None else FamiliarPictures(FamiliarFolder(parts.familiar.root).home)
    renderer = PageRenderer(
        at=pages_at(parts.familiar.id),
        program_run=lambda: parts.run,
        history_name=lambda: history,
        familiar_name=lambda: parts.familiar.name,
        familiar_picture=lambda: pictures.url_of(parts.familiar.id),
        familiars=lambda: others.entries(parts.familiar.id) if others is not None else [],
        chats=parts.chats.all,
        person=lambda: parts.chats.person().label,
        links=lambda: links,
        places=places.all,
        badges=lambda: {"review": review.count_waiting()},
    )
    names = {"run": parts.run, "history": history, "version": renderer.version}
    hear_pages = HearPages(parts.familiar.transcriber, renderer)
    chat_pages = ChatPages(
        parts.familiar,
        parts.chats,
        parts.models,
        renderer,
        names=names,
        may_listen=hear_pages.may_listen,
        groups=parts.groups,
    )
    review = ReviewPages(parts.familiar, renderer)
    routes = [
        *chat_pages.routes(),
        *ControlPages(parts.chats, PageControls(parts.familiar, parts.chats), chat_pages, renderer).routes(),
        *ChatShelfPages(parts.familiar, parts.chats, parts.program, renderer).routes(),
        *hear_pages.routes(),
        *AloudPages(parts.familiar, parts.chats, parts.read_aloud, renderer).routes(),
        *AttachmentPages(parts.chats.attached_files, renderer).routes(),
        *PicturePages(parts.familiar.id, pictures, renderer).routes(),
        *LookPages(parts.familiar.id, pictures, renderer).routes(),
        *PlacePages(places, parts.chats, renderer, talk.can_reach).routes(),
        *PlaceTalkPages(places, talk, renderer).routes(),
        *_home_routes(parts, renderer),
        *TurnPages(parts.familiar, renderer).routes(),
        *SideCallPages(parts.familiar, renderer).routes(),
        *MemoryPages(parts.familiar, renderer).routes(),
        *MemoryEditPages(parts.familiar, renderer).routes(),
        *PeoplePages(parts.familiar, renderer).routes(),
        *_character_routes(parts, renderer),
        *review.routes(),
        *HealthPages(parts.familiar, renderer, parts.program).routes(),
        *SettingsPages(
            parts.familiar, renderer, parts.chats, parts.models, parts.settings_at_start, parts.reload
        ).routes(),
        *ModelPages(parts.familiar, parts.models, parts.program, renderer).routes(),
        *RehearsalPages(parts.rehearsals, renderer).routes(),
    ]
    links = list_links({route.path for route in routes if isinstance(route, Route)})

    async def answer_missing(request: Request, _: Exception) -> Response:
        sentence = "There is no such page; the menu on the left lists the pages."
        if is_script(request):
            return answer_json({"problem": sentence}, status=404)
        return await off_loop(partial(renderer.problem, sentence, status=404))

    app = Starlette(routes=routes, exception_handlers={Exception: answer_failure, 404: answer_missing})
    return OpenedPages(parts.familiar, app, history, parts.chats)


def _character_routes(parts: WebParts, renderer: PageRenderer) -> list[BaseRoute]:
    """What the familiar is made of, as forms."""
    return [
        *CharacterPages(parts.familiar, renderer).routes(),
        *CharacterExportPages(parts.familiar.id, parts.program, renderer).routes(),
        *LorePages(parts.familiar, parts.chats, renderer, parts.reload).routes(),
        *PresetPages(parts.familiar, parts.chats, renderer).routes(),
        *NotePages(parts.familiar, parts.chats, renderer).routes(),
        *RegexPages(parts.familiar, parts.chats, renderer).routes(),
        *PersonaPages(parts.familiar, parts.chats, renderer, parts.reload).routes(),
        *GalleryPages(parts.familiar, parts.chats.expressions, renderer).routes(),
        *PersonaPicturePages(parts.chats.person_pictures, renderer).routes(),
    ]


def _home_routes(parts: WebParts, renderer: PageRenderer) -> list[BaseRoute]:
    """What is brought in, and the familiars of the home."""
    familiars = parts.familiars
    if familiars is None:
        return ImportPages(parts.familiar.id, parts.program, renderer).routes()
    return [
        *ImportPages(parts.familiar.id, parts.program, renderer, familiars.ids).routes(),
        *FamiliarPages(parts.familiar.id, parts.chats, familiars, parts.program, renderer).routes(),
        *(GroupPages(parts.familiar.id, parts.chats, parts.groups, renderer).routes() if parts.groups else ()),
    ]


def _entry_routes(parts: WebParts, renderer: PageRenderer) -> list[BaseRoute]:
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    door, tries = parts.door, RequestRate(TRIES_PER_S, TRIES_AT_ONCE, parts.familiar.clock)

    def let_in(request: Request, response: Response) -> Response:
        if not parts.address.may_hold_cookie(request.headers.get("host")):
            return redirect(f"{parts.address.own_url}/open?token={door.issue_pass()}")
        # We speak HTTP ourselves. Who claims that a proxy before us speaks HTTPS can make the cookie stricter, no more.
        is_secure = request.headers.get("x-forwarded-proto") == "https"
        name, value = door.cookie_name, door.issue_cookie()
        response.set_cookie(name, value, max_age=SESSION_S, httponly=True, samesite="strict", secure=is_secure)
        return response

    def turn_away(request: Request, sentence: str) -> Response:
        tries.may_ask(client_of(request.scope))
        return PlainTextResponse(f"{sentence}\n", status_code=403)

    async def open_page(request: Request) -> Response:
        """The address that was printed. The page follows by itself: a cookie just given is not sent on a redirect."""
        if door.is_token(request.query_params.get("token", "")):  # too long to be guessed: nobody locks its owner out
            return let_in(request, await off_loop(renderer.page, "enter.html", title="Welcome"))
        if not tries.has_left(client_of(request.scope)):
            return PlainTextResponse("Too many attempts. Wait a minute.\n", status_code=429)
        return turn_away(request, "This address is out of date: open the one that was printed last.")

    async def login(request: Request) -> Response:
        if not door.has_password:
            return PlainTextResponse("There is no password here: open the printed address.\n", status_code=404)
        if request.method != "POST":
            return await off_loop(renderer.page, "login.html", title="Log in")
        if not tries.has_left(client_of(request.scope)):
            return PlainTextResponse("Too many attempts. Wait a minute.\n", status_code=429)
        if not door.is_password((await read_form(request)).get("password", "")):
            return turn_away(request, "That is not the password.")
        return let_in(request, redirect("/"))

    async def serve_file(request: Request) -> Response:
        file = renderer.files.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("There is no such file.\n", status_code=404)
        is_exact = request.query_params.get("v") == file.mark
        kept = f"private, max-age={FILES_FOR_S}, immutable" if is_exact else "no-cache"
        headers = {"cache-control": kept, "etag": f'"{file.mark}"'}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.kind, headers=headers)

    return [
        Route("/open", open_page),
        Route("/login", with_problems(login, renderer), methods=["GET", "POST"]),
        Route("/static/{name}", serve_file),
    ]
