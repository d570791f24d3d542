"""Packets of sound as a voice server sends them, encrypted for the way between it and a client."""

from __future__ import annotations

import struct

from familiar_connect.extensions.discord.voice.opus import FRAME_SAMPLES
from familiar_connect.extensions.discord.voice.packets import HEADER_BYTES, NONCE_BYTES, NONCE_SENT_BYTES


def seal(
    key: bytes,
    payload: bytes,
    *,
    ssrc: int = 7,
    sequence: int = 0,
    count: int | None = None,
    extension: bytes | None = None,
    padding: int = 0,
    sources: tuple[int, ...] = (),
) -> bytes:
    """One packet of the mode aead_xchacha20_poly1305_rtpsize; *extension* is a whole number of words.

    *count* is another one for each packet under one key, whoever's stream it belongs to; without it the sequence.
    """
    from nacl.secret import Aead

    first = 0x80 | (0x20 if padding else 0) | (0x10 if extension is not None else 0) | len(sources)
    header = struct.pack(">BBHII", first, 0x78, sequence % 65536, sequence * FRAME_SAMPLES % 2**32, ssrc)
    header += b"".join(struct.pack(">I", each) for each in sources)
    if extension is not None:
        header += struct.pack(">2sH", b"\xbe\xde", len(extension) // 4)
    clear = (extension or b"") + payload + (bytes(padding - 1) + bytes([padding]) if padding else b"")
    nonce = struct.pack(">I", (sequence + 1 if count is None else count) % 2**32)
    return header + Aead(key).encrypt(clear, header, nonce.ljust(NONCE_BYTES, b"\0")).ciphertext + nonce


def unseal(key: bytes, datagram: bytes) -> bytes | None:
    """The payload of a packet without extension, as clients send them; None where the key does not open it."""
    from nacl.exceptions import CryptoError
    from nacl.secret import Aead

    header, nonce = datagram[:HEADER_BYTES], datagram[-NONCE_SENT_BYTES:]
    try:
        opened = Aead(key).decrypt(datagram[HEADER_BYTES:-NONCE_SENT_BYTES], header, nonce.ljust(NONCE_BYTES, b"\0"))
    except (CryptoError, ValueError):
        return None
    return bytes(opened)
