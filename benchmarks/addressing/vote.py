"""What a model makes of the lines that the rules are not sure of, asked as the program asks it.

    python -m benchmarks.addressing --model FILE.gguf [--count 100]     or the address of an endpoint

The prompt is the program's own (`conversation/speak_decision`), its verdict is read as the program reads it. A run that
is broken off goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.addressing import LEAST_RIGHT, ChatLine, read_lines
from benchmarks.remembering.model_server import Recorder, open_model
from benchmarks.table import Row
from familiar_connect.conversation.addressing.judge import judge_address
from familiar_connect.conversation.speak_decision import Situation, SpeakDecision, ask_side_model
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.identity import Author
from familiar_connect.llm.types import Capabilities, Message

WINDOW = 4_096
STATE = Path(tempfile.gettempdir()) / "familiar-addressing.jsonl"
WHEN = datetime(2026, 3, 1, tzinfo=UTC)
SPEAKER = Author(platform="discord", user_id="1", username="ada", display_name="Ada")


class RecordedJudge:
    """The model as the monitor asks it, by way of the recorder."""

    model = "benchmark"
    capabilities = Capabilities(window=WINDOW, side_tasks=True)

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def chat(self, messages: list[Message]) -> Message:
        payload = {"messages": [{"role": each.role, "content": each.content} for each in messages]}
        return Message(role="assistant", content=self._recorder.ask("asked", payload).text)


def situation_of(line: ChatLine) -> Situation:
    """The line alone, as the first one that is heard."""
    said = BufferedMessage(author=SPEAKER, text=line.text, timestamp=WHEN)
    return Situation(
        trigger=ResponseTrigger.direct_address, name=line.names[0], card="", chattiness="", recent=(), buffered=(said,)
    )


def measure_votes(model: str, *, part: str, count: int, threads: int, state: Path = STATE) -> list[Row]:
    """What share of the unsure lines of *part* the model votes rightly on, and of all lines with its votes."""
    with open_model(model, window=WINDOW, threads=threads) as upstream:
        judge = RecordedJudge(Recorder(upstream, model, state))
        return vote(read_lines(part), lambda line: asyncio.run(ask_side_model(judge, situation_of(line))), count=count)


def vote(lines: Sequence[ChatLine], ask: Callable[[ChatLine], SpeakDecision], *, count: int) -> list[Row]:
    """At most *count* votes, evenly out of all that are not sure; the rest is taken to go as these went."""
    judged = [(line, judge_address(line.text, line.names)) for line in lines]
    sure = [
        (found is not None and found.is_call) == line.is_call
        for line, found in judged
        if not (found and not found.is_sure)
    ]
    unsure = [(line, found.is_call) for line, found in judged if found and not found.is_sure]
    step = max(1, -(-len(unsure) // max(1, count)))
    asked = [(line, by_rules, ask(line).speak) for line, by_rules in unsure[::step]]
    right = sum(said == line.is_call for line, _, said in asked) / max(1, len(asked))
    alone = sum(by_rules == line.is_call for line, by_rules, _ in asked) / max(1, len(asked))
    of_all = (sum(sure) + right * len(unsure)) / len(lines)
    return [
        Row(name="lines put to the vote", value=f"{len(asked)} of {len(unsure)}"),
        Row(name="votes that are right", value=f"{right:.1%}"),
        Row(name="of the same lines, right by rules alone", value=f"{alone:.1%}"),
        Row(
            name="right in all, with these votes",
            value=f"{of_all:.1%}",
            bar=f"{LEAST_RIGHT:.0%}",
            ok=of_all >= LEAST_RIGHT,
        ),
    ]
