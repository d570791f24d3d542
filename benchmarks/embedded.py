"""The embedded model, as someone who types `familiar chat` meets it: how long until the first word.

Real processes, a real home, the real weights. First start: a new home, nothing worked before, the weights
pushed out of the disk cache where the system allows it. Restart: the same home, its prompt cache saved at
the end of the run before. What a time is made of comes from the program's own log and the turn's trace.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import familiar_connect
from benchmarks.table import Row
from familiar_connect.config.folders import HomeFolder
from familiar_connect.llm.embedded.weights import find_weights
from familiar_connect.observe.ledger import SQLiteCollector
from tests.fakes.program import shorten_replies

WORKED_ANEW_TOKENS, WORKED_ANEW_SHARE = 150, 1 / 3
TYPING_S = 4.0
"""How long someone reads the greeting and types, while the model works ahead, as it does before a second message."""
PATIENCE_S = 180.0
WORKED_AHEAD = "Worked ahead"
LINES = ("Hello! How was your day?", "I brought you some tea. What kind do you like?")
RESTART_LINES = ("I'm back! Did you miss me?", "Tell me about the rain.")


class Chat:
    """One `familiar chat` in a process of its own; every line it prints is stamped as it comes."""

    def __init__(self, home: Path) -> None:
        source = str(Path(familiar_connect.__file__).parent.parent)
        environment = {**os.environ, "PYTHONPATH": source, "PYTHONUNBUFFERED": "1"}
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "familiar_connect", "-vv", "--home", str(home), "chat", "--plain"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self.words: list[tuple[float, str]] = []
        self.notes: list[tuple[float, str]] = []
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.words, 1), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr, self.notes, None), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, pipe: IO[bytes] | None, into: list[tuple[float, str]], size: int | None) -> None:
        assert pipe is not None
        while piece := pipe.read(size) if size else pipe.readline():
            with self._changed:
                into.append((time.perf_counter() - self.began, piece.decode("utf-8", "replace")))
                self._changed.notify_all()

    def say(self, line: str) -> float:
        """Type a line; when that was, in seconds since the start."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        return time.perf_counter() - self.began

    def first_word(self, after: int) -> float:
        """When the first character after the first *after* ones came."""
        self._wait(lambda: len(self.words) > after)
        return self.words[after][0]

    def noted(self, text: str, times: int = 1) -> float:
        """When *text* stood in the log for that many times."""

        def seen() -> list[float]:
            return [at for at, line in self.notes if text in line]

        self._wait(lambda: len(seen()) >= times)
        return seen()[times - 1]

    def noted_after(self, text: str, moment: float) -> None:
        """Wait until *text* stands in the log later than *moment*."""
        self._wait(lambda: any(at > moment and text in line for at, line in self.notes))

    def reply_over(self, number: int) -> int:
        """Wait until the reply of that number is recorded and its line closed; the characters printed by then."""
        self.noted("reply.turn_recorder turn", times=number)
        self._wait(lambda: self.words[-1][1] == "\n")
        return len(self.words)

    def _wait(self, happened: Callable[[], bool]) -> None:
        ends = time.monotonic() + PATIENCE_S
        with self._changed:
            while not happened():
                if self.process.poll() is not None or time.monotonic() > ends:
                    told = "".join(line for _, line in self.notes[-5:])
                    raise RuntimeError(f"familiar chat did not answer: {told}")
                self._changed.wait(0.5)

    def end(self) -> None:
        """Close its input and wait for a clean end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self._threads:
            thread.join(5)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


def measure(*, quick: bool = False) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {"first start": [], "restart": [], "first start, typed": []}
    for _ in range(1 if quick else 3):
        with tempfile.TemporaryDirectory(prefix="familiar-embedded-") as folder:
            home = Path(folder) / "home"
            if quick:
                shorten_replies(home)  # how long one is changes nothing about what is worked for the next
            runs["first start"].append(_run(home, LINES, forget_weights=True))
            runs["restart"].append(_run(home, RESTART_LINES))
            if not quick:
                runs["first start, typed"].append(_run(Path(folder) / "other", LINES, typing_s=TYPING_S))
    return {name: {"median": _middle(told), "runs": told} for name, told in runs.items() if told}


def _run(home: Path, lines: Sequence[str], *, typing_s: float = 0.0, forget_weights: bool = False) -> dict[str, Any]:
    """Two turns in one process, and what each was made of."""
    if forget_weights:
        _forget(find_weights().path)
    chat = Chat(home)
    try:
        greeted = chat.noted("speaks through")
        if typing_s:
            time.sleep(typing_s)  # a person's time, not a wait for something of ours
        asked = [chat.say(lines[0])]
        firsts = [chat.first_word(0)]
        printed = chat.reply_over(1)
        chat.noted_after(WORKED_AHEAD, firsts[0])
        asked.append(chat.say(lines[1]))
        firsts.append(chat.first_word(printed))
        chat.reply_over(2)
        ready = chat.noted("embedded model is ready")
    finally:
        chat.end()
    turns = _turns(home)[-2:]
    return {
        "interpreter_and_imports_s": greeted,
        "model_ready_s": ready,
        "start_to_first_token_s": firsts[0],
        "enter_to_first_token_s": firsts[0] - asked[0],
        "second_turn_s": firsts[1] - asked[1],
        "first": turns[0],
        "second": turns[1],
    }


def _turns(home: Path) -> list[dict[str, Any]]:
    profile = HomeFolder(home).profile.root
    (root,) = (folder for folder in (home / "familiars").iterdir() if folder != profile)
    traces = SQLiteCollector(root / "metrics.db").recent_traces(familiar_id=root.name, limit=10)
    return [_made_of(trace) for trace in sorted(traces, key=lambda trace: trace.timestamp)]


def _made_of(trace: Any) -> dict[str, Any]:
    timings = trace.fact("timings") or {}
    prompt, cached = int(trace.fact("prompt_tokens") or 0), int(trace.fact("cached_tokens") or 0)
    return {
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "worked_tokens": prompt - cached,
        "worked_ms": float(timings.get("prompt_ms") or 0.0),
        "assemble_ms": (trace.stage("assemble").duration_s if trace.stage("assemble") else 0.0) * 1000,
        "said_tokens": int(trace.fact("completion_tokens") or 0),
        "said_per_s": float(timings.get("predicted_per_second") or 0.0),
    }


def _forget(path: Path) -> None:
    """Ask the system to drop *path* from its disk cache; where it cannot, the start is a warm one."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _middle(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        key: _middle([run[key] for run in runs])
        if isinstance(runs[0][key], dict)
        else statistics.median(run[key] for run in runs)
        for key in runs[0]
    }


def is_little(turn: dict[str, Any]) -> bool:
    """Whether a second turn worked little enough anew."""
    anew = turn["worked_tokens"]
    return bool(anew <= WORKED_ANEW_TOKENS or anew <= WORKED_ANEW_SHARE * turn["prompt_tokens"])


def rows(found: dict[str, Any]) -> list[Row]:
    result = []
    for name, told in found.items():
        middle = told["median"]
        first, second = middle["first"], middle["second"]
        typed = name.endswith("typed")
        result.append(
            Row(
                name=f"{name} ({TYPING_S:.0f} s of typing): Enter to first token"
                if typed
                else f"{name}: process start to first token",
                value=f"{middle['enter_to_first_token_s' if typed else 'start_to_first_token_s']:.2f} s "
                f"(interpreter and imports {middle['interpreter_and_imports_s']:.2f}, model loaded at "
                f"{middle['model_ready_s']:.2f}; {first['prompt_tokens']:.0f} prompt tokens, "
                f"{first['cached_tokens']:.0f} cached, {first['worked_tokens']:.0f} worked in "
                f"{first['worked_ms'] / 1000:.2f} s)",
            )
        )
        if typed:
            continue
        result.append(
            Row(
                name=f"{name}, second turn: Enter to first token",
                value=f"{middle['second_turn_s']:.2f} s ({second['prompt_tokens']:.0f} prompt tokens, "
                f"{second['cached_tokens']:.0f} cached, {second['worked_tokens']:.0f} worked in "
                f"{second['worked_ms'] / 1000:.2f} s; speaks {second['said_per_s']:.0f} tokens/s)",
                bar=f"≤ {WORKED_ANEW_TOKENS} tokens or a third worked anew",
                ok=all(is_little(run["second"]) for run in told["runs"]),
            )
        )
    return result
