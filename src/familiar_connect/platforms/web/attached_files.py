"""Files that are sent along with a message: a picture is kept and shown to models that see, a text is said.

A picture takes the way of every picture that people send (`context/media`): a model that sees is shown
it, another is told that there is one. It is served to the page as the picture that its first bytes say it is, never as
what its name says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from familiar_connect.chat.annotate.media import IMAGE_TYPES, mime_of
from familiar_connect.chat.message_parts import Attachment
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import message_of_turn
from familiar_connect.history.types import HistoryTurn
from familiar_connect.platforms.web.multipart import FormPart
from familiar_connect.platforms.web.render import PageRenderer, make_routes
from familiar_connect.support.aio import off_loop
from familiar_connect.support.fetch.attachments import (
    MAX_ATTACHMENT_BYTES,
    AttachmentStore,
    attachment_name,
    sniff_media_type,
)
from familiar_connect.support.text import one_line, printable

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

MOST_FILES = 4
MAX_TEXT_BYTES = 200_000
MAX_NAME_CHARS = 120
PICTURE_FOR_S = 24 * 3600
PICTURE_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
_BACKTICKS = re.compile("`+")


@dataclass(frozen=True, kw_only=True)
class SentFiles:
    """What came along with a message."""

    pictures: tuple[Attachment, ...] = ()
    text: str = ""
    """The texts, each under its name in a fence."""

    def __bool__(self) -> bool:
        return bool(self.pictures or self.text)


@dataclass(frozen=True, kw_only=True)
class ShownAttachment:
    """A file as the page shows it."""

    name: str
    url: str | None
    """Where the page finds its picture; None: it is only named."""
    is_picture: bool


class AttachedFiles:
    """The files of one familiar's messages."""

    def __init__(self, familiar: Familiar) -> None:
        self._store = AttachmentStore(FamiliarFolder(familiar.root).attachments)

    def keep(self, files: Sequence[FormPart]) -> SentFiles:
        """Keep the pictures, read the texts; a sentence for what is neither or too large, and then nothing is kept."""
        files = [file for file in files if file.content]
        if len(files) > MOST_FILES:
            raise HomeError(f"at most {MOST_FILES} files go with one message; send the others with the next")
        kinds = [_check(file) for file in files]
        pictures, texts = [], []
        for file, kind in zip(files, kinds, strict=True):
            if kind is None:
                texts.append(_fence(file))
            else:
                pictures.append(
                    Attachment(
                        url=self._store.put(file.content),
                        filename=_shown_name(file.file_name),
                        mime=kind,
                        size_bytes=len(file.content),
                    )
                )
        return SentFiles(pictures=tuple(pictures), text="\n\n".join(texts))

    def read(self, name: str) -> tuple[bytes, str] | None:
        """The picture under *name* and its type."""
        return self._store.read(name)


def list_attachments(turn: HistoryTurn) -> list[ShownAttachment]:
    """What came with a turn; pictures that lie elsewhere are named and not loaded."""
    message = message_of_turn(turn) if turn.facts else None
    return [_shown(each) for each in message.attachments] if message is not None else []


def _shown(attachment: Attachment) -> ShownAttachment:
    name = attachment_name(attachment.url)
    return ShownAttachment(
        name=_shown_name(attachment.filename or ""),
        url=f"/attachments/{name}" if name is not None else None,
        is_picture=mime_of(attachment) in IMAGE_TYPES,
    )


def _check(file: FormPart) -> str | None:
    """The type of a picture; None for a text."""
    name = _shown_name(file.file_name)
    kind = sniff_media_type(file.content)
    if kind in IMAGE_TYPES:
        if len(file.content) > MAX_ATTACHMENT_BYTES:
            raise HomeError(f"{name} has more than {MAX_ATTACHMENT_BYTES // 1024**2} MB: make it smaller first")
        return kind
    if kind is not None or not _is_text(file.content):
        raise HomeError(f"{name} is neither a picture (PNG, JPEG, WebP or GIF) nor a text: Import takes documents")
    if len(file.content) > MAX_TEXT_BYTES:
        raise HomeError(f"{name} is too long for a message: import it as a document instead")
    return None


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _fence(file: FormPart) -> str:
    """A text under its name, in a fence that nothing in it can close."""
    text = file.content.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").rstrip()
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{_shown_name(file.file_name)}:\n{fence}\n{text}\n{fence}"


def _shown_name(name: str) -> str:
    last = one_line(printable(name.replace("\\", "/").rpartition("/")[2])).strip()
    return last[-MAX_NAME_CHARS:] or "file"


class AttachmentPages:
    """The route of pictures that were attached."""

    def __init__(self, files: AttachedFiles, renderer: PageRenderer) -> None:
        self._files = files
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        return make_routes((("/attachments/{name}", self.serve, "GET"),), self._renderer)

    async def serve(self, request: Request) -> Response:
        from starlette.responses import PlainTextResponse, Response

        found = await off_loop(self._files.read, request.path_params["name"])
        if found is None:
            return PlainTextResponse("There is no such picture.\n", status_code=404)
        content, kind = found
        headers = {
            "cache-control": f"private, max-age={PICTURE_FOR_S}, immutable",
            "content-disposition": f'inline; filename="picture.{kind.partition("/")[2]}"',
            "content-security-policy": PICTURE_POLICY,
        }
        return Response(content, media_type=kind, headers=headers)
