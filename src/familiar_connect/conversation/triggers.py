"""What makes the familiar consider speaking: being addressed, and a count of messages that shrinks and wavers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from familiar_connect.config.types import Interjection
from familiar_connect.conversation.name_match import contains_any_name

LEAST_INTERVAL = 3
SHRINKS_BY = 3
JITTER = 5
"""Different jitters there are, none among them in the middle."""

Rng = Callable[[], float]


def is_direct_address(text: str, familiar_name: str, aliases: Iterable[str], *, is_mention: bool) -> bool:
    """A mention, or the name or an alias as a whole word."""
    return is_mention or contains_any_name(text, (familiar_name, *aliases))


def interjection_interval(interjection: Interjection, check_count: int, rng: Rng) -> int:
    """Messages until the next look at joining in: fewer each time, give or take two, never under three."""
    steady = max(LEAST_INTERVAL, interjection.starting_interval - SHRINKS_BY * check_count)
    return max(LEAST_INTERVAL, steady + int(rng() * JITTER) - JITTER // 2)


@dataclass
class InterjectionSchedule:
    """When to look at joining in, counted in messages of one channel."""

    interjection: Interjection
    rng: Rng
    count: int = 0
    check_count: int = 0
    next_at: int = field(init=False)

    def __post_init__(self) -> None:
        self.next_at = interjection_interval(self.interjection, 0, self.rng)

    def count_message(self) -> None:
        self.count += 1

    @property
    def is_due(self) -> bool:
        return self.count >= self.next_at

    def schedule_next(self) -> None:
        """There was a look and nothing was said: the next comes sooner."""
        self.check_count += 1
        self.next_at += interjection_interval(self.interjection, self.check_count, self.rng)

    def restart(self, count: int = 0) -> None:
        """Begin anew, with *count* messages heard already."""
        self.count, self.check_count = count, 0
        self.next_at = interjection_interval(self.interjection, 0, self.rng)
