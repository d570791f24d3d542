"""Being talked over: how long, whether to keep talking, and what follows.

`classify_burst`, `decide_outcome` and `split_at_elapsed` are pure. `InterruptionDetector` feeds them: it is told who
starts and stops speaking and what the familiar does, with an injected clock, timer and random source.

Speakers: who is in a voice channel, who of them speaks, and whose words are still on their way.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum

from familiar_connect.identity import Author
from familiar_connect.support.aio import CallLater, RestartableTimer, call_later
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.voice.types import WordTimestamp

UNSOLICITED_TOLERANCE_BIAS = 0.35
"""Added to the tolerance where nobody asked for the reply: a remark of one's own is finished more often."""


class ResponseState(Enum):
    """What the familiar does in a voice channel."""

    IDLE = "idle"
    GENERATING = "generating"
    SPEAKING = "speaking"


class InterruptionClass(Enum):
    """How much somebody said while the familiar was at it."""

    discarded = "discarded"
    short = "short"
    long = "long"


class BurstOutcome(Enum):
    """What follows from being talked over."""

    nothing = "nothing"
    join_pending = "join_pending"
    """Their words are answered together with what is being answered."""
    generate_anew = "generate_anew"
    """The reply under way is dropped; a new one knows what was said meanwhile."""
    resume = "resume"
    """The rest is said after the pause."""
    note_words = "note_words"
    """The familiar goes on, and knows of their words in the next turn."""
    reply_anew = "reply_anew"
    """What was heard is recorded, and a new reply answers what was said."""


@dataclass
class ResponseTracker:
    """The state of the familiar's reply in one voice channel."""

    guild_id: int
    clock: Clock = field(default_factory=SystemClock)
    state: ResponseState = ResponseState.IDLE
    is_unsolicited: bool = False
    text: str = ""
    timestamps: Sequence[WordTimestamp] = ()
    speaking_since: float | None = None

    def change_state(self, state: ResponseState) -> None:
        """Go to *state*; to the same one nothing happens. Idle forgets the reply, speaking notes when it began."""
        if state is self.state:
            return
        self.state = state
        if state is ResponseState.IDLE:
            self.is_unsolicited, self.text, self.timestamps, self.speaking_since = False, "", (), None
        elif state is ResponseState.SPEAKING:
            self.speaking_since = self.clock.monotonic()


class ResponseTrackerRegistry:
    """One tracker per server."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._trackers: dict[int, ResponseTracker] = {}

    def get(self, guild_id: int) -> ResponseTracker:
        return self._trackers.setdefault(guild_id, ResponseTracker(guild_id, clock=self._clock))

    def remove(self, guild_id: int) -> None:
        self._trackers.pop(guild_id, None)


@dataclass(frozen=True, kw_only=True)
class InterruptionLimits:
    """From when on talking over the familiar counts, and when it is over."""

    min_interruption_s: float
    short_long_boundary_s: float
    lull_timeout_s: float
    silence_s: float = 0.0
    """How long after somebody stopped the detector is told so."""
    most_s: float | None = None
    """Who never stops is dealt with after this long; None: once they do."""


@dataclass(frozen=True, kw_only=True)
class Burst:
    """One stretch of being talked over. Times are the clock's seconds."""

    start: float
    end: float
    state: ResponseState
    """What it met: speech where the familiar spoke at any time of it."""
    speakers: frozenset[int]
    kind: InterruptionClass
    has_yielded: bool
    """The familiar stopped talking for it."""

    @property
    def outcome(self) -> BurstOutcome:
        return decide_outcome(self.kind, self.state, has_yielded=self.has_yielded)


def compute_tolerance(base: float, mood: float = 0.0, *, is_unsolicited: bool = False) -> float:
    """The chance of talking on, 0 to 1."""
    return min(1.0, max(0.0, base + mood + (UNSOLICITED_TOLERANCE_BIAS if is_unsolicited else 0.0)))


def keeps_talking(roll: float, tolerance: float) -> bool:
    return roll < tolerance


def classify_burst(duration_s: float, limits: InterruptionLimits) -> InterruptionClass:
    if duration_s < limits.min_interruption_s:
        return InterruptionClass.discarded
    return InterruptionClass.short if duration_s < limits.short_long_boundary_s else InterruptionClass.long


def decide_outcome(kind: InterruptionClass, state: ResponseState, *, has_yielded: bool) -> BurstOutcome:
    """What follows a burst of this *kind* that met the familiar in *state*."""
    if kind is InterruptionClass.discarded or state is ResponseState.IDLE:
        return BurstOutcome.nothing
    is_short = kind is InterruptionClass.short
    if state is ResponseState.GENERATING:
        return BurstOutcome.join_pending if is_short else BurstOutcome.generate_anew
    if not has_yielded:
        return BurstOutcome.note_words
    return BurstOutcome.resume if is_short else BurstOutcome.reply_anew


def split_at_elapsed(timestamps: Sequence[WordTimestamp], elapsed_ms: float) -> tuple[str, str]:
    """What was heard after *elapsed_ms*, and what was not: a word counts as heard from its start on."""
    heard = [each.word for each in timestamps if each.start_ms < elapsed_ms]
    left = [each.word for each in timestamps if each.start_ms >= elapsed_ms]
    return " ".join(heard), " ".join(left)


class InterruptionDetector:
    """Watches one voice channel: who speaks while the familiar is at it, and for how long."""

    def __init__(
        self,
        tracker: ResponseTracker,
        limits: InterruptionLimits,
        *,
        tolerance: Callable[[], float],
        on_yield: Callable[[], None],
        on_burst: Callable[[Burst], None],
        on_talk_on: Callable[[], None] = lambda: None,
        clock: Clock | None = None,
        later: CallLater = call_later,
        rng: random.Random | None = None,
    ) -> None:
        """*tolerance* is asked once for each burst; then *on_yield* or *on_talk_on* is called at once."""
        self._tracker = tracker
        self._limits = limits
        self._tolerance = tolerance
        self._on_yield = on_yield
        self._on_burst = on_burst
        self._on_talk_on = on_talk_on
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()  # whether to talk on is no secret
        self._speakers: set[int] = set()
        self._burst: _OpenBurst | None = None
        self._crossing = RestartableTimer(self._cross, later)
        self._lull = RestartableTimer(self._finish, later)
        self._longest = RestartableTimer(self._cut_short, later)

    @property
    def has_open_burst(self) -> bool:
        """Whether somebody talks over the familiar, or has just done so."""
        return self._burst is not None

    def on_speech_start(self, uid: int) -> None:
        """Somebody other than the familiar begins to speak."""
        self._speakers.add(uid)
        if self._tracker.state is not ResponseState.IDLE and self._burst is None:
            self._begin()
        if self._burst is not None:
            self._burst.speakers.add(uid)
            self._lull.cancel()
            self._watch_crossing()

    def on_speech_end(self, uid: int) -> None:
        """They stop."""
        self._speakers.discard(uid)
        if self._burst is None or uid not in self._burst.speakers:
            return
        self._burst.end = max(self._burst.end, self._clock.monotonic() - self._limits.silence_s)
        if not self._speakers:
            self._crossing.cancel()
            self._lull.restart(self._limits.lull_timeout_s)

    def change_state(self, state: ResponseState) -> None:
        """The familiar begins or ends to think or to speak."""
        before = self._tracker.state
        self._tracker.change_state(state)
        if state is before:
            return
        if state is ResponseState.IDLE:
            if before is ResponseState.GENERATING and not self._speakers:
                self.clear_burst()
            return
        if self._burst is None and self._speakers:
            self._begin()
        elif self._burst is not None and state is ResponseState.SPEAKING:
            self._burst.state = state
        if self._burst is not None and self._speakers:
            self._watch_crossing()

    def clear_burst(self) -> None:
        """Forget what is under way, not who speaks."""
        self._burst = None
        self._crossing.cancel()
        self._lull.cancel()
        self._longest.cancel()

    def clear(self) -> None:
        self.clear_burst()
        self._speakers.clear()

    def _begin(self) -> None:
        now = self._clock.monotonic()
        self._burst = _OpenBurst(start=now, end=now, state=self._tracker.state, speakers=set(self._speakers))
        if self._limits.most_s is not None:
            self._longest.restart(self._limits.most_s)

    def _watch_crossing(self) -> None:
        """Decide whether to yield once the burst is long enough; now, where it is already."""
        burst = self._burst
        if burst is None or burst.has_yielded is not None or self._tracker.state is not ResponseState.SPEAKING:
            return
        left = burst.start + self._limits.min_interruption_s - self._clock.monotonic()
        if left > 0:
            self._crossing.restart(left)
        else:
            self._crossing.cancel()
            self._cross()

    def _cross(self) -> None:
        burst = self._burst
        if burst is None or burst.has_yielded is not None or self._tracker.state is not ResponseState.SPEAKING:
            return
        burst.has_yielded = not keeps_talking(self._rng.random(), self._tolerance())
        if burst.has_yielded:
            self._on_yield()
        else:
            self._on_talk_on()

    def _cut_short(self) -> None:
        if self._burst is not None and self._speakers:
            self._burst.end = self._clock.monotonic()
            self._finish()

    def _finish(self) -> None:
        burst = self._burst
        self.clear_burst()
        if burst is not None:
            self._on_burst(
                Burst(
                    start=burst.start,
                    end=burst.end,
                    state=burst.state,
                    speakers=frozenset(burst.speakers),
                    kind=classify_burst(burst.end - burst.start, self._limits),
                    has_yielded=bool(burst.has_yielded),
                )
            )


@dataclass
class _OpenBurst:
    start: float
    end: float
    state: ResponseState
    speakers: set[int]
    has_yielded: bool | None = None
    """None: not decided yet."""


MAX_KNOWN = 1_000
"""People who are known by their number; of those who left, the first are forgotten first."""


@dataclass
class VoiceParticipant:
    """One person in the channel."""

    author: Author
    is_here: bool = True
    is_speaking: bool = False
    awaits_words: bool = False
    """They have stopped, and what they said is not recognised yet."""
    spoke_over: bool = False
    """From beginning to end of what they said last, the familiar spoke."""


class Speakers:
    """Everybody who is or was in one voice channel."""

    def __init__(self) -> None:
        self._known: dict[int, VoiceParticipant] = {}

    def join(self, author: Author) -> int:
        """Somebody is here; the number they go by."""
        uid = uid_of(author)
        known = self._known.get(uid)
        if known is None:
            self._known[uid] = VoiceParticipant(author)
            self._forget_some()
        else:
            known.author, known.is_here = author, True
        return uid

    def leave(self, author: Author) -> VoiceParticipant | None:
        """Somebody goes; None where nobody knew them."""
        known = self._known.get(uid_of(author))
        if known is not None:
            known.is_here = False
        return known

    def find(self, uid: int) -> VoiceParticipant | None:
        return self._known.get(uid)

    def present(self) -> tuple[Author, ...]:
        """Everybody who is here."""
        return tuple(each.author for each in self._known.values() if each.is_here)

    def speaking(self) -> list[int]:
        """Who speaks now."""
        return [uid for uid, each in self._known.items() if each.is_speaking]

    def is_anybody_busy(self) -> bool:
        """Whether anybody speaks, or has words on their way."""
        return any(each.is_speaking or each.awaits_words for each in self._known.values())

    def on_speech_start(self, uid: int, state: ResponseState) -> None:
        known = self._known.get(uid)
        if known is not None and not known.is_speaking:
            known.is_speaking, known.spoke_over = True, state is ResponseState.SPEAKING

    def on_speech_end(self, uid: int, state: ResponseState) -> None:
        known = self._known.get(uid)
        if known is not None and known.is_speaking:
            known.is_speaking, known.awaits_words = False, True
            known.spoke_over = known.spoke_over and state is ResponseState.SPEAKING

    def on_words(self, uid: int) -> VoiceParticipant | None:
        """What somebody said last is there."""
        known = self._known.get(uid)
        if known is not None:
            known.awaits_words = False
        return known

    def await_words(self, uids: Collection[int]) -> bool:
        """Whether words of any of *uids* are still on their way."""
        return any(self._known[uid].awaits_words for uid in uids if uid in self._known)

    def clear_speech(self) -> None:
        """Nobody speaks, and no words are on their way."""
        for each in self._known.values():
            each.is_speaking = each.awaits_words = each.spoke_over = False

    def _forget_some(self) -> None:
        for uid in [uid for uid, each in self._known.items() if not each.is_here][: len(self._known) - MAX_KNOWN]:
            del self._known[uid]


def uid_of(author: Author) -> int:
    """A number for *author*: the platform's own where it is one."""
    if author.user_id.isascii() and author.user_id.isdecimal():
        return int(author.user_id)
    return int.from_bytes(hashlib.sha256(author.canonical_key.encode()).digest()[:7])
