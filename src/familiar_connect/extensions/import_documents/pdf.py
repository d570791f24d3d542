"""read_pdf: title and pages of a PDF. It may take long and much memory."""

from __future__ import annotations

import io
import re

from familiar_connect.api.importing import ImportedText, UnreadableFileError
from familiar_connect.extensions.import_documents.formats import begins_as_pdf

MAX_PAGES = 2_000
MAX_CHARS = 4_000_000
_HYPHENATED = re.compile(r"(?<=[a-zß-ÿ])-\n(?=[a-zß-ÿ])")


def read_pdf(data: bytes) -> ImportedText:
    """Title and the text of each page; UnreadableFileError says why there is none."""
    if not begins_as_pdf(data):
        raise UnreadableFileError("is named as a PDF but is not one")
    title, pages = _extract(data)
    if not any(page.strip() for page in pages):
        raise UnreadableFileError("holds no text: its pages are pictures; run text recognition over it first")
    return ImportedText(title=title, pages=tuple(_HYPHENATED.sub("", page) for page in pages))  # words whole again


def _extract(data: bytes) -> tuple[str, list[str]]:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError:
        raise UnreadableFileError("is a PDF, and pypdf is not installed: pip install 'pypdf>=5'") from None
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableFileError("is locked with a password: save it without one and import that")
        count = len(reader.pages)
        if count > MAX_PAGES:
            raise UnreadableFileError(f"has {count:,} pages, more than {MAX_PAGES:,}: split it")
        pages: list[str] = []
        size = 0
        for page in reader.pages:
            pages.append(page.extract_text() or "")
            size += len(pages[-1])
            if size > MAX_CHARS:
                raise UnreadableFileError(f"holds more than {MAX_CHARS:,} characters: split it")
        title = reader.metadata.title if reader.metadata is not None else None
        return str(title or "")[:300], pages
    except PyPdfError as error:
        raise UnreadableFileError(f"cannot be read as a PDF ({type(error).__name__})") from None
