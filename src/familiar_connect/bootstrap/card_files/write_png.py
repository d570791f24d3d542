"""PNG cards written as SillyTavern writes them: `chara`, then `ccv3`, right before the end of the picture."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping

from familiar_connect.bootstrap.card_files.png import CARD_KEYWORDS
from familiar_connect.support.png_chunks import SIGNATURE, chunks, is_whole

WIDTH, HEIGHT = 400, 600
"""Of the picture a character without one gets: the proportions every front end shows cards in."""
_TEXT_KINDS = (b"tEXt", b"zTXt", b"iTXt")


def png_card(picture: bytes | None, payload: Mapping[str, object]) -> bytes:
    """*picture* with *payload* in it, in place of any card it held; without a whole PNG a plain one is drawn."""
    if picture is None or not is_whole(picture):
        picture = plain_picture()
    pieces = [SIGNATURE]
    for kind, start, end in chunks(picture):
        if kind == b"IEND":
            pieces += [_text_chunk("chara", payload, "chara_card_v2", "2.0")]
            pieces += [_text_chunk("ccv3", payload, "chara_card_v3", "3.0")]
        if kind not in _TEXT_KINDS or not _is_card(picture[start:end]):
            pieces.append(_chunk(kind, picture[start:end]))
    return b"".join(pieces)


def plain_picture(width: int = WIDTH, height: int = HEIGHT) -> bytes:
    """A plain vertical gradient, darker at the bottom."""
    rows = b"".join(
        b"\0" + bytes((72 - 40 * y // height, 76 - 40 * y // height, 96 - 44 * y // height)) * width
        for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")
    return SIGNATURE + body


def _text_chunk(keyword: str, payload: Mapping[str, object], spec: str, version: str) -> bytes:
    text = json.dumps({**payload, "spec": spec, "spec_version": version}, ensure_ascii=False, separators=(",", ":"))
    return _chunk(b"tEXt", keyword.encode() + b"\0" + base64.b64encode(text.encode("utf-8")))


def _is_card(body: bytes) -> bool:
    return body[:80].partition(b"\0")[0].decode("latin-1").strip().lower() in CARD_KEYWORDS


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
