"""Packets of sound as Discord's voice servers send them: RTP, encrypted for the way to the server.

The library's own reader takes a fixed length for the header's extension and gives nothing back in a call that is not
encrypted from end to end, so packets are read here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

VERSION = 2
OPUS = 0x78
"""What sound is marked with; anything else in a packet is not for us."""
HEADER_BYTES = 12
EXTENSION_BYTES = 4
NONCE_BYTES, NONCE_SENT_BYTES, TAG_BYTES = 24, 4, 16
SILENCE = b"\xf8\xff\xfe"
"""A frame of Opus that holds no sound; sent when somebody stops to speak, never encrypted from end to end."""


@dataclass(frozen=True, kw_only=True)
class SoundPacket:
    """A packet that the server's key has opened."""

    ssrc: int
    """Whose stream it belongs to, by the number the server gave them."""
    sequence: int
    timestamp: int
    payload: bytes
    """Opus, still encrypted from end to end where the call is."""


class TransportCipher:
    """Opens packets of the mode aead_xchacha20_poly1305_rtpsize with the key of one connection."""

    def __init__(self, key: bytes) -> None:
        from nacl.secret import Aead

        self._box = Aead(key)

    def open(self, datagram: bytes) -> SoundPacket | None:
        """The packet in *datagram*; None where it holds no sound for us, or was changed on its way."""
        from nacl.exceptions import CryptoError

        size = clear_size(datagram)
        if size is None:
            return None
        header, sealed, sent = datagram[:size], datagram[size:-NONCE_SENT_BYTES], datagram[-NONCE_SENT_BYTES:]
        try:
            opened = self._box.decrypt(sealed, header, sent.ljust(NONCE_BYTES, b"\0"))
        except CryptoError:
            return None
        payload = strip_padding(header, strip_extension(header, opened))
        if not payload:
            return None
        sequence, timestamp, ssrc = struct.unpack_from(">HII", header, 2)
        return SoundPacket(ssrc=ssrc, sequence=sequence, timestamp=timestamp, payload=payload)


def clear_size(datagram: bytes) -> int | None:
    """How many bytes at the front of *datagram* are not encrypted; None: it is no packet of sound."""
    if len(datagram) < HEADER_BYTES or datagram[0] >> 6 != VERSION or datagram[1] & 0x7F != OPUS:
        return None
    size = HEADER_BYTES + 4 * (datagram[0] & 0x0F) + (EXTENSION_BYTES if _is_extended(datagram) else 0)
    return size if len(datagram) >= size + TAG_BYTES + NONCE_SENT_BYTES else None


def strip_extension(header: bytes, opened: bytes) -> bytes:
    """What comes after the header's extension, whose length stands in the clear and which is encrypted itself."""
    if not _is_extended(header):
        return opened
    (words,) = struct.unpack_from(">H", header, len(header) - 2)
    return opened[4 * words :]


def strip_padding(header: bytes, payload: bytes) -> bytes:
    """*payload* without what only fills it up; nothing where that does not add up."""
    if not header[0] & 0x20 or not payload:
        return payload
    padding = payload[-1]
    return payload[:-padding] if 0 < padding <= len(payload) else b""


def _is_extended(header: bytes) -> bool:
    return bool(header[0] & 0x10)
