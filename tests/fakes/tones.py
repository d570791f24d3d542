"""Sound to put into packets."""

from __future__ import annotations

import math
import struct

FRAME_SAMPLES = 960


def make_tone(frame: int, *, hertz: float = 440.0, peak: int = 9_000) -> bytes:
    """20 ms of a tone, 48 kHz in two channels."""
    begin = frame * FRAME_SAMPLES
    samples = [round(peak * math.sin(2 * math.pi * hertz * (begin + at) / 48_000)) for at in range(FRAME_SAMPLES)]
    return b"".join(struct.pack("<hh", each, each) for each in samples)
