"""Speech is told from silence, and cut into stretches."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.voice.protocols import HEARING_RATE
from familiar_connect.voice.types import TranscriptionResult, VoiceActivityEvent
from familiar_connect.voice.vad import (
    MAX_SEGMENT_S,
    EnergyProbability,
    SpeechSegment,
    SpeechSegmenter,
    TranscriptActivity,
)
from tests.voice.fake_timers import FakeTimers


def tone(seconds: float) -> bytes:
    """Something loud."""
    samples = [round(9_000 * math.sin(at / 5)) for at in range(int(seconds * HEARING_RATE))]
    return struct.pack(f"<{len(samples)}h", *samples)


def silence(seconds: float) -> bytes:
    return bytes(2 * int(seconds * HEARING_RATE))


def segments_of(sound: bytes, size: int = 3_000) -> list[SpeechSegment]:
    segmenter = SpeechSegmenter(EnergyProbability())
    found = [each for at in range(0, len(sound), size) for each in segmenter.feed(sound[at : at + size])]
    return found + segmenter.finish()


def test_a_pause_ends_a_stretch_and_a_breath_does_not() -> None:
    """Times are those of the stream; a little from before is kept."""
    found = segments_of(silence(1) + tone(1) + silence(0.4) + tone(0.5) + silence(2) + tone(1))
    assert [each.start for each in found] == pytest.approx([0.7, 4.6], abs=0.1)
    assert [each.end for each in found] == pytest.approx([2.9, 5.9], abs=0.1)


def test_silence_and_a_click_are_nothing() -> None:
    """Nobody is asked what was said."""
    assert segments_of(silence(3)) == []
    assert segments_of(silence(1) + tone(0.05) + silence(2)) == []


def test_whoever_never_stops_is_heard_in_pieces() -> None:
    """Without a word lost between two."""
    found = segments_of(tone(MAX_SEGMENT_S * 2.5))
    assert [each.is_cut for each in found] == [True, True, False]
    assert sum(len(each.pcm) for each in found) == pytest.approx(2 * HEARING_RATE * MAX_SEGMENT_S * 2.5, rel=0.01)


@given(st.integers(1, 9_000))
def test_the_size_of_the_pieces_changes_nothing(size: int) -> None:
    """As a microphone, a network or a file gives them."""
    sound = silence(0.5) + tone(0.5) + silence(1) + tone(0.3) + silence(1)
    assert segments_of(sound, size) == segments_of(sound)


def test_activity_is_told_as_it_happens() -> None:
    """Its start at once, its end after the silence."""
    told: dict[str, float] = {}
    segmenter = SpeechSegmenter(EnergyProbability(), on_activity=lambda event, at: told.update({event.value: at}))
    segmenter.feed(silence(1) + tone(0.5))
    assert segmenter.is_speaking
    assert told == pytest.approx({"started": 1}, abs=0.05)
    segmenter.feed(silence(0.5))
    assert len(told) == 1
    segmenter.feed(silence(0.5))
    assert told == pytest.approx({"started": 1, "ended": 1.5}, abs=0.05)


def test_transcripts_tell_activity_where_nothing_else_does() -> None:
    """Until none have come for a while; empty ones say nothing."""
    timers, told = FakeTimers(), list[VoiceActivityEvent]()
    activity = TranscriptActivity(told.append, later=timers.later)
    activity.on_result(TranscriptionResult(" ", False, 0, 0))
    for _ in range(3):
        activity.on_result(TranscriptionResult("he", False, 0, 1))
        timers.advance(0.5)
    assert told == [VoiceActivityEvent.started]
    timers.advance(0.3)
    assert told == [VoiceActivityEvent.started, VoiceActivityEvent.ended]
    activity.clear()
    assert timers.waiting == 0
