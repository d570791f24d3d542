"""The installing of a lock: pip or uv at work, seen as it goes, and its failures in plain words.

Packages come with their hashes and ready built, or not at all. uv does it when it is there, except for people who
told pip where packages come from: uv would not listen to that.
"""

from __future__ import annotations

import collections
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO

from tools.launch import SetupProblem, python_of, say

STRICT = ("--no-deps", "--only-binary", ":all:", "--require-hashes")
FAILED_TO_WRITE = r"No space left on device|\[Errno 28\]|os error 28|not enough space on the disk"
CHANGED_HASH = r"THESE PACKAGES DO NOT MATCH THE HASHES|Hash mismatch"
NO_TRUST = r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|invalid peer certificate"
NO_NETWORK = (
    r"NewConnectionError|NameResolutionError|ProxyError|ConnectTimeoutError|ReadTimeoutError|ConnectionResetError|"
    r"Connection aborted|Temporary failure in name resolution|Name or service not known|getaddrinfo failed|"
    r"Network is unreachable|Connection refused|Max retries exceeded|Read timed out|"
    r"error sending request|dns error|Could not connect|operation timed out"
)
NO_BUILD = r"No matching distribution found for ([\w.-]+)|([\w.-]+)==\S+ (?:has no usable wheels|has no wheels)"


def install(venv: str, lock: str, count: int, claim: int, *, over_remains: bool = False) -> None:
    """Install the lock, or raise SetupProblem; the claim is shared with the child, which may outlive us."""
    uv = usable_uv()
    if uv is not None:
        code, output = _watch(_uv_command(uv, venv, lock, over_remains), count, claim)
        if code == 0:
            return
        sentence = explain(output)
        if sentence is not None:
            raise SetupProblem(sentence)
        say("uv could not install the packages; trying pip.")
        over_remains = True
    code, output = _watch(_pip_command(venv, lock, over_remains), count, claim)
    if code != 0:
        last = "\n".join("  " + line for line in output.splitlines()[-12:])
        raise SetupProblem(
            explain(output) or f"The packages could not be installed (pip ended with {code}); its last words:\n{last}"
        )


def explain(output: str) -> str | None:
    """What an installer's words mean for the person in front, as one sentence; None when they are new to us."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if re.search(FAILED_TO_WRITE, output):
        return "The disk is full: the packages need about 400 MB; free some space and run again."
    if re.search(CHANGED_HASH, output):
        return (
            "A package that arrived is not the one we pinned (its hash differs), so nothing was installed: clear pip's "
            "cache with `python3 -m pip cache purge` and run again; if it stays so, do not trust your package source."
        )
    if re.search(NO_TRUST, output):
        return (
            "The package index's certificate is not trusted here, so nothing was installed: behind a filtering proxy, "
            "set PIP_CERT to its certificate file; otherwise check the clock and the system's certificates."
        )
    if re.search(NO_NETWORK, output):
        return (
            "The packages cannot be fetched because the network cannot be reached: run again when online; "
            "nothing is half-installed."
        )
    missing = re.search(NO_BUILD, output)
    if missing:
        return (
            f"There is no ready-made {missing[1] or missing[2]} for Python {version} on this kind of machine in your "
            "package source: use Python 3.11 to 3.14 on Linux (glibc), macOS or Windows, then run again."
        )
    return None


def usable_uv() -> str | None:
    """uv, where it is there and would ask the places the person wants asked."""
    return None if is_pip_configured() else shutil.which("uv")


def is_pip_configured() -> bool:
    """Whether the person told pip where packages come from, by environment or by file."""
    said = ("INDEX_URL", "EXTRA_INDEX_URL", "NO_INDEX", "FIND_LINKS", "PROXY", "CERT", "CONFIG_FILE")
    if any(os.environ.get("PIP_" + name) for name in said):
        return True
    home = os.path.expanduser("~")
    places = ("/etc/pip.conf", f"{home}/.config/pip/pip.conf", f"{home}/.pip/pip.conf", f"{home}/pip/pip.ini")
    return any(os.path.exists(place) for place in places)


def run_quietly(command: Sequence[str]) -> tuple[int, str]:
    """Exit code and words of a short command; 127 when it cannot be started."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
            check=False,
        )
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def _uv_command(uv: str, venv: str, lock: str, over_remains: bool) -> list[str]:
    extra = ["--reinstall"] if over_remains else []
    return [uv, "pip", "install", "--python", python_of(venv), *STRICT, *extra, "-r", lock]


def _pip_command(venv: str, lock: str, over_remains: bool) -> list[str]:
    if run_quietly([python_of(venv), "-I", "-m", "pip", "--version"])[0] == 0:
        pip = [python_of(venv), "-I", "-m", "pip"]
    else:
        base = getattr(sys, "_base_executable", None) or sys.executable
        pip = [base, "-m", "pip", "--python", python_of(venv)]
    extra = ["--ignore-installed"] if over_remains else []
    quiet = ["--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--progress-bar", "off"]
    return [*pip, "install", *quiet, *STRICT, *extra, "-r", lock]


def _watch(command: Sequence[str], count: int, claim: int) -> tuple[int, str]:
    """Run an installer to its end, showing how far it is; its exit code and last words."""
    environment = {**os.environ, "PIP_USER": "0", "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        encoding="utf-8",
        errors="replace",
        pass_fds=() if os.name == "nt" else (claim,),
    )
    assert process.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue(maxsize=1000)
    reader = threading.Thread(target=_read, args=(process.stdout, lines.put), daemon=True)
    reader.start()
    words: collections.deque[str] = collections.deque(maxlen=400)
    progress = Progress(count)
    try:
        while True:
            try:
                line = lines.get(timeout=0.5)
            except queue.Empty:
                progress.draw()
                continue
            if line is None:
                return process.wait(), "".join(words)
            words.append(line)
            progress.hear(line)
    finally:
        progress.close()
        if process.poll() is None:
            process.terminate()
            process.wait()


def _read(stream: IO[str], put: Callable[[str | None], None]) -> None:
    for line in stream:
        put(line)
    put(None)


class Progress:
    """How far the installer is: one live line on a terminal, one line a package elsewhere."""

    def __init__(self, count: int, out: IO[str] | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self._live = self._out.isatty()
        self._count = count
        self._begun: list[str] = []
        self._text = "asking for the packages"
        self._started = time.monotonic()

    def hear(self, line: str) -> None:
        """Take one line of pip's or uv's talk."""
        if line.startswith("Ignoring "):
            self._count -= 1
            return
        begun = re.match(r"(?:Collecting|Processing|Downloading) ([^\s=]+)(?:.* \((\d[^()]*B)\))?", line)
        sized = re.match(r"\s+(?:Downloading|Using cached) .*\(([\d.]+ \S*B)\)", line)
        if begun:
            name = begun[1].replace("\\", "/").rsplit("/", 1)[-1].split("-", 1)[0] if "/" in begun[1] else begun[1]
            self._begun.append(name)
            self._show(f"fetching {len(self._begun)}/{self._count} {name}", begun[2])
        elif sized and self._begun and (self._live or " MB" in sized[1]):
            self._show(f"fetching {len(self._begun)}/{self._count} {self._begun[-1]}", sized[1])
        elif line.startswith(("Installing collected", "Prepared ")):
            self._show(f"unpacking {self._count} packages", None)

    def draw(self) -> None:
        """Redraw the live line, so that a long download is seen to be alive."""
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            text = f"  {self._text}… {time.monotonic() - self._started:.0f} s"
            self._out.write("\r" + text[:width] + "\x1b[K")
            self._out.flush()

    def close(self) -> None:
        """Leave the terminal as it was found."""
        if self._live:
            self._out.write("\r\x1b[K")
            self._out.flush()

    def _show(self, text: str, size: str | None) -> None:
        self._text = f"{text} ({size})" if size else text
        if self._live:
            self.draw()
        else:
            self._out.write(f"  {self._text}\n")
            self._out.flush()
