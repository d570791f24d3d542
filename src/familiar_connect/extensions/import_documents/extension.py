"""The value by which documents are found. What reads them is loaded in the process that does."""

from __future__ import annotations

from familiar_connect.api import Extension
from familiar_connect.api.importing import DocumentImporterPart, ImportedText, ReadLimits
from familiar_connect.extensions.import_documents.formats import is_anything, is_markdown, is_page, is_pdf

MEGABYTE = 1024 * 1024
TEXT_LIMITS = ReadLimits(file_bytes=8_000_000, cpu_s=1.5, memory_bytes=160 * MEGABYTE, wall_s=30.0)
PDF_LIMITS = ReadLimits(file_bytes=50_000_000, cpu_s=120.0, memory_bytes=1024 * MEGABYTE, wall_s=240.0)
"""A long PDF takes its reader a minute; its limits end only what would never end."""


def read_pdf(data: bytes, _: str) -> ImportedText:
    from familiar_connect.extensions.import_documents import pdf

    return pdf.read_pdf(data)


def read_web_page(data: bytes, _: str) -> ImportedText:
    from familiar_connect.extensions.import_documents import web_page

    return web_page.read_web_page(data)


def read_markdown(data: bytes, _: str) -> ImportedText:
    from familiar_connect.extensions.import_documents import plain_text

    return plain_text.read_markdown(data)


def read_plain_text(data: bytes, _: str) -> ImportedText:
    from familiar_connect.extensions.import_documents import plain_text

    return plain_text.read_plain_text(data)


extension = Extension(
    name="import_documents",
    importers=(
        DocumentImporterPart(name="PDF", recognizes=is_pdf, read=read_pdf, limits=PDF_LIMITS),
        DocumentImporterPart(name="web page", recognizes=is_page, read=read_web_page, limits=TEXT_LIMITS),
        DocumentImporterPart(name="markdown", recognizes=is_markdown, read=read_markdown, limits=TEXT_LIMITS),
        DocumentImporterPart(name="text", recognizes=is_anything, read=read_plain_text, limits=TEXT_LIMITS),
    ),
)
