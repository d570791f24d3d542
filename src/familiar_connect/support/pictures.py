"""check_picture: whether bytes are a picture that a page may show, and the picture without what else was in the file.

PNG, JPEG and WebP are known by their content, never by a name. Their size in pixels is read and bounded, because a
small file can unfold into a huge picture. A PNG is written anew of the chunks that draw it, so that a card's text, or
anything else somebody put into the file, does not travel along.

The chunks of a PNG, whatever else in it is damaged. Checksums are not looked at, bytes after the end neither.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from familiar_connect.support.fetch.attachments import sniff_media_type

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_CHUNKS = 100_000
"""Of one picture; an animation of minutes has a few thousand."""
_HEAD = struct.Struct(">I4s")


def chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Kind, beginning and end of what each chunk holds, up to the end mark or the first chunk that is cut off."""
    at = len(SIGNATURE)
    for _ in range(MAX_CHUNKS):
        if at + _HEAD.size > len(data):
            return
        length, kind = _HEAD.unpack_from(data, at)
        start = at + _HEAD.size
        if start + length > len(data):
            return
        yield kind, start, start + length
        if kind == b"IEND":
            return
        at = start + length + 4


def is_whole(picture: bytes) -> bool:
    """Whether *picture* is a PNG from its header to its end."""
    kinds = [kind for kind, _, _ in chunks(picture)] if picture.startswith(SIGNATURE) else []
    return bool(kinds) and kinds[0] == b"IHDR" and b"IDAT" in kinds and kinds[-1] == b"IEND"


MAX_PICTURE_BYTES = 12 * 1024 * 1024
MAX_SIDE = 8_192
MAX_PIXELS = 40_000_000
ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}
"""Kind → ending of a file; the kinds that are pictures here."""
_DRAWING = frozenset([b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"gAMA", b"cHRM", b"sRGB", b"iCCP"])
_JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_JPEG_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_MOST_SEGMENTS = 1_000


MAX_STEM_CHARS = 60


def plain_stem(name: str) -> str:
    """What the file of a picture called *name* is called, without its ending: letters, digits, spaces, `-` and `_`."""
    kept = "".join(each if each.isalnum() or each in " -_" else "-" for each in name)
    return kept.strip(" -")[:MAX_STEM_CHARS].strip(" -") or "picture"


@dataclass(frozen=True)
class Picture:
    """A picture that was checked."""

    content: bytes
    kind: str
    width: int
    height: int


def check_picture(data: bytes) -> Picture | None:
    """*data* as a picture; None where it is none, is cut short or is too large to be shown."""
    if len(data) > MAX_PICTURE_BYTES:
        return None
    kind = sniff_media_type(data)
    if kind == "image/png":
        size, content = _png_size(data), _drawing_only(data) if is_whole(data) else b""
    elif kind == "image/jpeg":
        size, content = _jpeg_size(data), data
    elif kind == "image/webp":
        size, content = _webp_size(data), data
    else:
        return None
    if size is None or not content:
        return None
    width, height = size
    fits = 0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS
    return Picture(content, kind, width, height) if fits else None


def _png_size(data: bytes) -> tuple[int, int] | None:
    kind, start, end = next(chunks(data), (b"", 0, 0))
    if kind != b"IHDR" or end - start != 13:
        return None
    width, height = struct.unpack_from(">II", data, start)
    return width, height


def _drawing_only(data: bytes) -> bytes:
    """A PNG of the chunks that draw it, with checksums that hold."""
    pieces = [SIGNATURE]
    for kind, start, end in chunks(data):
        if kind in _DRAWING:
            body = data[start:end]
            pieces.append(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)))
    return b"".join(pieces)


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """What the frame of a JPEG says; None where there is none before its picture begins."""
    at = 2
    for _ in range(_MOST_SEGMENTS):
        if at + 4 > len(data) or data[at] != 0xFF:
            return None
        mark = data[at + 1]
        if mark == 0xFF or mark in _JPEG_ALONE:
            at += 1 if mark == 0xFF else 2
            continue
        if mark in (0xD9, 0xDA):
            return None
        (length,) = struct.unpack_from(">H", data, at + 2)
        if mark in _JPEG_FRAMES:
            if at + 9 > len(data):
                return None
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + length
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    (length,) = struct.unpack_from("<I", data, 4)
    if length + 8 > len(data) + 1 or len(data) < 30:
        return None
    kind, body = data[12:16], data[20:30]
    if kind == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if kind == b"VP8L" and body[:1] == b"\x2f":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + ((bits >> 14) & 0x3FFF)
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    return None
