"""SoundCard: the one door to the library of microphones and speakers, which is loaded when a device is asked for.

Keeping a device open: it is watched, and tried again where it goes away.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, Protocol

from familiar_connect.errors import SetupError

SOUND_LIBRARY = "sounddevice"
BLOCK_MS = 20
"""Sound comes and goes in blocks of this length, so that silence is never further away than one of them."""

Direction = Literal["input", "output"]
MICROPHONE, SPEAKERS = "microphone", "speakers"
OnBlock = Callable[[Any, int, Any, Any], None]
"""What the library calls for each block, in a thread of its own: the block, its frames, times, flags."""


class SoundStream(Protocol):
    """An open device, as the library has it."""

    latency: float
    samplerate: float

    def start(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class DeviceError(OSError):
    """A device that is not there or does not work."""


class SoundCard:
    """Opens the devices that the system has as its default, in a thread of its own: some systems take no other."""

    def __init__(self, library: Any = None) -> None:
        """*library*: what stands in for `sounddevice`."""
        self._library = library
        self._open: list[SoundStream] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sound")

    async def find_lacking(self) -> dict[Direction, str]:
        """Which way there is no device, each with the reason and the fix."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._find_lacking_now)

    def list_problems(self) -> list[str]:
        """What this computer lacks, each with the fix."""
        return list(dict.fromkeys(self._find_lacking_now().values()))

    def _find_lacking_now(self) -> dict[Direction, str]:
        try:
            library = self._load()
        except SetupError as error:
            return {"input": str(error), "output": str(error)}
        ways: tuple[tuple[Direction, str, str, str], ...] = (
            ("input", MICROPHONE, "one", "it"),
            ("output", SPEAKERS, "some", "them"),
        )
        return {
            way: f"this computer has no {name}: plug {pronoun} in and choose {choice} in the system's sound settings"
            for way, name, pronoun, choice in ways
            if not _has_device(library, way)
        }

    async def open(
        self,
        direction: Direction,
        rate: int,
        on_block: OnBlock,
        *,
        on_finished: Callable[[], None],
        looks_again: bool = False,
    ) -> tuple[SoundStream, int]:
        """The device, started, and the sample rate it has: *rate*, or its own where it knows no other.

        When it *looks_again*, devices that came and went are learned of first.
        """
        opening = partial(self._open_now, direction, rate, on_block, on_finished, looks_again)
        return await asyncio.get_running_loop().run_in_executor(self._thread, opening)

    async def close(self, stream: SoundStream) -> None:
        """Close a device; one that is gone is no trouble."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close_now, stream)

    def _open_now(
        self, direction: Direction, rate: int, on_block: OnBlock, on_finished: Callable[[], None], looks_again: bool
    ) -> tuple[SoundStream, int]:
        library = self._load()
        if looks_again and not self._open:  # it would end what is open
            library._terminate()
            library._initialize()
        name = MICROPHONE if direction == "input" else SPEAKERS
        try:
            own_rate = int(library.query_devices(None, direction)["default_samplerate"])
        except (library.PortAudioError, ValueError) as error:
            raise DeviceError(f"there is no {name}") from error
        make = library.RawInputStream if direction == "input" else library.RawOutputStream
        reason: Exception | None = None
        for each in dict.fromkeys((rate, own_rate)):
            try:
                stream: SoundStream = make(
                    samplerate=each,
                    blocksize=each * BLOCK_MS // 1000,
                    channels=1,
                    dtype="int16",
                    latency="low",
                    callback=on_block,
                    finished_callback=on_finished,
                )
                stream.start()
            except (library.PortAudioError, ValueError) as error:
                reason = error
                continue
            self._open.append(stream)
            return stream, each
        raise DeviceError(f"the {name} cannot be used: {reason}") from reason

    def _close_now(self, stream: SoundStream) -> None:
        if stream in self._open:
            self._open.remove(stream)
        for end in (stream.abort, stream.close):
            with suppress(self._load().PortAudioError):
                end()

    def _load(self) -> Any:
        if self._library is None:
            self._library = _load_library()
        return self._library


def _has_device(library: Any, direction: str) -> bool:
    try:
        return bool(library.query_devices(None, direction))
    except (library.PortAudioError, ValueError):
        return False


def _load_library() -> Any:
    if find_spec(SOUND_LIBRARY) is None:
        raise SetupError("the library of microphones and speakers is not installed")
    try:
        return import_module(SOUND_LIBRARY)
    except OSError as error:
        raise SetupError(f"PortAudio is not installed on this system: {_how_to_install_portaudio()}") from error


def _how_to_install_portaudio() -> str:
    if sys.platform.startswith("linux"):
        return "run `sudo apt install libportaudio2` (Debian, Ubuntu) or install the system's package `portaudio`"
    return f"reinstall the package `{SOUND_LIBRARY}`, which brings it here"


RETRY_S = (0.5, 1.0, 2.0, 4.0, 8.0)
"""How long is waited before each new try; after the last the device is given up."""
SILENT_S = 6.0
"""A device that has not asked for a block for so long is gone, even where nobody was told."""

Sleep = Callable[[float], Awaitable[None]]


class DeviceWatch:
    """Knows whether an open device is still there. `beat` and `end` are called from the library's thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._beat = now()
        self._has_ended = False

    def begin(self) -> None:
        """The device was opened."""
        self._beat, self._has_ended = self._now(), False

    def beat(self) -> None:
        """It has asked for a block."""
        self._beat = self._now()

    def end(self) -> None:
        """It has stopped."""
        self._has_ended = True

    @property
    def is_gone(self) -> bool:
        return self._has_ended or self._now() - self._beat > SILENT_S


async def try_again(open_device: Callable[[], Awaitable[None]], *, sleep: Sleep = asyncio.sleep) -> bool:
    """Open a device that went away; whether it came back in time."""
    for wait_s in RETRY_S:
        await sleep(wait_s)
        try:
            await open_device()
        except OSError:
            continue
        return True
    return False
