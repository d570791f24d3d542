"""A library of devices that a test plays: it calls the callbacks when it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ManualStream:
    """One opened device."""

    def __init__(self, library: ManualSound, direction: str, facts: dict[str, Any]) -> None:
        self._library = library
        self.direction = direction
        self.samplerate = float(facts["samplerate"])
        self.blocksize: int = facts["blocksize"]
        self.latency = library.latency
        self._callback: Callable[[Any, int, Any, Any], None] = facts["callback"]
        self.finished: Callable[[], None] = facts["finished_callback"]
        self.is_open = False

    def start(self) -> None:
        if self._library.unplugged:
            raise self._library.PortAudioError("Device unavailable [PaErrorCode -9985]")
        self.is_open = True
        self._library.streams.append(self)

    def abort(self) -> None:
        if not self.is_open:
            raise self._library.PortAudioError("Stream is stopped")

    def close(self) -> None:
        self.is_open = False

    def hear(self, pcm: bytes) -> None:
        """The microphone takes in a block."""
        self._callback(memoryview(pcm), len(pcm) // 2, None, None)

    def pull(self) -> bytes:
        """The speakers ask for a block."""
        block = bytearray(self.blocksize * 2)
        self._callback(memoryview(block), self.blocksize, None, None)
        return bytes(block)


class ManualSound:
    """Has the names of `sounddevice` that are used."""

    class PortAudioError(Exception):
        pass

    def __init__(self, *, rates: tuple[int, ...] = (), default_rate: int = 48_000, latency: float = 0.0) -> None:
        """*rates* are those the devices know; none: all."""
        self._rates = rates
        self._default_rate = default_rate
        self.latency = latency
        self.unplugged = False
        self.missing: set[str] = set()
        self.looks = 0
        self.streams: list[ManualStream] = []

    def query_devices(self, device: object, kind: str) -> dict[str, Any]:
        if kind in self.missing:
            raise self.PortAudioError("Error querying device -1")
        return {"name": "a device", "default_samplerate": float(self._default_rate)}

    def RawInputStream(self, **facts: Any) -> ManualStream:  # noqa: N802 - the library's name
        return self._make("input", facts)

    def RawOutputStream(self, **facts: Any) -> ManualStream:  # noqa: N802 - the library's name
        return self._make("output", facts)

    def _make(self, direction: str, facts: dict[str, Any]) -> ManualStream:
        if self._rates and facts["samplerate"] not in self._rates:
            raise self.PortAudioError("Invalid sample rate [PaErrorCode -9997]")
        return ManualStream(self, direction, facts)

    def _terminate(self) -> None:
        self.looks += 1

    def _initialize(self) -> None:
        pass
