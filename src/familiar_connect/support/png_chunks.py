"""The chunks of a PNG, whatever else in it is damaged. Checksums are not looked at, bytes after the end neither."""

from __future__ import annotations

import struct
from collections.abc import Iterator

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
