"""AttachmentStore: pictures that people attached to what they said, kept in a folder of the familiar.

Each lies under the SHA-256 of its bytes and goes by an address of our own, `attachment:HASH`. What it is, its first
bytes say; nothing else is kept. FetchWithAttachments brings them as any other picture is brought.

The media type of bytes, from how they begin, whatever their name or server says.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from pathlib import Path

from familiar_connect.errors import FetchError
from familiar_connect.support.aio import off_loop
from familiar_connect.support.fetch.client import FetchLimits, FetchResult, GuardedFetch
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes, remove_file

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


SCHEME = "attachment:"
MAX_ATTACHMENT_BYTES = 5 * 1024 * 1024
"""As much as a picture may have that a model is shown."""
_HASH = re.compile("[0-9a-f]{64}")
_ADDRESS = re.compile(f"{SCHEME}([0-9a-f]{{64}})")


class AttachmentStore:
    """The pictures in *folder*, which is made by the first of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Keep a picture, once; its address. On disk when this returns."""
        name = hashlib.sha256(data).hexdigest()
        path = self._folder / name
        if not path.is_file():
            atomic_write(path, data)
        return f"{SCHEME}{name}"

    def read(self, name: str) -> tuple[bytes, str] | None:
        """The picture of that hash and its type by its first bytes; None where there is none that can be shown."""
        if not _HASH.fullmatch(name):
            return None
        try:
            data = load_bytes(self._folder / name, MAX_ATTACHMENT_BYTES + 1)
        except OSError:
            return None
        kind = sniff_media_type(data)
        is_picture = kind is not None and kind.startswith("image/") and len(data) <= MAX_ATTACHMENT_BYTES
        return (data, kind) if is_picture and kind is not None else None

    def remove_all_but(self, names: Collection[str]) -> int:
        """Delete every picture whose hash is not among *names*; how many went."""
        there = [path for path in self._folder.glob("*") if _HASH.fullmatch(path.name)]
        gone = [path for path in there if path.name not in names]
        for path in gone:
            remove_file(path)
        return len(gone)


def attachment_name(address: str) -> str | None:
    """The hash in an address of ours; None for any other."""
    found = _ADDRESS.fullmatch(address)
    return found[1] if found is not None else None


def find_attachment_names(text: str) -> set[str]:
    """The hashes of all addresses of ours in *text*."""
    return set(_ADDRESS.findall(text))


class FetchWithAttachments:
    """Brings what was attached from its folder, and everything else through *fetch*."""

    def __init__(self, fetch: GuardedFetch, store: AttachmentStore) -> None:
        self._fetch = fetch
        self._store = store

    async def get(self, url: str, limits: FetchLimits | None = None) -> FetchResult:
        name = attachment_name(url)
        if name is None:
            return await self._fetch.get(url, limits)
        found = await off_loop(self._store.read, name)
        if found is None:
            raise FetchError("it is no longer kept")
        return FetchResult(*found)
