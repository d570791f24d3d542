"""find_importer: who reads a file for `familiar import`, and what came of it, read by a child process within bounds.

The owner's extensions are asked first, in their order, then those that come with the program. What comes back is data:
lines of a chat or pages of text.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Literal, NoReturn

from familiar_connect.config.built_in import BUILT_IN_IMPORTERS, find_target
from familiar_connect.config.extension_list import find_extensions
from familiar_connect.errors import ChatImportError, DocumentImportError, SetupError
from familiar_connect.extensions.imported import ImportedLine, ImportedText, ReadLimits
from familiar_connect.extensions.importer_parts import ChatImporterPart, DocumentImporterPart
from familiar_connect.extensions.load import load_built_in, load_extensions
from familiar_connect.extensions.parts import Extension
from familiar_connect.support.bounded_process import (
    ProcessFailedError,
    ProcessLimitError,
    print_bounded,
    run_bounded,
)
from familiar_connect.support.free_memory import MEGABYTE

logger = logging.getLogger(__name__)

ImportKind = Literal["chat", "document"]

ImporterPart = ChatImporterPart | DocumentImporterPart

MODULE = "familiar_connect.extensions.import_process"
HEAD_BYTES = 4096
RECOGNIZE_LIMIT_S = 2.0
"""An importer that takes longer to look at a file is passed over."""
MEMORY_BYTES = 16 * MEGABYTE
"""Of the lines of a chat; those of a longer one wait in a file without a name."""

_ERRORS: dict[ImportKind, type[SetupError]] = {"chat": ChatImportError, "document": DocumentImportError}
_FIXES: dict[ImportKind, str] = {"chat": "split it", "document": "split it, or save it as plain text"}


@dataclass(frozen=True, kw_only=True)
class FileImporter:
    """An importer that knows a file. What is wrong with the file is a `ChatImportError` or a `DocumentImportError`."""

    extension: str
    name: str
    """What the format is called."""
    is_built_in: bool
    limits: ReadLimits
    _target: str
    _kind: ImportKind
    _home: Path

    def read_chat(self, path: Path) -> ImportedLines:
        """The lines of the chat at *path*; whoever takes them closes them."""
        with ExitStack() as unless_read:
            kept = unless_read.enter_context(SpooledTemporaryFile(MEMORY_BYTES, dir=str(self._home)))
            with self._open(path) as file:
                print_bounded(kept, MODULE, self._arguments(path), file, self.limits)
            unless_read.pop_all()
        return ImportedLines(self, path, kept)

    def read_document(self, path: Path) -> ImportedText:
        """The text of the document at *path*."""
        with self._open(path) as file:
            answer = run_bounded(MODULE, self._arguments(path), file, self.limits)
        if "pages" not in answer:
            self.refuse(path, answer)
        return ImportedText(title=str(answer.get("title", "")), pages=tuple(map(str, answer["pages"])))

    def refuse(self, path: Path, answer: dict[str, Any]) -> NoReturn:
        """Say why the child gave nothing else than *answer*."""
        error = _ERRORS[self._kind]
        if "refusal" in answer:
            raise error(_say(self._kind, path, str(answer["refusal"]), str(answer.get("where") or "")))
        if not self.is_built_in:
            what = f"cannot read it: {answer['problem']}" if "problem" in answer else "gave up on it"
            raise error(f"{path}: the extension {self.extension} {what}")
        words = str(answer.get("problem", "is damaged, its reader gave up: fetch it again"))
        if "failure" in answer:
            is_deep = answer["failure"] == RecursionError.__name__
            words = "is nested too deeply to read" if is_deep else f"is damaged ({answer['failure']}); fetch it again"
        raise error(_say(self._kind, path, words))

    def refuse_excess(self, path: Path, excess: ProcessLimitError) -> NoReturn:
        """Say of what reading the file took too much."""
        words = f"{excess}: {_FIXES[self._kind]}"
        told = _say(self._kind, path, words) if self.is_built_in else f"{path}: the extension {self.extension} {words}"
        raise _ERRORS[self._kind](told) from None

    def _arguments(self, path: Path) -> tuple[str, ...]:
        return self._target, self._kind, self.name, path.name

    @contextmanager
    def _open(self, path: Path) -> Iterator[IO[bytes]]:
        """The file at *path*; what goes wrong while a child reads it becomes a sentence."""
        error = _ERRORS[self._kind]
        with _open_file(self._kind, path) as file:
            if (size := path.stat().st_size) > self.limits.file_bytes:
                raise error(_say_too_large(self._kind, path, size, self.limits.file_bytes))
            try:
                yield file
            except ProcessLimitError as excess:
                self.refuse_excess(path, excess)
            except ProcessFailedError:
                self.refuse(path, {})
            except OSError as failed:
                words = f"cannot be read by a process of its own ({failed.strerror}): try again"
                raise error(_say(self._kind, path, words)) from None


@dataclass(frozen=True, kw_only=True)
class ChatSection:
    """Where one chat stands among what an importer printed."""

    title: str = ""
    key: str = ""
    start: int = 0
    end: int | None = None
    """None: at the end of all."""
    remarks: tuple[str, ...] = ()


class ImportedLines:
    """The lines that an importer found in a file, or in one chat of it, walked through as often as is wanted."""

    def __init__(self, importer: FileImporter, path: Path, kept: IO[bytes], section: ChatSection | None = None) -> None:
        self._importer = importer
        self._path = path
        self._kept = kept
        self.section = section or ChatSection()
        """Which part of the file is meant; all of it unless `chats` told them apart."""

    def __iter__(self) -> Iterator[ImportedLine]:
        """The lines in their order; what the importer found wrong after them is raised where it stands."""
        for _, row in self._rows(self.section.start, self.section.end):
            if "text" in row:
                try:
                    line = _line_of(row)
                except (ValueError, TypeError):
                    self._importer.refuse(self._path, {})
                yield line

    def chats(self) -> tuple[tuple[ImportedLines, ...], tuple[str, ...]]:
        """Each chat of the file that holds a line, and the remarks about the whole of it, once all of it was read."""
        found: list[ChatSection] = []
        of_file: list[str] = []
        head, count, remarks = ChatSection(), 0, list[str]()
        at = 0
        for at, row in self._rows(0, None):
            if "title" in row:
                if count:
                    found.append(replace(head, end=at, remarks=tuple(remarks)))
                head, count, remarks = (
                    ChatSection(title=str(row["title"]), key=str(row.get("key", "")), start=at),
                    0,
                    [],
                )
            elif "remark" in row:
                (of_file if row.get("is_of_file") is True else remarks).append(str(row["remark"]))
            else:
                count += 1
        if count or not found:
            found.append(replace(head, remarks=tuple(remarks)))
        chats = (ImportedLines(self._importer, self._path, self._kept, each) for each in found)
        return tuple(chats), tuple(of_file)

    def close(self) -> None:
        self._kept.close()

    def _rows(self, start: int, end: int | None) -> Iterator[tuple[int, dict[str, Any]]]:
        """What was printed between two places, each with where it begins; refused where it is not whole."""
        self._kept.seek(start)
        row: dict[str, Any] = {}
        at = start
        while end is None or at < end:
            printed = self._kept.readline()
            try:
                row = json.loads(printed) if printed else {}
            except (ValueError, RecursionError):
                self._importer.refuse(self._path, {})
            if not isinstance(row, dict) or not row.keys() & {"text", "title", "remark"}:
                break
            yield at, row
            at += len(printed)
        else:
            return
        if not isinstance(row, dict):
            self._importer.refuse(self._path, {})
        if row.get("excess") == "memory":
            self._importer.refuse_excess(self._path, ProcessLimitError("memory", self._importer.limits))
        if row.get("is_whole") is not True:
            self._importer.refuse(self._path, row)


def find_importer(home: Path, path: Path, kind: ImportKind) -> FileImporter:
    """The first importer that knows the file at *path*.

    Nothing of a stranger's package is looked at that the owner has not allowed.
    """
    with _open_file(kind, path) as file:
        head = file.read(HEAD_BYTES)
    for extension, target, part in _list_parts(home, kind):
        if _knows(part, extension.name, head, path.name):
            return FileImporter(
                extension=extension.name,
                name=part.name,
                is_built_in=extension.name in BUILT_IN_IMPORTERS,
                limits=part.limits or ReadLimits(),
                _target=target,
                _kind=kind,
                _home=home,
            )
    raise _ERRORS[kind](_say(kind, path, "has a format that nothing here knows: save it as plain text"))


def _list_parts(home: Path, kind: ImportKind) -> Iterator[tuple[Extension, str, ImporterPart]]:
    """Every importer of *kind*, with its extension and where that lies: the owner's, then those of the program."""
    wanted = ChatImporterPart if kind == "chat" else DocumentImporterPart
    allowed = [each.extension for each in load_extensions(home) if each.extension is not None]
    targets = {name: find_target(name) for name in BUILT_IN_IMPORTERS}
    if any(extension.importers for extension in allowed):  # to look through all packages takes long
        targets |= {each.name: each.target for each in find_extensions()}
    ours = [each.extension for each in load_built_in(BUILT_IN_IMPORTERS) if each.extension is not None]
    for extension in (*allowed, *ours):
        for part in extension.importers:
            if isinstance(part, wanted) and extension.name in targets:
                yield extension, targets[extension.name], part


def _knows(part: ImporterPart, extension: str, head: bytes, name: str) -> bool:
    """Whether *part* says that the file is its own; one that fails or takes long does not."""
    answers: list[bool] = []

    def ask(recognizes: Callable[[bytes, str], bool] = part.recognizes) -> None:
        try:
            answers.append(recognizes(head, name) is True)
        except Exception as error:  # isolation: an importer that fails knows nothing
            logger.warning("an importer failed", extra={"extension": extension, "error": type(error).__name__})

    thread = threading.Thread(target=ask, name=f"importer of {extension}", daemon=True)
    thread.start()
    thread.join(RECOGNIZE_LIMIT_S)
    return answers == [True]


def _open_file(kind: ImportKind, path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise _ERRORS[kind](_say(kind, path, f"cannot be read ({error.strerror})")) from error


def _say(kind: ImportKind, path: Path, words: str, where: str = "") -> str:
    """One sentence that names the file, as those of its kind do."""
    named = f"{path}, {where}" if where else f"{path}"
    return f"{named}: {words}" if kind == "chat" or where else f"{named} {words}"


def _say_too_large(kind: ImportKind, path: Path, size: int, most: int) -> str:
    if kind == "chat":
        return f"{path}: is larger than the {most:,} bytes a chat may have; split it"
    return f"{path} is too large ({size:,} bytes, at most {most:,}): split it"


def _line_of(row: dict[str, Any]) -> ImportedLine:
    sent = row.get("sent")
    return ImportedLine(
        name=str(row.get("name", "")),
        text=str(row["text"]),
        sent=datetime.fromisoformat(sent) if isinstance(sent, str) else None,
        is_user=row.get("is_user") is True,
        is_character=row.get("is_character") is True,
        is_hidden=row.get("is_hidden") is True,
        is_narrator=row.get("is_narrator") is True,
        versions=tuple(map(str, row.get("versions", ()))),
    )
