"""The media type of bytes, from how they begin, whatever their name or server says."""

from __future__ import annotations

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"\x00\x00\x01\xba", "video/mpeg"),
    (b"\x00\x00\x01\xb3", "video/mpeg"),
)
_QUICKTIME_BRANDS = (b"qt  ",)
_NOT_FILMS = (b"heic", b"heix", b"mif1", b"msf1", b"avif", b"avis", b"M4A ", b"M4B ")
"""Brands of the same container that are pictures or sound; none of them is shown."""


def sniff_media_type(data: bytes) -> str | None:
    """The type of *data*, of those that can be shown; None for everything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp":
        brand = data[8:12]
        return None if brand in _NOT_FILMS else "video/quicktime" if brand in _QUICKTIME_BRANDS else "video/mp4"
    return next((kind for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)
