"""Does memory find what was said? Long dialogues with questions, asked through the product's own retriever.

    python -m benchmarks.recall --data FILE [--errata FILE] [--json]

FILE holds dialogues in LoCoMo's format. Each becomes a home of its own: every session as turns in the history and
as a Markdown file in memory. Each question is asked once; printed are the share of its evidence turns among the
first k units, and the share whose own words stand in the text the product would show a model within n tokens,
beside plain BM25 (FTS5) and plain dense search over the same turns, asked the same questions in the same run. Times
are processor time, which other programs do not lengthen; the embedding of the question is in ours and in dense search.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

import numpy as np

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
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
FAMILIAR = "listener"
CHARS_PER_TOKEN = 4
ASKED_FOR = 150
BARS = {"found within 1500": 0.88, "recall@10": 0.76}
MOST_TIMES_DENSE = 3.0
"""The tail of our processor time may be so many times that of dense search in the same run."""
_ID = re.compile(r"D:?\s*(\d+)\s*:\s*0*(\d+)")


@dataclass(frozen=True)
class Turn:
    dia_id: tuple[int, int]
    speaker: str
    text: str
    when: datetime


@dataclass(frozen=True)
class Question:
    text: str
    evidence: tuple[int, ...]
    """Places of the turns that hold the answer."""
    category: int


@dataclass(frozen=True)
class Dialogue:
    name: str
    turns: list[Turn]
    questions: list[Question]


@dataclass
class Measured:
    """What one way of searching found, question by question."""

    first: list[list[float]] = field(default_factory=list)
    within: list[list[float]] = field(default_factory=list)
    categories: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def read_dialogues(data: Path, errata: Path | None = None) -> list[Dialogue]:
    """The dialogues of *data*; questions whose gold answer is wrong are left out, wrong evidence is corrected."""
    wrong = {}
    if errata is not None:
        wrong = {row["question"].strip(): row for row in json.loads(errata.read_text(encoding="utf-8"))}
    rows = json.loads(data.read_text(encoding="utf-8"))
    return [_dialogue(row, str(row.get("sample_id", number)), wrong) for number, row in enumerate(rows)]


def _dialogue(row: dict[str, Any], name: str, wrong: dict[str, dict[str, Any]]) -> Dialogue:
    conversation = row["conversation"]
    numbers = sorted(int(m[1]) for key in conversation if (m := re.fullmatch(r"session_(\d+)", key)))
    turns: list[Turn] = []
    for number in numbers:
        start = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        for place, said in enumerate(conversation[f"session_{number}"]):
            text = " ".join(part.strip() for part in (said["text"], said.get("blip_caption") or "") if part.strip())
            when = start.replace(tzinfo=UTC) + timedelta(minutes=place)
            turns.append(Turn(_ids(said["dia_id"])[0], said["speaker"], text, when))
    places = {turn.dia_id: place for place, turn in enumerate(turns)}
    questions = []
    for asked in row["qa"]:
        evidence = _evidence(asked, wrong.get(asked["question"].strip()))
        known = tuple(dict.fromkeys(places[i] for text in evidence for i in _ids(text) if i in places))
        if known and asked["category"] in CATEGORIES:
            questions.append(Question(asked["question"], known, asked["category"]))
    return Dialogue(name, turns, questions)


def _evidence(asked: dict[str, Any], mistake: dict[str, Any] | None) -> list[str]:
    if mistake is None:
        return list(asked.get("evidence") or [])
    if mistake["error_type"] == "WRONG_CITATION" and mistake.get("correct_evidence"):
        return list(mistake["correct_evidence"])
    return []


def _ids(text: str) -> list[tuple[int, int]]:
    return [(int(match[1]), int(match[2])) for match in _ID.finditer(text)]


class IndexedDialogue:
    """One dialogue as a familiar remembers it: turns in the history, sessions as Markdown, both indexed."""

    def __init__(self, folder: Path, dialogue: Dialogue, model: EmbeddingModel, dim: int) -> None:
        self.dialogue = dialogue
        self.history = HistoryStore(folder / "history.db")
        self.store = MemoryStore(folder / "memory")
        self.place_of: dict[int, int] = {}
        self._model = model
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

    async def recall(self, question: str) -> list[Recollection]:
        """What the product recalls."""
        return await self.retriever.recall(question, limit=ASKED_FOR)

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
    """Every question of every dialogue, asked in all three ways."""
    found = {"ours": Measured(), "BM25": Measured(), "dense": Measured()}
    for dialogue in dialogues:
        with tempfile.TemporaryDirectory(prefix="familiar-recall-") as folder:
            home = IndexedDialogue(Path(folder), dialogue, model, dim)
            plain = BaselineSearch(dialogue, model)
            for question in dialogue.questions:
                started = time.process_time()
                hits = await home.recall(question.text)
                _note(found["ours"], home, question, hits, time.process_time() - started)
                for name, search in (("BM25", plain.bm25), ("dense", plain.dense)):
                    started = time.process_time()
                    hits = search(question.text)
                    _note(found[name], home, question, hits, time.process_time() - started)
            home.close()
    return found


def _note(
    measured: Measured, home: IndexedDialogue, question: Question, hits: list[Recollection], seconds: float
) -> None:
    turns = home.dialogue.turns
    wanted = {place: _flat(turns[place].text) for place in question.evidence}
    ranks: dict[int, int] = {}
    for rank, hit in enumerate(hits):
        for place in _held(hit, home, wanted):
            ranks.setdefault(place, rank)
    measured.first.append([fmean(ranks.get(place, ASKED_FOR) < k for place in wanted) for k in FIRST])
    shares = []
    for tokens in WITHIN:
        shown = _flat(format_snippets(hits, tokens)[: tokens * CHARS_PER_TOKEN])
        shares.append(fmean(text in shown for text in wanted.values()))
    measured.within.append(shares)
    measured.categories.append(question.category)
    measured.seconds.append(seconds)


def _held(hit: Recollection, home: IndexedDialogue, wanted: dict[int, str]) -> list[int]:
    """Which of the wanted turns a unit is: by its id, or where it is a file's passage by its words."""
    if hit.turn_id is not None:
        place = -1 - hit.turn_id if hit.turn_id < 0 else home.place_of[hit.turn_id]
        return [place] if place in wanted else []
    text = _flat(hit.text)
    return [place for place, words in wanted.items() if words in text]


def _flat(text: str) -> str:
    return " ".join(text.split())


def summary(found: dict[str, Measured]) -> dict[str, Any]:
    """Means over questions, overall and by category, and the time a question takes."""
    result: dict[str, Any] = {"questions": len(found["ours"].categories)}
    for name, measured in found.items():
        row = _means(measured, lambda _category: True)
        cuts = quantiles(measured.seconds, n=20)
        row["p50_ms"], row["p95_ms"] = round(cuts[9] * 1000, 2), round(cuts[18] * 1000, 2)
        row["by_category"] = {
            label: _means(measured, lambda category, number=number: category == number)  # type: ignore[misc]
            for number, label in CATEGORIES.items()
            if number in measured.categories
        }
        result[name] = row
    result["bars"] = {
        bar: {"least": least, "ok": result["ours"][bar] >= least and _beats_both(result, bar)}
        for bar, least in BARS.items()
    }
    times = result["ours"]["p95_ms"] / max(result["dense"]["p95_ms"], 1e-3)
    result["latency"] = {"times_dense": round(times, 2), "most": MOST_TIMES_DENSE, "ok": times <= MOST_TIMES_DENSE}
    return result


def _means(measured: Measured, wanted: Callable[[int], bool]) -> dict[str, Any]:
    rows = [at for at, category in enumerate(measured.categories) if wanted(category)]
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
    for bar, judged in result["bars"].items():
        lines.append(f"\n{bar} ≥ {100 * judged['least']:.0f} % and above both: {'✓' if judged['ok'] else '✗'}")
    speed = result["latency"]
    mark = "✓" if speed["ok"] else "✗"
    lines.append(f"\nprocessor time p95 {speed['times_dense']} × dense search, ≤ {speed['most']:g} ×: {mark}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how well memory finds what was said.")
    parser.add_argument("--data", type=Path, required=True, help="dialogues in LoCoMo's format")
    parser.add_argument("--errata", type=Path, help="known mistakes in their questions")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    arguments = parser.parse_args()
    reason = why_unavailable()
    model: EmbeddingModel = HashingModel() if reason else MiniLMModel()
    if reason and not arguments.json:
        print(reason)
    dialogues = read_dialogues(arguments.data, arguments.errata)
    result = summary(asyncio.run(measure(dialogues, model, model.dim)))
    result["embedder"] = getattr(model, "name", "")
    print(json.dumps(result, indent=2) if arguments.json else table(result))


if __name__ == "__main__":
    main()
