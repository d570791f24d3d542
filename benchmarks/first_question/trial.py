"""The trial: a home in which sixty lines were said, and questions about them put to the real program.

Everything is a process of its own, as people start it; what counts is what stands in the prompt that the model's
endpoint was sent.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import familiar_connect
from familiar_connect.bootstrap.starter import make_starter

HERE = Path(__file__).parent
SRC = Path(familiar_connect.__file__).parent.parent
FAMILIAR = "ember"
WHO = "Sam"
LIMIT_S = 600.0
HOG_NICENESS = "10"
STARVED_S = 5.0
"""A first search takes about a second of the processor's time; the least that one waits for it, in voice, is this."""
TRIES = 5
"""A question is asked again where the machine gave the process no time: so often at most."""
SMALL_WORDS = """
a an the and or but of to in on at by for with from as is are was were be been am has have had do does did it its his
her their our my mine me i you your he she they them him who whose which that this these those not no so than then there
here when where what how why will would can could should may might about into over also very we us up out much many
"""
_RECALLED = re.compile(r"<memory: recalled for this message.*?</memory>", re.DOTALL)


@dataclass(frozen=True)
class Fact:
    """Something told, and the question that asks for it."""

    told: str
    asked: str

    @property
    def shares_words(self) -> bool:
        """Whether a content word of the question, or its beginning, stands in what was told."""
        return bool(_stems(self.told) & _stems(self.asked))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One question put to a new process."""

    fact: Fact
    is_found: bool
    """Whether the fact stood among what was recalled for the message."""
    status: str
    """Where it did not: how the trace says that the search fared."""
    wall_s: float
    cpu_s: float


def load_facts() -> tuple[list[Fact], list[str]]:
    """The facts, and all sixty lines in the order they are said in."""
    told = json.loads((HERE / "told.json").read_text("utf-8"))
    facts = [Fact(each["told"], each["asked"]) for each in told["facts"]]
    chatter = list(told["chatter"])
    lines: list[str] = []
    for number, fact in enumerate(facts):
        lines.append(fact.told)
        if number % 2:
            lines.append(chatter.pop(0))
    return facts, [*lines, *chatter]


def _stems(text: str) -> set[str]:
    words = re.findall(r"[^\W\d_]+(?:'\w+)?|\d+", text.lower())
    return {word.removesuffix("'s")[:5] for word in words if word not in SMALL_WORDS.split()}


class Endpoint:
    """A model's endpoint on loopback that says the same to everything, and keeps what it was sent."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.base_url = ""

    @contextmanager
    def serve(self) -> Iterator[Endpoint]:
        prompts = self.prompts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                if not self.path.endswith("/chat/completions"):
                    self.send_error(404)
                    return
                asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                prompts.append("\n".join(_text(each.get("content")) for each in asked.get("messages", ())))
                is_stream = bool(asked.get("stream"))
                body = _streamed("I see.") if is_stream else _whole("I see.")
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                self.send_error(404)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Nothing of this is of interest."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _whole(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


def _streamed(text: str) -> bytes:
    first = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in (first, last)) + b"data: [DONE]\n\n"


def run_program(home: Path, *words: str, said: str = "") -> tuple[subprocess.CompletedProcess[str], float, float]:
    """`familiar WORDS` in a new process; what it said, and the seconds it took by the clock and of the processor."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FAMILIAR_", "OPENROUTER_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled files are written once, as after any first start
    env = {**kept, "FAMILIAR_HOME": str(home), "FAMILIAR_COMMAND": "familiar", "PYTHONPATH": str(SRC)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "familiar_connect", *words],
        input=said,
        text=True,
        capture_output=True,
        env=env,
        timeout=LIMIT_S,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        raise RuntimeError(f"`familiar {' '.join(words)}` ended with {done.returncode}: {done.stderr[-2000:]}")
    return done, time.monotonic() - began, cpu


def make_told_home(home: Path, endpoint: Endpoint, lines: Sequence[str]) -> None:
    """A home in which *lines* were said in one chat, which was then closed."""
    settings = make_starter(home, FAMILIAR) / "character.toml"
    with settings.open("a", encoding="utf-8") as file:
        file.write(f'\n[llm.main_prose]\nmodel = "test-model"\nbase_url = "{endpoint.base_url}"\n')
    run_program(home, "chat", "--plain", "--as", WHO, said="".join(f"{line}\n" for line in lines))


def without_memory(home: Path) -> None:
    """Switch off, in *home*, what finds memory again."""
    settings = home / "familiars" / FAMILIAR / "character.toml"
    text, head = settings.read_text("utf-8"), "[providers.content_search]\n"
    if head not in text:
        raise RuntimeError(f"{settings} has no {head.strip()}")
    settings.write_text(text.replace(head, f"{head}files = false\nturns = false\n", 1), "utf-8")


def recalled(prompt: str) -> str:
    """What was found for the message, as the prompt shows it."""
    return "\n".join(_RECALLED.findall(prompt))


def ask_anew(told: Path, fact: Fact, endpoint: Endpoint, folder: Path, *, tries: int = 1) -> Answer:
    """Put one question to a new process, in a copy of the home *told* where nothing was asked before.

    Where the process was starved it is asked again, up to *tries* times in all.
    """
    for _ in range(tries):
        home = folder / "asked"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(told, home)
        endpoint.prompts.clear()
        done, wall, cpu = run_program(home, "ask", "--json", "--as", WHO, fact.asked)
        turn = json.loads(done.stdout)["turn"]
        prompt = endpoint.prompts[-1] if endpoint.prompts else ""
        is_found = fact.told in recalled(prompt)
        if is_found or not was_starved(home):
            break
    status = _search_status(home, turn) if not is_found else ""
    return Answer(fact=fact, is_found=is_found, status=status, wall_s=wall, cpu_s=cpu)


def _search_status(home: Path, turn: str | None) -> str:
    """How the trace says that the search of memory fared."""
    found = _search_outcome(home, turn)
    took = float(found.get("duration_s") or 0.0)
    return " ".join([f"{found.get('status', '?')} {took:.2f} s", *map(str, found.get("notes") or ())])


def _search_outcome(home: Path, turn: str | None = None) -> dict[str, Any]:
    done, _, _ = run_program(home, "inspect", "--json", *([turn] if turn else []))
    outcomes = _find_outcomes(json.loads(done.stdout))
    return next((each for each in outcomes if each.get("id") == "content_search"), {})


def was_starved(home: Path) -> bool:
    """Whether the last search waited to the end of its time: the machine gave the process none of its own.

    A search that nobody waits for ends at once, and is no such case.
    """
    found = _search_outcome(home)
    return float(found.get("duration_s") or 0.0) >= STARVED_S


def _find_outcomes(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        if "provider_outcomes" in value:
            return list(value["provider_outcomes"])
        value = list(value.values())
    if isinstance(value, list):
        return next((found for each in value if (found := _find_outcomes(each))), [])
    return []


def ask_warm(told: Path, facts: Sequence[Fact], endpoint: Endpoint, folder: Path) -> list[bool]:
    """Put all questions to one process that said hello first: whether each fact was found."""
    home = folder / "warm"
    shutil.copytree(told, home)
    endpoint.prompts.clear()
    said = "".join(f"{line}\n" for line in ("Hello!", *(fact.asked for fact in facts)))
    run_program(home, "chat", "--new", "--plain", "--as", WHO, said=said)
    return [
        any(fact.asked in prompt.splitlines()[-1] and fact.told in recalled(prompt) for prompt in endpoint.prompts)
        for fact in facts
    ]


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """*count* processes that never rest, at a lower priority than ours."""
    command = ["nice", "-n", HOG_NICENESS, sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()
