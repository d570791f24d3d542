"""Card files made by hand: pictures with text chunks, archives, EXIF comments."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from typing import Any

SIGNATURE = b"\x89PNG\r\n\x1a\n"
V1: dict[str, Any] = {
    "name": "Mira",
    "description": "A lighthouse keeper.",
    "personality": "calm",
    "scenario": "A storm is coming.",
    "first_mes": "Come in, {{user}}!",
    "mes_example": "<START>\n{{char}}: Mind the stairs.",
}
V2: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {
        **V1,
        "creator_notes": "For rainy evenings.",
        "system_prompt": "Stay in character.",
        "post_history_instructions": "Keep it short.",
        "alternate_greetings": ["Who is there?", "Back so soon?\n\nSit down."],
        "tags": ["sea", "calm"],
        "creator": "somebody",
        "character_version": "1.2",
        "extensions": {
            "talkativeness": "0.5",
            "depth_prompt": {"prompt": "The light must burn.", "depth": "2", "role": "user"},
            "odd": {"kept": [1, None, True]},
        },
        "character_book": {
            "name": "Coast",
            "extensions": {},
            "entries": [
                {
                    "keys": ["reef"],
                    "content": "The reef is sharp.",
                    "enabled": True,
                    "insertion_order": 1,
                    "extensions": {},
                },
                {
                    "keys": ["fog"],
                    "content": "Fog comes at dusk.",
                    "enabled": True,
                    "insertion_order": 2,
                    "extensions": {},
                },
            ],
        },
    },
}
V3: dict[str, Any] = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        **V2["data"],
        "nickname": "Mi",
        "assets": [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
    },
}


def b64(payload: Any) -> bytes:
    return base64.b64encode(json.dumps(payload, ensure_ascii=False).encode())


def chunk(kind: bytes, body: bytes, *, crc: int | None = None) -> bytes:
    return (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body) if crc is None else crc)
    )


def text_chunk(text: bytes, keyword: str = "chara") -> bytes:
    return chunk(b"tEXt", keyword.encode() + b"\0" + text)


def packed_chunk(text: bytes, keyword: str = "chara") -> bytes:
    return chunk(b"zTXt", keyword.encode() + b"\0\0" + zlib.compress(text))


def international_chunk(text: bytes, keyword: str = "chara", *, packed: bool = False) -> bytes:
    body = zlib.compress(text) if packed else text
    return chunk(b"iTXt", keyword.encode() + b"\0" + bytes((packed, 0)) + b"en\0Karte\0" + body)


def picture(*extra: bytes, before: bytes = b"", width: int = 1) -> bytes:
    """A PNG of one row with *extra* chunks before its end."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, 1, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0" * (1 + 3 * width)))
    return SIGNATURE + header + before + body + b"".join(extra) + chunk(b"IEND", b"")


def card_picture(payload: Any, keyword: str = "chara") -> bytes:
    return picture(text_chunk(b64(payload), keyword))


def webp(comment: bytes, *, mark: bytes = b"ASCII\0\0\0") -> bytes:
    """A WEBP with an EXIF user comment."""
    value = mark + comment
    first = struct.pack("<HHHII", 1, 0x8769, 4, 1, 26) + b"\0\0\0\0"
    second = struct.pack("<HHHII", 1, 0x9286, 7, len(value), 44) + b"\0\0\0\0"
    exif = b"II*\0" + struct.pack("<I", 8) + first + second + value
    riff = b"EXIF" + struct.pack("<I", len(exif)) + exif + b"\0" * (len(exif) % 2)
    return b"RIFF" + struct.pack("<I", len(riff) + 4) + b"WEBP" + riff


def archive(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def charx(payload: Any, **members: bytes) -> bytes:
    return archive({"card.json": json.dumps(payload).encode(), **members})
