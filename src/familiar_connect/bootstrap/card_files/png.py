"""PNG and APNG: the text chunks of a picture; one that is cut short still gives the chunks that came whole.

PNG cards written as SillyTavern writes them: `chara`, then `ccv3`, right before the end of the picture.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Collection, Mapping

from familiar_connect.bootstrap.card_files.decode_json import MAX_TEXT_BYTES, megabytes
from familiar_connect.errors import CharacterCardError
from familiar_connect.support.pictures import MAX_CHUNKS, SIGNATURE, chunks, is_whole

CARD_KEYWORDS = ("ccv3", "chara")
"""Keywords of card chunks, preferred first."""

_TEXT_KINDS = (b"tEXt", b"zTXt", b"iTXt")
_LONGEST_KEYWORD = 80
_MOST_TEXTS = 16
"""Of one keyword; a card has one."""


def card_texts(data: bytes) -> list[bytes]:
    """The texts of a picture's card chunks, preferred first."""
    found = text_chunks(data, CARD_KEYWORDS)
    if not any(found.values()):
        kinds = [kind for kind, _, _ in chunks(data)]
        if len(kinds) == MAX_CHUNKS:
            raise CharacterCardError(f"this picture has no card in its first {MAX_CHUNKS:,} pieces")
        raise CharacterCardError(
            "this picture has no character in it; take the card file itself, not a screenshot or a converted copy"
            if b"IEND" in kinds
            else "this PNG is cut short before its card; fetch it again"
        )
    return [text for keyword in CARD_KEYWORDS for text in found[keyword]]


def text_chunks(data: bytes, keywords: Collection[str]) -> dict[str, list[bytes]]:
    """The text chunks of *keywords* (in lower case), in the order of the file; one that cannot be unpacked is empty.

    Together they unpack to no more than the text of one card.
    """
    found: dict[str, list[bytes]] = {keyword: [] for keyword in keywords}
    room = MAX_TEXT_BYTES
    for kind, start, end in chunks(data):
        if kind not in _TEXT_KINDS:
            continue
        stop = data.find(b"\0", start, min(end, start + _LONGEST_KEYWORD))
        if stop < 0:
            continue
        texts_so_far = found.get(data[start:stop].decode("latin-1").strip().lower())
        if texts_so_far is not None and len(texts_so_far) < _MOST_TEXTS:
            texts_so_far.append(_text(kind, data[stop + 1 : end], room))
            room -= len(texts_so_far[-1])
    return found


def inflate(data: bytes, most: int = MAX_TEXT_BYTES) -> bytes:
    """*data* inflated, as far as it goes; more than *most* bytes of it are refused."""
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(data, most + 1)
    except zlib.error:
        return b""
    if len(text) > most:
        raise CharacterCardError(
            f"the card's text unpacks to more than {megabytes(MAX_TEXT_BYTES)}, more than a card may have"
        )
    return text


def _text(kind: bytes, body: bytes, most: int) -> bytes:
    if kind == b"zTXt":
        return inflate(body[1:], most)
    if kind == b"iTXt":
        compressed = body[:1] == b"\1"
        _language, _, rest = body[2:].partition(b"\0")
        body = rest.partition(b"\0")[2]
        if compressed:
            return inflate(body, most)
    if len(body) > most:
        raise CharacterCardError(
            f"the card's text is longer than {megabytes(MAX_TEXT_BYTES)}, more than a card may have"
        )
    return body


WIDTH, HEIGHT = 400, 600
"""Of the picture a character without one gets: the proportions every front end shows cards in."""


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
