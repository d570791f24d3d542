"""What a document is: its first bytes say it before its name does."""

from __future__ import annotations

import re
from pathlib import PurePath

MARKDOWN = (".md", ".markdown", ".mdown")
WEB_PAGE = (".html", ".htm", ".xhtml")
_LOOKS_LIKE_A_PAGE = re.compile(rb"^\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE)


def begins_as_pdf(head: bytes) -> bool:
    return b"%PDF-" in head[:1024]


def is_pdf(head: bytes, name: str) -> bool:
    """Whether it is one, or is called one and looks like nothing else."""
    return begins_as_pdf(head) or (_suffix(name) == ".pdf" and not _LOOKS_LIKE_A_PAGE.match(head))


def is_page(head: bytes, name: str) -> bool:
    return _LOOKS_LIKE_A_PAGE.match(head) is not None or _suffix(name) in WEB_PAGE


def is_markdown(_: bytes, name: str) -> bool:
    return _suffix(name) in MARKDOWN


def is_anything(_head: bytes, _name: str) -> bool:
    """Asked last: whatever nobody else knows may be text."""
    return True


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()
