"""RehearsalRuns: rehearsals that the page plays: `familiar rehearse` in a process and a home of its own, step by step.

The familiar that runs here is never touched: a rehearsal plays in a folder that is thrown away, also where it plays a
copy of a familiar of this home.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from familiar_connect.errors import ConfigError, FamiliarError, HomeError
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.support.aio import BackgroundTasks, off_loop
from familiar_connect.support.files import atomic_write
from familiar_connect.support.lru import LruCache
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.text import one_line, truncate_chars

MAX_RUNS = 5
"""Rehearsals whose course is kept; the oldest is forgotten."""
MAX_BYTES = 1_000_000
MAX_STEPS = 2_000
MAX_PROMPT_CHARS = 60_000
MAX_TITLE_CHARS = 60
TIMEOUT_S = 1800.0
UNREADABLE = 2
"""Exit code of `familiar rehearse` for a file that cannot be read."""
OWN_FILES = 100


@dataclass
class RehearsalStep:
    """One step, and what came of it."""

    number: int
    at: str
    place: str
    says: str
    """The step as the file has it."""
    is_expectation: bool
    replies: list[tuple[str, str]] = field(default_factory=list)
    """Where, and what."""
    answers: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    """The slot that was asked, and the whole prompt."""
    withheld: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


@dataclass
class RehearsalRun:
    """One rehearsal being played, or played."""

    id: str
    name: str
    """What is rehearsed: the file's name, or the first words that are said in it."""
    number: int
    """The first of this program is 1."""
    total: int
    """Steps that the file has; 0 where it does not say."""
    steps: list[RehearsalStep] = field(default_factory=list)
    is_over: bool = False
    passed: int = 0
    failed: int = 0
    problem: str = ""


class RehearsalRuns:
    """Plays rehearsals, one at a time, and keeps the course of the last few."""

    def __init__(self, program: OwnProgram, folder: Path) -> None:
        """*folder* is where the owner keeps rehearsal files of theirs; it need not be there."""
        self._program = program
        self._folder = folder
        self._runs: LruCache[str, RehearsalRun] = LruCache(MAX_RUNS)
        self._current: RehearsalRun | None = None
        self._started = 0
        self._background = BackgroundTasks("rehearsals")

    def list_runs(self) -> list[RehearsalRun]:
        """Those whose course is kept, the latest first."""
        return sorted((run for _, run in self._runs.items()), key=lambda run: run.number, reverse=True)

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def current(self) -> RehearsalRun | None:
        """The one that is being played."""
        return self._current if self._current is not None and not self._current.is_over else None

    def find(self, run_id: str) -> RehearsalRun:
        run = self._runs.get(run_id)
        if run is None:
            raise HomeError("this rehearsal is not kept any more; play it again")
        return run

    def list_files(self) -> list[str]:
        """Names of the owner's rehearsal files."""
        if not self._folder.is_dir():
            return []
        return sorted(path.name for path in self._folder.glob("*.json") if path.is_file())[:OWN_FILES]

    def read_file(self, name: str) -> str:
        """The text of one of them; only names that are listed are read."""
        if name not in self.list_files():
            raise HomeError(f"there is no such file in {self._folder}")
        return load_bytes(self._folder / name, MAX_BYTES).decode("utf-8", "replace")

    async def start(self, text: str, name: str, *, is_scripted: bool) -> RehearsalRun:
        """Begin to play what *text* holds; *name* is a file of the owner's, or empty."""
        if self.current is not None:
            raise HomeError("a rehearsal is being played; wait for its end, or stop it")
        data = _parse(text)
        given = data.get("steps")
        steps = given if isinstance(given, list) else []
        self._started += 1
        what = name or _first_words(steps) or "rehearsal"
        run = RehearsalRun(id=secrets.token_urlsafe(9), name=what, number=self._started, total=len(steps))
        self._runs.put(run.id, run)
        self._current = run
        self._background.start(self._play(run, text, steps, name, is_scripted), name=f"rehearse-{run.id}")
        return run

    async def stop(self) -> None:
        """End the one that is being played."""
        if self.current is not None:
            await self._background.aclose()

    async def aclose(self) -> None:
        await self._background.aclose()

    async def _play(self, run: RehearsalRun, text: str, steps: list[Any], name: str, is_scripted: bool) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="familiar-page-", ignore_cleanup_errors=True) as folder:
                file = await off_loop(self._place, text, name, Path(folder))
                words = ["rehearse", str(file), "--json", *(["--scripted"] if is_scripted else [])]
                async for row in self._program.stream_json(*words, timeout_s=TIMEOUT_S, unreadable=(UNREADABLE,)):
                    _take(run, row, steps)
        except FamiliarError as error:
            run.problem = str(error)
        except TimeoutError:
            run.problem = f"it took longer than {TIMEOUT_S:.0f} seconds and was stopped"
        finally:
            if not run.problem and not (run.passed or run.failed) and len(run.steps) < run.total:
                run.problem = "it was stopped before its end"
            run.is_over = True

    def _place(self, text: str, name: str, folder: Path) -> Path:
        """The file to play: the owner's own where it is as shown, so that a card beside it is found; else a copy."""
        if name:
            with suppress(FamiliarError, OSError):
                if self.read_file(name) == text:
                    return self._folder / name
        copy = folder / "rehearsal.json"
        atomic_write(copy, text)
        return copy


def _parse(text: str) -> dict[str, Any]:
    if len(text) > MAX_BYTES:
        raise ConfigError(f"a rehearsal may have at most {MAX_BYTES:,} characters here; play it in a terminal")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"this is not valid JSON ({error}); a rehearsal is an object with steps") from None
    if not isinstance(found, dict):
        raise ConfigError("this is no rehearsal: it is an object with steps, in { }")
    return found


def _first_words(steps: list[Any]) -> str:
    """The first thing somebody says in *steps*, in quotation marks; empty where nobody says anything."""
    said = next((str(step["say"]) for step in steps if isinstance(step, dict) and step.get("say")), "")
    words = one_line(said)
    return f"“{truncate_chars(words, MAX_TITLE_CHARS)}{'…' if len(words) > MAX_TITLE_CHARS else ''}”" if words else ""


def _take(run: RehearsalRun, row: object, steps: list[Any]) -> None:
    if not isinstance(row, dict):
        return
    if "step" not in row:
        run.passed, run.failed = int(row.get("passed", 0)), int(row.get("failed", 0))
        return
    if len(run.steps) >= MAX_STEPS:
        return
    number = int(row["step"])
    written = steps[number - 1] if 0 < number <= len(steps) else {}
    run.steps.append(
        RehearsalStep(
            number=number,
            at=str(row.get("at", ""))[:16].replace("T", " "),
            place=str(row.get("in") or ""),
            says=json.dumps(written, ensure_ascii=False, indent=1) if written else "",
            is_expectation=isinstance(written, dict) and "expect" in written,
            replies=list(zip(map(str, row.get("replies_in", ())), map(str, row.get("replies", ())), strict=False)),
            answers=[str(each) for each in row.get("answers", ())],
            notices=[str(each) for each in row.get("notices", ())],
            calls=[_read_call(call) for call in row.get("calls", ()) if isinstance(call, dict)],
            withheld=[str(each) for each in row.get("withheld", ())],
            failed=[str(each) for each in row.get("failed", ())],
        )
    )


def _read_call(call: dict[str, Any]) -> tuple[str, str]:
    """The slot, and the messages as one text."""
    messages = [message for message in call.get("messages", ()) if isinstance(message, dict)]
    text = "\n\n".join(f"[{message.get('role', '?')}]\n{_content(message.get('content'))}" for message in messages)
    left = len(text) - MAX_PROMPT_CHARS
    return str(call.get("slot", "")), text if left <= 0 else f"{text[:MAX_PROMPT_CHARS]}\n[… {left:,} more characters]"


def _content(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
