"""Stands in for the library of microphones and speakers, with its names and its callbacks, in a program under test.

FAKE_SOUND names a JSON file. `input` lists what the microphone hears each time it is opened: a file of mono 16-bit
samples at 16 kHz, whether it is unplugged at its end, and a file that may come into being later (`then`) and is heard
from that moment on. What the speakers play goes into the file `output`; the first
time they are opened they are unplugged after `output_blocks` with sound, where that is given. Without FAKE_SOUND there
is no device.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

SPEED = 4
"""So many times faster than real devices."""
OPENED = {"input": 0, "output": 0}


class PortAudioError(Exception):
    pass


def _plan() -> dict[str, Any]:
    name = os.environ.get("FAKE_SOUND")
    plan: dict[str, Any] = json.loads(Path(name).read_text(encoding="utf-8")) if name else {}
    return plan


def query_devices(device: object = None, kind: str | None = None) -> dict[str, Any]:
    if kind not in _plan():
        raise PortAudioError("Error querying device -1")
    return {"name": "double", "default_samplerate": 48_000.0}


def _terminate() -> None:
    pass


def _initialize() -> None:
    pass


class _Stream:
    latency = 0.01

    def __init__(
        self,
        *,
        samplerate: int,
        blocksize: int,
        channels: int,
        dtype: str,
        latency: str,
        callback: Callable[[Any, int, Any, Any], None],
        finished_callback: Callable[[], None],
    ) -> None:
        assert (channels, dtype) == (1, "int16")
        self.samplerate = float(samplerate)
        self._size = blocksize * 2
        self._wait_s = blocksize / samplerate / SPEED
        self._callback = callback
        self._finished = finished_callback
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def abort(self) -> None:
        self._ended.set()

    def close(self) -> None:
        self._ended.set()
        self._thread.join(10)

    def _run(self) -> None:
        raise NotImplementedError


class RawInputStream(_Stream):
    def _run(self) -> None:
        hears = _plan()["input"]
        turn = hears[min(OPENED["input"], len(hears) - 1)]
        OPENED["input"] += 1
        assert self.samplerate == 16_000
        sound = Path(turn["file"]).read_bytes() if turn.get("file") else b""
        at = 0
        while not self._ended.wait(self._wait_s):
            block = sound[at : at + self._size].ljust(self._size, b"\0")
            self._callback(memoryview(block), self._size // 2, None, None)
            at += self._size
            if turn.get("then") and Path(turn["then"]).exists():
                sound, at, turn = Path(turn["then"]).read_bytes(), 0, {}
            if turn.get("unplugged") and at > len(sound):
                self._finished()
                return


class RawOutputStream(_Stream):
    def _run(self) -> None:
        left = _plan().get("output_blocks", -1) if OPENED["output"] == 0 else -1
        OPENED["output"] += 1
        with open(_plan()["output"], "ab") as file:
            while not self._ended.wait(self._wait_s):
                block = bytearray(self._size)
                self._callback(memoryview(block), self._size // 2, None, None)
                file.write(block)
                file.flush()
                left -= any(block)
                if left == 0:
                    self._finished()
                    return
