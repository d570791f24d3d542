"""The weeks played through the real program, and the same questions put to a plain prompt and to plain search.

Without a model, what counts is whether the evidence of a fact stands in the prompt that the model would read. With one
it is whether the answer holds it. Who was not there, or asks for what was deleted, must not be told.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.remembering.model_server import CALL_LIMIT_S, Recorder, open_door
from benchmarks.remembering.weeks import COUNCIL, PEOPLE, Deletion, Question, Told, Weeks

if TYPE_CHECKING:
    from familiar_connect.memory.index.protocols import EmbeddingModel

NAME = "Ember"
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
LIMIT_S = 4 * 3600
PATIENCE = f"first_token_s = {CALL_LIMIT_S}\ntimeout_s = {CALL_LIMIT_S}\nreply_timeout_s = {2 * CALL_LIMIT_S}\n"
"""Settings with which a slow machine gives late answers and no wrong ones."""
LAST_LINES = 20
SEARCHED_LINES = 10
"""What a plain prompt shows of the talk, and what plain search puts into one."""
PAUSE = timedelta(minutes=3)
BATCH = 32
STORED_REPLIES = ("Mm.", "I see.", "Noted.", "Thank you for telling me.")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One question: what its asker's prompt held, and what was answered where a model was asked."""

    question: Question
    is_found: bool
    """Whether the evidence stands in the prompt."""
    holds_older: bool
    """Whether the value that it took the place of stands there too."""
    answer: str | None = None
    is_answered: bool = False
    """Whether the answer tells the fact, and not what it took the place of."""


def play(weeks: Weeks, recorder: Recorder | None = None, model: str = "") -> list[Outcome]:
    """The real program: `familiar rehearse` in a process of its own, memory written by rule."""
    if recorder is None:
        rows = _rehearse(rehearsal_script(weeks))
    else:
        with open_door(recorder, _answer_told(weeks)) as address:
            rows = _rehearse(rehearsal_script(weeks, address=address, model=model))
    asked = rows[-len(weeks.questions) :]
    outcomes = []
    for question, row in zip(weeks.questions, asked, strict=True):
        prompt = "\n".join(
            str(message["content"])
            for call in row["calls"]
            if call["slot"] == "main_prose"
            for message in call["messages"]
        )
        answer = " ".join(map(str, row["replies"])) if recorder is not None else None
        outcomes.append(judge(weeks, question, prompt, answer))
    return outcomes


def judge(weeks: Weeks, question: Question, prompt: str, answer: str | None = None) -> Outcome:
    """What *prompt*, and *answer* where there is one, tell of the fact that was asked for."""
    fact = weeks.facts[question.fact]
    older = weeks.facts.get(fact.older or "")
    return Outcome(
        question=question,
        is_found=fact.stands_in(prompt),
        holds_older=older is not None and older.stands_in(prompt),
        answer=answer,
        is_answered=answer is not None
        and fact.stands_in(answer)
        and not (question.may_know and older is not None and older.stands_in(answer)),
    )


def _answer_told(weeks: Weeks) -> Callable[[list[dict[str, Any]]], str | None]:
    questions = {question.words for question in weeks.questions}

    def answer(messages: list[dict[str, Any]]) -> str | None:
        said = next((str(each["content"]) for each in reversed(messages) if each["role"] == "user"), "")
        if any(question in said for question in questions):
            return None
        return STORED_REPLIES[sum(said.encode()) % len(STORED_REPLIES)]

    return answer


def rehearsal_script(weeks: Weeks, *, address: str = "", model: str = "") -> dict[str, Any]:
    """The whole run as a file for `familiar rehearse`; no setting but which model speaks, and how long it may take."""
    endpoint = f"model = {json.dumps(model)}\nbase_url = {json.dumps(address)}\n"
    slot = f"[llm.main_prose]\n{endpoint}{PATIENCE}" if address else ""
    script: dict[str, Any] = {
        "familiar": {"name": NAME, "settings": slot},
        "people": {key: {"name": name} for key, name in PEOPLE.items()},
        "places": {
            "lounge": {"kind": "text", "server": "Tea House", "name": "lounge"},
            "council": {
                "kind": "text",
                "server": "Tea House",
                "name": "council",
                "hidden": True,
                "members": list(COUNCIL),
            },
            "dm-ada": {"kind": "dm", "members": ["ada"]},
            "dm-dov": {"kind": "dm", "members": ["dov"]},
        },
        "steps": _steps(weeks),
    }
    if not address:
        script["models"] = {"main_prose": {"otherwise": STORED_REPLIES[0]}}
    return script


def _steps(weeks: Weeks) -> list[dict[str, Any]]:
    """Scene after scene at their hours, memory written up each night, a restart, and then the questions."""
    steps: list[dict[str, Any]] = []
    day, at = 0, START
    for event in weeks.events:
        if event.day != day:
            if day:
                steps.append({"at": _evening(day).isoformat(), "write_up": True})
            day, at = event.day, START + timedelta(days=event.day - 1)
        at += PAUSE
        steps.append({"at": at.isoformat(), **_step(weeks, event)})
    steps += [{"at": _evening(day).isoformat(), "write_up": True}, {"after": "9h", "restart": True}]
    steps += [
        {"after": "5m", "in": asked.place, "by": asked.who, "say": asked.words, "mention": True}
        for asked in weeks.questions
    ]
    return steps


def _step(weeks: Weeks, event: Told | Deletion) -> dict[str, Any]:
    if isinstance(event, Deletion):
        told = weeks.facts[event.fact]
        return {"delete": told.fact, "in": told.place, "by": told.who}
    named = {"id": event.fact} if event.fact is not None else {}
    return {"in": event.place, "by": event.who, "say": event.words, **named}


def _evening(day: int) -> datetime:
    return START + timedelta(days=day - 1, hours=13)


def _rehearse(script: dict[str, Any]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weeks.json"
        file.write_text(json.dumps(script), "utf-8")
        command = [sys.executable, "-m", "familiar_connect", "rehearse", str(file), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the rehearsal ended with {done.returncode}: {done.stderr[-2000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [row for row in rows if isinstance(row.get("step"), int)]


# Plain ways


class PlainPrompts:
    """What a plain prompt would show of the talk: the last lines of the place, or what plain search finds anywhere."""

    def __init__(self, weeks: Weeks, model: EmbeddingModel) -> None:
        self._weeks = weeks
        self._lines = weeks.standing
        self._model = model
        self._words = sqlite3.connect(":memory:")
        self._words.execute("CREATE VIRTUAL TABLE lines USING fts5(text, tokenize='porter unicode61')")
        texts = [_shown(line) for line in self._lines]
        self._words.executemany("INSERT INTO lines (rowid, text) VALUES (?, ?)", list(enumerate(texts)))
        self._vectors = [vector for at in range(0, len(texts), BATCH) for vector in model.embed(texts[at : at + BATCH])]

    def lines(self, way: str, question: Question) -> list[Told]:
        """The lines that *way* puts into the prompt, oldest first."""
        asked = f"{PEOPLE[question.who]}: {question.words}"
        if way == "last-20":
            return [line for line in self._lines if line.place == question.place][-LAST_LINES:]
        if way == "BM25":
            words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", asked))
            found = self._words.execute(
                "SELECT rowid FROM lines WHERE lines MATCH ? ORDER BY rank LIMIT ?", (words, SEARCHED_LINES)
            )
            best = [int(row[0]) for row in found]
        else:
            target = self._model.embed([asked])[0]
            scores = [float(vector @ target) for vector in self._vectors]
            best = sorted(range(len(scores)), key=lambda at: -scores[at])[:SEARCHED_LINES]
        return [self._lines[at] for at in sorted(best)]

    def ask(self, way: str, recorder: Recorder | None = None) -> list[Outcome]:
        """Every question put that way."""
        outcomes = []
        for question in self._weeks.questions:
            shown = [_shown(line) for line in self.lines(way, question)]
            answer = self._answer(shown, question, recorder) if recorder is not None else None
            outcomes.append(judge(self._weeks, question, "\n".join(shown), answer))
        return outcomes

    def _answer(self, shown: Sequence[str], question: Question, recorder: Recorder) -> str:
        persona = (
            f"You are {NAME}, a warm and attentive friend in a small group chat. Each message begins with its "
            f"speaker's name. Answer the last message as {NAME}, briefly and truthfully."
        )
        messages = [{"role": "system", "content": persona}]
        messages += [{"role": "user", "content": line} for line in shown]
        messages.append({"role": "user", "content": f"{PEOPLE[question.who]}: {question.words}"})
        return recorder.ask("asked", {"messages": messages}).text


def _shown(line: Told) -> str:
    return f"{PEOPLE[line.who]}: {line.words}"
