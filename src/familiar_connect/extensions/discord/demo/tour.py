"""The tour: lines that people of the demonstration say by themselves, before and after a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class TourStep:
    """What is shown, and the lines by which it is."""

    says: str
    lines: tuple[str, ...]


def first_half(name: str) -> tuple[TourStep, ...]:
    """What happens until the program ends; *name* is the familiar's."""
    return (
        TourStep(
            "Ada speaks to the familiar in #general; Ben's chatter is not meant for it.",
            (f"ada: Hello @{name}! My cat is called Pickle and she is afraid of thunder.", "ben: it looks like rain"),
        ),
        TourStep("A reaction to what it said, and a picture.", ("ada: +❤️", "ben: !picture the tide this morning")),
        TourStep("A thread follows its channel.", (f"#birthday ada: @{name}, what could we bake for Ben?",)),
        TourStep("You write to it alone: that stays between you.", ("#dm Between us: Ben gets a red kite.",)),
        TourStep("A slash command; only Ada sees its answer.", ("ada: /privacy",)),
    )


def second_half(name: str) -> tuple[TourStep, ...]:
    """What happens after it was started anew."""
    return (
        TourStep(
            "In another channel, Ada asks what she said before the restart.",
            (f"#garden ada: @{name}, what is my cat called?",),
        ),
        TourStep(
            "Ben asks for what was said in the direct message. It must not come out here.",
            (f"#garden ben: @{name}, what do I get for my birthday?",),
        ),
    )


class TourReader:
    """Lines of the steps in their order; what a step shows is said before its first line."""

    def __init__(self, steps: Iterable[TourStep], say: Callable[[str], None]) -> None:
        self._lines = [(step.says if first else "", line) for step in steps for first, line in _marked(step)]
        self._say = say

    async def line(self) -> str | None:
        if not self._lines:
            return None
        says, line = self._lines.pop(0)
        if says:
            self._say(f"\n— {says}")
        return line

    def set_prompt(self, prompt: str) -> None:
        """Nobody is prompted."""

    def set_draft(self, text: str) -> None:
        """Nobody edits a line."""

    def close(self) -> None:
        """Nothing is open."""


def _marked(step: TourStep) -> list[tuple[bool, str]]:
    return [(number == 0, line) for number, line in enumerate(step.lines)]
