"""The real program in a child process, and a model endpoint for it in a thread of ours."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.folders import HomeFolder
from tests.fakes.model_server import Answer, ModelServer
from tests.fakes.program_process import PROGRAM, environment, start_program


def run_program(
    home: Path | str,
    *words: str,
    said: str | bytes = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: float = 400.0,
    code: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `familiar WORDS` to its end, with *said* on its standard input and no terminal anywhere.

    With *code*, run `python -c CODE WORDS`: a script of a test that uses modules of the program.
    """
    ends = [os.pipe() for _ in range(3)]
    (reads, says), (hears, writes), (hears_errors, writes_errors) = ends
    theirs = (reads, writes, writes_errors)
    try:
        process = start_program(list(words), theirs, environment(home, env), cwd=cwd, code=code)
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    with ThreadPoolExecutor(3) as pool:
        typing = pool.submit(_write_all, says, said.encode() if isinstance(said, str) else said)
        out, err = pool.submit(_read_all, hears), pool.submit(_read_all, hears_errors)
        try:
            ended = process.wait(timeout_s)
        finally:
            process.kill()
        typing.result(timeout_s)
        return subprocess.CompletedProcess([*PROGRAM, *words], ended, out.result(timeout_s), err.result(timeout_s))


def _write_all(descriptor: int, said: bytes) -> None:
    """All of *said*, or as much as is read."""
    with suppress(BrokenPipeError), open(descriptor, "wb") as stream:
        stream.write(said)


def _read_all(descriptor: int) -> str:
    """Everything until nobody holds the other end: a process left behind would show here."""
    with open(descriptor, "rb") as stream:
        return stream.read().decode(errors="replace")


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """What the program said about a mistake, which must be one plain line and no traceback."""
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert lines, "nothing was said"
    return lines[-1]


def model_endpoint(*script: Answer) -> AbstractContextManager[ModelServer]:
    """A model endpoint on loopback that lives beside blocking test code."""
    return serve_beside(ModelServer(list(script)))


class _Server(Protocol):
    """A server of an event loop."""

    async def __aenter__(self) -> Any: ...
    async def __aexit__(self, *_: object) -> None: ...


S = TypeVar("S", bound=_Server)


@contextmanager
def serve_beside(server: S) -> Iterator[S]:
    """Run *server* in a thread with a loop of its own, beside blocking test code."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=type(server).__name__, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(100)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(100)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(100)
        loop.close()


def make_home(path: Path, server: ModelServer | None = None, *, model: str = "test-model") -> Path:
    """A home with Ember in it, whose replies come from *server* where there is one; the familiar's folder.

    The other slots stay on the embedded model, which is never asked for side work, so every request is a reply's.
    """
    root = make_starter(path, "ember")
    if server is not None:
        set_model(root / "character.toml", server, model=model)
    return root


def set_model(settings: Path, server: ModelServer, *, model: str = "test-model") -> None:
    """Have replies come from *server*, in a file of settings that is made where there is none."""
    slot = f'\n[llm.main_prose]\nmodel = "{model}"\nbase_url = "{server.base_url}"\n'
    settings.parent.mkdir(parents=True, exist_ok=True)
    with settings.open("a", encoding="utf-8") as file:
        file.write(slot)


FEW_TOKENS = 12
"""A reply of so few takes the embedded model a third of a second instead of several."""


def shorten_replies(home: Path) -> None:
    """Have every familiar of *home* say a few words at most, whoever makes the home later."""
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)  # as the program makes it; of another it would have something to say
    settings = HomeFolder(home).profile.settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"[llm.main_prose]\nmax_output_tokens = {FEW_TOKENS}\n", encoding="utf-8")


def shorten_turns(home: Path) -> None:
    """The same, and have the model read less: half of a starter's prompt are examples of how its character talks.

    Where a model of the person's takes over, nothing is written up at the end, which it would take as long for.
    """
    shorten_replies(home)
    with HomeFolder(home).profile.settings_file.open("a", encoding="utf-8") as settings:
        settings.write('\n[llm.memory_writer]\nmodel = "embedded"\n\n[providers]\nenabled = ["-sample_dialogues"]\n')
