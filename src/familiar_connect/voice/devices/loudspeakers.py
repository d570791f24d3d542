"""Loudspeakers: speech heard from this computer, which can be silenced at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from familiar_connect.voice.audio import SAMPLE_BYTES, resample
from familiar_connect.voice.devices.sound_card import DeviceWatch, Sleep, SoundCard, SoundStream, try_again

LOOK_EVERY_S = 0.5


class Loudspeakers:
    """Plays one clip at a time. What is still to be played is held here, never ahead in the device."""

    def __init__(self, card: SoundCard, *, on_trouble: Callable[[str], None], sleep: Sleep = asyncio.sleep) -> None:
        self._card = card
        self._on_trouble = on_trouble
        self._sleep = sleep
        self._watch = DeviceWatch()
        self._stream: SoundStream | None = None
        self._wanted_rate = 0
        self._rate = 1
        self._lock = threading.Lock()
        self._sound = b""
        self._at = 0
        self._length = 0
        self._is_given_up = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._played: asyncio.Event | None = None

    @property
    def is_playing(self) -> bool:
        return self._at < len(self._sound)

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        """Play it to its end; cancelled, it is silent at once. A `DeviceError` where there are no speakers."""
        self._loop = asyncio.get_running_loop()
        self._played = asyncio.Event()
        await self._make_ready(sample_rate)
        sound = resample(pcm, sample_rate, self._rate)
        with self._lock:
            self._sound, self._at, self._length = sound, 0, len(sound)
        try:
            await self._wait_until_played()
        finally:
            self._silence()

    def position_ms(self) -> float:
        """How much of what was played last has left the speakers."""
        frames = self._at // SAMPLE_BYTES
        latency_s = self._stream.latency if self._stream is not None and self._at < self._length else 0.0
        return max(0.0, frames / self._rate - latency_s) * 1000

    async def aclose(self) -> None:
        self._silence()
        await self._close()

    def _silence(self) -> None:
        with self._lock:
            self._sound = b""

    async def _make_ready(self, sample_rate: int) -> None:
        if self._stream is not None and sample_rate == self._wanted_rate and not self._watch.is_gone:
            return
        self._wanted_rate = sample_rate
        try:
            await self._open()
        except OSError:
            if self._is_given_up:
                raise
            await self._bring_back()
        self._is_given_up = False

    async def _open(self, *, looks_again: bool = False) -> None:
        await self._close()
        self._watch.begin()
        self._stream, self._rate = await self._card.open(
            "output", self._wanted_rate, self._fill, on_finished=self._watch.end, looks_again=looks_again
        )
        self._watch.begin()

    async def _close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await self._card.close(stream)

    def _fill(self, block: Any, frames: int, _time: Any, _status: Any) -> None:
        """Give the device one block, in the library's thread; silence where there is nothing to play."""
        self._watch.beat()
        size = frames * SAMPLE_BYTES
        with self._lock:
            sound = self._sound[self._at : self._at + size]
            was_playing = bool(sound)
            self._at += len(sound)
            has_ended = was_playing and self._at >= len(self._sound)
        block[:] = sound + bytes(size - len(sound))
        if has_ended and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end_later)

    def _end_later(self) -> None:
        """The last block is with the device: it has been heard when the device's own delay is over."""
        if self._loop is not None and self._played is not None:
            latency_s = self._stream.latency if self._stream is not None else 0.0
            self._loop.call_later(latency_s, self._played.set)

    async def _wait_until_played(self) -> None:
        if not self._length:
            return
        assert self._played is not None
        while not self._played.is_set():
            look = asyncio.ensure_future(self._sleep(LOOK_EVERY_S))
            end = asyncio.ensure_future(self._played.wait())
            try:
                await asyncio.wait({look, end}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                look.cancel()
                end.cancel()
            if not self._played.is_set() and self._watch.is_gone:
                await self._go_on()

    async def _go_on(self) -> None:
        """Play what is left of the clip once the speakers are back."""
        rate = self._rate
        with self._lock:
            sound = self._sound
            left, self._sound = sound[self._at :], b""
        await self._bring_back()
        with self._lock:
            heard = resample(sound[: len(sound) - len(left)], rate, self._rate)
            self._sound = heard + resample(left, rate, self._rate)
            self._at, self._length = len(heard), len(self._sound)

    async def _bring_back(self) -> None:
        await self._close()
        self._on_trouble("The speakers are gone; I keep trying them.")
        if not await try_again(partial(self._open, looks_again=True), sleep=self._sleep):
            self._is_given_up = True
            self._on_trouble("The speakers are gone: replies are only shown.")
            raise OSError("there are no speakers")
        self._on_trouble("The speakers are back.")
