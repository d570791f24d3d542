"""RecallStep and RecallExplanation: how far something came on its way to the model, and the answer in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class StepOutcome(Enum):
    """What became of one step."""

    yes = "yes"
    no = "no"
    skipped = "skipped"
    """It makes no difference here, or an earlier step failed."""


@dataclass(frozen=True, kw_only=True)
class RecallStep:
    """One step, with what shows it."""

    name: str
    outcome: StepOutcome
    evidence: str
    fix: str = ""
    """What to do about it, where it failed."""
    sentence: str = ""
    """The answer in one sentence, where this step gives it."""
    leads_to: str = ""
    """Where it is mended: `review:ID`, `file:PATH`, `setting:KEY`, `new:` a new file, `open:` one to share it."""


@dataclass(frozen=True, kw_only=True)
class RecallExplanation:
    """Every step in order."""

    wanted: str
    steps: tuple[RecallStep, ...]

    @property
    def answer(self) -> RecallStep:
        """The first step that failed, else the last one."""
        return next((step for step in self.steps if step.outcome is StepOutcome.no), self.steps[-1])

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return self.answer.sentence or self.answer.evidence
