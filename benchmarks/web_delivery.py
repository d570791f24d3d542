"""Proven delivery on the page: random sequences of lines, restarts and kills, two familiars, two tabs of each.

The real program serves a home with two familiars over HTTP; between any two steps, and while a line is on its way, it
is killed, or stopped and started again for either familiar. A tab keeps to what the page's script does: a line is its
own until the program's record of it came back, and goes again under the same key. At the end of each sequence the
program is left alone and every line must be in the history of the familiar and the chat it was written to, once, and
nowhere else, and no tab may wait for anything. Then the same in a real Chromium, clicked as a person does.
Run `python -m benchmarks.web_delivery`; `--quick` for a short form, `--json` for a script; 1 where a line is lost,
misdirected or stuck.
"""

from __future__ import annotations

import http.client
import json
import random
import secrets
import socket
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.table import Row, run_part
from familiar_connect.bootstrap.starter import make_starter
from tests.fakes.browser import CHROMIUM, Visit, open_browser
from tests.fakes.model_server import stream_answer
from tests.fakes.page import Answered, PageProcess
from tests.fakes.program import make_home, model_endpoint

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FAMILIARS = ("ember", "wren")
SEED, BROWSER_SEED = 7, 11
SEQUENCES, QUICK_SEQUENCES = 500, 20
BROWSER_SEQUENCES, QUICK_BROWSER_SEQUENCES = 60, 3
STEPS = (4, 8)
SETTLED_WITHIN_S = 90.0
KILLED_WITHIN_S = 0.06
LOST_ANSWERS = 0.15
"""So many answers are thrown away by the tab before it reads them."""
TELL_EVERY = 20


@dataclass
class Outcome:
    """What became of the lines."""

    lines: int = 0
    restarts: int = 0
    kills: int = 0
    lost: list[str] = field(default_factory=list)
    misdirected: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.misdirected or self.repeated or self.stuck)


@dataclass(frozen=True)
class Line:
    """What was written, where to."""

    text: str
    familiar: str
    chat: int


class Tab(Protocol):
    """Somebody who writes to one chat of one familiar."""

    familiar: str
    chat: int

    def say(self, text: str) -> None: ...

    def settle(self, until: float) -> list[str]:
        """Have everything proven until then; what is not."""
        ...


class Program:
    """The page of the home, at one port, through all its restarts."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._port = _free_port()
        self._process: PageProcess | None = None
        self.cookie = self.host = ""
        self.starts = self.kills = 0

    @property
    def is_up(self) -> bool:
        return self._process is not None

    @property
    def listens_at(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self, familiar: str) -> None:
        """Serve the home, started for *familiar*; every browser that was let in stays in."""
        self._process = PageProcess(self.home, "--familiar", familiar, port=self._port).__enter__()
        self.starts += 1
        if not self.cookie:
            self._process.enter()
            self.cookie, self.host = self._process.cookie or "", self._process.host

    def kill(self) -> None:
        """As a power cut does."""
        if self._process is not None:
            self._process.process.kill()
            self._process.process.wait(60)
            self._process, self.kills = None, self.kills + 1

    def stop(self) -> None:
        """As Ctrl-C does."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None, **headers: str) -> Answered:
        connection = http.client.HTTPConnection(self.listens_at, timeout=20)
        try:
            given = {"Host": self.host, "Cookie": self.cookie, "Origin": f"http://{self.host}"}
            given |= {"Accept": "application/json", "Content-Type": "application/json"}
            given |= {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, json.dumps(fields) if fields is not None else None, given)
            answer = connection.getresponse()
            return Answered(
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read().decode(),
            )
        finally:
            connection.close()


class HttpTab:
    """A tab without a browser: what `outbox.js` does, in Python."""

    def __init__(self, program: Program, familiar: str, chat: int, history: str, chance: random.Random) -> None:
        self.familiar, self.chat = familiar, chat
        self._program = program
        self._history = history
        self._chance = chance
        self._waiting: list[tuple[str, str]] = []

    def say(self, text: str) -> None:
        self._waiting.append((secrets.token_hex(16), text))
        self._flush()

    def _flush(self) -> None:
        """Send what waits, in its order, until one gets no answer."""
        while self._waiting and self._send(*self._waiting[0]):
            self._waiting.pop(0)

    def _send(self, key: str, text: str) -> bool:
        """Whether the record of a line came back."""
        path = f"/f/{self.familiar}/chats/{self.chat}/messages"
        try:
            answer = self._program.ask("POST", path, {"text": text, "key": key}, x_familiar_history=self._history)
        except (OSError, http.client.HTTPException):
            return False
        if self._chance.random() < LOST_ANSWERS:
            return False
        return answer.status == 202 and isinstance(answer.json().get("turn"), int)

    def settle(self, until: float) -> list[str]:
        while self._waiting and time.monotonic() < until:
            self._flush()
        return [text for _, text in self._waiting]


class BrowserTab:
    """A tab of a real browser."""

    def __init__(self, page: Page, familiar: str, chat: int) -> None:
        self.familiar, self.chat = familiar, chat
        self.page = page

    def say(self, text: str) -> None:
        self.page.locator("#words").fill(text)
        self.page.locator("#words").press("Enter")

    def settle(self, until: float) -> list[str]:
        left = max(1.0, (until - time.monotonic()) * 1000)
        with suppress(Exception):
            self.page.locator(".sent, .chat.busy").first.wait_for(state="detached", timeout=left)
        return [*self.page.locator(".sent .plain").all_inner_texts(), *(["busy"] if self._is_busy() else [])]

    def _is_busy(self) -> bool:
        return self.page.locator(".chat.busy").count() > 0

    def shown(self) -> list[str]:
        """What stands there as kept."""
        return self.page.locator(".message.theirs[data-id] .words").all_inner_texts()


def play(program: Program, tabs: Sequence[Tab], chance: random.Random, name: str) -> list[Line]:
    """One sequence; the lines that were written. The program runs again when it returns."""
    lines: list[Line] = []

    def say() -> None:
        tab = chance.choice(tabs)
        lines.append(Line(f"{name}-{len(lines)}", tab.familiar, tab.chat))
        tab.say(lines[-1].text)

    def restart() -> None:
        chance.choice((program.kill, program.stop))()
        program.start(chance.choice(FAMILIARS))

    def kill_meanwhile() -> None:
        """The program dies while a line is on its way."""
        timer = Timer(chance.uniform(0.0, KILLED_WITHIN_S), program.kill)
        timer.start()
        say()
        timer.join()

    def start() -> None:
        if not program.is_up:
            program.start(chance.choice(FAMILIARS))

    steps: list[Callable[[], None]] = [say] * 6 + [restart, kill_meanwhile, program.kill, start, start]
    for _ in range(chance.randint(*STEPS)):
        chance.choice(steps)()
    start()
    return lines


def find_lines(home: Path, prefix: str) -> Counter[Line]:
    """Every line of a sequence that any history of the home holds, and where."""
    found: Counter[Line] = Counter()
    for familiar in FAMILIARS:
        with closing(sqlite3.connect(f"file:{home}/familiars/{familiar}/history.db?mode=ro", uri=True)) as database:
            rows = database.execute(
                "SELECT content, channel_id FROM turns WHERE role = 'user' AND content LIKE ?", (f"{prefix}-%",)
            )
            found.update(Line(text, familiar, chat) for text, chat in rows)
    return found


def judge(outcome: Outcome, written: Sequence[Line], tabs: Sequence[Tab], home: Path, name: str) -> None:
    """What became of the lines of one sequence."""
    until = time.monotonic() + SETTLED_WITHIN_S
    for tab in tabs:
        outcome.stuck += [f"{name}: {each}" for each in tab.settle(until)]
    found = find_lines(home, name)
    outcome.lines += len(written)
    outcome.lost += [each.text for each in written if not found[each]]
    outcome.repeated += [each.text for each in written if found[each] > 1]
    outcome.misdirected += [each.text for each in found if each not in written]


@contextmanager
def running_home(folder: Path) -> Iterator[Program]:
    """A home with two familiars whose model answers at once, and its page."""
    with model_endpoint(stream_answer("Hm.")) as model:
        make_home(folder, model)
        make_starter(folder, "wren", name="Wren", user_name="Sam")
        profile = folder / "familiars" / "_default" / "character.toml"
        profile.parent.mkdir()
        profile.write_text(
            f'[llm.main_prose]\nmodel = "test-model"\nbase_url = "{model.base_url}"\n'
            "[limits]\nreplies_per_person_per_minute = 0\n",
            encoding="utf-8",
        )
        program = Program(folder)
        program.start("ember")
        try:
            yield program
        finally:
            program.stop()


def run_http(home: Path, sequences: int, seed: int, tell: Callable[[str], None]) -> Outcome:
    """So many sequences without a browser."""
    chance, outcome = random.Random(seed), Outcome()
    with running_home(home) as program:
        tabs = open_http_tabs(program, chance)
        for number in range(sequences):
            written = play(program, tabs, chance, f"http{number}")
            judge(outcome, written, tabs, home, f"http{number}")
            if number % TELL_EVERY == 0:
                tell(f"sequence {number} of {sequences}")
        outcome.restarts, outcome.kills = program.starts - 1, program.kills
    return outcome


def open_http_tabs(program: Program, chance: random.Random) -> list[Tab]:
    """Two tabs of each familiar, one of them in a chat of its own."""
    tabs: list[Tab] = []
    for familiar in FAMILIARS:
        started = program.ask("POST", f"/f/{familiar}/chats", {"name": "Another"})
        history = started.headers["x-familiar-history"]
        for chat in (1, int(started.headers["location"].rpartition("/")[2])):
            tabs.append(HttpTab(program, familiar, chat, history, chance))
    return tabs


def run_browser(home: Path, sequences: int, seed: int, tell: Callable[[str], None]) -> Outcome:
    """So many sequences in Chromium, with a tab of each familiar and a second one of the first."""
    with open_browser() as browser, running_home(home) as program:
        return play_in_browser(browser, program, sequences, seed, tell)


def play_in_browser(
    browser: Browser, program: Program, sequences: int, seed: int, tell: Callable[[str], None]
) -> Outcome:
    """The sequences, in tabs that stay open through all of them."""
    chance, outcome = random.Random(seed), Outcome()
    context = browser.new_context()
    name, _, value = program.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": f"http://{program.host}"}])
    visit = Visit(context)
    visit.page.close()
    tabs: list[Tab] = []
    for familiar in (*FAMILIARS, "ember"):
        page = visit.open_tab()
        page.goto(f"http://{program.host}/f/{familiar}/chats/1")
        page.locator("[data-ready]").wait_for()
        tabs.append(BrowserTab(page, familiar, 1))
    for number in range(sequences):
        written = play(program, tabs, chance, f"browser{number}")
        judge(outcome, written, tabs, program.home, f"browser{number}")
        if number % TELL_EVERY == 0:
            tell(f"sequence {number} of {sequences} in a browser")
        for tab in tabs:
            assert isinstance(tab, BrowserTab)
            shown = Counter(tab.shown())
            ours = [each.text for each in written if (each.familiar, each.chat) == (tab.familiar, tab.chat)]
            outcome.stuck += [f"{each} is not shown" for each in ours if not shown[each]]
            outcome.repeated += [f"{each} is shown twice" for each in ours if shown[each] > 1]
    outcome.stuck += [f"fault: {each}" for each in visit.faults]
    outcome.restarts, outcome.kills = program.starts - 1, program.kills
    context.close()
    return outcome


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def tell_progress(words: str) -> None:
    print(f"  {time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Both kinds of sequences."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="familiar-delivery-") as folder:
        http_home, browser_home = Path(folder) / "http", Path(folder) / "browser"
        for each in (http_home, browser_home):
            each.mkdir()
        many = QUICK_SEQUENCES if quick else SEQUENCES
        found["http"] = {"seed": SEED, "sequences": many, **vars(run_http(http_home, many, SEED, tell_progress))}
        if CHROMIUM is not None:
            many = QUICK_BROWSER_SEQUENCES if quick else BROWSER_SEQUENCES
            found["browser"] = {
                "seed": BROWSER_SEED,
                "sequences": many,
                **vars(run_browser(browser_home, many, BROWSER_SEED, tell_progress)),
            }
    return found


def rows(found: dict[str, Any]) -> list[Row]:
    made = []
    for way, facts in found.items():
        many = ", ".join(f"{facts[each]:,} {each}" for each in ("sequences", "lines", "restarts", "kills"))
        counts = {each: len(facts[each]) for each in ("lost", "misdirected", "repeated", "stuck")}
        value = ", ".join(f"{count} {each}" for each, count in counts.items())
        made.append(
            Row(name=f"{way}, seed {facts['seed']}: {many}", value=value, bar="0 of each", ok=not any(counts.values()))
        )
    return made


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="delivery", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
