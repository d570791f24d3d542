"""What a set-up environment is: where it lies, what must be in it, and the mark that says it is complete.

A start that finds all ready reads this module and `tools.launch` alone, so both import little.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SOURCE = os.path.join(ROOT, "src")
LOCK = os.path.join(ROOT, "requirements.lock")
DEV_LOCK = os.path.join(ROOT, "requirements-dev.lock")
EXTRAS = ("discord", "mcp", "telegram", "twitch", "voice", "web")
"""What `--with` may add; each has a lock of its own, with what it needs beyond the base."""
MARK = ".familiar-lock"
"""The file in the environment that says what is completely installed in it, and for whom."""


class SetupProblem(Exception):
    """Something the reader can put right; the message is the sentence that says how."""


def environment_folder() -> str:
    """The environment's absolute path: FAMILIAR_VENV, else `.venv` beside run.py."""
    chosen = os.environ.get("FAMILIAR_VENV")
    return os.path.realpath(os.path.expanduser(chosen)) if chosen else os.path.join(ROOT, ".venv")


def python_of(venv: str) -> str:
    """The environment's interpreter."""
    return os.path.join(venv, "Scripts", "python.exe") if os.name == "nt" else os.path.join(venv, "bin", "python")


def lock_of(extra: str) -> str:
    """The lock of an extra."""
    return os.path.join(ROOT, f"requirements-{extra}.lock")


def wanted_locks(there: dict[str, str], *, testing: bool, extras: Sequence[str]) -> dict[str, str]:
    """The locks to have installed, by their key in the mark; extras asked for earlier are among them."""
    locks = {"packages": LOCK} | ({"test-packages": DEV_LOCK} if testing else {})
    keys = {f"extra-{extra}": extra for extra in EXTRAS}
    return locks | {key: lock_of(extra) for key, extra in keys.items() if extra in extras or key in there}


def wanted_mark(venv: str, locks: dict[str, str]) -> dict[str, str]:
    """What an environment with these locks says of itself once it is complete."""
    python = (sys.implementation.cache_tag or sys.implementation.name) + getattr(sys, "abiflags", "")
    place = {"python": python, "environment": venv, "source": SOURCE}
    return place | {key: _digest(lock) for key, lock in locks.items()}


def read_mark(venv: str) -> dict[str, str]:
    """What the environment says of itself; nothing when it is absent, torn or unreadable."""
    try:
        with open(os.path.join(venv, MARK), encoding="utf-8") as file:
            lines = file.read(65536).splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {key: value for key, separator, value in (line.partition(" ") for line in lines) if separator}


def is_ready(venv: str, *, testing: bool, extras: Sequence[str] = ()) -> bool:
    """Whether everything wanted is completely installed, for this Python and at this very place."""
    there = read_mark(venv)
    wanted = wanted_mark(venv, wanted_locks(there, testing=testing, extras=extras))
    return wanted.items() <= there.items() and os.path.exists(python_of(venv))


def say(text: str) -> None:
    """Something for the person in front, beside the program's own output; broken at words where they see it."""
    if sys.stderr.isatty():
        import shutil  # where somebody watches there is time
        import textwrap

        wrap = textwrap.TextWrapper(shutil.get_terminal_size().columns - 1, break_on_hyphens=False)
        wrap.break_long_words = False
        text = "\n".join(wrap.fill(line) for line in text.split("\n"))
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise SetupProblem(
            f"{path} cannot be read ({error.strerror}): the checkout is incomplete, so clone it again."
        ) from error
