"""What several people say becomes one utterance in a lull."""

from __future__ import annotations

import logging

import pytest

from familiar_connect.voice.turn_taking import MAX_FINALS, VoiceLullMonitor
from familiar_connect.voice.types import TranscriptionResult, VoiceActivityEvent
from tests.voice.fake_timers import FakeTimers


def final(text: str, start: float = 0, end: float = 1, speaker: str = "Ada") -> TranscriptionResult:
    return TranscriptionResult(text, True, start, end, 0.9, speaker)


class Room:
    """A monitor, its time, and what it told."""

    def __init__(self) -> None:
        self.timers = FakeTimers()
        self.utterances: list[TranscriptionResult] = []
        self.activity: list[tuple[int, str]] = []
        self.monitor = VoiceLullMonitor(
            lull_timeout=5,
            on_utterance_complete=self.utterances.append,
            on_voice_activity=lambda uid, event: self.activity.append((uid, event.value)),
            later=self.timers.later,
        )


def test_finals_are_put_together_when_nobody_has_spoken_for_a_while() -> None:
    """Start of the first, end and speaker of the last; interims and empty finals count for nothing."""
    room = Room()
    room.monitor.on_transcript(1, final("Good morning", 1, 2, "Ada"))
    room.timers.advance(4)
    room.monitor.on_transcript(2, final("and tea?", 5, 6, "Bo"))
    room.monitor.on_transcript(2, TranscriptionResult("and", False, 5, 5))
    room.monitor.on_transcript(2, final("  "))
    room.timers.advance(4.9)
    assert not room.utterances
    room.timers.advance(0.2)
    assert room.utterances == [TranscriptionResult("Good morning and tea?", True, 1, 6, 0.9, "Bo")]
    room.timers.advance(60)
    assert len(room.utterances) == 1


def test_speech_is_told_once_and_holds_the_lull_back() -> None:
    """However often its start is reported; a final ends it."""
    room = Room()
    room.monitor.on_transcript(1, final("Well"))
    for _ in range(4):
        room.monitor.on_speech_start(2)
        room.timers.advance(3)
    assert not room.utterances
    room.monitor.on_transcript(2, final("so"))
    room.monitor.on_speech_end(2)
    assert room.activity == [(2, "started"), (2, "ended")]
    room.timers.advance(5)
    assert [each.text for each in room.utterances] == ["Well so"]


def test_what_is_cleared_is_never_told() -> None:
    """The timer ends with it."""
    room = Room()
    room.monitor.on_transcript(1, final("Well"))
    room.monitor.clear()
    room.timers.advance(60)
    assert not room.utterances
    assert not room.timers.waiting


def test_a_room_that_is_never_quiet_is_heard_all_the_same() -> None:
    """Nothing grows without end."""
    room = Room()
    for _ in range(MAX_FINALS):
        room.monitor.on_transcript(1, final("la"))
    assert len(room.utterances) == 1


async def test_a_callback_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Plain or waited for, it stops nothing."""

    async def fail_later(_: int, __: VoiceActivityEvent) -> None:
        raise RuntimeError("later")

    def fail(_: TranscriptionResult) -> None:
        raise RuntimeError("now")

    timers = FakeTimers()
    monitor = VoiceLullMonitor(
        lull_timeout=1, on_utterance_complete=fail, on_voice_activity=fail_later, later=timers.later
    )
    with caplog.at_level(logging.ERROR):
        monitor.on_speech_start(1)
        monitor.on_transcript(1, final("x"))
        timers.advance(2)
        await monitor.wait_until_idle()
        await monitor.close()
    assert len(caplog.records) == 3


def test_a_transcript_is_a_message_with_its_speaker() -> None:
    """Or with the word Voice."""
    assert final("Hi").to_message().content == "[Voice] Hi"
    assert final("Hi").to_message().name == "Ada"
    assert TranscriptionResult("Hi", True, 0, 1).to_message().name == "Voice"


def test_the_lull_is_as_long_as_the_last_words_have_it() -> None:
    """A pause of its own after each final, and anew once no more words are on their way."""
    timers, told = FakeTimers(), list[TranscriptionResult]()
    pauses = {"Is it cold?": 1.0, "So I thought": 9.0}
    monitor = VoiceLullMonitor(
        lull_timeout=5, on_utterance_complete=told.append, pause_after=lambda text: pauses[text], later=timers.later
    )
    monitor.rearm()
    assert not timers.waiting
    monitor.on_transcript(1, final("So I thought"))
    timers.advance(8)
    assert not told
    monitor.on_transcript(1, final("Is it cold?"))
    timers.advance(0.9)
    monitor.rearm()
    timers.advance(0.9)
    assert not told
    timers.advance(0.2)
    assert [each.text for each in told] == ["So I thought Is it cold?"]
