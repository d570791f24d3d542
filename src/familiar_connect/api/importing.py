"""For importers: what `familiar import chat` and `familiar import document` read besides our own formats."""

from __future__ import annotations

from familiar_connect.extensions.imported import ImportedLine, ImportedText
from familiar_connect.extensions.parts import ChatImporterPart, DocumentImporterPart

__all__ = ["ChatImporterPart", "DocumentImporterPart", "ImportedLine", "ImportedText"]
