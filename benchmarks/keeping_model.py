"""What memory keeps where a model writes it, beside the rules alone, on some of the facts that were held back.

    python -m benchmarks.keeping --model FILE.gguf [--facts 40]     or the address of an endpoint

Scenes of `benchmarks/talk` are taken in their order until so many held-back facts stand in them. Both ways write the
same scenes; a fact counts as kept when its evidence stands in the file of whoever told it. What the rules keep is the
floor under what a model writes, so a model can only add. A run that is broken off goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.keeping import TalkedHome, author_of
from benchmarks.remembering.model_server import CALL_LIMIT_S, Recorder, open_model
from benchmarks.table import Row
from benchmarks.talk import Fact, Scene, read_scenes
from familiar_connect.llm.types import Capabilities, Message
from familiar_connect.memory.note_paths import is_archive

FACTS = 40
WINDOW = 8_192
ANSWER_SPARE_S = 60.0
"""A slow machine is no wrong answer: the writer waits longer for one than the call itself may take."""
STATE = Path(tempfile.gettempdir()) / "familiar-keeping.jsonl"


class RecordedWriter:
    """The model as the memory writer asks it, by way of the recorder."""

    model = "benchmark"
    capabilities = Capabilities(window=WINDOW, side_tasks=True)

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.calls = 0

    async def chat(self, messages: list[Message]) -> Message:
        self.calls += 1
        payload = {"messages": [{"role": each.role, "content": each.content} for each in messages]}
        call = await asyncio.to_thread(self._recorder.ask, "other", payload)
        return Message(role="assistant", content=call.text)


@dataclass(frozen=True, kw_only=True)
class WrittenFacts:
    """Which of some facts stand in the files of those who told them."""

    facts: int
    kept: int
    lines: int
    """In the people files, headings left out."""

    @property
    def share(self) -> float:
        return self.kept / max(1, self.facts)


def choose_scenes(facts: int) -> tuple[list[Scene], list[tuple[str, Fact]]]:
    """Scenes in their order until *facts* of the held-back half stand in them, and who told each."""
    scenes = read_scenes()
    older = {fact.older for scene in scenes for line in scene.lines for fact in line.facts if fact.older}
    chosen: list[Scene] = []
    told: list[tuple[str, Fact]] = []
    for scene in scenes:
        here = [
            (line.who, fact)
            for line in scene.lines
            for fact in line.facts
            if not fact.is_open and fact.name not in older
        ]
        if here and len(told) < facts:
            chosen.append(scene)
            told += here
    return chosen, told[:facts]


async def write_scenes(folder: Path, scenes: Sequence[Scene], writer: RecordedWriter | None) -> TalkedHome:
    home = TalkedHome(folder, scenes, writer, timeout_s=CALL_LIMIT_S + ANSWER_SPARE_S)
    await home.talk()
    await home.write_rest()
    return home


def count_kept(home: TalkedHome, told: Sequence[tuple[str, Fact]]) -> WrittenFacts:
    texts: dict[str, str] = {}
    for path in home.memory.glob("people/*.md"):
        if not is_archive(path):
            texts[path] = home.memory.read_file(path).casefold()
    own = {who: [text for path, text in texts.items() if author_of(who).slug in path] for who, _ in told}
    kept = sum(any(fact.evidence.casefold() in text for text in own[who]) for who, fact in told)
    lines = sum(line.startswith("- ") for text in texts.values() for line in text.splitlines())
    return WrittenFacts(facts=len(told), kept=kept, lines=lines)


def compare_with_model(model: str, *, facts: int = FACTS, state: Path = STATE, threads: int = 2) -> list[Row]:
    """The rows of both ways; the model's has the bar that it is better."""
    scenes, told = choose_scenes(facts)
    with tempfile.TemporaryDirectory() as folder, open_model(model, window=WINDOW, threads=threads) as upstream:
        plain = count_kept(asyncio.run(write_scenes(Path(folder) / "rules", scenes, None)), told)
        writer = RecordedWriter(Recorder(upstream, model, state))
        written = count_kept(asyncio.run(write_scenes(Path(folder) / "model", scenes, writer)), told)
    return [
        Row(name=f"held-back facts kept by rules alone, {len(scenes)} scenes", value=_value(plain)),
        Row(
            name=f"kept where the model writes ({writer.calls} calls)",
            value=_value(written),
            bar="better",
            ok=written.kept > plain.kept,
        ),
    ]


def _value(found: WrittenFacts) -> str:
    return f"{found.kept} of {found.facts} ({found.share:.1%}), {found.lines} lines"
