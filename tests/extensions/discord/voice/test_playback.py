"""Speech into a voice channel: a frame each 20 ms, and silence at once when it is cut off."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import DeliveryError
from familiar_connect.extensions.discord.voice.opus import FRAME_BYTES, OpusHearing
from familiar_connect.extensions.discord.voice.packets import SILENCE
from familiar_connect.extensions.discord.voice.playback import RECONNECT_S, DiscordAudioOut, cut_frames
from familiar_connect.voice.audio import duration_s, loudness, stereo_to_mono
from tests.fakes.tones import make_tone

SECOND = b"".join(stereo_to_mono(make_tone(at)) for at in range(50))


@dataclass
class Line:
    """A connection that notes what is sent into it, on a clock that sleeping moves."""

    now: float = 0.0
    sent: list[tuple[float, bytes]] = field(default_factory=list)
    announced: int = 0
    is_lost_from: float = 1e9
    is_back_at: float = 1e9
    cancel_at: float = 1e9
    playing: asyncio.Task[None] | None = None

    def is_ready(self) -> bool:
        return not self.is_lost_from <= self.now < self.is_back_at

    async def announce_speech(self) -> None:
        self.announced += 1

    def send_frame(self, packet: bytes) -> None:
        self.sent.append((self.now, packet))

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.playing is not None and self.now >= self.cancel_at:
            self.playing.cancel()
        await asyncio.sleep(0)

    def make_out(self) -> DiscordAudioOut:
        return DiscordAudioOut(lambda: self, clock=lambda: self.now, sleep=self.sleep)

    def frames(self) -> list[bytes]:
        return [packet for _, packet in self.sent if packet != SILENCE]


@given(st.binary(max_size=4000).map(lambda data: data[: len(data) // 2 * 2]), st.sampled_from([8000, 22050, 48000]))
def test_sound_is_cut_into_whole_frames(pcm: bytes, rate: int) -> None:
    """As many as it lasts, the last one filled up."""
    frames = cut_frames(pcm, rate)

    assert all(len(each) == FRAME_BYTES for each in frames)
    assert abs(len(frames) * 0.02 - duration_s(pcm, rate)) <= 0.021


async def test_a_second_of_speech_takes_a_second() -> None:
    """A frame each 20 ms, then a little silence, and the server is told before."""
    line = Line()
    out = line.make_out()

    await out.play(SECOND, 48_000)
    ended = line.now
    await out.aclose()

    assert line.announced == 1
    assert len(line.frames()) == 50
    assert abs(ended - 1.0) < 1e-6
    assert out.position_ms() == 1000
    hearing = OpusHearing()
    assert loudness(b"".join(hearing.decode(each) for each in line.frames())) > 0.15


async def test_cut_off_it_is_silent_at_once() -> None:
    """Nothing but frames of silence follow, and the position is what was really sent."""
    line = Line(cancel_at=0.3)
    out = line.make_out()

    line.playing = asyncio.create_task(out.play(SECOND, 48_000))
    with pytest.raises(asyncio.CancelledError):
        await line.playing
    cut_off = len(line.frames())
    for _ in range(20):
        await asyncio.sleep(0)

    assert len(line.frames()) == cut_off == 15
    assert out.position_ms() == 300
    assert [packet for _, packet in line.sent[15:]] == [SILENCE] * 5


async def test_a_loop_that_was_held_up_does_not_send_everything_at_once() -> None:
    """Few frames are made up for."""
    line = Line()
    out = line.make_out()

    async def stall(seconds: float) -> None:
        line.now += seconds + (3.0 if len(line.sent) == 10 else 0.0)

    await DiscordAudioOut(lambda: line, clock=lambda: line.now, sleep=stall).play(SECOND, 48_000)

    in_a_burst = [at for at, _ in line.sent if 3.2 <= at < 3.21]
    assert len(in_a_burst) <= 12
    await out.aclose()


async def test_speech_waits_for_a_connection_that_is_made_again() -> None:
    """No frame is lost, and none is sent into nothing."""
    line = Line(is_lost_from=0.1, is_back_at=3.0)
    out = line.make_out()

    await out.play(SECOND, 48_000)

    assert len(line.frames()) == 50
    assert line.announced == 2
    assert not [at for at, _ in line.sent if 0.1 <= at < 3.0]


async def test_a_connection_that_stays_away_is_an_error_in_words() -> None:
    """After a while; what was sent until then was heard."""
    line = Line(is_lost_from=0.1)
    out = line.make_out()

    with pytest.raises(DeliveryError, match="lost"):
        await out.play(SECOND, 48_000)

    assert out.position_ms() == 100
    assert line.now >= RECONNECT_S
