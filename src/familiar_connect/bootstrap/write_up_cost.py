"""WriteUpCost: what an imported chat will set off, told before it is taken in.

Its messages are written up as memory in batches, and those before the window of the dialogue are summarised. Both are
calls of models; a model too small for that gets none, and what people said is quoted instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.llm import LLMSlotConfig
from familiar_connect.llm.profiles import capabilities_for
from familiar_connect.memory.writing.batch import Bounds
from familiar_connect.support.tokens import CHARS_PER_TOKEN

USUAL_PROMPT_CHARS = 12_000
"""What a pass usually reads besides what was said: the character, files on people and topics, its instructions."""
USUAL_ANSWER_TOKENS = 600
CALLS_A_SUMMARY = 2
"""A paragraph, and every now and then the older ones made shorter."""


@dataclass(frozen=True, kw_only=True)
class WriteUpCost:
    """Calls at most, and tokens as they usually are."""

    model: str
    calls: int
    tokens: int
    calls_per_day: int
    summary_calls: int

    def __str__(self) -> str:
        if not self.calls and not self.summary_calls:
            return f"Writing it up as memory asks no model: {self.model} is too small, so people's own words are kept."
        daily = f"; {self.calls_per_day:,} a day at most" if self.calls > self.calls_per_day > 0 else ""
        return (
            f"Writing it up as memory takes up to {self.calls:,} calls of {self.model}, about "
            f"{round(self.tokens, -3):,} tokens, while the familiar runs{daily} (`calls_per_day` under "
            f"[memory_writer]). Summing it up takes up to {self.summary_calls:,} calls more."
        )


def estimate_write_up(config: CharacterConfig, *, messages: int, chars: int) -> WriteUpCost:
    """What *messages* of *chars* characters together set off with the models of *config*."""
    writer, summarizer = config.llm["memory_writer"], config.llm["history_summary"]
    bounds = Bounds().within(capabilities_for(writer.model, writer.base_url, writer).window)
    calls = max(math.ceil(messages / bounds.turns), math.ceil(chars / bounds.transcript)) if _is_able(writer) else 0
    read = chars + calls * USUAL_PROMPT_CHARS
    steps = max(
        math.ceil(messages / config.history_max_turns_per_refresh),
        math.ceil(chars / config.history_max_chars_per_refresh),
    )
    return WriteUpCost(
        model=writer.model,
        calls=calls,
        tokens=math.ceil(read / CHARS_PER_TOKEN) + calls * USUAL_ANSWER_TOKENS if calls else 0,
        calls_per_day=config.memory_writer_calls_per_day,
        summary_calls=CALLS_A_SUMMARY * steps if _is_able(summarizer) else 0,
    )


def _is_able(slot: LLMSlotConfig) -> bool:
    return capabilities_for(slot.model, slot.base_url, slot).side_tasks
