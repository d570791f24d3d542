"""Sound of a device at the rate that speech is heard at, block by block."""

from __future__ import annotations

from familiar_connect.voice.audio import SAMPLE_BYTES, resample

BLOCKS_PER_SECOND = 50
"""Each sample rate of a device is a multiple of this, so a block is whole at every one of them."""


class BlockResampler:
    """Resamples a stream without a seam: each block is made with those beside it, so it comes one block later."""

    def __init__(self, rate: int, to: int) -> None:
        if rate % BLOCKS_PER_SECOND or to % BLOCKS_PER_SECOND:
            raise ValueError(f"a sample rate is a multiple of {BLOCKS_PER_SECOND} Hz, not {rate} or {to}")
        self._rate = rate
        self._to = to
        self._size = rate // BLOCKS_PER_SECOND * SAMPLE_BYTES
        self._sound = bytes(self._size)

    def feed(self, pcm: bytes) -> bytes:
        """What is ready of the stream now that *pcm* has come."""
        if self._rate == self._to:
            return pcm
        self._sound += pcm
        made = bytearray()
        size, out = self._size, self._to // BLOCKS_PER_SECOND * SAMPLE_BYTES
        while len(self._sound) >= 3 * size:
            made += resample(self._sound[: 3 * size], self._rate, self._to)[out : 2 * out]
            self._sound = self._sound[size:]
        return bytes(made)
