"""read_document: a file as title and pages of text, read by a child process within bounds of size, time and memory."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.bootstrap.child_reader import read_in_child
from familiar_connect.bootstrap.document_files.parse_document import DocumentText, document_kind
from familiar_connect.errors import DocumentImportError
from familiar_connect.support.bounded_process import ProcessLimits

MAX_FILE_BYTES = 50_000_000
MAX_TEXT_BYTES = 8_000_000
_HEAD_BYTES = 4096


def read_document(path: Path, *, limits: ProcessLimits | None = None) -> DocumentText:
    """The text of the file at *path*; DocumentImportError says why there is none."""
    try:
        if path.is_dir():
            raise DocumentImportError(f"{path} is a folder: name the files in it")
        if not path.is_file():
            raise DocumentImportError(f"there is no file {path}")
        with path.open("rb") as file:
            is_pdf = _is_pdf(file.read(_HEAD_BYTES), path)
            most = MAX_FILE_BYTES if is_pdf else MAX_TEXT_BYTES
            file.seek(0)
            data = file.read(most + 1)
            size = path.stat().st_size
    except OSError as error:
        raise DocumentImportError(f"{path} cannot be read ({error.strerror})") from error
    if len(data) > most:
        raise DocumentImportError(f"{path} is too large ({size:,} bytes, at most {most:,}): split it")
    answer = read_in_child(
        "pdf" if is_pdf else "document",
        data,
        (path.name,),
        shown=str(path),
        error=DocumentImportError,
        limits=limits,
    )
    if "pages" not in answer:
        raise DocumentImportError(f"{path} {answer.get('problem', 'cannot be read')}")
    return DocumentText(kind=answer["kind"], title=answer["title"], pages=tuple(answer["pages"]))


def _is_pdf(head: bytes, path: Path) -> bool:
    try:
        return document_kind(head, path.name) == "PDF"
    except DocumentImportError as error:
        raise DocumentImportError(f"{path} {error}") from None
