"""The picture of a familiar: the one its owner gave it, else the one of the card it was made from.

It is served as what its content says it is, checked and bounded (`support/pictures`); a familiar without one is shown
by the first letter of its name.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import is_valid_familiar_id
from familiar_connect.errors import HomeError
from familiar_connect.platforms.web.attached_files import PICTURE_FOR_S, PICTURE_POLICY
from familiar_connect.platforms.web.multipart import parse_multipart
from familiar_connect.platforms.web.render import PageRenderer, make_routes, redirect
from familiar_connect.support.aio import off_loop
from familiar_connect.support.files import atomic_write
from familiar_connect.support.lru import LruCache
from familiar_connect.support.no_follow import load_bytes, remove_file
from familiar_connect.support.pictures import ENDINGS, MAX_PICTURE_BYTES, Picture, check_picture

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

CARD_ENDINGS = (".png", ".webp")
REMEMBERED = 200


class FamiliarPictures:
    """The pictures of the familiars in *home*; every method reads the disk."""

    def __init__(self, home: HomeFolder) -> None:
        self._home = home
        self._checked: LruCache[tuple[Path, int, int], bool] = LruCache(REMEMBERED)
        """Whether a file of that time and size is a picture."""

    def url_of(self, familiar_id: str) -> str | None:
        """The address of its picture, which changes when the picture does; None where it has none."""
        found = self._find(familiar_id)
        return f"/pictures/{familiar_id}?v={_mark(*found)}" if found is not None else None

    def background_of(self, familiar_id: str) -> str | None:
        """The address of what its owner gave it to stand behind a chat; None where it has nothing."""
        found = self._find(familiar_id, is_background=True)
        return f"/backgrounds/{familiar_id}?v={_mark(*found)}" if found is not None else None

    def read_background(self, familiar_id: str) -> Picture | None:
        """What stands behind its chats."""
        found = self._find(familiar_id, is_background=True)
        return _load(found[0]) if found is not None else None

    def read(self, familiar_id: str) -> Picture | None:
        """Its picture."""
        found = self._find(familiar_id)
        return _load(found[0]) if found is not None else None

    def is_own(self, familiar_id: str) -> bool:
        """Whether its owner gave it one, so that it does not have the card's, or none."""
        found = self._find(familiar_id)
        return found is not None and found[0].parent == self._folder(familiar_id).root

    def change(self, familiar_id: str, data: bytes) -> None:
        """Give it another picture; a sentence where *data* is none."""
        picture = check_picture(data)
        if picture is None:
            raise HomeError(
                f"that is no picture this page can show: take a PNG, JPEG or WebP of up to "
                f"{MAX_PICTURE_BYTES // 1024**2} MB"
            )
        folder, ending = self._folder(familiar_id), ENDINGS[picture.kind]
        atomic_write(folder.picture_file(ending), picture.content)
        self._remove_own(folder, keep=ending)

    def remove(self, familiar_id: str) -> None:
        """Take the owner's picture away; the card's, if there is one, is shown again."""
        self._remove_own(self._folder(familiar_id))

    def _remove_own(self, folder: FamiliarFolder, *, keep: str = "") -> None:
        for ending in ENDINGS.values():
            if ending != keep:
                remove_file(folder.picture_file(ending))

    def _folder(self, familiar_id: str) -> FamiliarFolder:
        return self._home.familiar(familiar_id)

    def _find(self, familiar_id: str, *, is_background: bool = False) -> tuple[Path, int, int] | None:
        """The file of its picture, or of its background, with its time and size."""
        if not is_valid_familiar_id(familiar_id):
            return None
        folder = self._folder(familiar_id)
        of_kind = folder.background_file if is_background else folder.picture_file
        paths = [of_kind(ending) for ending in ENDINGS.values()]
        paths += [] if is_background else [folder.card_picture(ending) for ending in CARD_ENDINGS]
        for path in paths:
            try:
                facts = path.lstat()
            except OSError:
                continue
            found = (path, facts.st_mtime_ns, facts.st_size)
            is_picture = self._checked.get(found)
            if is_picture is None:
                is_picture = _load(path) is not None
                self._checked.put(found, is_picture)
            if is_picture:
                return found
        return None


def _mark(path: Path, changed_ns: int, size: int) -> str:
    """Changes when the file does."""
    return hashlib.sha256(repr((path.name, changed_ns, size)).encode()).hexdigest()[:16]


def _load(path: Path) -> Picture | None:
    try:
        return check_picture(load_bytes(path, MAX_PICTURE_BYTES + 1))
    except OSError:
        return None


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
        return _answer(request, await off_loop(self._pictures.read, request.path_params["id"]))

    async def serve_background(self, request: Request) -> Response:
        return _answer(request, await off_loop(self._pictures.read_background, request.path_params["id"]))

    async def show(self, request: Request) -> Response:
        return await off_loop(self._page)

    def _page(self) -> Response:
        is_own = self._pictures.is_own(self._familiar_id)
        return self._renderer.page("picture.html", title="Picture", is_own=is_own)

    async def change(self, request: Request) -> Response:
        fields = parse_multipart(request.headers.get("content-type", ""), await request.body())
        _, content = fields.get("file", ("", b""))
        if not content:
            raise HomeError("no picture was sent: choose a file first")
        await off_loop(self._pictures.change, self._familiar_id, content)
        return redirect("/picture")

    async def remove(self, request: Request) -> Response:
        await off_loop(self._pictures.remove, self._familiar_id)
        return redirect("/picture")


def _answer(request: Request, found: Picture | None) -> Response:
    """A picture as what its content says it is."""
    from starlette.responses import PlainTextResponse, Response

    if found is None:
        return PlainTextResponse("There is no such picture.\n", status_code=404)
    is_marked = bool(request.query_params.get("v"))
    headers = {
        "cache-control": f"private, max-age={PICTURE_FOR_S}, immutable" if is_marked else "no-cache",
        "content-disposition": f'inline; filename="picture{ENDINGS[found.kind]}"',
        "content-security-policy": PICTURE_POLICY,
    }
    return Response(found.content, media_type=found.kind, headers=headers)
