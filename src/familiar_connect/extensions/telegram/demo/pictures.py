"""draw_picture: small pictures that people of the demonstration send."""

from __future__ import annotations

import struct
import zlib

SIDE = 48


def draw_picture(shade: int = 0) -> bytes:
    """A PNG of one colour with a square in it."""
    ground, square = bytes((40 * (shade % 5) + 60, 120, 160)), bytes((230, 200, 40 * (shade % 5)))
    rows = b"".join(
        b"\0" + b"".join(square if 16 <= x < 32 and 16 <= y < 32 else ground for x in range(SIDE)) for y in range(SIDE)
    )
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
