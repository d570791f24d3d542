"""The making of the environment: complete, or not believed.

One process at a time works on it. The mark that says "complete" goes away before anything is touched and comes
back last, so a set-up cut short is simply made again. An environment somebody else made is used when it fits and
never cleared. Packages come with their hashes and ready built; uv installs them where it is there, except for
people who told pip where packages come from, which uv would not heed.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import errno
import operator
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import IO, Any, TextIO

from tools.environment import (
    DEV_LOCK,
    EXTRAS,
    LOCK,
    MARK,
    SOURCE,
    SetupProblem,
    is_ready,
    lock_of,
    python_of,
    read_mark,
    say,
    wanted_locks,
    wanted_mark,
)

CLAIM = ".familiar-setup"
"""Held while somebody sets up; its text says whether the folder is `ours` to clear or a `guest` one."""
FETCH_MB = {LOCK: 210, DEV_LOCK: 480, lock_of("voice"): 180}
"""Roughly what the first set-up brings over the network, the models' own weights included; other extras are small."""
LEAST_TOLD_S = 5.0
"""A shorter rest is not told: it may be wrong by as much."""
MARKERS = {
    "sys_platform": sys.platform,
    "implementation_name": sys.implementation.name,
    "platform_machine": platform.machine(),
    "platform_python_implementation": platform.python_implementation(),
    "python_full_version": ".".join(map(str, sys.version_info[:3])),
}
"""What a lock may ask of the machine."""
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
LEAST_FETCHED_MB = 5.0
"""From here on the speed so far says how long the rest may take."""
STRICT = ("--no-deps", "--only-binary", ":all:", "--require-hashes")
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
BASE_PYTHON = getattr(sys, "_base_executable", None) or sys.executable

DISK_FULL = "The disk is full: the environment needs about 400 MB; free some space and run again."
FAILURES = {
    r"No space left on device|\[Errno 28\]|os error 28|not enough space on the disk": DISK_FULL,
    r"THESE PACKAGES DO NOT MATCH THE HASHES|Hash mismatch": (
        "A package that arrived is not the one we pinned (its hash differs), so nothing was installed: clear pip's "
        "cache with `python3 -m pip cache purge` and run again; if it stays so, do not trust your package source."
    ),
    r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|invalid peer certificate": (
        "The package index's certificate is not trusted here, so nothing was installed: behind a filtering proxy, "
        "set PIP_CERT to its certificate file; otherwise check the clock and the system's certificates."
    ),
    r"NewConnectionError|NameResolutionError|ProxyError|ConnectTimeoutError|ReadTimeoutError|ConnectionResetError|"
    r"Connection aborted|Temporary failure in name resolution|Name or service not known|getaddrinfo failed|"
    r"Network is unreachable|Connection refused|Max retries exceeded|Read timed out|"
    r"error sending request|dns error|Could not connect|operation timed out": (
        "The packages cannot be fetched because the network cannot be reached: run again when online; "
        "nothing is half-installed."
    ),
    r"No matching distribution found for (?P<one>[\w.-]+)|(?P<two>[\w.-]+)==\S+ has no (?:usable )?wheels": (
        f"There is no ready-made {{package}} for Python {VERSION} on this kind of machine in your package source: "
        "use Python 3.11 to 3.14 on Linux (glibc), macOS or Windows, then run again."
    ),
}
"""What pip's or uv's words mean for the person in front; the first that matches counts."""


def prepare(venv: str, *, testing: bool, extras: Sequence[str] = ()) -> None:
    """Make the environment complete, or raise SetupProblem with the sentence that helps."""
    started = time.monotonic()
    before = signal.signal(signal.SIGTERM, _stop_on_terminate)
    try:
        with claim_folder(venv) as claim:
            if is_ready(venv, testing=testing, extras=extras):
                return  # somebody else did it while we waited
            refresh_or_build(venv, claim, testing=testing, extras=extras)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise SetupProblem(DISK_FULL) from error
        raise SetupProblem(
            f"{error.filename or venv} cannot be written ({error.strerror}): make the folder writable, or set "
            "FAMILIAR_VENV to a folder that is."
        ) from error
    finally:
        signal.signal(signal.SIGTERM, before)
    say(f"Set up in {time.monotonic() - started:.0f} s; from now on it starts at once.")


@contextlib.contextmanager
def claim_folder(venv: str) -> Iterator[TextIO]:
    """The environment's folder, held by this process alone and known to be ours or a fitting guest."""
    if os.path.islink(venv):
        there = os.path.realpath(venv)
        raise SetupProblem(f"{venv} is a link to {there}, which is left alone: delete the link and run again.")
    os.makedirs(venv, exist_ok=True)
    path = os.path.join(venv, CLAIM)
    with open(path, "a+", encoding="ascii") as claim:
        _wait_for(claim, venv)
        claim.seek(0)
        known = claim.read()
        whose = known or ("ours" if set(os.listdir(venv)) <= {CLAIM} else "guest")
        if whose == "guest" and not is_usable_guest(venv):
            if not known:
                os.unlink(path)
            other = "set FAMILIAR_VENV to another folder"
            raise SetupProblem(f"{venv} was not made by run.py and does not fit this Python: delete it, or {other}.")
        if not known:
            claim.write(whose)
            claim.flush()
        yield claim


def _wait_for(claim: TextIO, venv: str) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: two first starts at once are on their own
        return
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"Another run.py is setting up {venv}; waiting for it to finish.")
        fcntl.flock(claim, fcntl.LOCK_EX)


def is_usable_guest(venv: str) -> bool:
    """Whether the folder is an environment of this very Python version, made by hand."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2], sys.prefix != sys.base_prefix)"
    return run_quietly([python_of(venv), "-I", "-c", ask]) == (0, f"{VERSION} True\n")


def refresh_or_build(venv: str, claim: TextIO, *, testing: bool, extras: Sequence[str] = ()) -> None:
    """Install what is wanted, in place where the environment still fits, from nothing where it does not."""
    there = read_mark(venv)
    locks = wanted_locks(there, testing=testing, extras=extras)
    wanted = wanted_mark(venv, locks)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(venv, MARK))
    claim.seek(0)
    is_guest = claim.read() == "guest"
    fits = all(there.get(key) == wanted[key] for key in ("python", "environment", "source"))
    fits = fits and os.path.exists(python_of(venv))
    there = there if fits else {}
    stale = [lock for key, lock in locks.items() if there.get(key) != wanted[key]]
    if DEV_LOCK in stale and LOCK in stale:
        stale.remove(LOCK)  # the other holds the same pins and more
    again = is_guest and not fits
    counts = count_new_packages(stale, packages_in(venv) if fits else ())
    count = sum(counts)
    if fits:
        new = [extra for extra in EXTRAS if lock_of(extra) in stale and f"extra-{extra}" not in there]
        bringing = [extra for extra in new if counts[stale.index(lock_of(extra))]]
        if bringing:
            say(_what_is_added(venv, bringing, count))
        elif len(new) < len(stale):
            say(f"Bringing {venv} up to date with the pinned packages ({count}).")
    else:
        size = f"{count} packages, about {FETCH_MB[stale[0]]} MB to fetch the first time"
        say(f"Setting up Familiar Connect in {venv}: {size}, the embedded model among them.")
        if not is_guest:
            clear(venv)
            say("  making the environment")
            make_venv(venv)
    for at, lock in enumerate(stale):
        install(venv, lock, claim.fileno(), sum(counts[:at]), count, over_remains=again)
    link_program(venv)
    compile_program(venv)
    write_mark(venv, {**there, **wanted})


def _what_is_added(venv: str, extras: Sequence[str], count: int) -> str:
    """What is said before *extras* come to an environment that was there."""
    megabytes = sum(FETCH_MB.get(lock_of(extra), 0) for extra in extras)
    size = f", about {megabytes} MB to fetch, once" if megabytes else ""
    return f"Adding what {' and '.join(extras)} needs to {venv}: {count} packages{size}."


def clear(venv: str) -> None:
    """Empty the folder but for our claim on it."""
    for entry in os.scandir(venv):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name != CLAIM:
            os.unlink(entry.path)


def make_venv(venv: str) -> None:
    """A bare environment; with pip where the system can give one, else for uv or the system's pip to fill."""
    has_uv = usable_uv() is not None
    if not has_uv:
        code, output = run_quietly([BASE_PYTHON, "-m", "venv", venv])
        if code == 0:
            return
        if explain(output) == DISK_FULL:
            raise SetupProblem(DISK_FULL)
    code, output = run_quietly([BASE_PYTHON, "-m", "venv", "--without-pip", venv])
    if code == 0 and (has_uv or run_quietly([BASE_PYTHON, "-m", "pip", "--version"])[0] == 0):
        return
    fix = "install the full Python from your system's packages, with `venv` and `ensurepip`, and run again"
    if os.path.exists("/etc/debian_version"):
        fix = f"install it with `sudo apt install python3-venv` (or `python{VERSION}-venv`) and run again"
    reason = (output.strip().splitlines() or ["no reason given"])[-1].strip()
    raise SetupProblem(f"This Python {VERSION} cannot make a virtual environment: {fix}. (It said: {reason})")


def link_program(venv: str) -> None:
    """Make the checkout importable in the environment, and `familiar` a command of it, without building anything."""
    with open(os.path.join(site_packages(venv), "familiar_connect.pth"), "w", encoding="utf-8") as file:
        file.write(SOURCE + "\n")
    python = python_of(venv)
    for name in ("familiar", "familiar-connect"):
        path = os.path.join(os.path.dirname(python), name)
        text = f'#!/bin/sh\nexec {shlex.quote(python)} -P -m familiar_connect "$@"\n'
        if os.name == "nt":
            path, text = path + ".cmd", f'@"{python}" -P -m familiar_connect %*\r\n'
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(path, 0o755)


def site_packages(venv: str) -> str:
    """Where the environment has its packages."""
    places = {"base": venv, "platbase": venv, "installed_base": venv, "installed_platbase": venv}
    return sysconfig.get_path("purelib", "nt_venv" if os.name == "nt" else "posix_venv", places)


def compile_program(venv: str) -> None:
    """Compile the checkout once, so that every start is quick, also where Python may not keep what it compiles.

    Where the checkout cannot be written the program starts a little slower, and that is all.
    """
    say("  compiling the program")
    run_quietly([python_of(venv), "-I", "-m", "compileall", "-q", "-j", "0", SOURCE])


def write_mark(venv: str, mark: dict[str, str]) -> None:
    """Say that everything is there; the last step, and a single rename."""
    path = os.path.join(venv, MARK)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.writelines(f"{key} {value}\n" for key, value in mark.items())
    os.replace(path + ".new", path)


def count_new_packages(locks: Sequence[str], here: Collection[str] = ()) -> list[int]:
    """How many packages each lock brings that neither are *here* nor come with a lock before it."""
    known, counts = set(here), []
    for lock in locks:
        new = pinned_packages(lock) - known
        counts.append(len(new))
        known |= new
    return counts


def pinned_packages(lock: str) -> set[str]:
    """The packages that a lock pins for this Python on this machine, named as `packages_in` does."""
    with open(lock, encoding="utf-8") as file:
        pins = [line.rstrip("\\\n ") for line in file if re.match(r"[A-Za-z0-9].*==", line)]
    meant = [pin.partition(";")[0] for pin in pins if is_meant_for_us(pin.partition(";")[2].strip())]
    return {_installed_name(*pin.strip().split("==")) for pin in meant}


def packages_in(venv: str) -> frozenset[str]:
    """The packages of the environment, as their folders name them: `typing_extensions-4.16.0`."""
    folder = os.path.join(site_packages(venv), "")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = (os.path.splitext(name)[0].rpartition("-") for name in names if name.endswith(".dist-info"))
    return frozenset(_installed_name(name, version) for name, _, version in found)


def _installed_name(name: str, version: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower() + "-" + version


def is_meant_for_us(marker: str) -> bool:
    """Whether what stands behind a pin, such as `sys_platform == 'win32'`, holds here; True where it is new to us."""
    try:
        return not marker or _holds(ast.parse(marker, mode="eval").body)
    except (SyntaxError, ValueError, KeyError, TypeError):
        return True


def _holds(node: ast.AST) -> bool:
    if isinstance(node, ast.BoolOp):
        return (all if isinstance(node.op, ast.And) else any)(_holds(each) for each in node.values)
    if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Name):
        raise TypeError(f"no marker of ours: {ast.dump(node)}")
    key, value = node.left.id, ast.literal_eval(node.comparators[0])
    here: Any = MARKERS[key]
    if key == "python_full_version":
        here, value = (tuple(int(part) for part in text.split(".")) for text in (here, value))
    return bool(COMPARISONS[type(node.ops[0])](here, value))


def install(venv: str, lock: str, claim: int, done: int, count: int, *, over_remains: bool = False) -> None:
    """Install the lock, or raise SetupProblem; the claim is shared with the child, which may outlive us.

    *done* packages of *count* in all came with the locks before.
    """
    python, uv = python_of(venv), usable_uv()
    counts = (done, count, FETCH_MB.get(lock, 0))
    if uv is not None:
        again = ["--reinstall"] if over_remains else []
        code, output = _watch([uv, "pip", "install", "--python", python, *STRICT, *again, "-r", lock], claim, counts)
        if code == 0:
            return
        sentence = explain(output)
        if sentence is not None:
            raise SetupProblem(sentence)
        say("uv could not install the packages; trying pip.")
        over_remains = True
    pip = [python, "-I", "-m", "pip"]
    if run_quietly([*pip, "--version"])[0] != 0:
        pip = [BASE_PYTHON, "-m", "pip", "--python", python]
    quiet = ["--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--progress-bar", "off"]
    again = ["--ignore-installed"] if over_remains else []
    code, output = _watch([*pip, "install", *quiet, *STRICT, *again, "-r", lock], claim, counts)
    if code != 0:
        last = "\n".join("  " + line for line in output.splitlines()[-12:])
        unknown = f"The packages could not be installed (pip ended with {code}); its last words:\n{last}"
        raise SetupProblem(explain(output) or unknown)


def explain(output: str) -> str | None:
    """What an installer's words mean for the person in front, as one sentence; None when they are new to us."""
    for pattern, sentence in FAILURES.items():
        if found := re.search(pattern, output):
            groups = found.groupdict()
            return sentence.format(package=groups["one"] or groups["two"]) if groups else sentence
    return None


def usable_uv() -> str | None:
    """uv, where it is there and would ask the places the person wants asked."""
    return None if is_pip_configured() else shutil.which("uv")


def is_pip_configured() -> bool:
    """Whether the person told pip where packages come from, by environment or by file."""
    settings = ("INDEX_URL", "EXTRA_INDEX_URL", "NO_INDEX", "FIND_LINKS", "PROXY", "CERT", "CONFIG_FILE")
    places = ("/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf", "~/pip/pip.ini")
    return any(os.environ.get("PIP_" + name) for name in settings) or any(
        os.path.exists(os.path.expanduser(place)) for place in places
    )


def run_quietly(command: Sequence[str]) -> tuple[int, str]:
    """Exit code and words of a short command; 127 when it cannot be started."""
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        done = subprocess.run(command, **pipes, timeout=600, check=False, encoding="utf-8", errors="replace")
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout


def _watch(command: Sequence[str], claim: int, counts: tuple[int, int, float]) -> tuple[int, str]:
    """Run an installer to its end, showing how far it is; its exit code and last words.

    *counts*: packages that came before, packages in all, megabytes to fetch now.

    The main thread reads the pipe itself: Ctrl-C breaks a read cleanly at any moment, which a wait on a lock or a
    queue does not promise.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PIP_USER": "0", "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"},
        encoding="utf-8",
        errors="replace",
        pass_fds=() if os.name == "nt" else (claim,),
    ) as process:
        words: collections.deque[str] = collections.deque(maxlen=400)
        done, count, megabytes = counts
        progress = Progress(count, done=done, megabytes=megabytes)
        try:
            for line in process.stdout or ():
                words.append(line)
                progress.hear(line)
            return process.wait(), "".join(words)
        finally:
            progress.close()
            process.terminate()  # does nothing to one that has ended


class Progress:
    """How far the installer is: one line that changes on a terminal, one line a package elsewhere."""

    def __init__(
        self,
        count: int,
        out: IO[str] | None = None,
        *,
        done: int = 0,
        megabytes: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """*done* packages of *count* are there; *megabytes*: roughly what there is to fetch; 0: nobody knows."""
        self._out = sys.stderr if out is None else out
        self._count = count
        self._done = done
        self._name = ""
        self._megabytes = megabytes
        self._clock = clock
        self._began = clock()
        self._fetched = self._fetching = 0.0
        self._ends_at: float | None = None
        """When it was said to be over; a later moment is never told."""

    def hear(self, line: str) -> None:
        """Take one line of pip's or uv's talk."""
        begun = re.match(r"(?:Collecting|Processing) ([^\s=]+)(?:.* \((\d[^()]*B)\))?", line)
        sized = re.match(r"\s+(?:Downloading|Using cached) .*\(([\d.]+ MB)\)", line)
        alone = re.match(r"Downloading (\S+) \((\d[^()]*B)\)", line)
        unpacked = re.match(r"Installing collected packages: (.+)|Prepared (\d+) package", line)
        if begun:
            self._done += 1
            self._name = re.sub(r".*[/\\]([^-]+)-.*", r"\1", begun[1])
            self._tell_fetching(f"{self._done}/{self._count} {self._name}", begun[2])
        elif sized and self._name:
            self._tell_fetching(f"{self._done}/{self._count} {self._name}", sized[1])
        elif alone:  # uv names the large ones only, so nothing can be counted
            self._tell_fetching(alone[1], alone[2])
        elif unpacked:
            many = len(unpacked[1].split(",")) if unpacked[1] else int(unpacked[2])
            self._show(f"unpacking {many} package{'' if many == 1 else 's'}")

    def _tell_fetching(self, what: str, size: str | None) -> None:
        if size:
            self._fetched, self._fetching = self._fetched + self._fetching, megabytes_of(size)
        self._show(f"fetching {what}{f' ({size})' if size else ''}{self._time_left()}")

    def _time_left(self) -> str:
        """How long the rest may take at the speed so far, once that can be told; never longer than was said before."""
        now, rest = self._clock(), self._megabytes - self._fetched
        took = now - self._began
        if self._fetched < LEAST_FETCHED_MB or took <= 0 or rest <= 0:
            return ""
        ends_at = now + rest * took / self._fetched
        self._ends_at = ends_at if self._ends_at is None else min(self._ends_at, ends_at)
        seconds = self._ends_at - now
        if seconds < LEAST_TOLD_S:
            return ""
        return f", about {seconds:.0f} s left" if seconds < 90 else f", about {seconds / 60:.0f} min left"

    def close(self) -> None:
        """Leave the terminal as it was found."""
        if self._out.isatty():
            self._out.write("\r\x1b[K")

    def _show(self, text: str) -> None:
        width = shutil.get_terminal_size().columns
        self._out.write(f"\r  {text}"[:width] + "\x1b[K" if self._out.isatty() else f"  {text}\n")
        self._out.flush()


def megabytes_of(size: str) -> float:
    """A size as pip and uv write it, such as `31.3 MB` or `134 kB`."""
    found = re.match(r"([\d.]+) ?([kKM]?)", size)
    if found is None:
        return 0.0
    return float(found[1]) / {"M": 1, "k": 1e3, "K": 1e3}.get(found[2], 1e6)


def _stop_on_terminate(number: int, _frame: Any) -> None:
    raise SystemExit(128 + number)
