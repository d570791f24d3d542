"""GalleryPages: the pictures of a familiar: to look at, to add to, and to use as its face, moods or background."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.web.expressions import WORDS, Expressions, expression_url, label_of
from familiar_connect.platforms.web.multipart import read_parts
from familiar_connect.platforms.web.picture_files import (
    PictureFile,
    PictureFolder,
    answer_picture,
    load_picture,
    remove_pictures,
    write_picture,
)
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.support.aio import off_loop
from familiar_connect.support.pictures import plain_stem

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_LABEL_CHARS = 40
DONE = {
    "added": "The pictures are kept.",
    "gone": "The picture is removed.",
    "face": "That is the picture beside what it says now.",
    "behind": "That stands behind chats now, where Appearance says “A background of its own”.",
    "not-behind": "Nothing of its own stands behind chats any more.",
    "mood": "Expressions has it now.",
}


class GalleryPages:
    """The routes under `/gallery`."""

    def __init__(self, familiar: Familiar, expressions: Expressions, renderer: PageRenderer) -> None:
        self._folder = FamiliarFolder(familiar.root)
        self._pictures = PictureFolder(self._folder.gallery)
        self._moods = expressions.pictures
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/gallery", self.show, "GET"),
            ("/gallery", self.add, "POST"),
            ("/gallery/use", self.use, "POST"),
            ("/gallery/picture", self.serve, "GET"),
            ("/gallery/expression", self.serve_expression, "GET"),
        )
        return make_routes(handlers, self._renderer)

    async def show(self, request: Request) -> Response:
        return await off_loop(self._show, DONE.get(request.query_params.get("done", ""), ""))

    def _show(self, done: str) -> Response:
        kept, moods = self._pictures.list_all(), self._moods.list_all()
        return self._renderer.page(
            "gallery.html",
            title="Gallery",
            pictures=[(name, _picture_url(name, each)) for name, each in kept.items()],
            moods=[(name, expression_url(name, each)) for name, each in moods.items()],
            labels=sorted(WORDS),
            has_background=any(self._folder.background_file(ending).exists() for ending in (".png", ".jpg", ".webp")),
            done=done,
        )

    async def serve(self, request: Request) -> Response:
        return answer_picture(request, await off_loop(self._pictures.read, request.query_params.get("name", "")))

    async def serve_expression(self, request: Request) -> Response:
        return answer_picture(request, await off_loop(self._moods.read, request.query_params.get("name", "")))

    async def add(self, request: Request) -> Response:
        """Pictures that a form brings; those with a label become expressions."""
        parts = read_parts(request.headers.get("content-type", ""), await request.body())
        files = [(PurePath(each.file_name).stem, each.content) for each in parts if each.content and each.file_name]
        if not files:
            raise HomeError("no picture was sent: choose a file first")
        kind = next((each.content.decode("utf-8", "replace") for each in parts if each.field == "kind"), "")
        folder = self._moods if kind == "expression" else self._pictures
        for name, content in files:
            await off_loop(folder.add, name, content)
        return redirect("/gallery?done=added")

    async def use(self, request: Request) -> Response:
        """What a button below a picture says."""
        fields = await read_form(request)
        return await off_loop(self._use, fields.get("name", ""), fields.get("as", ""), fields.get("label", ""))

    def _use(self, name: str, wanted: str, label: str) -> Response:
        if wanted == "not-behind":
            remove_pictures(self._folder.background_file)
            return redirect("/gallery?done=not-behind")
        if wanted in ("gone", "mood-gone"):
            (self._pictures if wanted == "gone" else self._moods).remove(name)
            return redirect("/gallery?done=gone")
        found = self._pictures.list_all().get(name)
        picture = load_picture(found.path) if found is not None else None
        if picture is None:
            raise HomeError("there is no such picture any more")
        if wanted == "face":
            write_picture(picture.content, self._folder.picture_file)
        elif wanted == "behind":
            write_picture(picture.content, self._folder.background_file)
        elif wanted == "mood" and label.strip():
            label = plain_stem(label[:MAX_LABEL_CHARS])
            for there in [each for each in self._moods.list_all() if label_of(each) == label_of(label)]:
                self._moods.remove(there)
            self._moods.add(label, picture.content)
        else:
            raise HomeError("say what the picture is to be used for: an expression needs a name, such as joy")
        return redirect(f"/gallery?done={wanted}")


def _picture_url(name: str, file: PictureFile) -> str:
    return f"/gallery/picture?name={quote(name, safe='')}&v={file.mark}"
