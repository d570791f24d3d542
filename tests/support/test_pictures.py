"""A picture is what its content says, bounded, and without what else was in its file."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.bootstrap.card_files.png import plain_picture, png_card
from familiar_connect.support.pictures import MAX_PICTURE_BYTES, MAX_SIDE, SIGNATURE, check_picture, chunks
from tests.fakes.cards import V3, chunk

JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    b"\xff\xc0\x00\x0b\x08\x00\x30\x00\x20\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x7f\xff\xd9"
)


def webp(kind: bytes, body: bytes) -> bytes:
    """A WebP file with one chunk, long enough to be one."""
    body = body.ljust(20, b"\0")
    inner = b"WEBP" + kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(inner)) + inner


@pytest.mark.parametrize(
    ("data", "kind", "size"),
    [
        (plain_picture(40, 60), "image/png", (40, 60)),
        (JPEG, "image/jpeg", (32, 48)),
        (webp(b"VP8X", b"\0\0\0\0\x1f\0\0\x2f\0\0"), "image/webp", (32, 48)),
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", 31 | 47 << 14)), "image/webp", (32, 48)),
        (webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a\x20\0\x30\0"), "image/webp", (32, 48)),
    ],
)
def test_a_picture_is_known_by_its_content(data: bytes, kind: str, size: tuple[int, int]) -> None:
    """PNG, JPEG and the three kinds of WebP, with their size in pixels."""
    found = check_picture(data)

    assert found is not None
    assert (found.kind, (found.width, found.height)) == (kind, size)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"GIF89a" + bytes(40),
        plain_picture(40, 60)[:-20],
        SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", MAX_SIDE + 1, 1, 8, 2, 0, 0, 0)) + chunk(b"IEND", b""),
        JPEG[:12],
        b"RIFF\xff\xff\xff\x7fWEBPVP8X" + bytes(40),
        JPEG + bytes(MAX_PICTURE_BYTES),
    ],
)
def test_what_is_no_picture_to_be_shown_is_none(data: bytes) -> None:
    """Markup, an animation, a file that is cut short, one that unfolds too far or is too long."""
    assert check_picture(data) is None


def test_a_card_s_text_does_not_travel_with_its_picture() -> None:
    """Only the chunks that draw it are left, and they draw the same."""
    plain = plain_picture(40, 60)
    found = check_picture(png_card(plain, V3) + b"behind the end")

    assert found is not None
    assert found.content == plain
    assert {kind for kind, _, _ in chunks(found.content)} == {b"IHDR", b"IDAT", b"IEND"}


@given(st.sampled_from([plain_picture(4, 6), JPEG, webp(b"VP8X", b"\0\0\0\0\x1f\0\0\x2f\0\0")]), st.data())
def test_no_damage_is_an_error(picture: bytes, data: st.DataObject) -> None:
    """Whatever bytes are changed or missing, the answer is a bounded picture or none."""
    changed = bytearray(picture)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    found = check_picture(bytes(changed[: data.draw(st.integers(0, len(changed)))]))

    assert found is None or (0 < found.width <= MAX_SIDE and 0 < found.height <= MAX_SIDE)
