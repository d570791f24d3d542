"""run_bounded: a Python child process that gets bytes and answers with one JSON object, within limits.

Reading a file of unknown origin may take any time and any memory; in a child it can take only what it is given. The
parent bounds the wall clock and the answer's length. The child calls `limit_this_process` first, which bounds
processor time and memory where the operating system can; elsewhere the wall clock alone holds.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from familiar_connect.support.free_memory import MEGABYTE, address_space_bytes

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
_SPARE_CPU_S = 2
"""Seconds after which the kernel ends a child that outlived its timer."""
_PIECE_BYTES = 1 << 20

Excess = Literal["work", "time", "memory", "output"]


@dataclass(frozen=True, kw_only=True)
class ProcessLimits:
    """What one child may use."""

    cpu_s: float = 1.5
    memory_bytes: int = 160 * MEGABYTE
    """Beyond what the interpreter itself takes, some 20 MB."""
    wall_s: float = 30.0
    """Generous: on a busy machine a child waits for its turn."""
    output_bytes: int = 64 * MEGABYTE


class ProcessLimitError(Exception):
    """The child needed more than it may have; `excess` says of what."""

    def __init__(self, excess: Excess, limits: ProcessLimits) -> None:
        self.excess = excess
        words = {
            "work": f"takes more than {limits.cpu_s:g} s of work to read",
            "time": f"takes longer than {limits.wall_s:g} s to read",
            "memory": f"takes more than {limits.memory_bytes // MEGABYTE} MB of memory to read",
            "output": f"unpacks to more than {limits.output_bytes // MEGABYTE} MB",
        }
        super().__init__(words[excess])


class ProcessFailedError(Exception):
    """The child ended without an answer."""


def run_bounded(
    module: str, arguments: Sequence[str], data: bytes | IO[bytes], limits: ProcessLimits
) -> dict[str, Any]:
    """The JSON object that `python -m module *arguments*` prints when given *data*.

    `ProcessLimitError` when it needs too much, `ProcessFailedError` when it ends without an answer.
    """
    printed = io.BytesIO()
    status = print_bounded(printed, module, arguments, data, limits)
    return _answer(printed.getvalue(), status, limits)


def print_bounded(
    out: IO[bytes], module: str, arguments: Sequence[str], data: bytes | IO[bytes], limits: ProcessLimits
) -> int:
    """Write to *out* what such a child prints, as it comes; returns the status it ended with.

    What is given may be a file, which this process then never holds. `ProcessLimitError` when it needs too much.
    """
    budget = f"{limits.cpu_s:g},{limits.memory_bytes}"
    length = len(data) if isinstance(data, bytes) else os.fstat(data.fileno()).st_size
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", module, budget, str(length), *arguments],
        stdin=subprocess.PIPE if isinstance(data, bytes) else data,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(os.environ),
    )
    assert child.stdout is not None
    late = threading.Event()
    timer = threading.Timer(limits.wall_s, _end, (child, late))
    feeder = threading.Thread(target=_feed, args=(child.stdin, data), daemon=True)
    timer.start()
    feeder.start()
    try:
        size = 0
        while piece := child.stdout.read(_PIECE_BYTES):
            size += len(piece)
            if size > limits.output_bytes:
                raise ProcessLimitError("output", limits)
            out.write(piece)
        status = child.wait()
    finally:
        timer.cancel()
        child.kill()
        child.wait()
        feeder.join()
        child.stdout.close()
    if late.is_set():
        raise ProcessLimitError("time", limits)
    if -status in _time_signals():
        raise ProcessLimitError("work", limits)
    return status


def _answer(printed: bytes, status: int, limits: ProcessLimits) -> dict[str, Any]:
    try:
        value = json.loads(printed)
    except (ValueError, RecursionError):
        raise ProcessFailedError(f"its reader ended with status {status}") from None
    if not isinstance(value, dict):
        raise ProcessFailedError("its reader gave no object")
    if value.get("excess") == "memory":
        raise ProcessLimitError("memory", limits)
    return value


def _end(child: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    child.kill()


def _feed(stream: IO[bytes] | None, data: bytes | IO[bytes]) -> None:
    if stream is not None and isinstance(data, bytes):
        with contextlib.suppress(OSError), stream:
            stream.write(data)


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """*given* with this very package first on the child's path."""
    path = os.pathsep.join(filter(None, (str(PACKAGE_ROOT), given.get("PYTHONPATH", ""))))
    return {**given, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}


def _time_signals() -> tuple[int, ...]:
    return tuple(getattr(signal, name) for name in ("SIGPROF", "SIGXCPU") if hasattr(signal, name))


# In the child


def limit_this_process(budget: str) -> None:
    """Hold this process to *budget* (processor seconds, bytes), as far as the operating system can."""
    seconds, size = budget.split(",")
    if sys.platform == "win32":
        return
    import resource

    # The timer is exact to the millisecond, and what it sends ends the process even inside a C library.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    times = os.times()
    signal.setitimer(signal.ITIMER_PROF, max(0.01, float(seconds) - times.user - times.system))
    with contextlib.suppress(ValueError, OSError):
        last = int(float(seconds)) + _SPARE_CPU_S
        resource.setrlimit(resource.RLIMIT_CPU, (last, last))
    with contextlib.suppress(ValueError, OSError):
        most = address_space_bytes() + int(size)  # a large file of locales must not count against what it reads
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_given(length: str) -> bytes:
    """The bytes this child was given on its standard input."""
    return sys.stdin.buffer.read(int(length))


def print_answer(answer: Mapping[str, object]) -> None:
    """Print *answer* for the parent; the last thing a child does."""
    sys.stdout.buffer.write(json.dumps(answer).encode("ascii"))
    sys.stdout.buffer.flush()
