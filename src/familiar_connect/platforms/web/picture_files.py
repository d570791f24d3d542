"""PictureFiles: pictures of the owner's own that lie in a familiar's folder, found, checked and served.

Each is served as what its content says it is, bounded and without anything else that was in the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING

from familiar_connect.errors import HomeError
from familiar_connect.platforms.web.attached_files import PICTURE_FOR_S, PICTURE_POLICY
from familiar_connect.platforms.web.multipart import parse_multipart
from familiar_connect.support.files import atomic_write
from familiar_connect.support.lru import LruCache
from familiar_connect.support.no_follow import load_bytes, remove_file
from familiar_connect.support.pictures import ENDINGS, MAX_PICTURE_BYTES, Picture, check_picture, plain_stem

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

REMEMBERED = 1_000
MOST_LISTED, MOST_PICTURES = 1_000, 300


@dataclass(frozen=True)
class PictureFile:
    """A picture on the disk."""

    path: Path
    mark: str
    """Changes when the file does."""


class PictureFiles:
    """Which files are pictures; every method reads the disk."""

    def __init__(self) -> None:
        self._checked: LruCache[tuple[Path, int, int], bool] = LruCache(REMEMBERED)
        """Whether a file of that time and size is a picture."""

    def find(self, paths: Iterable[Path]) -> PictureFile | None:
        """The first of *paths* that is one."""
        for path in paths:
            try:
                facts = path.lstat()
            except OSError:
                continue
            found = (path, facts.st_mtime_ns, facts.st_size)
            is_picture = self._checked.get(found)
            if is_picture is None:
                is_picture = load_picture(path) is not None
                self._checked.put(found, is_picture)
            if is_picture:
                mark = hashlib.sha256(repr((path.name, *found[1:])).encode()).hexdigest()[:16]
                return PictureFile(path, mark)
        return None

    def read(self, paths: Iterable[Path]) -> Picture | None:
        """What the first of *paths* that is one shows."""
        found = self.find(paths)
        return load_picture(found.path) if found is not None else None


class PictureFolder:
    """A folder of pictures, each called as its owner called it; every method reads the disk."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._files = PictureFiles()

    def list_all(self) -> dict[str, PictureFile]:
        """The pictures by their names, in the order of these."""
        try:
            paths = sorted(islice(self.path.iterdir(), MOST_LISTED))
        except OSError:
            return {}
        known = (path for path in paths if path.suffix.lower() in ENDINGS.values() and not path.name.startswith("."))
        found = {path.stem: self._files.find([path]) for path in known}
        return {name: file for name, file in found.items() if file is not None}

    def read(self, name: str) -> Picture | None:
        found = self.list_all().get(name)
        return load_picture(found.path) if found is not None else None

    def add(self, name: str, data: bytes) -> str:
        """Keep one more picture, called *name* or like it; what it is called."""
        there = self.list_all()
        if len(there) >= MOST_PICTURES:
            raise HomeError(f"there are {MOST_PICTURES} pictures already; remove one first")
        kept = plain_stem(name)
        taken = {each.casefold() for each in there}
        kept = next(each for each in chain((kept,), (f"{kept}-{n}" for n in count(2))) if each.casefold() not in taken)
        write_picture(data, lambda ending: self.path / f"{kept}{ending}")
        return kept

    def remove(self, name: str) -> None:
        found = self.list_all().get(name)
        if found is None:
            raise HomeError("there is no such picture any more")
        remove_file(found.path)


def load_picture(path: Path) -> Picture | None:
    try:
        return check_picture(load_bytes(path, MAX_PICTURE_BYTES + 1))
    except OSError:
        return None


def write_picture(data: bytes, file_of: Callable[[str], Path]) -> Path:
    """Keep *data* as the file that *file_of* names for the ending of its kind, in place of one of another kind."""
    picture = check_picture(data)
    if picture is None:
        raise HomeError(
            f"that is no picture this page can show: take a PNG, JPEG or WebP of up to "
            f"{MAX_PICTURE_BYTES // 1024**2} MB"
        )
    path = file_of(ENDINGS[picture.kind])
    atomic_write(path, picture.content)
    remove_pictures(file_of, keep=path)
    return path


def remove_pictures(file_of: Callable[[str], Path], *, keep: Path | None = None) -> None:
    """Take away the files that *file_of* names, of every kind."""
    for path in map(file_of, ENDINGS.values()):
        if path != keep:
            remove_file(path)


async def read_sent_picture(request: Request) -> bytes:
    """The file that a form brings."""
    fields = parse_multipart(request.headers.get("content-type", ""), await request.body())
    _, content = fields.get("file", ("", b""))
    if not content:
        raise HomeError("no picture was sent: choose a file first")
    return content


def answer_picture(request: Request, found: Picture | None) -> Response:
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
