"""The model under test, behind a door of our own on loopback that keeps every answer.

What a familiar is told is answered from a list, at once; what it is asked goes to the real model, greedily and in few
tokens. Every call is kept in a file under a hash of what was asked, so that a run that was broken off goes on
where it stopped, and the counts of tokens are those the server reported.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from familiar_connect.llm.embedded.client import SIDE_SAMPLING
from familiar_connect.llm.profiles import WRITER_OUTPUT

ASKED_TOKENS = 60
WRITER_TOKENS = WRITER_OUTPUT
CALL_LIMIT_S = 1_800
MAX_BODY = 8 << 20
TOKEN = "benchmark"


@dataclass(frozen=True)
class Call:
    """One call: what it was for, what came back, and what it cost."""

    kind: str
    """`told`, `asked` or `other`."""
    prompt: str
    text: str
    prompt_tokens: int
    cached_tokens: int
    seconds: float


@dataclass(frozen=True)
class Upstream:
    """Where the real model listens."""

    url: str
    token: str

    def request(self, path: str, body: bytes | None = None) -> bytes:
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {self.token}"} if self.token else {}
        )
        request = urllib.request.Request(self.url + path, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=CALL_LIMIT_S) as response:
            return bytes(response.read(MAX_BODY))


@contextmanager
def open_model(model: str, *, window: int, threads: int, key: str = "") -> Iterator[Upstream]:
    """The endpoint at the address *model*, or the weights of that file in a llama.cpp server of our own."""
    if model.startswith(("http://", "https://")):
        yield Upstream(model.rstrip("/").removesuffix("/v1"), key)
        return
    from familiar_connect.llm.embedded import child

    settings = {"weights": model, "window": window, "threads": threads, "token": TOKEN, "cache_dir": ""}
    process = subprocess.Popen(
        [sys.executable, child.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline() or b"{}")
        if "address" not in answer:
            raise SystemExit(f"{model} does not start: {answer.get('detail', 'the server ended')}")
        upstream = Upstream(answer["address"].rstrip("/"), TOKEN)
        _wait_until_loaded(upstream)
        yield upstream
    finally:
        process.stdin.close()
        process.wait(timeout=30)


def _wait_until_loaded(upstream: Upstream) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        try:
            upstream.request("/health")
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise SystemExit("The model did not finish loading within five minutes.")


class Recorder:
    """Asks the real model, or finds its answer in the file of an earlier run."""

    def __init__(self, upstream: Upstream, model: str, state: Path) -> None:
        self._upstream = upstream
        self._model = model
        self._state = state
        self._lock = threading.Lock()
        self._known: dict[str, Call] = {}
        self.calls: list[Call] = []
        if state.exists():
            for line in state.read_text("utf-8").splitlines():
                row = json.loads(line)
                key = row.pop("key")
                self._known[key] = Call(**row)

    def ask(self, kind: str, payload: dict[str, Any]) -> Call:
        """The answer to *payload*, greedy; one call at a time, as a small machine would have it."""
        limit = ASKED_TOKENS if kind == "asked" else WRITER_TOKENS
        asked = {"messages": payload["messages"], "temperature": 0, "max_tokens": limit}
        if kind == "other" and not self._model.startswith(("http://", "https://")):
            asked |= SIDE_SAMPLING  # as the program asks a model file
        for name in ("stop", "tools"):
            if payload.get(name):
                asked[name] = payload[name]
        key = hashlib.sha256(json.dumps([Path(self._model).name, asked], sort_keys=True).encode()).hexdigest()
        with self._lock:
            call = self._known.get(key)
            if call is None:
                call = self._ask(kind, asked)
                self._tell_progress(call)
                self._known[key] = call
                with self._state.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, **asdict(call)}, ensure_ascii=False) + "\n")
            self.calls.append(call)
        return call

    def _tell_progress(self, call: Call) -> None:
        number, cost = len(self.calls) + 1, f"{call.prompt_tokens} tokens read, {call.seconds:.0f} s"
        print(f"  call {number} ({call.kind}): {cost}", file=sys.stderr, flush=True)

    def _ask(self, kind: str, asked: dict[str, Any]) -> Call:
        began = time.monotonic()
        body = json.dumps({"model": Path(self._model).stem, "cache_prompt": True, **asked}).encode()
        answer = json.loads(self._upstream.request("/v1/chat/completions", body))
        usage = answer.get("usage") or {}
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        if cached is None:
            cached = (answer.get("timings") or {}).get("cache_n", 0)
        return Call(
            kind=kind,
            prompt=json.dumps(asked["messages"], ensure_ascii=False),
            text=(answer["choices"][0]["message"].get("content") or "").strip(),
            prompt_tokens=int(usage.get("prompt_tokens", 0)),
            cached_tokens=int(cached),
            seconds=round(time.monotonic() - began, 2),
        )

    def look(self, path: str, body: bytes | None = None) -> bytes:
        """What the server answers at *path*, besides completions."""
        return self._upstream.request(path, body)


@contextmanager
def open_door(recorder: Recorder, answer_told: Callable[[list[dict[str, Any]]], str | None]) -> Iterator[str]:
    """The address a familiar is given; *answer_told* gives the stored reply, None where the model shall speak."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass_on(None)

        def do_POST(self) -> None:
            body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), MAX_BODY))
            if not self.path.endswith("/chat/completions"):
                self._pass_on(body)
                return
            payload = json.loads(body)
            stored = answer_told(payload["messages"])
            if stored is None:
                call = recorder.ask("asked" if payload.get("stream") else "other", payload)
            else:
                call = Call("told", "", stored, 0, 0, 0.0)
            usage = {
                "prompt_tokens": call.prompt_tokens,
                "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": call.cached_tokens},
            }
            if payload.get("stream"):
                said = {"choices": [{"index": 0, "delta": {"content": call.text}, "finish_reason": None}]}
                end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
                pieces = "".join(f"data: {json.dumps(each)}\n\n" for each in (said, end)) + "data: [DONE]\n\n"
                self._send(200, "text/event-stream", pieces.encode())
            else:
                choice = {"index": 0, "message": {"role": "assistant", "content": call.text}, "finish_reason": "stop"}
                self._send(200, "application/json", json.dumps({"choices": [choice], "usage": usage}).encode())

        def _pass_on(self, body: bytes | None) -> None:
            """A question about the server: its own answer, or that it knows no such thing."""
            try:
                self._send(200, "application/json", recorder.look(self.path, body))
            except (urllib.error.URLError, OSError):
                self._send(404, "application/json", b"{}")

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
