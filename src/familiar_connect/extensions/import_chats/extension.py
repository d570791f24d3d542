"""The value by which chats of other programs are found. What reads them is loaded in the process that does."""

from __future__ import annotations

import re
from collections.abc import Iterable

from familiar_connect.api import Extension
from familiar_connect.api.importing import ChatImporterPart, ReadLimits
from familiar_connect.extensions.import_chats.take import ChatItem

MEGABYTE = 1024 * 1024
LIMITS = ReadLimits(
    file_bytes=256 * MEGABYTE,
    cpu_s=600.0,
    memory_bytes=1024 * MEGABYTE,
    wall_s=1200.0,
    output_bytes=1024 * MEGABYTE,
)
"""Room for the million messages that a chat may have; dates in words take long to read."""
_BEGINS_AS_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{|\[\s*[\[\]{\"])")
"""A text may begin with a bracket, too: around a date."""


def is_json(head: bytes, _: str) -> bool:
    return _BEGINS_AS_JSON.match(head) is not None


def is_zipped(head: bytes, _: str) -> bool:
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def is_table(head: bytes, _: str) -> bool:
    """Whether it is a table of messages, as Discord's data held them."""
    return head.removeprefix(b"\xef\xbb\xbf").startswith(b"ID,Timestamp,Contents")


def is_anything(_head: bytes, _name: str) -> bool:
    """Asked last: whatever nobody else knows may be text."""
    return True


def read_json_chat(data: bytes, _: str) -> Iterable[ChatItem]:
    from familiar_connect.extensions.import_chats.json_log import read_json_log

    return read_json_log(data)


def read_archive_chats(data: bytes, _: str) -> Iterable[ChatItem]:
    from familiar_connect.extensions.import_chats.archive_log import read_archive

    return read_archive(data)


def read_table_chat(data: bytes, _: str) -> Iterable[ChatItem]:
    from familiar_connect.extensions.import_chats.discord_package import read_table

    return read_table(data)


def read_text_chat(data: bytes, _: str) -> Iterable[ChatItem]:
    from familiar_connect.extensions.import_chats.text_log import read_text_log

    return read_text_log(data)


extension = Extension(
    name="import_chats",
    importers=(
        ChatImporterPart(name="json", recognizes=is_json, read=read_json_chat, limits=LIMITS),
        ChatImporterPart(name="archive", recognizes=is_zipped, read=read_archive_chats, limits=LIMITS),
        ChatImporterPart(name="table", recognizes=is_table, read=read_table_chat, limits=LIMITS),
        ChatImporterPart(name="text", recognizes=is_anything, read=read_text_chat, limits=LIMITS),
    ),
)
