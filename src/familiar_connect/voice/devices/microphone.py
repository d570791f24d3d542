"""Microphone: what is said into this computer, block by block.

Sound of a device at the rate that speech is heard at, block by block.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from familiar_connect.support.aio import BackgroundTasks
from familiar_connect.voice.audio import SAMPLE_BYTES, resample
from familiar_connect.voice.devices.sound_card import BLOCK_MS, DeviceWatch, Sleep, SoundCard, SoundStream, try_again
from familiar_connect.voice.protocols import HEARING_RATE

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


MAX_WAITING = 10_000 // BLOCK_MS
"""Blocks, ten seconds of them, that wait while this program is busy; the oldest of more are lost."""
LOOK_EVERY_S = 0.5


class Microphone:
    """Hands the sound of the default microphone on, mono at `HEARING_RATE`. One that goes away is tried again."""

    def __init__(
        self,
        card: SoundCard,
        on_sound: Callable[[bytes], None],
        *,
        on_trouble: Callable[[str], None],
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """*on_sound* and *on_trouble* are called in the event loop."""
        self._card = card
        self._on_sound = on_sound
        self._on_trouble = on_trouble
        self._sleep = sleep
        self._waiting: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._watch = DeviceWatch()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stream: SoundStream | None = None
        self._resampler = BlockResampler(HEARING_RATE, HEARING_RATE)
        self._background = BackgroundTasks("microphone")

    async def start(self) -> None:
        """Begin to listen. A `DeviceError` where there is no microphone."""
        self._loop = asyncio.get_running_loop()
        await self._open()
        self._background.start(self._keep_open(), name="watch")

    async def aclose(self) -> None:
        await self._background.aclose()
        await self._close()

    async def _open(self, *, looks_again: bool = False) -> None:
        await self._close()
        self._watch.begin()
        self._stream, rate = await self._card.open(
            "input", HEARING_RATE, self._take, on_finished=self._watch.end, looks_again=looks_again
        )
        self._watch.begin()
        self._resampler = BlockResampler(rate, HEARING_RATE)

    async def _close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await self._card.close(stream)

    def _take(self, block: Any, _frames: int, _time: Any, _status: Any) -> None:
        """One block, in the library's thread."""
        self._watch.beat()
        is_first = not self._waiting
        self._waiting.append(bytes(block))
        if is_first and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hand_on)

    def _hand_on(self) -> None:
        while self._waiting:
            if sound := self._resampler.feed(self._waiting.popleft()):
                self._on_sound(sound)

    async def _keep_open(self) -> None:
        while True:
            await self._sleep(LOOK_EVERY_S)
            if not self._watch.is_gone:
                continue
            await self._close()
            self._on_trouble("The microphone is gone; I keep trying it. Meanwhile you can type.")
            if not await try_again(partial(self._open, looks_again=True), sleep=self._sleep):
                self._on_trouble("The microphone is gone: type instead, or plug one in and start again.")
                return
            self._on_trouble("The microphone is back.")
