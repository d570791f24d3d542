"""WEBP cards of old TavernAI: the character in the EXIF user comment, as JSON, base64 or character codes."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from familiar_connect.errors import CharacterCardError

USER_COMMENT, DESCRIPTION, EXIF_FOLDER = 0x9286, 0x010E, 0x8769
_CODES = re.compile(rb"\d{1,7}(?:[\s,\0]+\d{1,7})+[\s,\0]*")
_ENCODINGS = (b"ASCII\0\0\0", b"UNICODE\0", b"JIS\0\0\0\0\0", b"\0" * 8)
_MOST_CHUNKS = 1_000
_MOST_TAGS = 500


def is_webp(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def card_texts(data: bytes) -> list[bytes]:
    """What in the picture may be a card, the likeliest first."""
    found = [text for exif in _exif_chunks(data) for text in _candidates(exif)]
    if not found:
        raise CharacterCardError("this WEBP picture has no character in it; take the card as PNG or JSON")
    return found


def _exif_chunks(data: bytes) -> Iterator[bytes]:
    at = 12
    for _ in range(_MOST_CHUNKS):
        if at + 8 > len(data):
            return
        kind, length = struct.unpack_from("<4sI", data, at)
        if kind == b"EXIF":
            yield data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def _candidates(exif: bytes) -> Iterator[bytes]:
    tiff = exif[6:] if exif.startswith(b"Exif\0\0") else exif
    for value in _values(tiff):
        yield from _readings(value, big=tiff[:2] == b"MM")
    brace = exif.find(b'{"')
    if brace >= 0:
        yield exif[brace:]


def _readings(value: bytes, *, big: bool) -> Iterator[bytes]:
    """The comment without its encoding mark, in the ways it may be meant."""
    body = value[8:] if value[:8] in _ENCODINGS else value
    if value.startswith(b"UNICODE\0"):
        for encoding in ("utf-16-be", "utf-16-le") if big else ("utf-16-le", "utf-16-be"):
            yield _from_codes(body.decode(encoding, errors="replace").encode("utf-8", errors="replace"))
    yield _from_codes(body)
    if body is not value:
        yield _from_codes(value)


def _from_codes(text: bytes) -> bytes:
    """A text written as the numbers of its characters, else *text* itself."""
    if not _CODES.fullmatch(text.strip(b"\0 ")):
        return text
    numbers = [int(number) for number in re.findall(rb"\d+", text)]
    if max(numbers) < 256:
        return bytes(numbers)
    return "".join(chr(number) if number < 0x110000 else "\ufffd" for number in numbers).encode("utf-8", "replace")


def _values(tiff: bytes) -> Iterator[bytes]:
    """The comments among the tags of a TIFF header and of the EXIF folder it points to."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None or len(tiff) < 8:
        return
    (first,) = struct.unpack_from(f"{order}I", tiff, 4)
    folders = [first]
    for place in folders:
        for tag, count, value in _tags(tiff, place, order):
            if tag == EXIF_FOLDER and len(folders) < 2:
                folders.append(value)
            elif tag in (USER_COMMENT, DESCRIPTION) and count > 4:
                yield tiff[value : value + count]


def _tags(tiff: bytes, place: int, order: str) -> Iterator[tuple[int, int, int]]:
    if place + 2 > len(tiff):
        return
    (count,) = struct.unpack_from(f"{order}H", tiff, place)
    for index in range(min(count, _MOST_TAGS)):
        at = place + 2 + 12 * index
        if at + 12 > len(tiff):
            return
        tag, _kind, length, value = struct.unpack_from(f"{order}HHII", tiff, at)
        yield tag, length, value
