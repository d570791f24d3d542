"""The making of the environment: a virtual environment that is complete or not believed.

One process at a time works on it. The mark that says "complete" goes away before anything is touched and comes
back last, so a set-up cut short is simply made again. An environment somebody else made is used when it fits and
never cleared.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from tools.installer import FAILED_TO_WRITE, install, run_quietly, usable_uv
from tools.launch import (
    DEV_LOCK,
    LOCK,
    MARK,
    SOURCE,
    SetupProblem,
    is_ready,
    lock_of,
    python_of,
    read_mark,
    say,
    wanted_mark,
    with_known,
)

CLAIM = ".familiar-setup"
"""Held while somebody sets up; its text says whether the folder is `ours` to clear or a `guest` one."""

FETCH_MB = {LOCK: 190, DEV_LOCK: 220}
"""Roughly what the first set-up brings over the network, the embedded model's 93 MB included."""


def prepare(venv: str, *, testing: bool, extras: Sequence[str] = ()) -> None:
    """Make the environment complete, or raise SetupProblem with the sentence that helps."""
    started = time.monotonic()
    before = signal.signal(signal.SIGTERM, _stop_on_terminate)
    try:
        with claim_folder(venv) as claim:
            if is_ready(venv, testing=testing, extras=extras):
                return  # somebody else did it while we waited
            mark = refresh_or_build(venv, claim, testing=testing, extras=with_known(read_mark(venv), extras))
            write_mark(venv, mark)
    except OSError as error:
        raise SetupProblem(cannot_write_sentence(venv, error)) from error
    finally:
        signal.signal(signal.SIGTERM, before)
    say(f"Set up in {time.monotonic() - started:.0f} s; from now on it starts at once.")


@contextlib.contextmanager
def claim_folder(venv: str) -> Iterator[TextIO]:
    """The environment's folder, held by this process alone and known to be ours or a fitting guest."""
    os.makedirs(venv, exist_ok=True)
    path = os.path.join(venv, CLAIM)
    with open(path, "a+", encoding="ascii") as claim:
        _wait_for(claim, venv)
        claim.seek(0)
        if not claim.read():
            try:
                claim.write(_whose(venv))
            except SetupProblem:
                os.unlink(path)
                raise
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


def _whose(venv: str) -> str:
    """`ours` for an empty folder, `guest` for a usable environment made by hand; else a SetupProblem."""
    if set(os.listdir(venv)) <= {CLAIM}:
        return "ours"
    want = f"{sys.version_info[0]}.{sys.version_info[1]}"
    ask = "import sys; print('%d.%d' % sys.version_info[:2], sys.prefix != sys.base_prefix)"
    code, output = run_quietly([python_of(venv), "-I", "-c", ask])
    if os.path.exists(os.path.join(venv, "pyvenv.cfg")) and code == 0 and output.strip() == f"{want} True":
        return "guest"
    raise SetupProblem(not_ours_sentence(venv))


def refresh_or_build(venv: str, claim: TextIO, *, testing: bool, extras: Sequence[str] = ()) -> dict[str, str]:
    """Install what is wanted, in place where the environment still fits, from nothing where it does not."""
    lock = DEV_LOCK if testing else LOCK
    wanted = wanted_mark(venv, testing=testing, extras=extras)
    there = read_mark(venv)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(venv, MARK))
    claim.seek(0)
    guest = claim.read() == "guest"
    fits = all(there.get(key) == wanted[key] for key in ("python", "environment", "source"))
    if fits and os.path.exists(python_of(venv)):
        stale = lacking_locks(there, wanted, lock, extras)
        say(f"Bringing {venv} up to date with the pinned packages ({sum(map(package_count, stale))}).")
        for one in stale:
            install(venv, one, package_count(one), claim.fileno())
        return {**there, **wanted}
    count = package_count(lock)
    if guest and os.path.exists(python_of(venv)) and there.get("python", wanted["python"]) == wanted["python"]:
        say(f"Installing {count} packages into {venv}, about {FETCH_MB[lock]} MB to fetch the first time.")
        install(venv, lock, count, claim.fileno(), over_remains=True)
    elif guest:
        raise SetupProblem(not_ours_sentence(venv))
    else:
        warn_without_avx2()
        say(
            f"Setting up Familiar Connect in {venv}: {count} packages, about {FETCH_MB[lock]} MB to fetch the first "
            "time, the embedded model among them."
        )
        clear(venv)
        say("  making the environment")
        make_venv(venv)
        install(venv, lock, count, claim.fileno())
    for extra in extras:
        install(venv, lock_of(extra), package_count(lock_of(extra)), claim.fileno())
    link_program(venv)
    return wanted


def lacking_locks(there: dict[str, str], wanted: dict[str, str], lock: str, extras: Sequence[str]) -> list[str]:
    """The locks an environment that fits has not installed yet."""
    keys = {"packages": lock, "test-packages": lock} | {f"extra-{extra}": lock_of(extra) for extra in extras}
    stale = [path for key, path in keys.items() if wanted.get(key, there.get(key)) != there.get(key)]
    return list(dict.fromkeys(stale))


def clear(venv: str) -> None:
    """Empty the folder but for our claim on it."""
    for entry in os.scandir(venv):
        if entry.name == CLAIM:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def make_venv(venv: str) -> None:
    """A bare environment; with pip where the system can give one, else for uv or the system's pip to fill."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    uv = usable_uv()
    if uv is None:
        code, output = run_quietly([base, "-m", "venv", venv])
        if code == 0:
            return
        if re.search(FAILED_TO_WRITE, output):
            raise SetupProblem(f"The disk is full: {venv} needs about 400 MB; free some space and run again.")
    code, output = run_quietly([base, "-m", "venv", "--without-pip", venv])
    fillable = uv is not None or run_quietly([base, "-m", "pip", "--version"])[0] == 0
    if code != 0 or not fillable:
        raise SetupProblem(no_venv_sentence(output))


def no_venv_sentence(output: str) -> str:
    """The sentence for a Python that cannot make environments."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if os.path.exists("/etc/debian_version"):
        fix = f"install it with `sudo apt install python3-venv` (or `python{version}-venv`) and run again"
    else:
        fix = "install the full Python from your system's packages, with `venv` and `ensurepip`, and run again"
    reason = output.strip().splitlines()[-1:] or ["no reason given"]
    return f"This Python {version} cannot make a virtual environment: {fix}. (It said: {reason[0].strip()})"


def link_program(venv: str) -> None:
    """Make the checkout importable in the environment, and `familiar` a command of it, without building anything."""
    places = {"base": venv, "platbase": venv, "installed_base": venv, "installed_platbase": venv}
    packages = sysconfig.get_path("purelib", "nt_venv" if os.name == "nt" else "posix_venv", places)
    with open(os.path.join(packages, "familiar_connect.pth"), "w", encoding="utf-8") as file:
        file.write(SOURCE + "\n")
    python = python_of(venv)
    for name in ("familiar", "familiar-connect"):
        if os.name == "nt":
            path = os.path.join(venv, "Scripts", name + ".cmd")
            text = f'@"{python}" -P -m familiar_connect %*\r\n'
        else:
            path = os.path.join(venv, "bin", name)
            text = f'#!/bin/sh\nexec {shlex.quote(python)} -P -m familiar_connect "$@"\n'
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(path, 0o755)


def write_mark(venv: str, mark: dict[str, str]) -> None:
    """Say that everything is there; the last step, and a single rename."""
    path = os.path.join(venv, MARK)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.writelines(f"{key} {value}\n" for key, value in mark.items())
    os.replace(path + ".new", path)


def package_count(lock: str) -> int:
    """How many packages a lock pins."""
    with open(lock, encoding="utf-8") as file:
        return sum(1 for line in file if re.match(r"[A-Za-z0-9].*==", line))


def warn_without_avx2() -> None:
    """One line for a processor the embedded model cannot run on; everything else works there."""
    if has_avx2() is False:
        say(
            "This processor lacks AVX2, so the embedded model cannot run here; all the rest can: after the set-up, "
            "`python3 run.py connect` points the familiar at another model."
        )


def has_avx2(cpuinfo: str = "/proc/cpuinfo") -> bool | None:
    """Whether an x86-64 processor knows AVX2; None where that is not the question or nobody can tell."""
    if os.name == "nt" or os.uname().machine != "x86_64":
        return None
    if sys.platform == "darwin":
        code, output = run_quietly(["sysctl", "-n", "machdep.cpu.leaf7_features"])
        return "AVX2" in output.split() if code == 0 else None
    try:
        with open(cpuinfo, encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), None)
    except OSError:
        return None
    return None if flags is None else "avx2" in flags.split()


def not_ours_sentence(venv: str) -> str:
    """The sentence for a folder that holds something else."""
    other = "set FAMILIAR_VENV to another folder"
    return f"{venv} was not made by run.py and does not fit this Python: delete it, or {other}."


def cannot_write_sentence(venv: str, error: OSError) -> str:
    """The sentence for a folder that takes no files."""
    if error.errno == 28:
        return f"The disk is full: {venv} needs about 400 MB; free some space and run again."
    return (
        f"{error.filename or venv} cannot be written ({error.strerror}): make the folder writable, or set "
        "FAMILIAR_VENV to a folder that is."
    )


def _stop_on_terminate(number: int, _frame: Any) -> None:
    raise SystemExit(128 + number)
