"""Birthdays: tells the familiar whose birthday it is today. Silent on every other day."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.api import Clock, ContextRequest, Contribution, Extension, Layer, PartContext, ProviderPart
from familiar_connect.api.settings import TEXTS, setting


@dataclass(frozen=True)
class BirthdaySettings:
    """The section [birthdays] of character.toml."""

    days: list[str] = setting([], TEXTS, "Names and days, such as Ada 06-01.", example='["Ada 06-01", "Bo 12-24"]')


class BirthdayProvider:
    """Adds one line to the prompt."""

    id = "today"
    deadline_s = 0.2

    def __init__(self, days: list[str], clock: Clock) -> None:
        self._days = days
        self._clock = clock

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        today = self._clock.now().strftime("%m-%d")
        names = [name for name, _, day in (line.rpartition(" ") for line in self._days) if day == today]
        if not names:
            return []
        text = f"Today is the birthday of {' and '.join(names)}."
        return [Contribution.of(Layer.extensions, text, source=self.id, audiences=request.own_audience)]


def create_provider(context: PartContext) -> BirthdayProvider:
    """Called once for each familiar."""
    return BirthdayProvider(context.settings.days, context.clock)


extension = Extension(name="birthdays", providers=(ProviderPart(create=create_provider, settings=BirthdaySettings),))
