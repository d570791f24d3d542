"""read_pdf: title and pages of a PDF. It may take long and much memory, so a child process calls it."""

from __future__ import annotations

import io

from familiar_connect.errors import DocumentImportError

MAX_PAGES = 2_000
MAX_CHARS = 4_000_000


def read_pdf(data: bytes) -> tuple[str, list[str]]:
    """Title and the text of each page; DocumentImportError says why there is none."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError:
        raise DocumentImportError("is a PDF, and pypdf is not installed: pip install 'pypdf>=5'") from None
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentImportError("is locked with a password: save it without one and import that")
        count = len(reader.pages)
        if count > MAX_PAGES:
            raise DocumentImportError(f"has {count:,} pages, more than {MAX_PAGES:,}: split it")
        pages: list[str] = []
        size = 0
        for page in reader.pages:
            pages.append(page.extract_text() or "")
            size += len(pages[-1])
            if size > MAX_CHARS:
                raise DocumentImportError(f"holds more than {MAX_CHARS:,} characters: split it")
        title = reader.metadata.title if reader.metadata is not None else None
        return str(title or "")[:300], pages
    except PyPdfError as error:
        raise DocumentImportError(f"cannot be read as a PDF ({type(error).__name__})") from None
