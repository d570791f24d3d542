"""Packets of sound as a voice server sends them, and sound to put into them."""

from __future__ import annotations

import math
import struct

from nacl.secret import Aead

FRAME_SAMPLES = 960


def seal(
    key: bytes,
    payload: bytes,
    *,
    ssrc: int = 7,
    sequence: int = 0,
    extension: bytes | None = None,
    padding: int = 0,
    sources: tuple[int, ...] = (),
) -> bytes:
    """One packet of the mode aead_xchacha20_poly1305_rtpsize; *extension* is a whole number of words."""
    first = 0x80 | (0x20 if padding else 0) | (0x10 if extension is not None else 0) | len(sources)
    header = struct.pack(">BBHII", first, 0x78, sequence % 65536, sequence * FRAME_SAMPLES % 2**32, ssrc)
    header += b"".join(struct.pack(">I", each) for each in sources)
    if extension is not None:
        header += struct.pack(">2sH", b"\xbe\xde", len(extension) // 4)
    clear = (extension or b"") + payload + (bytes(padding - 1) + bytes([padding]) if padding else b"")
    nonce = struct.pack(">I", sequence + 1)
    return header + Aead(key).encrypt(clear, header, nonce.ljust(24, b"\0")).ciphertext + nonce


def unseal(key: bytes, datagram: bytes) -> tuple[int, bytes]:
    """The number and the payload of a packet without extension."""
    header, sealed, nonce = datagram[:12], datagram[12:-4], datagram[-4:]
    return struct.unpack_from(">H", header, 2)[0], Aead(key).decrypt(sealed, header, nonce.ljust(24, b"\0"))


def make_tone(frame: int, *, hertz: float = 440.0, peak: int = 9_000) -> bytes:
    """20 ms of a tone, 48 kHz in two channels."""
    begin = frame * FRAME_SAMPLES
    samples = [round(peak * math.sin(2 * math.pi * hertz * (begin + at) / 48_000)) for at in range(FRAME_SAMPLES)]
    return b"".join(struct.pack("<hh", each, each) for each in samples)
