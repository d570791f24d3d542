"""The page of a familiar, served by the real program, and a small client that says exactly what it is told to."""

from __future__ import annotations

import http.client
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fakes.program_process import environment, start_program
from tests.fakes.waiting import wait_until

LACKING = [name for name in ("starlette", "uvicorn", "jinja2") if find_spec(name) is None]
needs_page = pytest.mark.skipif(
    bool(LACKING), reason=f"the extra `web` is not installed (no {', '.join(LACKING)}); `python3 run.py test` has it"
)
WAIT_S = 200.0


@dataclass(frozen=True)
class Answered:
    """What the page answered."""

    status: int
    headers: dict[str, str]
    body: str

    def json(self) -> Any:
        return json.loads(self.body)


NOBODYS = ("/f/", "/open", "/login", "/static/", "//")
"""How addresses begin that are not within the pages of the familiar the program was started for."""


class PageClient:
    """Asks a page and says exactly what it is told to. `cookie` lets it in; None: it is a stranger.

    Addresses are those within the pages of the familiar that the program was started for, as templates name them.
    """

    def __init__(self) -> None:
        self.at = ""
        """Where those pages begin."""
        self.cookie: str | None = None
        self.host = self.token = ""
        self._listens_at = ""

    @property
    def listens_at(self) -> str:
        """Host and port that a connection is made to; the page may go by another name."""
        return self._listens_at or self.host

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    @property
    def home(self) -> str:
        """Where the pages of this familiar begin, for a browser."""
        return self.origin + self.at

    @property
    def address(self) -> str:
        """What was printed."""
        return f"{self.origin}/open?token={self.token}"

    def enter(self) -> None:
        """Open the printed address and keep the cookie."""
        answer = self.ask("GET", f"/open?token={self.token}")
        if answer.status == 303:  # to the name of its own
            there = urlsplit(answer.headers["location"])
            self._listens_at, self.host = self.listens_at, there.netloc
            answer = self.ask("GET", f"{there.path}?{there.query}")
        assert answer.status == 200, answer
        self.cookie = answer.headers["set-cookie"].split(";")[0]
        self.at = ""
        self.at = self.ask("GET", "/").headers["location"].rstrip("/")

    def ask(
        self, method: str, path: str, body: str | bytes | None = None, *, encoding: str = "utf-8", **headers: str
    ) -> Answered:
        """One request; names of *headers* are written with `_` for `-`, and the answer is read in *encoding*."""
        connection = http.client.HTTPConnection(self.listens_at, timeout=WAIT_S)
        try:
            connection.request(method, self.full(path), body, self._headers(headers))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answered(answer.status, found, answer.read().decode(encoding))
        finally:
            connection.close()

    def full(self, path: str) -> str:
        """The address of a page of this familiar."""
        return path if path.startswith(NOBODYS) else self.at + path

    def _headers(self, given: Mapping[str, str]) -> dict[str, str]:
        there = {"Cookie": self.cookie} if self.cookie is not None else {}
        if "host" not in given:
            there["Host"] = self.host
        return there | {name.replace("_", "-"): value for name, value in given.items()}

    def post(self, path: str, **fields: str) -> Answered:
        """A form of our own page, sent by a script of it."""
        return self.ask(
            "POST",
            path,
            json.dumps(fields),
            origin=self.origin,
            accept="application/json",
            content_type="application/json",
        )

    def say(self, text: str, chat: int = 1) -> None:
        answer = self.post(f"/chats/{chat}/messages", text=text)
        assert answer.status == 202, answer

    @contextmanager
    def events(self, chat: int = 1, *, path: str | None = None) -> Iterator[EventStream]:
        connection = http.client.HTTPConnection(self.listens_at, timeout=WAIT_S)
        try:
            connection.request("GET", self.full(path or f"/chats/{chat}/events"), headers=self._headers({}))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield EventStream(answer)
        finally:
            connection.close()


class PageProcess(PageClient):
    """`familiar web` on loopback, and its client."""

    def __init__(
        self,
        home: Path,
        *words: str,
        env: Mapping[str, str] | None = None,
        port: int = 0,
        verb: tuple[str, ...] = ("web", "--no-open", "--port"),
    ) -> None:
        """*verb* serves the page; the port comes behind it."""
        super().__init__()
        self._output = ""
        reads, writes = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            words = (*verb, str(port), *words)
            self.process = start_program(list(words), (nothing, writes, writes), environment(home, env))
        finally:
            os.close(writes)
            os.close(nothing)
        self._reader = threading.Thread(target=self._read, args=(reads,), daemon=True)
        self._reader.start()

    def _read(self, descriptor: int) -> None:
        with open(descriptor, "rb", buffering=0) as stream:
            while piece := stream.read(4096):
                self._output += piece.decode(errors="replace")

    @property
    def output(self) -> str:
        return self._output

    def __enter__(self) -> PageProcess:
        wait_until(lambda: "/open?token=" in self._output or self.process.poll() is not None, "the page is served")
        found = re.search(r"http://\S+/open\?token=(\S+)", self._output)
        assert found is not None, self._output
        self.host, self.token = urlsplit(found[0]).netloc, found[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> int:
        """Stop it as Ctrl-C does; its exit code."""
        self.process.send_signal(2)
        try:
            return self.process.wait(WAIT_S)
        finally:
            self.process.kill()
            self._reader.join(WAIT_S)


class EventStream:
    """Server-sent events, one after the other."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer

    def next(self) -> tuple[str, dict[str, Any]]:
        kind = ""
        while True:
            line = self._answer.readline().decode()
            assert line, "the stream ended"
            if line.startswith("event: "):
                kind = line[7:].strip()
            elif line.startswith("data: "):
                return kind, json.loads(line[6:])

    def until(self, wanted: str) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
        """What the next event called *wanted* says, and those before it."""
        before: list[tuple[str, dict[str, Any]]] = []
        while True:
            kind, facts = self.next()
            if kind == wanted:
                return facts, before
            before.append((kind, facts))
