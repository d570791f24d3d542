"""Traffic: what many people say in many channels, drawn from one seed; every message carries a number of its own.

Channels take turns at being lively, so that some are in the middle of a talk while others fall quiet.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

MARK = re.compile(r"\[m(\d{6})\]")
PHASE_S = 8.0
"""So long is one half of the channels lively, then the other."""
NAME = "Ember"
_WORDS = (
    "lamp", "tide", "harbour", "bread", "gull", "letter", "tower", "fog", "kettle", "cutter", "rope", "stair", "wool",
    "ferry", "chart", "bell", "ginger", "leek", "storm", "signal", "mason", "crate", "radio", "window",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TrafficMessage:
    """One message: when, in which channel, by whom, and whether it asks the familiar."""

    number: int
    at_s: float
    room: int
    person: int
    text: str
    is_asked: bool


def generate_traffic(
    *, seconds: float, per_second: float, rooms: int, people: int, asked: float, mention: str, seed: int = 7
) -> Iterator[TrafficMessage]:
    """Evenly spaced messages; the share *asked* of them is said to the familiar, by mention or by name."""
    rng = random.Random(seed)
    for number in range(int(seconds * per_second)):
        at_s = number / per_second
        lively = int(at_s / PHASE_S) % 2
        room = rng.randrange(rooms)
        if rooms > 1 and room % 2 != lively and rng.random() < 0.97:
            room = (room + 1) % rooms if room + 1 < rooms or rooms % 2 == 0 else room - 1
        is_asked = rng.random() < asked
        words = " ".join(rng.choices(_WORDS, k=rng.randint(3, 24)))
        to = rng.choice((f"{mention} ", f"{NAME}, ")) if is_asked else ""
        text = f"{to}{words}{rng.choice(('', '.', '?'))} [m{number:06d}]"
        yield TrafficMessage(
            number=number, at_s=at_s, room=room, person=rng.randrange(people), text=text, is_asked=is_asked
        )


def number_of(text: str) -> int | None:
    """The number a text carries last."""
    found = MARK.findall(text)
    return int(found[-1]) if found else None
