"""Does memory find what was said? Long dialogues with questions, asked through the product's own retriever.

    python -m benchmarks.recall --data FILE [--data FILE] [--errata FILE] [--hold-out] [--json]
    python -m benchmarks.recall --languages [--half open|held] [--json]

FILE holds dialogues in LoCoMo's format. Each becomes a home of its own: every session as turns in the history and
as a Markdown file in memory. Each question is asked once; printed are the share of its evidence turns among the
first k units, and the share whose own words stand in the text the product would show a model within n tokens,
beside plain BM25 (FTS5) and plain dense search over the same turns, asked the same questions in the same run. Times
are processor time, which other programs do not lengthen; the embedding of the question is in ours and in dense search.
The row "in the prompt" is what the familiar's own provider puts there, floor and caps included. With `--hold-out` the
weights are fitted anew without each dialogue in turn (see `hold_out`). The exit code is 1 where a bar is missed, of
quality or of latency; the informal chats have a bar of their own, and so have the languages.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import fmean, pstdev, quantiles
from typing import Any

import numpy as np

from benchmarks.dialogues import CATEGORIES, Dialogue, Question, Turn, read_dialogues
from benchmarks.hold_out import AskedQuestion, fit_weights, rank_anew
from familiar_connect.context.providers.content_search import ContentSearchProvider
from familiar_connect.context.types import NO_DEADLINE, ContextRequest, Modality
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.index.embeddings import EmbeddingIndex
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.minilm import MiniLMModel, why_unavailable
from familiar_connect.memory.index.protocols import EmbeddingModel, ExplainedScore, Recollection
from familiar_connect.memory.index.retriever import MemoryRetriever, format_snippets
from familiar_connect.memory.index.turns import TurnIndex
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.clock import ManualClock

FIRST = (1, 5, 10, 20)
WITHIN = (500, 1500, 4000)
FAMILIAR = "listener"
CHARS_PER_TOKEN = 4
ASKED_FOR = 120
"""Recollections of one question, as `content_search` asks for them."""
PROMPT_TOKENS = 60_000
BARS = {"found within 1500": 0.94, "recall@10": 0.86}
"""On LoCoMo's dialogues; what informal chat must reach is `ABOVE_PLAIN`."""
ABOVE_PLAIN = 0.12
"""How far above BM25 and above dense search informal chat must be found within 1500 tokens."""
MOST_TIMES_DENSE = 3.0
"""The tail of our processor time may be so many times that of dense search in the same run."""


@dataclass
class Measured:
    """What one way of searching found, question by question."""

    first: list[list[float]] = field(default_factory=list)
    within: list[list[float]] = field(default_factory=list)
    categories: list[int] = field(default_factory=list)
    dialogues: list[str] = field(default_factory=list)
    asked: list[AskedQuestion] = field(default_factory=list)
    informal: list[bool] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    """Shares that stand in what the provider puts into the prompt."""
    seconds: list[float] = field(default_factory=list)


class IndexedDialogue:
    """One dialogue as a familiar remembers it: turns in the history, sessions as Markdown, both indexed."""

    def __init__(self, folder: Path, dialogue: Dialogue, model: EmbeddingModel, dim: int) -> None:
        self.dialogue = dialogue
        self.history = HistoryStore(folder / "history.db")
        self.store = MemoryStore(folder / "memory")
        self.place_of: dict[int, int] = {}
        name = str(getattr(model, "name", type(model).__name__))
        with self.history.database.transaction():
            for place, turn in enumerate(dialogue.turns):
                who = Author("locomo", turn.speaker.lower(), turn.speaker.lower(), turn.speaker)
                stored = self.history.append_turn(
                    familiar_id=FAMILIAR,
                    channel_id=1,
                    role="user",
                    content=turn.text,
                    author=who,
                    timestamp=turn.when,
                )
                self.place_of[stored.id] = place
        for path, text in _session_files(dialogue.turns).items():
            self.store.write_file(path, text)
        index_folder = self.store.root / ".index"
        self.files = EmbeddingIndex(index_folder / "embeddings.sqlite", dim=dim, model_name=name)
        self.turns = TurnIndex(
            index_folder / "turns.sqlite", history=self.history, familiar_id=FAMILIAR, dim=dim, model_name=name
        )
        self.files.build_if_stale(self.store, model)
        self.turns.sync(model)
        clock = ManualClock(dialogue.turns[-1].when + timedelta(days=1))
        self.retriever = MemoryRetriever(model=model, files=self.files, turns=self.turns, clock=clock)
        self.retriever.warm()
        self._provider = ContentSearchProvider(
            store=self.store, llm_client=None, history_store=self.history, retriever=self.retriever
        )

    async def recall(self, question: str) -> list[Recollection]:
        """What the product recalls."""
        return await self.retriever.recall(question, limit=ASKED_FOR)

    async def tell(self, question: str) -> str:
        """What the familiar's provider puts into a prompt for *question*, asked in another channel."""
        request = ContextRequest(
            familiar_id=FAMILIAR,
            channel_id=2,
            guild_id=None,
            author=None,
            utterance=question,
            modality=Modality.text,
            budget_tokens=PROMPT_TOKENS,
            deadline_s=NO_DEADLINE,
        )
        return "\n\n".join(piece.text for piece in await self._provider.contribute(request))

    def close(self) -> None:
        self.files.close()
        self.turns.close()
        self.history.close()


def _session_files(turns: Sequence[Turn]) -> dict[str, str]:
    """A Markdown file for each session, as a familiar keeps them: dated, one line for each thing said."""
    files: dict[str, list[str]] = {}
    for turn in turns:
        day = next(other.when for other in turns if other.dia_id[0] == turn.dia_id[0])
        slot = ("night", "morning", "afternoon", "evening")[day.hour // 6]
        path = f"sessions/{day:%Y-%m-%d}-{slot}.md"
        lines = files.setdefault(path, [f"# {day:%d %B %Y}, {slot}", ""])
        lines.append(f"- **{turn.speaker}:** {' '.join(turn.text.split())}")
    return {path: "\n".join(lines) + "\n" for path, lines in files.items()}


class BaselineSearch:
    """The two plain ways to search the same turns: FTS5's BM25, and cosine of whole texts."""

    def __init__(self, dialogue: Dialogue, model: EmbeddingModel) -> None:
        self._turns = dialogue.turns
        self._model = model
        self._matrix = np.concatenate(
            [model.embed([t.text for t in dialogue.turns[at : at + 32]]) for at in range(0, len(dialogue.turns), 32)]
        )
        self._words = sqlite3.connect(":memory:")
        self._words.execute("CREATE VIRTUAL TABLE turns USING fts5(text, tokenize='porter unicode61')")
        self._words.executemany(
            "INSERT INTO turns (rowid, text) VALUES (?, ?)", [(n, turn.text) for n, turn in enumerate(dialogue.turns)]
        )

    def bm25(self, question: str) -> list[Recollection]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        rows = self._words.execute(
            "SELECT rowid, -rank FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT ?", (words, ASKED_FOR)
        )
        return [self._shown(place, score) for place, score in rows]

    def dense(self, question: str) -> list[Recollection]:
        scores = self._matrix @ self._model.embed([question])[0]
        best = np.argsort(-scores, kind="stable")[:ASKED_FOR]
        return [self._shown(int(place), float(scores[place])) for place in best]

    def _shown(self, place: int, score: float) -> Recollection:
        turn = self._turns[place]
        return Recollection(
            source="turn",
            key=str(place),
            text=turn.text,
            explained=ExplainedScore(score, {}),
            speaker=turn.speaker,
            when=turn.when,
            turn_id=-1 - place,
            place=(str(turn.dia_id[0]), turn.dia_id[1]),
        )


async def measure(dialogues: Sequence[Dialogue], model: EmbeddingModel, dim: int) -> dict[str, Measured]:
    """Every question of every dialogue, asked in all three ways, and what the prompt gets of ours."""
    found = {"ours": Measured(), "BM25": Measured(), "dense": Measured()}
    for dialogue in dialogues:
        with tempfile.TemporaryDirectory(prefix="familiar-recall-") as folder:
            home = IndexedDialogue(Path(folder), dialogue, model, dim)
            plain = BaselineSearch(dialogue, model)
            for question in dialogue.questions:
                started = time.process_time()
                hits = await home.recall(question.text)
                _note(found["ours"], home, question, hits, time.process_time() - started)
                told = _flat(await home.tell(question.text))
                found["ours"].told.append(fmean(text in told for text in found["ours"].asked[-1].wanted.values()))
                for name, search in (("BM25", plain.bm25), ("dense", plain.dense)):
                    started = time.process_time()
                    hits = search(question.text)
                    _note(found[name], home, question, hits, time.process_time() - started)
                gc.freeze()  # all that was ever found is kept here: no search should pay for looking through it
            home.close()
    gc.unfreeze()
    return found


def _note(
    measured: Measured, home: IndexedDialogue, question: Question, hits: list[Recollection], seconds: float
) -> None:
    wanted = {place: _flat(home.dialogue.turns[place].text) for place in question.evidence}
    asked = AskedQuestion(hits, {hit.key: _held(hit, home, wanted) for hit in hits}, wanted)
    first, within = judge(asked, hits)
    measured.first.append(first)
    measured.within.append(within)
    measured.categories.append(question.category)
    measured.dialogues.append(home.dialogue.name)
    measured.informal.append(home.dialogue.is_informal)
    measured.asked.append(asked)
    measured.seconds.append(seconds)


def judge(asked: AskedQuestion, hits: Sequence[Recollection]) -> tuple[list[float], list[float]]:
    """The shares of the wanted turns among the first k of *hits*, and in their text within n tokens."""
    ranks: dict[int, int] = {}
    for rank, hit in enumerate(hits):
        for place in asked.held[hit.key]:
            ranks.setdefault(place, rank)
    first = [fmean(ranks.get(place, ASKED_FOR) < k for place in asked.wanted) for k in FIRST]
    within = []
    for tokens in WITHIN:
        shown = _flat(format_snippets(hits, tokens)[: tokens * CHARS_PER_TOKEN])
        within.append(fmean(text in shown for text in asked.wanted.values()))
    return first, within


def hold_out(measured: Measured) -> dict[str, Measured]:
    """The same questions ranked by weights that were fitted without their dialogue, by dialogue."""
    rows = list(zip(measured.dialogues, measured.asked, measured.categories, strict=True))
    found: dict[str, Measured] = {}
    for dialogue in dict.fromkeys(measured.dialogues):
        factors = fit_weights([asked for name, asked, _ in rows if name != dialogue])
        found[dialogue] = Measured()
        for _, asked, category in (row for row in rows if row[0] == dialogue):
            first, within = judge(asked, rank_anew(asked.hits, factors))
            found[dialogue].first.append(first)
            found[dialogue].within.append(within)
            found[dialogue].categories.append(category)
    return found


def _held(hit: Recollection, home: IndexedDialogue, wanted: dict[int, str]) -> list[int]:
    """Which of the wanted turns a unit is: by its id, or where it is a file's passage by its words."""
    if hit.turn_id is not None:
        place = -1 - hit.turn_id if hit.turn_id < 0 else home.place_of[hit.turn_id]
        return [place] if place in wanted else []
    text = _flat(hit.text)
    return [place for place, words in wanted.items() if words in text]


def _flat(text: str) -> str:
    return " ".join(text.split())


def summary(found: dict[str, Measured], *, held_out: bool = False) -> dict[str, Any]:
    """Means over questions, overall, by category and by dialogue, and the time a question takes."""
    result: dict[str, Any] = {"questions": len(found["ours"].categories)}
    for name, measured in found.items():
        row = _means(measured, range(len(measured.categories)))
        cuts = quantiles(measured.seconds, n=20)
        row["p50_ms"], row["p95_ms"] = round(cuts[9] * 1000, 2), round(cuts[18] * 1000, 2)
        row["by_category"] = {
            label: _means(measured, [at for at, category in enumerate(measured.categories) if category == number])
            for number, label in CATEGORIES.items()
            if number in measured.categories
        }
        row["by_dialogue"] = {
            name: _means(measured, [at for at, dialogue in enumerate(measured.dialogues) if dialogue == name])
            for name in dict.fromkeys(measured.dialogues)
        }
        result[name] = row
    result["ours"]["in the prompt"] = round(fmean(found["ours"].told), 4)
    if held_out:
        apart = hold_out(found["ours"])
        result["held out"] = {name: _means(each, range(len(each.categories))) for name, each in apart.items()}
    result["bars"] = _bars(result, is_informal=all(found["ours"].informal))
    times = result["ours"]["p95_ms"] / max(result["dense"]["p95_ms"], 1e-3)
    result["latency"] = {"times_dense": round(times, 2), "most": MOST_TIMES_DENSE, "ok": times <= MOST_TIMES_DENSE}
    return result


def _bars(result: dict[str, Any], *, is_informal: bool) -> dict[str, dict[str, Any]]:
    """What must hold, and whether it does."""
    if is_informal:
        within = "found within 1500"
        ahead = result["ours"][within] - max(result["BM25"][within], result["dense"][within])
        found = {"least": ABOVE_PLAIN, "reached": round(ahead, 4), "ok": ahead >= ABOVE_PLAIN}
        return {f"{within} above BM25 and dense": found}
    judged = result.get("held out")
    bars = {}
    for bar, least in BARS.items():
        reached = _mean(judged, bar) if judged else result["ours"][bar]
        bars[bar] = {"least": least, "reached": reached, "ok": reached >= least and _beats_both(result, bar)}
    return bars


def _mean(dialogues: dict[str, dict[str, Any]], column: str) -> float:
    """The mean over all questions of several dialogues."""
    count = sum(row["count"] for row in dialogues.values())
    return round(float(sum(row[column] * row["count"] for row in dialogues.values()) / count), 4)


def _means(measured: Measured, rows: Sequence[int]) -> dict[str, Any]:
    found: dict[str, Any] = {"count": len(rows)}
    for column, k in enumerate(FIRST):
        found[f"recall@{k}"] = round(fmean(measured.first[at][column] for at in rows), 4)
    for column, tokens in enumerate(WITHIN):
        found[f"found within {tokens}"] = round(fmean(measured.within[at][column] for at in rows), 4)
    return found


def _beats_both(result: dict[str, Any], bar: str) -> bool:
    return bool(result["ours"][bar] > max(result["BM25"][bar], result["dense"][bar]))


def table(result: dict[str, Any]) -> str:
    """The measurements as a Markdown table."""
    columns = [f"recall@{k}" for k in FIRST] + [f"found within {tokens}" for tokens in WITHIN]
    lines = [f"{result['questions']} questions, shares in percent", ""]
    lines += [
        "| | n | " + " | ".join(columns) + " | p50 ms of processor time | p95 ms |",
        "|---|---:|" + "---:|" * (len(columns) + 2),
    ]
    for name in ("ours", "BM25", "dense"):
        row = result[name]
        cells = " | ".join(f"{100 * row[column]:.1f}" for column in columns)
        lines.append(f"| **{name}** | {row['count']} | {cells} | {row['p50_ms']} | {row['p95_ms']} |")
        for label, part in row["by_category"].items():
            cells = " | ".join(f"{100 * part[column]:.1f}" for column in columns)
            lines.append(f"| {name}, {label} | {part['count']} | {cells} | | |")
    lines.append(f"\nin the prompt, as the provider puts it there: {100 * result['ours']['in the prompt']:.1f} %")
    lines += ["", *_spread("as shipped", result["ours"]["by_dialogue"])]
    if "held out" in result:
        lines += ["", *_spread("fitted without it", result["held out"])]
    for bar, judged in result["bars"].items():
        percent, reached = 100 * judged["least"], 100 * judged["reached"]
        lines.append(f"\n{bar} ≥ {percent:.0f} %: {reached:.1f} {'✓' if judged['ok'] else '✗'}")
    speed = result["latency"]
    mark = "✓" if speed["ok"] else "✗"
    lines.append(f"\nprocessor time p95 {speed['times_dense']} × dense search, ≤ {speed['most']:g} ×: {mark}")
    return "\n".join(lines)


def _spread(title: str, dialogues: dict[str, dict[str, Any]]) -> list[str]:
    """Each dialogue by itself, their mean over questions and how far they lie apart."""
    columns = ("recall@10", "found within 1500")
    lines = [f"| {title} | n | " + " | ".join(columns) + " |", "|---|---:|---:|---:|"]
    for name, row in dialogues.items():
        cells = " | ".join(f"{100 * row[column]:.1f}" for column in columns)
        lines.append(f"| {name} | {row['count']} | {cells} |")
    means = " | ".join(f"{100 * _mean(dialogues, column):.1f}" for column in columns)
    apart = " | ".join(f"{100 * pstdev(row[column] for row in dialogues.values()):.1f}" for column in columns)
    return [*lines, f"| mean | | {means} |", f"| standard deviation | | {apart} |"]


def is_met(result: dict[str, Any]) -> bool:
    """Whether every bar is met, of quality and of latency."""
    return all(bar["ok"] for bar in (*result["bars"].values(), result["latency"]))


def _ask_in_languages(model: EmbeddingModel, half: str | None, *, as_json: bool) -> int:
    from benchmarks.languages.measure import language_table, measure_languages, missed_bars  # it needs this module

    found = asyncio.run(measure_languages(model, model.dim, (half,) if half else ("open", "held")))
    print(json.dumps(found, indent=2) if as_json else language_table(found))
    return 1 if missed_bars(found) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure how well memory finds what was said.")
    parser.add_argument("--data", type=Path, action="append", help="dialogues in LoCoMo's format")
    parser.add_argument("--languages", action="store_true", help="the chats in many languages instead")
    parser.add_argument("--half", choices=("open", "held"), help="of the languages, the questions of one half alone")
    parser.add_argument("--errata", type=Path, help="known mistakes in their questions")
    parser.add_argument("--hold-out", action="store_true", help="also fit the weights without each dialogue in turn")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    arguments = parser.parse_args()
    reason = why_unavailable()
    model: EmbeddingModel = HashingModel() if reason else MiniLMModel()
    if reason and not arguments.json:
        print(reason)
    if arguments.languages:
        return _ask_in_languages(model, arguments.half, as_json=arguments.json)
    if not arguments.data:
        parser.error("give --data FILE or --languages")
    dialogues = [dialogue for path in arguments.data for dialogue in read_dialogues(path, arguments.errata)]
    result = summary(asyncio.run(measure(dialogues, model, model.dim)), held_out=arguments.hold_out)
    result["embedder"] = getattr(model, "name", "")
    print(json.dumps(result, indent=2) if arguments.json else table(result))
    return 0 if is_met(result) else 1


if __name__ == "__main__":
    sys.exit(main())
