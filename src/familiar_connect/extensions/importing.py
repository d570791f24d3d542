"""read_by_extension: a file in a format that an extension knows, read by a child process within bounds.

What comes back is data: lines of a chat or pages of text, which go the same way as those of our own formats.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from familiar_connect.config.extension_list import FoundExtension, find_extensions
from familiar_connect.errors import SetupError
from familiar_connect.extensions.imported import ImportedLine, ImportedText
from familiar_connect.extensions.load import load_extensions
from familiar_connect.extensions.parts import ChatImporterPart, DocumentImporterPart
from familiar_connect.support.bounded_process import ProcessFailedError, ProcessLimitError, ProcessLimits, run_bounded
from familiar_connect.support.free_memory import MEGABYTE

logger = logging.getLogger(__name__)

ImportKind = Literal["chat", "document"]

ImporterPart = ChatImporterPart | DocumentImporterPart

MODULE = "familiar_connect.extensions.import_process"
LIMITS = ProcessLimits(cpu_s=60.0, memory_bytes=512 * MEGABYTE, wall_s=120.0)
MAX_FILE_BYTES = 64 * MEGABYTE
HEAD_BYTES = 4096
RECOGNIZE_LIMIT_S = 2.0
"""An importer that takes longer to look at a file is passed over."""


class ImporterFault(SetupError):
    """A file that an extension took for its own and could not read; says which, and what to do."""


@dataclass(frozen=True, kw_only=True)
class FileImporter:
    """An importer that knows a file."""

    extension: str
    name: str
    """What the format is called."""
    _target: str
    _kind: ImportKind

    def read_chat(self, path: Path) -> list[ImportedLine]:
        """The lines of the chat at *path*; `ImporterFault` says why there are none."""
        return [_line_of(row, self.extension) for row in self._read(path).get("lines", ())]

    def read_document(self, path: Path) -> ImportedText:
        """The text of the document at *path*; `ImporterFault` says why there is none."""
        answer = self._read(path)
        return ImportedText(title=str(answer.get("title", "")), pages=tuple(map(str, answer.get("pages", ()))))

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise ImporterFault(f"{path} is larger than {MAX_FILE_BYTES // MEGABYTE} MB: split it")
            answer = run_bounded(MODULE, (self._target, self._kind, self.name, path.name), path.read_bytes(), LIMITS)
        except OSError as error:
            raise ImporterFault(f"{path} cannot be read ({error.strerror})") from error
        except ProcessLimitError as error:
            raise ImporterFault(f"{path}: the extension {self.extension} {error}: split the file") from error
        except ProcessFailedError as error:
            raise ImporterFault(f"{path}: the extension {self.extension} gave up on it") from error
        if "problem" in answer:
            raise ImporterFault(f"{path}: the extension {self.extension} cannot read it: {answer['problem']}")
        return answer


def find_importer(home: Path, path: Path, kind: ImportKind) -> FileImporter | None:
    """The first importer of the owner's extensions that knows the file at *path*; None: none does.

    Nothing of a package is looked at that the owner has not allowed.
    """
    parts = list(_list_parts(home, kind))
    if not parts:
        return None
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return None  # whoever reads it by our own formats says what is wrong
    for found, part in parts:
        if _knows(part, found.name, head, path.name):
            return FileImporter(extension=found.name, name=part.name, _target=found.target, _kind=kind)
    return None


def _list_parts(home: Path, kind: ImportKind) -> Iterator[tuple[FoundExtension, ImporterPart]]:
    wanted = ChatImporterPart if kind == "chat" else DocumentImporterPart
    loaded = [each.extension for each in load_extensions(home) if each.extension is not None]
    if not any(isinstance(part, wanted) for extension in loaded for part in extension.importers):
        return
    installed = {each.name: each for each in find_extensions()}
    for extension in loaded:
        for part in extension.importers:
            if isinstance(part, wanted) and extension.name in installed:
                yield installed[extension.name], part


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


def _line_of(row: object, extension: str) -> ImportedLine:
    if not isinstance(row, dict):
        raise ImporterFault(f"the extension {extension} gave something else than lines of a chat")
    sent = row.get("sent")
    return ImportedLine(
        name=str(row.get("name", "")),
        text=str(row.get("text", "")),
        sent=datetime.fromisoformat(sent) if isinstance(sent, str) else None,
        is_user=row.get("is_user") is True,
    )
