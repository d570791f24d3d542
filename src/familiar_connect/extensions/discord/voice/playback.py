"""DiscordAudioOut: speech into a voice channel, a frame each 20 ms, silent the moment it is cancelled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from familiar_connect.api import DeliveryError
from familiar_connect.api.calls import duration_s, mono_to_stereo, resample
from familiar_connect.api.support import cancel_and_wait, off_loop
from familiar_connect.extensions.discord.voice.opus import DISCORD_RATE, FRAME_BYTES, FRAME_S, OpusSpeech
from familiar_connect.extensions.discord.voice.packets import SILENCE

SILENT_FRAMES = 5
"""Sent after speech: without them the listeners' programs make up a sound to go on with."""
MAX_BEHIND_S = 0.2
"""Further behind than this, frames that should be out are not sent all at once."""
RECONNECT_S = 20.0
"""How long a sentence waits for a connection that was lost, or for the keys of the call."""
LOOK_AGAIN_S = 0.1


class SpeechConnection(Protocol):
    """A voice channel that can be spoken into."""

    def is_ready(self) -> bool:
        """Whether what is sent now can be heard."""

    async def announce_speech(self) -> None:
        """Tell the server that sound is coming."""

    def send_frame(self, packet: bytes) -> None:
        """Send one packet of Opus; one that does not get out is let go."""


def cut_frames(pcm: bytes, sample_rate: int) -> list[bytes]:
    """Mono *pcm* as frames of `FRAME_BYTES` bytes, the last one filled up with silence."""
    sound = mono_to_stereo(resample(pcm, sample_rate, DISCORD_RATE))
    size = FRAME_BYTES
    return [sound[at : at + size].ljust(size, b"\0") for at in range(0, len(sound), size)]


class DiscordAudioOut:
    """Plays into the connection that is there; an `AudioOut`."""

    def __init__(
        self,
        connection: Callable[[], SpeechConnection | None],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """*connection* is asked for at each frame: a call that is lost is joined anew."""
        self._connection = connection
        self._clock = clock
        self._sleep = sleep
        self._codec = OpusSpeech()
        self._sent = 0
        self._length_ms = 0.0
        self._ending: asyncio.Task[None] | None = None

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        self._sent, self._length_ms = 0, duration_s(pcm, sample_rate) * 1000
        frames = await off_loop(cut_frames, pcm, sample_rate)
        if self._ending is not None:
            await cancel_and_wait(self._ending)
        try:
            await self._send_all(frames)
        finally:
            self._ending = asyncio.get_running_loop().create_task(self._fall_silent(), name="voice:silence")

    def position_ms(self) -> float:
        return min(self._sent * FRAME_S * 1000, self._length_ms)

    async def aclose(self) -> None:
        if self._ending is not None:
            await cancel_and_wait(self._ending)

    async def _send_all(self, frames: list[bytes]) -> None:
        connection: SpeechConnection | None = None
        due = self._clock()
        for frame in frames:
            if connection is None or not connection.is_ready():
                connection = await self._wait_until_ready()
                await connection.announce_speech()
                due = self._clock()
            connection.send_frame(self._codec.encode(frame))
            self._sent += 1
            due = max(due + FRAME_S, self._clock() - MAX_BEHIND_S)
            await self._sleep(max(0.0, due - self._clock()))

    async def _wait_until_ready(self) -> SpeechConnection:
        give_up = self._clock() + RECONNECT_S
        while (found := self._connection()) is None or not found.is_ready():
            if self._clock() >= give_up:
                raise DeliveryError(
                    "the voice channel cannot be spoken into: its connection is lost, or its keys did not come"
                )
            await self._sleep(LOOK_AGAIN_S)
        return found

    async def _fall_silent(self) -> None:
        for _ in range(SILENT_FRAMES):
            connection = self._connection()
            if connection is None or not connection.is_ready():
                return
            connection.send_frame(SILENCE)
            await self._sleep(FRAME_S)
