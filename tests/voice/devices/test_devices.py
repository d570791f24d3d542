"""Microphone and speakers, with a double of the library that has its names and its callbacks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from familiar_connect.voice.audio import loudness
from familiar_connect.voice.devices.echo_guard import TAIL_S, EchoGuard
from familiar_connect.voice.devices.loudspeakers import Loudspeakers
from familiar_connect.voice.devices.microphone import BlockResampler, Microphone
from familiar_connect.voice.devices.sound_card import BLOCK_MS, RETRY_S, SILENT_S, DeviceWatch, SoundCard
from tests.fakes.manual_sound import ManualSound
from tests.fakes.waiting import until

RATE = 24_000
BLOCK = bytes([7, 0]) * (RATE * BLOCK_MS // 1000)
HEARD_BLOCK = bytes([7, 0]) * 320


class Sleeps:
    """Sleeping that a test lets go on."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.waiting = 0
        self._steps = asyncio.Semaphore(0)

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        self.waiting += 1
        await self._steps.acquire()

    def go_on(self) -> None:
        self.waiting -= 1
        self._steps.release()


async def turn_until(check: Callable[[], bool], sleeps: Sleeps) -> None:
    """Let *sleeps* go on until *check* holds: each only once it has begun, so that none runs on by itself later."""
    for _ in range(10_000):
        if check():
            return
        if sleeps.waiting > 0:
            sleeps.go_on()
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to that")


# Microphone


async def test_sound_of_the_microphone_is_handed_on() -> None:
    """Block by block, as it comes."""
    library, heard = ManualSound(), bytearray()
    microphone = Microphone(SoundCard(library), heard.extend, on_trouble=lambda _: None)
    await microphone.start()
    [stream] = library.streams
    assert (stream.samplerate, stream.blocksize) == (16_000, 320)
    for _ in range(3):
        stream.hear(HEARD_BLOCK)
    await until(lambda: bytes(heard) == HEARD_BLOCK * 3)
    await microphone.aclose()
    assert not stream.is_open


async def test_a_microphone_that_knows_its_own_rate_only_is_heard_too() -> None:
    """Its sound is resampled."""
    library, heard = ManualSound(rates=(44_100,), default_rate=44_100), bytearray()
    microphone = Microphone(SoundCard(library), heard.extend, on_trouble=lambda _: None)
    await microphone.start()
    [stream] = library.streams
    tone = (np.sin(np.arange(44_100) * 2 * np.pi * 440 / 44_100) * 10_000).astype("<i2").tobytes()
    for at in range(0, len(tone), stream.blocksize * 2):
        stream.hear(tone[at : at + stream.blocksize * 2])
    await until(lambda: len(heard) >= 15_000 * 2)
    assert loudness(bytes(heard[4_000:])) == pytest.approx(loudness(tone), rel=0.02)
    await microphone.aclose()


async def test_an_unplugged_microphone_is_said_and_tried_again() -> None:
    """Once it is back it is heard."""
    library, heard, said, sleeps = ManualSound(), bytearray(), list[str](), Sleeps()
    microphone = Microphone(SoundCard(library), heard.extend, on_trouble=said.append, sleep=sleeps)
    await microphone.start()
    library.unplugged = True
    library.streams[0].finished()
    await turn_until(lambda: len(sleeps.asked) > 3, sleeps)
    assert said == ["The microphone is gone; I keep trying it. Meanwhile you can type."]
    library.unplugged = False
    await turn_until(lambda: len(said) > 1, sleeps)
    library.streams[1].hear(HEARD_BLOCK)
    await until(lambda: bytes(heard) == HEARD_BLOCK)
    assert said[1:] == ["The microphone is back."]
    assert library.looks > 0
    await microphone.aclose()


async def test_a_microphone_that_stays_away_is_given_up() -> None:
    """After a bounded time, with what to do."""
    library, said, sleeps = ManualSound(), list[str](), Sleeps()
    microphone = Microphone(SoundCard(library), lambda _: None, on_trouble=said.append, sleep=sleeps)
    await microphone.start()
    library.unplugged = True
    library.streams[0].finished()
    await turn_until(lambda: len(said) == 2, sleeps)
    assert said[1] == "The microphone is gone: type instead, or plug one in and start again."
    assert [each for each in sleeps.asked if each in RETRY_S][-len(RETRY_S) :] == list(RETRY_S)
    await microphone.aclose()


async def test_sound_that_nobody_takes_is_bounded() -> None:
    """The oldest of more than ten seconds is lost."""
    library, heard = ManualSound(), bytearray()
    microphone = Microphone(SoundCard(library), heard.extend, on_trouble=lambda _: None)
    await microphone.start()
    for _ in range(2_000):
        library.streams[0].hear(HEARD_BLOCK)
    await until(lambda: len(heard) > 0)
    assert len(heard) == 10 * 32_000
    await microphone.aclose()


# Speakers


async def play_some(out: Loudspeakers, library: ManualSound, blocks: int) -> tuple[asyncio.Task[None], list[bytes]]:
    """A clip of ten blocks that is being played, and the *blocks* that were asked for."""
    task = asyncio.create_task(out.play(BLOCK * 10, RATE))
    await until(lambda: out.is_playing)
    return task, [library.streams[-1].pull() for _ in range(blocks)]


async def test_a_clip_is_played_to_its_end() -> None:
    """And the next goes through the same open device, with silence between them."""
    library = ManualSound()
    out = Loudspeakers(SoundCard(library), on_trouble=lambda _: None)
    for _ in range(2):
        task, blocks = await play_some(out, library, 10)
        await task
        assert blocks == [BLOCK] * 10
        assert out.position_ms() == 200
        assert library.streams[0].pull() == bytes(len(BLOCK))
    assert len(library.streams) == 1
    await out.aclose()
    assert not library.streams[0].is_open


async def test_cancelled_the_very_next_block_is_silent() -> None:
    """A block is 20 ms, and what was heard is what the device had and has let out."""
    library = ManualSound(latency=0.05)
    out = Loudspeakers(SoundCard(library), on_trouble=lambda _: None)
    task, _ = await play_some(out, library, 6)
    assert out.position_ms() == pytest.approx(6 * BLOCK_MS - 50)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert library.streams[0].pull() == bytes(len(BLOCK))
    assert out.position_ms() == pytest.approx(6 * BLOCK_MS - 50)
    assert not out.is_playing
    await out.aclose()


async def test_unplugged_in_the_middle_the_rest_is_played_when_they_are_back() -> None:
    """Nothing of it is left out or repeated."""
    library, said, sleeps = ManualSound(), list[str](), Sleeps()
    out = Loudspeakers(SoundCard(library), on_trouble=said.append, sleep=sleeps)
    task, _ = await play_some(out, library, 4)
    library.unplugged = True
    library.streams[0].finished()
    await turn_until(lambda: bool(said), sleeps)
    library.unplugged = False
    await turn_until(lambda: len(library.streams) == 2 and out.is_playing, sleeps)
    assert [library.streams[1].pull() for _ in range(6)] == [BLOCK] * 6
    await task
    assert out.position_ms() == 200
    assert said == ["The speakers are gone; I keep trying them.", "The speakers are back."]
    await out.aclose()


async def test_speakers_that_stay_away_are_an_error_and_asked_once_more_with_the_next_clip() -> None:
    """The next clip does not wait for them again."""
    library, said, sleeps = ManualSound(), list[str](), Sleeps()
    out = Loudspeakers(SoundCard(library), on_trouble=said.append, sleep=sleeps)
    library.unplugged = True
    task = asyncio.create_task(out.play(BLOCK, RATE))
    await turn_until(task.done, sleeps)
    with pytest.raises(OSError, match="no speakers"):
        await task
    waits = len(sleeps.asked)
    with pytest.raises(OSError, match="speakers"):
        await out.play(BLOCK, RATE)
    assert len(sleeps.asked) == waits
    assert said[-1] == "The speakers are gone: replies are only shown."
    library.unplugged = False
    task = asyncio.create_task(out.play(BLOCK, RATE))
    await until(lambda: out.is_playing)
    library.streams[-1].pull()
    await task


# The rest


def test_a_device_that_is_silent_for_long_is_gone() -> None:
    """Some systems tell nobody."""
    now = [0.0]
    watch = DeviceWatch(lambda: now[0])
    now[0] = SILENT_S
    assert not watch.is_gone
    now[0] += 0.1
    assert watch.is_gone
    watch.begin()
    assert not watch.is_gone
    watch.end()
    assert watch.is_gone


def test_while_the_familiar_speaks_silence_is_heard() -> None:
    """And a moment longer, for rooms echo."""
    now, speaks, heard = [0.0], [True], list[bytes]()
    guard = EchoGuard(lambda: speaks[0], heard.append, now=lambda: now[0])
    guard.feed(b"ab")
    speaks[0] = False
    now[0] = TAIL_S / 2
    guard.feed(b"cd")
    now[0] = TAIL_S
    guard.feed(b"ef")
    assert heard == [b"\0\0", b"\0\0", b"ef"]


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100, 48_000, 96_000])
def test_a_stream_is_resampled_without_a_seam(rate: int) -> None:
    """As long as it was, and as loud, whatever pieces it comes in."""
    tone = (np.sin(np.arange(rate) * 2 * np.pi * 300 / rate) * 10_000).astype("<i2").tobytes()
    resampler = BlockResampler(rate, 16_000)
    made = b"".join(resampler.feed(tone[at : at + 999 * 2]) for at in range(0, len(tone), 999 * 2))
    assert 0.9 < len(made) / 32_000 <= 1
    steps = np.abs(np.diff(np.frombuffer(made[2_000:], dtype="<i2").astype(int)))
    assert steps.max() < 10_000 * 2 * np.pi * 300 / 16_000 * 1.1


@pytest.mark.parametrize(("missing", "says"), [("input", "no microphone"), ("output", "no speakers")])
async def test_a_computer_without_a_device_is_told_so(missing: str, says: str) -> None:
    """With what to do about it."""
    library = ManualSound()
    library.missing.add(missing)
    [(way, problem)] = (await SoundCard(library).find_lacking()).items()
    assert way == missing
    assert f"this computer has {says}: plug " in problem


def test_the_library_is_loaded_when_a_device_is_asked_for() -> None:
    """Not by importing the door."""
    code = "import sys, familiar_connect.voice.devices.microphone; print('sounddevice' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
