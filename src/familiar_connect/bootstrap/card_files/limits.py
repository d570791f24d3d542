"""Limits on reading card files, far above any real card."""

from __future__ import annotations

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Of a card's text once decoded, and of one file unpacked from an archive."""
MAX_YAML_BYTES = 1024 * 1024
"""YAML is slow to read and its cards are small."""
MAX_MEMBERS = 2_000
"""Files in one archive."""
MAX_DEPTH = 200
"""Objects within objects."""
MAX_WRAPPINGS = 4
"""Base64 or strings around the JSON, one in another."""


def megabytes(size: int) -> str:
    """*size* in megabytes, for a sentence."""
    return f"{size / (1024 * 1024):.0f} MB"
