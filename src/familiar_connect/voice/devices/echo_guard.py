"""EchoGuard: keeps the familiar from hearing itself through the microphone."""

from __future__ import annotations

import time
from collections.abc import Callable

TAIL_S = 0.4
"""A room goes on sounding for a moment."""


class EchoGuard:
    """Passes on silence instead of sound while the familiar speaks, and a moment longer."""

    def __init__(
        self,
        is_playing: Callable[[], bool],
        on_sound: Callable[[bytes], None],
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_playing = is_playing
        self._on_sound = on_sound
        self._now = now
        self._deaf_until = float("-inf")

    def feed(self, pcm: bytes) -> None:
        """Sound of the microphone."""
        if self._is_playing():
            self._deaf_until = self._now() + TAIL_S
        self._on_sound(bytes(len(pcm)) if self._now() < self._deaf_until else pcm)
