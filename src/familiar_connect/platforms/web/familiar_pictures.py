"""The picture of a familiar: the one its owner gave it, else the one of the card it was made from.

It is served as what its content says it is, checked and bounded (`support/pictures`); a familiar without one is shown
by the first letter of its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import is_valid_familiar_id
from familiar_connect.platforms.web.picture_files import (
    PictureFiles,
    answer_picture,
    read_sent_picture,
    remove_pictures,
    write_picture,
)
from familiar_connect.platforms.web.render import PageRenderer, make_routes, redirect
from familiar_connect.support.aio import off_loop
from familiar_connect.support.pictures import ENDINGS, Picture

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

CARD_ENDINGS = (".png", ".webp")


class FamiliarPictures:
    """The pictures of the familiars in *home*; every method reads the disk."""

    def __init__(self, home: HomeFolder) -> None:
        self._home = home
        self._files = PictureFiles()

    def url_of(self, familiar_id: str) -> str | None:
        """The address of its picture, which changes when the picture does; None where it has none."""
        found = self._files.find(self._pictures_of(familiar_id))
        return f"/pictures/{familiar_id}?v={found.mark}" if found is not None else None

    def background_of(self, familiar_id: str) -> str | None:
        """The address of what its owner gave it to stand behind a chat; None where it has nothing."""
        found = self._files.find(self._backgrounds_of(familiar_id))
        return f"/backgrounds/{familiar_id}?v={found.mark}" if found is not None else None

    def read_background(self, familiar_id: str) -> Picture | None:
        """What stands behind its chats."""
        return self._files.read(self._backgrounds_of(familiar_id))

    def read(self, familiar_id: str) -> Picture | None:
        """Its picture."""
        return self._files.read(self._pictures_of(familiar_id))

    def is_own(self, familiar_id: str) -> bool:
        """Whether its owner gave it one, so that it does not have the card's, or none."""
        found = self._files.find(self._pictures_of(familiar_id))
        return found is not None and found.path.parent == self._folder(familiar_id).root

    def change(self, familiar_id: str, data: bytes) -> None:
        """Give it another picture; a sentence where *data* is none."""
        write_picture(data, self._folder(familiar_id).picture_file)

    def remove(self, familiar_id: str) -> None:
        """Take the owner's picture away; the card's, if there is one, is shown again."""
        remove_pictures(self._folder(familiar_id).picture_file)

    def _folder(self, familiar_id: str) -> FamiliarFolder:
        return self._home.familiar(familiar_id)

    def _pictures_of(self, familiar_id: str) -> Iterator[Path]:
        if is_valid_familiar_id(familiar_id):
            folder = self._folder(familiar_id)
            yield from map(folder.picture_file, ENDINGS.values())
            yield from map(folder.card_picture, CARD_ENDINGS)

    def _backgrounds_of(self, familiar_id: str) -> Iterator[Path]:
        if is_valid_familiar_id(familiar_id):
            yield from map(self._folder(familiar_id).background_file, ENDINGS.values())


class PicturePages:
    """The routes `/pictures/ID`, which serves a picture, and `/picture`, where this familiar's is chosen."""

    def __init__(self, familiar_id: str, pictures: FamiliarPictures, renderer: PageRenderer) -> None:
        self._familiar_id = familiar_id
        self._pictures = pictures
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/pictures/{id}", self.serve, "GET"),
            ("/backgrounds/{id}", self.serve_background, "GET"),
            ("/picture", self.show, "GET"),
            ("/picture", self.change, "POST"),
            ("/picture/remove", self.remove, "POST"),
        )
        return make_routes(handlers, self._renderer)

    async def serve(self, request: Request) -> Response:
        return answer_picture(request, await off_loop(self._pictures.read, request.path_params["id"]))

    async def serve_background(self, request: Request) -> Response:
        return answer_picture(request, await off_loop(self._pictures.read_background, request.path_params["id"]))

    async def show(self, request: Request) -> Response:
        return await off_loop(self._page)

    def _page(self) -> Response:
        is_own = self._pictures.is_own(self._familiar_id)
        return self._renderer.page("picture.html", title="Picture", is_own=is_own)

    async def change(self, request: Request) -> Response:
        await off_loop(self._pictures.change, self._familiar_id, await read_sent_picture(request))
        return redirect("/picture")

    async def remove(self, request: Request) -> Response:
        await off_loop(self._pictures.remove, self._familiar_id)
        return redirect("/picture")
