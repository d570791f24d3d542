"""ChatFile: a chat somebody brings along, read message by message in whatever form it has.

SillyTavern's `.jsonl` (with or without a header line, also of groups), one JSON object a line of other programs, a JSON
list, or plain text. A file is read as often as it is walked through, so that one of any length takes little memory; a
JSON list alone is read whole. What is wrong is a `ChatImportError` that names file and line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from familiar_connect.bootstrap.chat_files.file_message import (
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    ChatFileForm,
    FileMessage,
)
from familiar_connect.bootstrap.chat_files.json_log import find_message_list, message_of_entry
from familiar_connect.bootstrap.chat_files.sillytavern_lines import message_of_row
from familiar_connect.bootstrap.chat_files.text_log import find_speakers, parse_text_log
from familiar_connect.errors import ChatImportError
from familiar_connect.extensions.imported import ImportedLine
from familiar_connect.support.text import one_line

MAX_FILE_BYTES = 1024 * 1024 * 1024
MAX_JSON_BYTES = 64 * 1024 * 1024
"""Of a JSON list, which is read whole."""
MAX_HEADER_CHARS = 200_000
"""Of SillyTavern's first line, which is kept with settings and variables."""
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_MESSAGES = 1_000_000
MAX_DEPTH = 100
HEADER_KEYS = ("chat_metadata", "user_name", "character_name")


@dataclass(frozen=True, kw_only=True)
class ChatFile:
    """One chat file, looked at but not yet read."""

    path: Path
    form: ChatFileForm
    header: Mapping[str, Any] = field(default_factory=dict)
    """SillyTavern's first line."""
    zone: tzinfo = UTC
    """Where times without an offset are meant."""
    speakers: frozenset[str] = frozenset()
    """Of plain text: whose names begin messages."""
    given: tuple[FileMessage, ...] = ()
    """Of a format that an extension read: all of it."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        found = self.header.get("chat_metadata")
        return found if isinstance(found, Mapping) else {}

    def messages(self) -> Iterator[FileMessage]:
        """The messages, oldest first."""
        for count, message in enumerate(self._walk(), start=1):
            if count > MAX_MESSAGES:
                raise ChatImportError(f"{self.path}: holds more than {MAX_MESSAGES:,} messages; split it")
            yield message

    def _walk(self) -> Iterator[FileMessage]:
        if self.form == "extension":
            yield from self.given
        elif self.form == "text":
            lines = (_decoded(line, where) for line, where in _lines_of(self.path))
            yield from parse_text_log(lines, self.speakers, str(self.path), self.zone)
        elif self.form == "json":
            yield from self._walk_json()
        else:
            is_first = True
            for number, row, where in _rows_of(self.path):
                if is_first and _is_header(row):
                    is_first = False
                    continue
                is_first = False
                yield message_of_row(row, number, where, self.zone)

    def _walk_json(self) -> Iterator[FileMessage]:
        entries = _json_entries(self.path)
        if entries is not None:
            for number, entry in enumerate(entries, start=1):
                yield message_of_entry(entry, number, f"{self.path}, message {number}", self.zone)
            return
        for number, row, where in _rows_of(self.path):
            yield message_of_entry(row, number, where, self.zone)


def read_chat_file(path: Path, *, zone: tzinfo = UTC) -> ChatFile:
    """The chat file at *path*, its form told from what it holds."""
    size = _size_of(path)
    if size > MAX_FILE_BYTES:
        raise ChatImportError(f"{path}: is larger than the {MAX_FILE_BYTES:,} bytes a chat may have; split it")
    first = next((_decoded(line, where).strip() for line, where in _lines_of(path) if line.strip()), "")
    if not first:
        raise ChatImportError(f"{path}: is empty; choose a chat file")
    if first[0] == "{" and (row := _object_or_none(first)) is not None and not find_message_list(row):
        if _is_header(row) and len(first) > MAX_HEADER_CHARS:
            raise ChatImportError(
                f"{path}, line 1: the head of a chat may have {MAX_HEADER_CHARS:,} characters; take out of its"
                " `chat_metadata` what is so large"
            )
        if "mes" in row or _is_header(row):
            return ChatFile(path=path, form="sillytavern", header=row if _is_header(row) else {}, zone=zone)
        return ChatFile(path=path, form="json", zone=zone)
    if first[0] in "[{" and _json_entries(path) is not None:
        return ChatFile(path=path, form="json", zone=zone)
    if first[0] == "{":
        raise ChatImportError(
            f"{path}, line 1: is neither a line of SillyTavern's chats nor a list of messages; choose one of its .jsonl"
        )
    texts = (_decoded(line, where) for line, where in _lines_of(path))
    return ChatFile(path=path, form="text", speakers=find_speakers(texts, zone), zone=zone)


def chat_of_lines(path: Path, lines: Sequence[ImportedLine], *, zone: tzinfo = UTC) -> ChatFile:
    """The chat that an extension found in the file at *path*; what is too long in it is refused like ours."""
    given = []
    for number, line in enumerate(lines, start=1):
        if len(line.text) > MAX_TEXT_CHARS:
            raise ChatImportError(f"{path}, message {number}: may have {MAX_TEXT_CHARS:,} characters at most")
        sent = line.sent if line.sent is None or line.sent.tzinfo is not None else line.sent.replace(tzinfo=zone)
        name = one_line(line.name)[:MAX_NAME_CHARS]
        given.append(
            FileMessage(line=number, name=name, text=line.text, sent=sent, speaker="user" if line.is_user else "")
        )
    return ChatFile(path=path, form="extension", zone=zone, given=tuple(given))


def _is_header(row: Mapping[str, Any]) -> bool:
    return "mes" not in row and any(key in row for key in HEADER_KEYS)


def _size_of(path: Path) -> int:
    try:
        if not path.is_file():
            raise ChatImportError(f'{path}: is no file; name a chat such as "chats/Wren/Wren - evening.jsonl"')
        return path.stat().st_size
    except OSError as error:
        raise ChatImportError(f"{path}: cannot be read ({error.strerror})") from None


def _lines_of(path: Path) -> Iterator[tuple[bytes, str]]:
    """Each line, and what a sentence calls it."""
    try:
        with open(path, "rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                where = f"{path}, line {number}"
                if len(line) > MAX_LINE_BYTES:
                    raise ChatImportError(f"{where}: is longer than {MAX_LINE_BYTES:,} bytes; shorten it")
                yield line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, where
    except OSError as error:
        raise ChatImportError(f"{path}: cannot be read ({error.strerror})") from None


def _decoded(line: bytes, where: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise ChatImportError(f"{where}: is not UTF-8 text; save the file as UTF-8") from None


def _rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any], str]]:
    for number, (line, where) in enumerate(_lines_of(path), start=1):
        text = _decoded(line, where)
        if not text.strip():
            continue
        row = _object_or_none(text)
        if row is None:
            raise ChatImportError(f"{where}: is no JSON object; mend that line or take it out")
        yield number, row, where


def _object_or_none(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not _is_deep(found, text) else None


def _is_deep(value: object, text: str) -> bool:
    """Whether what *text* holds is nested deeper than anybody writes."""
    return text.count("{") + text.count("[") > MAX_DEPTH and depth_of(value) > MAX_DEPTH


def depth_of(value: object, depth: int = 1) -> int:
    """How deep *value* is nested, counted no further than is allowed."""
    if depth > MAX_DEPTH or not isinstance(value, dict | list):
        return depth
    inner = value.values() if isinstance(value, dict) else value
    return max((depth_of(each, depth + 1) for each in inner), default=depth)


def _json_entries(path: Path) -> list[Any] | None:
    """The messages of a file that is one JSON value; None when it is not."""
    if _size_of(path) > MAX_JSON_BYTES:
        return None
    try:
        return find_message_list(json.loads(path.read_bytes()))
    except OSError as error:
        raise ChatImportError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        return None
