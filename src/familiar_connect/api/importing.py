"""For importers: how `familiar import chat` and `familiar import document` come to read one more format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.support.lazy_names import load_lazily

if TYPE_CHECKING:
    from familiar_connect.chat.files.file_lines import parse_object, parse_send_date, read_lines, read_objects
    from familiar_connect.errors import UnreadableFileError
    from familiar_connect.extensions.imported import (
        MAX_TEXT_CHARS,
        ImportedChat,
        ImportedLine,
        ImportedText,
        ImportRemark,
        ReadLimits,
    )
    from familiar_connect.extensions.importer_parts import ChatImporterPart, DocumentImporterPart
    from familiar_connect.support.markdown import read_headings

__all__ = [
    "MAX_TEXT_CHARS",
    "ChatImporterPart",
    "DocumentImporterPart",
    "ImportRemark",
    "ImportedChat",
    "ImportedLine",
    "ImportedText",
    "ReadLimits",
    "UnreadableFileError",
    "parse_object",
    "parse_send_date",
    "read_headings",
    "read_lines",
    "read_objects",
]

__getattr__ = load_lazily(
    __name__,
    {
        "chat.files.file_lines": ("parse_object", "parse_send_date", "read_lines", "read_objects"),
        "errors": ("UnreadableFileError",),
        "extensions.imported": (
            "MAX_TEXT_CHARS",
            "ImportedChat",
            "ImportedLine",
            "ImportedText",
            "ImportRemark",
            "ReadLimits",
        ),
        "extensions.importer_parts": ("ChatImporterPart", "DocumentImporterPart"),
        "support.markdown": ("read_headings",),
    },
)
