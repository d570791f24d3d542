"""PersonaPictures: the faces of the people the owner may be, and where each is given one.

They are files of the familiar's folder: `personas/NAME.png` (`.jpg`, `.webp`) for a persona, `you.png` for the owner
where no persona speaks. What one is in a chat now is shown beside all that one said there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import ConfigError, HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.web.picture_files import (
    PictureFiles,
    answer_picture,
    read_sent_picture,
    remove_pictures,
    write_picture,
)
from familiar_connect.platforms.web.render import PageRenderer, make_routes, redirect
from familiar_connect.support.aio import off_loop
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.pictures import ENDINGS, MAX_PICTURE_BYTES, Picture

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MAX_NAME_CHARS = 80
LONGEST_STEM = 120
"""Bytes of a file's name; one that would be longer is cut and told apart by its hash."""


class PersonaPictures:
    """The pictures of the owner's personas; an empty name is the owner. Every method reads the disk."""

    def __init__(self, familiar: Familiar) -> None:
        self._familiar = familiar
        self._folder = FamiliarFolder(familiar.root)
        self._files = PictureFiles()

    def url_of(self, name: str) -> str | None:
        """The address of the picture, which changes when the picture does; None where there is none."""
        found = self._files.find(self._paths(name))
        return f"/personas/picture?name={quote(name, safe='')}&v={found.mark}" if found is not None else None

    def url_in_chat(self, channel_id: int) -> str | None:
        """That of whom the owner is in a chat."""
        return self.url_of(self.persona_in(channel_id))

    def persona_in(self, channel_id: int) -> str:
        """The persona that is locked to a chat; empty: the owner is as usual."""
        try:
            name = self._familiar.channel_configs.get(channel_id).place.persona
        except ConfigError:
            return ""
        return name if name and any(each.name == name for each in self._familiar.config.personas) else ""

    def read(self, name: str) -> Picture | None:
        return self._files.read(self._paths(name))

    def change(self, name: str, data: bytes) -> None:
        """Another picture; a sentence where *data* is none."""
        write_picture(data, self._file_of(name))

    def remove(self, name: str) -> None:
        remove_pictures(self._file_of(name))

    def rename(self, before: str, name: str) -> None:
        """Let a persona keep its picture under its new name."""
        found = self._files.find(self._paths(before))
        if found is not None:
            self.change(name, load_bytes(found.path, MAX_PICTURE_BYTES + 1))
            self.remove(before)

    def _paths(self, name: str) -> list[Path]:
        return [self._file_of(name)(ending) for ending in ENDINGS.values()]

    def _file_of(self, name: str) -> Callable[[str], Path]:
        return partial(self._folder.persona_picture, _stem(name)) if name else self._folder.own_picture


def _stem(name: str) -> str:
    """What the file of a persona is called: its name, as far as every disk can keep it."""
    kept = "".join(each if each.isalnum() or each in " -_'()" else quote(each, safe="") for each in name.strip())
    kept = kept.replace(".", "%2E")
    if len(kept.encode()) <= LONGEST_STEM:
        return kept
    return f"{kept.encode()[:80].decode(errors='ignore')}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


class PersonaPicturePages:
    """The route `/personas/picture`: the picture of one person, and another one for it."""

    def __init__(self, pictures: PersonaPictures, renderer: PageRenderer) -> None:
        self._pictures = pictures
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (
            ("/personas/picture", self.serve, "GET"),
            ("/personas/picture", self.change, "POST"),
            ("/personas/picture/remove", self.remove, "POST"),
        )
        return make_routes(handlers, self._renderer)

    async def serve(self, request: Request) -> Response:
        return answer_picture(request, await off_loop(self._pictures.read, _name_in(request)))

    async def change(self, request: Request) -> Response:
        await off_loop(self._pictures.change, _name_in(request), await read_sent_picture(request))
        return _back(request)

    async def remove(self, request: Request) -> Response:
        await off_loop(self._pictures.remove, _name_in(request))
        return _back(request)


def _name_in(request: Request) -> str:
    name = request.query_params.get("name", "")
    if len(name) > MAX_NAME_CHARS:
        raise HomeError("a persona's name is shorter than that")
    return name


def _back(request: Request) -> Response:
    name = _name_in(request)
    return redirect(f"/personas/one?name={quote(name, safe='')}" if name else "/you")
