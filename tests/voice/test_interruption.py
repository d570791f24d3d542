"""Being talked over: what counts, whether to keep talking, and what follows."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.voice.interruption import (
    UNSOLICITED_TOLERANCE_BIAS,
    Burst,
    BurstOutcome,
    InterruptionClass,
    InterruptionDetector,
    InterruptionLimits,
    ResponseState,
    ResponseTracker,
    ResponseTrackerRegistry,
    compute_tolerance,
    decide_outcome,
    keeps_talking,
    split_at_elapsed,
)
from familiar_connect.voice.types import WordTimestamp
from tests.voice.fake_timers import FakeTimers

IDLE, GENERATING, SPEAKING = ResponseState.IDLE, ResponseState.GENERATING, ResponseState.SPEAKING
LIMITS = InterruptionLimits(min_interruption_s=2, short_long_boundary_s=30, lull_timeout_s=5)
ADA, BO = 1, 2


class Scene:
    """A detector, its time, and what it told."""

    def __init__(self, tolerance: float = 0.0) -> None:
        self.time = FakeTimers()
        self.tracker = ResponseTracker(7, clock=self.time)
        self.bursts: list[Burst] = []
        self.yields: list[float] = []
        self.pushes: list[float] = []
        self.asked = 0
        self.tolerance = tolerance
        self.detector = InterruptionDetector(
            self.tracker,
            LIMITS,
            tolerance=self.ask,
            on_yield=lambda: self.yields.append(self.time.monotonic()),
            on_burst=self.bursts.append,
            on_talk_on=lambda: self.pushes.append(self.time.monotonic()),
            clock=self.time,
            later=self.time.later,
            rng=random.Random(1),
        )

    def ask(self) -> float:
        self.asked += 1
        return self.tolerance

    def speak(self, who: int, seconds: float) -> None:
        self.detector.on_speech_start(who)
        self.time.advance(seconds)
        self.detector.on_speech_end(who)


@pytest.mark.parametrize(
    ("seconds", "kind"),
    [(0.5, "discarded"), (1.99, "discarded"), (2, "short"), (29, "short"), (30, "long"), (300, "long")],
)
def test_length_says_what_an_interruption_is(seconds: float, kind: str) -> None:
    """From the first word to the last, a lull after everybody is quiet."""
    scene = Scene()
    scene.detector.change_state(SPEAKING)
    scene.speak(ADA, seconds)
    scene.time.advance(4.9)
    assert not scene.bursts
    scene.time.advance(0.2)
    assert [each.kind.value for each in scene.bursts] == [kind]
    assert scene.bursts[0].speakers == {ADA}


def test_the_familiar_yields_at_the_moment_the_minimum_is_crossed() -> None:
    """And is asked once, however long it goes on."""
    scene = Scene()
    scene.detector.change_state(SPEAKING)
    scene.time.advance(10)
    scene.speak(ADA, 1.5)
    scene.speak(BO, 9)
    assert scene.yields == [12.0]
    assert scene.pushes == []
    assert scene.asked == 1


def test_a_tolerant_one_talks_on() -> None:
    """Pushed through: it is told when that is decided, and their words are noted."""
    scene = Scene(tolerance=1.0)
    scene.detector.change_state(SPEAKING)
    scene.speak(ADA, 9)
    assert len(scene.pushes) == 1
    scene.time.advance(5)
    assert not scene.yields
    assert scene.bursts[0].outcome is BurstOutcome.note_words


def test_a_back_channel_asks_nothing() -> None:
    """A short noise is over before the minimum."""
    scene = Scene()
    scene.detector.change_state(SPEAKING)
    scene.speak(ADA, 0.4)
    scene.time.advance(20)
    assert scene.asked == 0
    assert scene.bursts[0].outcome is BurstOutcome.nothing


def test_whoever_speaks_already_when_the_familiar_begins_interrupts_from_then_on() -> None:
    """Speech before that does not count."""
    scene = Scene()
    scene.detector.on_speech_start(ADA)
    scene.time.advance(60)
    scene.detector.change_state(GENERATING)
    scene.time.advance(1)
    scene.detector.change_state(SPEAKING)
    scene.time.advance(2)
    scene.detector.on_speech_end(ADA)
    scene.time.advance(5)
    assert [(each.start, each.end, each.state) for each in scene.bursts] == [(60.0, 63.0, SPEAKING)]
    assert scene.yields == [62.0]


def test_a_reply_that_ends_before_it_is_spoken_ends_what_was_quiet() -> None:
    """One that was spoken keeps it, and so does somebody who still speaks."""
    quiet = Scene()
    quiet.detector.change_state(GENERATING)
    quiet.speak(ADA, 3)
    quiet.detector.change_state(IDLE)
    quiet.time.advance(60)
    assert not quiet.bursts

    spoken = Scene()
    spoken.detector.change_state(SPEAKING)
    spoken.speak(ADA, 3)
    spoken.detector.change_state(IDLE)
    spoken.time.advance(60)
    assert len(spoken.bursts) == 1

    going_on = Scene()
    going_on.detector.change_state(GENERATING)
    going_on.detector.on_speech_start(ADA)
    going_on.detector.change_state(IDLE)
    going_on.time.advance(3)
    going_on.detector.on_speech_end(ADA)
    going_on.time.advance(5)
    assert [each.state for each in going_on.bursts] == [GENERATING]


@pytest.mark.parametrize(
    ("kind", "state", "has_yielded", "outcome"),
    [
        ("discarded", SPEAKING, True, "nothing"),
        ("short", GENERATING, False, "join_pending"),
        ("long", GENERATING, False, "generate_anew"),
        ("short", SPEAKING, True, "resume"),
        ("short", SPEAKING, False, "note_words"),
        ("long", SPEAKING, True, "reply_anew"),
        ("long", SPEAKING, False, "note_words"),
        ("long", IDLE, False, "nothing"),
    ],
)
def test_what_follows(kind: str, state: ResponseState, has_yielded: bool, outcome: str) -> None:
    """The table, row by row."""
    assert decide_outcome(InterruptionClass(kind), state, has_yielded=has_yielded) is BurstOutcome(outcome)


@given(st.floats(-3, 3), st.floats(-3, 3), st.booleans(), st.floats(0, 1, exclude_max=True))
def test_tolerance_is_a_chance(base: float, mood: float, is_unsolicited: bool, roll: float) -> None:
    """Within 0 and 1, greater for a remark of one's own."""
    tolerance = compute_tolerance(base, mood, is_unsolicited=is_unsolicited)
    assert 0 <= tolerance <= 1
    assert tolerance >= compute_tolerance(base, mood)
    assert keeps_talking(roll, 1.0)
    assert not keeps_talking(roll, 0.0)
    assert compute_tolerance(0.3, 0.0, is_unsolicited=True) == pytest.approx(0.3 + UNSOLICITED_TOLERANCE_BIAS)


def test_a_word_is_heard_from_its_start_on() -> None:
    """What is left is what was not begun."""
    words = [WordTimestamp("one", 0, 400), WordTimestamp("two", 400, 800), WordTimestamp("three", 800, 1200)]
    assert split_at_elapsed(words, 0) == ("", "one two three")
    assert split_at_elapsed(words, 401) == ("one two", "three")
    assert split_at_elapsed(words, 400) == ("one", "two three")
    assert split_at_elapsed(words, 9999) == ("one two three", "")


def test_idle_forgets_the_reply_and_speaking_notes_when_it_began() -> None:
    """A change to the same state is none."""
    time = FakeTimers()
    tracker = ResponseTrackerRegistry(time).get(7)
    tracker.change_state(GENERATING)
    tracker.text, tracker.is_unsolicited = "Hello", True
    time.advance(3)
    tracker.change_state(SPEAKING)
    time.advance(1)
    tracker.change_state(SPEAKING)
    assert tracker.speaking_since == 3
    tracker.change_state(IDLE)
    assert not tracker.text
    assert not tracker.is_unsolicited
    assert tracker.speaking_since is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["start", "end", IDLE, GENERATING, SPEAKING]), st.sampled_from([ADA, BO]), st.floats(0, 9)
        ),
        max_size=40,
    )
)
def test_whatever_happens_it_comes_to_rest(events: list[tuple[object, int, float]]) -> None:
    """No burst is open for good and no timer is left once everybody is quiet; each yield belongs to one burst."""
    scene = Scene()
    for what, who, seconds in events:
        if what == "start":
            scene.detector.on_speech_start(who)
        elif what == "end":
            scene.detector.on_speech_end(who)
        elif isinstance(what, ResponseState):
            scene.detector.change_state(what)
        scene.time.advance(seconds)
    for who in (ADA, BO):
        scene.detector.on_speech_end(who)
    scene.time.advance(100)
    assert scene.time.waiting == 0
    assert all(burst.end >= burst.start for burst in scene.bursts)
    assert sum(burst.has_yielded for burst in scene.bursts) == len(scene.yields)
