"""The way from `python3 run.py` to the running program.

When the environment is ready this costs a file or two and then hands the process over; when it is not,
`tools.environment` makes it so first. Standard library only, and nothing heavy on the warm path.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SOURCE = os.path.join(ROOT, "src")
LOCK = os.path.join(ROOT, "requirements.lock")
DEV_LOCK = os.path.join(ROOT, "requirements-dev.lock")
EXTRAS = ("discord", "twitch")
"""What `--with` may add; each has a lock of its own, with what it needs beyond the base."""
MARK = ".familiar-lock"
"""The file in the environment that says what is completely installed in it, and for whom."""

CHECKS = (
    ("style", ("ruff", "check", ".")),
    ("types", ("mypy",)),
    ("tests", ("pytest", "-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")),
)


class SetupProblem(Exception):
    """Something the reader can put right; the message is the sentence that says how."""


def main(arguments: Sequence[str]) -> int:
    """Set up if needed, then become the program; the exit code is the program's."""
    venv = environment_folder()
    try:
        extras, arguments = parse_extras(arguments)
        testing = arguments[:1] == ["test"]
        if not is_ready(venv, testing=testing, extras=extras):
            # The cold path alone pays for subprocess, threads and the rest.
            from tools.environment import prepare

            prepare(venv, testing=testing, extras=extras)
        if arguments[:1] == ["--setup-only"]:
            say(f"Ready in {venv}. Start with: python3 run.py")
            return 0
        if testing:
            return run_checks(venv, arguments[1:])
        return start(venv, arguments or ["chat"])
    except SetupProblem as problem:
        say(str(problem))
        return 1
    except KeyboardInterrupt:
        say("Stopped. Run it again to go on: nothing half-installed is ever used.")
        return 130


def parse_extras(arguments: Sequence[str]) -> tuple[list[str], Sequence[str]]:
    """What `--with EXTRA` asks for, and the arguments that are left."""
    extras: list[str] = []
    while arguments[:1] == ["--with"] or (arguments and arguments[0].startswith("--with=")):
        word, equals, value = arguments[0].partition("=")
        names = value if equals else (arguments[1] if len(arguments) > 1 else "")
        arguments = arguments[1 if equals else 2 :]
        for name in names.split(","):
            if name not in EXTRAS:
                raise SetupProblem(f"{word} needs one of {', '.join(EXTRAS)}: python3 run.py --with {EXTRAS[0]} run")
            extras.append(name)
    return extras, arguments


def lock_of(extra: str) -> str:
    """The lock of an extra."""
    return os.path.join(ROOT, f"requirements-{extra}.lock")


def environment_folder() -> str:
    """The environment's absolute path: FAMILIAR_VENV, else `.venv` beside run.py."""
    chosen = os.environ.get("FAMILIAR_VENV")
    return os.path.realpath(os.path.expanduser(chosen)) if chosen else os.path.join(ROOT, ".venv")


def python_of(venv: str) -> str:
    """The environment's interpreter."""
    return os.path.join(venv, "Scripts", "python.exe") if os.name == "nt" else os.path.join(venv, "bin", "python")


def is_ready(venv: str, *, testing: bool, extras: Sequence[str] = ()) -> bool:
    """Whether everything wanted is completely installed, for this Python and at this very place."""
    there = read_mark(venv)
    wanted = wanted_mark(venv, testing=testing, extras=with_known(there, extras))
    return all(there.get(key) == value for key, value in wanted.items()) and os.path.exists(python_of(venv))


def with_known(there: Mapping[str, str], extras: Sequence[str]) -> list[str]:
    """*extras* and those asked for earlier, which stay up to date with the rest."""
    return [extra for extra in EXTRAS if extra in extras or f"extra-{extra}" in there]


def wanted_mark(venv: str, *, testing: bool, extras: Sequence[str] = ()) -> dict[str, str]:
    """What a complete environment says of itself."""
    mark = {
        "python": (sys.implementation.cache_tag or sys.implementation.name) + getattr(sys, "abiflags", ""),
        "environment": venv,
        "source": SOURCE,
        "packages": digest(LOCK),
    }
    if testing:
        mark["test-packages"] = digest(DEV_LOCK)
    mark |= {f"extra-{extra}": digest(lock_of(extra)) for extra in extras}
    return mark


def read_mark(venv: str) -> dict[str, str]:
    """What the environment says of itself; nothing when it is absent, torn or unreadable."""
    try:
        with open(os.path.join(venv, MARK), encoding="utf-8") as file:
            lines = file.read(65536).splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {key: value for key, separator, value in (line.partition(" ") for line in lines) if separator}


def digest(path: str) -> str:
    """The hash a lock is remembered by."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise SetupProblem(
            f"{path} cannot be read ({error.strerror}): the checkout is incomplete, so clone it again."
        ) from error


def start(venv: str, arguments: Sequence[str]) -> int:
    """Become `familiar ARGUMENTS`: signals and the terminal go straight to it."""
    python = python_of(venv)
    command = [python, "-P", "-m", "familiar_connect", *arguments]
    os.environ["FAMILIAR_COMMAND"] = "python3 run.py"  # so that advice names what the person types
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name != "nt":
        try:
            os.execv(python, command)
        except OSError as error:
            raise SetupProblem(
                f"{python} cannot be started ({error.strerror}): delete {venv} and run again."
            ) from error
    return call(command)


def run_checks(venv: str, arguments: Sequence[str]) -> int:
    """Every check, each to its end, or with arguments pytest alone; 0 when all pass."""
    checks = [("tests", ("pytest", *arguments))] if arguments else list(CHECKS)
    failed = []
    for name, command in checks:
        say(f"== {name}: {' '.join(command)}")
        code = call([python_of(venv), "-m", *command], folder=ROOT)
        if code in (-2, 130):
            return 130
        if code:
            failed.append((name, code))
    if not failed:
        say("== all passed: " + ", ".join(name for name, _ in checks))
        return 0
    say("== failed: " + ", ".join(name for name, _ in failed))
    return failed[-1][1] if 0 < failed[-1][1] < 128 else 1


def call(command: Sequence[str], folder: str | None = None) -> int:
    """Run to the end on our terminal; Ctrl-C is the child's to answer."""
    import subprocess  # not on the path that hands the process over

    with subprocess.Popen(command, cwd=folder) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


def say(text: str) -> None:
    """One line for the person in front, beside the program's own output."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
