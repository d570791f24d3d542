"""FamiliarPages: the familiars of the home, and a new one from a name and a description or from a card."""

from __future__ import annotations

from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING

from familiar_connect.config.home import is_valid_familiar_id
from familiar_connect.errors import FamiliarError, HomeError
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.home_familiars import HomeFamiliars
from familiar_connect.platforms.web.import_pages import import_file, make_familiar, name_words
from familiar_connect.platforms.web.multipart import parse_multipart
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop
from familiar_connect.support.name_forms import romanize
from familiar_connect.support.text import one_line, printable, to_slug

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

FAMILIARS_PATH = "/familiars"
MOST_SHOWN, MOST_TAGS = 500, 60
MAX_NAME_CHARS, MAX_DESCRIPTION_CHARS = 60, 20_000
SOURCE = "user"


class FamiliarPages:
    """The route `/familiars`."""

    def __init__(
        self, here: str, chats: WebChats, familiars: HomeFamiliars, program: OwnProgram, renderer: PageRenderer
    ) -> None:
        """*here* is the familiar on whose page they are, and *chats* know what its person is called."""
        self._here = here
        self._chats = chats
        self._familiars = familiars
        self._program = program
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (
            (FAMILIARS_PATH, self.list_all, "GET"),
            (FAMILIARS_PATH, self.make, "POST"),
            (f"{FAMILIARS_PATH}/favourite", self.choose_favourite, "POST"),
        )
        return make_routes(handlers, self._renderer)

    async def list_all(self, request: Request) -> Response:
        wanted, tag = (request.query_params.get(name, "")[:MAX_NAME_CHARS] for name in ("q", "tag"))
        return await off_loop(partial(self._page, {}, "", wanted=wanted, tag=tag))

    def _page(self, typed: dict[str, str], problem: str, *, wanted: str = "", tag: str = "") -> Response:
        """Those whose name, description or tags have the words *wanted*, and that have the *tag*."""
        every = self._familiars.entries(self._here, most=MOST_SHOWN)
        tags = {each.id: self._familiars.shelf.read_tags(each.id) for each in every}
        about = {each.id: self._familiars.describe(each) for each in every}
        words = wanted.casefold().split()
        shown = [
            each
            for each in every
            if (not tag or tag in tags[each.id])
            and all(word in f"{each.name} {about[each.id]} {' '.join(tags[each.id])}".casefold() for word in words)
        ]
        return self._renderer.page(
            "familiars.html",
            status=400 if problem else 200,
            title="Familiars",
            typed=typed,
            problem=problem,
            shown=shown,
            about=about,
            tags=tags,
            all_tags=sorted({each for found in tags.values() for each in found}, key=str.casefold)[:MOST_TAGS],
            wanted=wanted,
            tag=tag,
        )

    async def choose_favourite(self, request: Request) -> Response:
        """Let the lists begin with a familiar, or not."""
        fields = await read_form(request)
        chosen = fields.get("id", "")
        if chosen not in await off_loop(self._familiars.ids):
            raise HomeError("there is no such familiar any more")
        await off_loop(partial(self._familiars.shelf.set_favourite, chosen, is_one=bool(fields.get("on"))))
        return redirect(FAMILIARS_PATH)

    async def make(self, request: Request) -> Response:
        """A new familiar, and to its first chat."""
        content_type = request.headers.get("content-type", "")
        fields = parse_multipart(content_type, await request.body())
        typed = {name: content.decode("utf-8", "replace") for name, (_, content) in fields.items() if name != "card"}
        typed = typed or await read_form(request)
        card_name, card = fields.get("card", ("", b""))
        try:
            made = await (self._from_card(card_name, card) if card else self._from_words(typed))
        except FamiliarError as error:
            return await off_loop(self._page, typed, str(error))
        return redirect(f"/f/{made}/")

    async def _from_words(self, typed: dict[str, str]) -> str:
        name = one_line(printable(typed.get("name", ""))).strip()
        text = typed.get("description", "").replace("\r\n", "\n").strip()
        if not name or len(name) > MAX_NAME_CHARS or name.startswith("-"):
            raise HomeError(f"a familiar needs a name of 1 to {MAX_NAME_CHARS} characters")
        if len(text) > MAX_DESCRIPTION_CHARS:
            raise HomeError(
                f"a description has at most {MAX_DESCRIPTION_CHARS:,} characters; the rest is for its memory"
            )
        made = choose_id(name, await off_loop(self._familiars.ids))
        await make_familiar(self._program, made, name, name_words(await off_loop(self._chats.own_name)))
        if text:
            async with self._familiars.use(made) as opened:
                store = opened.familiar.memory_store
                await off_loop(store.write_file, "self/description.md", f"{text}\n", source=SOURCE)
        return made

    async def _from_card(self, name: str, card: bytes) -> str:
        before = set(await off_loop(self._familiars.ids))
        await import_file(self._program, "card", name, card, *name_words(await off_loop(self._chats.own_name)))
        made = sorted(set(await off_loop(self._familiars.ids)) - before)
        if not made:
            raise HomeError("that card made no familiar")
        return made[0]


def choose_id(name: str, there: list[str]) -> str:
    """A folder name for a familiar called *name*, which none of *there* has."""
    plain = to_slug(romanize(name), 40) or "familiar"
    plain = plain if is_valid_familiar_id(plain) else f"familiar-{plain}"
    taken = {each.casefold() for each in there}
    return next(each for each in chain((plain,), (f"{plain}-{number}" for number in count(2))) if each not in taken)
