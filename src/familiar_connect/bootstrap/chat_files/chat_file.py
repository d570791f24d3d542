"""ChatFile: a chat somebody brings along, read message by message in whatever form it has.

SillyTavern's `.jsonl` (with or without a header line, also of groups) is read here; any other form by the importer
that knows it. A file of SillyTavern's is read as often as it is walked through, so that one of any length takes little
memory. What is wrong is a `ChatImportError` that names file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import IO, Any

from familiar_connect.bootstrap.chat_files.file_message import MAX_NAME_CHARS, FileMessage, Speaker
from familiar_connect.bootstrap.chat_files.sillytavern_lines import message_of_row
from familiar_connect.chat.files.file_lines import parse_object, read_lines, read_objects
from familiar_connect.errors import ChatImportError, UnreadableFileError
from familiar_connect.extensions.imported import MAX_TEXT_CHARS, ImportedLine
from familiar_connect.extensions.importing import FileImporter, ImportedLines, find_importer
from familiar_connect.support.text import one_line, without_surrogates

SILLYTAVERN = "sillytavern"
OTHERS = "extension"
MAX_FILE_BYTES = 1024 * 1024 * 1024
MAX_HEADER_CHARS = 200_000
"""Of SillyTavern's first line, which is kept with settings and variables."""
MAX_MESSAGES = 1_000_000
HEADER_KEYS = ("chat_metadata", "user_name", "character_name")


@dataclass(frozen=True, kw_only=True)
class ChatFile:
    """One chat file. One that an importer read has to be closed."""

    path: Path
    header: Mapping[str, Any] = field(default_factory=dict)
    """SillyTavern's first line."""
    zone: tzinfo = UTC
    """Where times without an offset are meant."""
    importer: FileImporter | None = None
    """Who read it; None: it is SillyTavern's."""
    lines: ImportedLines | None = None
    """What the importer found, of this chat alone."""
    also: tuple[str, ...] = ()
    """Remarks about the whole of a file that holds several chats; with the first of them alone."""

    @property
    def form(self) -> str:
        """What its format is called, where it is one that we bring."""
        if self.importer is None:
            return SILLYTAVERN
        return self.importer.name if self.importer.is_built_in else OTHERS

    @property
    def title(self) -> str:
        """What the file calls the chat; empty: nothing."""
        return one_line(self.lines.section.title) if self.lines is not None else ""

    @property
    def key(self) -> str:
        """What tells the chat from every other of the program it comes from; empty: only its name does."""
        return self.lines.section.key if self.lines is not None else ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the importer says of the chat and of its file."""
        own = self.lines.section.remarks if self.lines is not None else ()
        return (*own, *self.also)

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

    def close(self) -> None:
        if self.lines is not None:
            self.lines.close()

    def _walk(self) -> Iterator[FileMessage]:
        if self.lines is not None:
            for number, line in enumerate(self.lines, start=1):
                yield _message_of_line(line, number, f"{self.path}, message {number}", self.zone)
            return
        is_first = True
        with _open(self.path) as file:
            for number, row in read_objects(file):
                if not is_first or not _is_header(row):
                    yield message_of_row(row, number, f"{self.path}, line {number}", self.zone)
                is_first = False


def read_chat_files(path: Path, *, home: Path, zone: tzinfo = UTC) -> list[ChatFile]:
    """The chats in the file at *path*, read by who knows it: an extension that *home* allows, we, or one of ours."""
    _check_size(path)
    importer = find_importer(home, path, "chat")
    if importer.is_built_in and (chat := find_sillytavern_chat(path, zone=zone)) is not None:
        return [chat]
    with ExitStack() as unless_read:
        lines = importer.read_chat(path)
        unless_read.callback(lines.close)
        chats, also = lines.chats()
        unless_read.pop_all()
    return [
        ChatFile(path=path, importer=importer, lines=each, zone=zone, also=() if number else also)
        for number, each in enumerate(chats)
    ]


def find_sillytavern_chat(path: Path, *, zone: tzinfo = UTC) -> ChatFile | None:
    """The chat file at *path*, looked at but not yet read; None when its form is another than SillyTavern's."""
    _check_size(path)
    with _open(path) as file:
        first = next((text.strip() for _, text in read_lines(file) if text.strip()), "")
    if not first:
        raise ChatImportError(f"{path}: is empty; choose a chat file")
    row = parse_object(first) if first[0] == "{" else None
    if row is None or not ("mes" in row or _is_header(row)):
        return None
    if _is_header(row) and len(first) > MAX_HEADER_CHARS:
        raise ChatImportError(
            f"{path}, line 1: the head of a chat may have {MAX_HEADER_CHARS:,} characters; take out of its"
            " `chat_metadata` what is so large"
        )
    return ChatFile(path=path, header=row if _is_header(row) else {}, zone=zone)


def _message_of_line(line: ImportedLine, number: int, where: str, zone: tzinfo) -> FileMessage:
    """What an importer found, as a message; what is too long is refused."""
    if max(map(len, (line.text, *line.versions))) > MAX_TEXT_CHARS:
        raise ChatImportError(f"{where}: may have {MAX_TEXT_CHARS:,} characters at most")
    if line.versions and line.text not in line.versions:
        raise ChatImportError(f"{where}: its text is none of its versions")
    speaker: Speaker = "user" if line.is_user else "character" if line.is_character else ""
    return FileMessage(
        line=number,
        name=one_line(without_surrogates(line.name))[:MAX_NAME_CHARS],
        text=without_surrogates(line.text),
        speaker=speaker,
        is_hidden=line.is_hidden,
        is_narrator=line.is_narrator,
        versions=tuple(map(without_surrogates, line.versions)),
        chosen=line.versions.index(line.text) if line.text in line.versions else 0,
        sent=line.sent.replace(tzinfo=zone) if line.sent is not None and line.sent.tzinfo is None else line.sent,
    )


def _is_header(row: Mapping[str, Any]) -> bool:
    """Whether *row* is SillyTavern's first line; an object that holds a list of objects is a log of another program."""
    is_log = any(isinstance(each, list) and each and isinstance(each[0], dict) for each in row.values())
    return "mes" not in row and not is_log and any(key in row for key in HEADER_KEYS)


def _check_size(path: Path) -> None:
    try:
        if not path.is_file():
            raise ChatImportError(f'{path}: is not a file; name a chat such as "chats/Wren/Wren - evening.jsonl"')
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ChatImportError(f"{path}: is larger than the {MAX_FILE_BYTES:,} bytes a chat may have; split it")
    except OSError as error:
        raise ChatImportError(f"{path}: cannot be read ({error.strerror})") from None


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """The file at *path*; what is wrong with a line of it is said with its name."""
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise ChatImportError(f"{path}: cannot be read ({error.strerror})") from None
    except UnreadableFileError as error:
        raise ChatImportError(f"{path}, {error.where}: {error}") from None
