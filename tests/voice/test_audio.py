"""Samples keep their worth."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.voice.audio import (
    duration_s,
    loudness,
    mix_to_mono,
    mono_to_stereo,
    resample,
    stereo_to_mono,
)

SAMPLES = st.lists(st.integers(-32768, 32767), max_size=50)


def pcm(samples: list[int]) -> bytes:
    return struct.pack(f"<{len(samples)}h", *samples)


def tone(hertz: float, rate: int, seconds: float = 0.2, peak: int = 12_000) -> bytes:
    return pcm([round(peak * math.sin(2 * math.pi * hertz * at / rate)) for at in range(int(rate * seconds))])


@given(SAMPLES)
def test_two_equal_channels_are_the_one_they_came_from(samples: list[int]) -> None:
    """There and back."""
    assert stereo_to_mono(mono_to_stereo(pcm(samples))) == pcm(samples)
    assert mix_to_mono(mono_to_stereo(pcm(samples)), 2) == pcm(samples)


def test_channels_are_averaged_and_rounded_down() -> None:
    """Also below zero, and without running over."""
    assert stereo_to_mono(pcm([1, 2, -1, -2, 32767, 32767, -32768, -32768])) == pcm([1, -2, 32767, -32768])


def test_half_a_sample_is_refused() -> None:
    """By name and number."""
    with pytest.raises(ValueError, match="not 3"):
        mono_to_stereo(b"abc")
    with pytest.raises(ValueError, match="not 6"):
        stereo_to_mono(b"abcdef")


@pytest.mark.parametrize(("rate", "to"), [(8_000, 16_000), (48_000, 16_000), (96_000, 16_000), (44_100, 16_000)])
def test_a_tone_keeps_its_loudness_and_length_at_another_rate(rate: int, to: int) -> None:
    """Within five in a hundred."""
    heard = resample(tone(440, rate), rate, to)
    assert duration_s(heard, to) == pytest.approx(0.2, abs=0.001)
    assert loudness(heard) == pytest.approx(loudness(tone(440, rate)), rel=0.05)


def test_what_the_lower_rate_cannot_hold_is_filtered_out() -> None:
    """Instead of coming back as another tone."""
    assert loudness(resample(tone(20_000, 48_000), 48_000, 16_000)) < 0.02


@given(st.binary(max_size=99), st.sampled_from([8_000, 16_000, 22_050, 48_000, 96_000]))
def test_any_bytes_can_be_resampled(sound: bytes, rate: int) -> None:
    """Half a sample at the end is dropped."""
    assert len(resample(sound, rate, 16_000)) % 2 == 0
