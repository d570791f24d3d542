"""A zip that a program sends with one's data: ChatGPT's, Claude's or Discord's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from familiar_connect.api.importing import UnreadableFileError
from familiar_connect.extensions.import_chats.archive import Archive
from familiar_connect.extensions.import_chats.discord_package import find_channels, read_package
from familiar_connect.extensions.import_chats.json_log import read_json_log
from familiar_connect.extensions.import_chats.take import ChatItem

_CONVERSATIONS = re.compile(r"(?:^|/)conversations(?:[-_]\d+)?\.json$")


def read_archive(data: bytes) -> Iterator[ChatItem]:
    """The chats in an archive; an `UnreadableFileError` says where it holds none that is known."""
    archive = Archive(data)
    conversations = sorted(name for name in archive.names if _CONVERSATIONS.search(name))
    if conversations:
        for name in conversations:
            try:
                yield from read_json_log(archive.read(name))
            except UnreadableFileError as error:
                where = error.where if error.where.startswith(name) else ", ".join(filter(None, (name, error.where)))
                raise UnreadableFileError(str(error), where=where) from None
    elif find_channels(archive.names):
        yield from read_package(archive)
    else:
        raise UnreadableFileError(
            "holds no chats that are known: neither a conversations.json, as ChatGPT and Claude send it, "
            "nor Discord's folder of messages"
        )
