"""The way from `python3 run.py` to the running program: set up where needed, then hand the process over."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tools.environment import EXTRAS, ROOT, SetupProblem, environment_folder, is_ready, python_of, say

TYPE_CHECKING = False  # from typing it would cost every start the loading of that
if TYPE_CHECKING:
    import subprocess

WORKERS = str(min(4, (os.cpu_count() or 1) + 1))
"""Test processes: one more than there are cores, since many tests wait for another process."""
QUICK_WORKERS = str(min(4, os.cpu_count() or 1))
"""Test processes of the quick loop, in which no test waits for anybody: each more would only import all tests again."""
CHECKS = (
    ("style", ("ruff", "check", ".")),
    ("tests", ("pytest", "-n", WORKERS, "--dist", "worksteal")),
    ("types", ("mypy",)),
)
BESIDE = ("types",)
"""Checks that run while the others do and are told of when their turn comes: mypy keeps one core busy for a minute."""
QUICK_CHECKS = (("tests", ("pytest", "-n", QUICK_WORKERS, "--dist", "worksteal", "--quick")),)
EXTRA_OF_VERB = {"voice": "voice", "web": "web"}
"""Verbs that do nothing without an extra bring it themselves."""
FILES_OF_VERB = {"voice": ("--wav", "--script")}
"""Options of such a verb that name a file to read: without it nothing needs to be installed."""
BEFORE_THE_VERB = ("--home",)
"""Options of the program that take a value."""
MEMORY = "/dev/shm"
"""Where Linux keeps files in memory."""
MEMORY_BYTES = 4 << 30
"""How much must be free there before the tests use it."""


def main(arguments: Sequence[str]) -> int:
    """Set up if needed, then become the program; the exit code is the program's."""
    venv = environment_folder()
    try:
        extras, arguments = parse_extras(arguments)
        extras += extras_of_verb(arguments)
        testing = arguments[:1] == ["test"]
        if not is_ready(venv, testing=testing, extras=extras):
            if (missing := missing_file(arguments)) is not None:
                say(f"{missing} cannot be read: there is no such file.")
                return 2
            from tools.installer import prepare  # a ready start does without it

            prepare(venv, testing=testing, extras=extras)
        if arguments[:1] == ["--setup-only"]:
            say(f"Ready in {venv}. Start with: python3 run.py")
            return 0
        if testing:
            return run_checks(venv, arguments[1:])
        if arguments[:1] == ["docs"]:
            return call([python_of(venv), "-P", os.path.join(ROOT, "tools", "docs_site.py"), *arguments[1:]])
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
        extras += names.split(",")
        if not set(extras) <= set(EXTRAS):
            raise SetupProblem(f"{word} needs one of {', '.join(EXTRAS)}: python3 run.py --with {EXTRAS[0]} run")
    return extras, arguments


def extras_of_verb(arguments: Sequence[str]) -> list[str]:
    """What the verb brings itself; whoever only asks for its help is told without."""
    if "--help" in arguments or "-h" in arguments:
        return []
    return [extra for verb, extra in EXTRA_OF_VERB.items() if verb == verb_of(arguments)]


def verb_of(arguments: Sequence[str]) -> str | None:
    """The verb that is meant, behind the options of the program itself."""
    words = iter(arguments)
    for word in words:
        if word in BEFORE_THE_VERB:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def missing_file(arguments: Sequence[str]) -> str | None:
    """A file that the verb is to read and that is not there."""
    options = FILES_OF_VERB.get(verb_of(arguments) or "", ())
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name not in options:
            continue
        file = value if equals else "".join(arguments[place + 1 : place + 2])
        if file and not os.path.isfile(file):
            return file
    return None


def start(venv: str, arguments: Sequence[str]) -> int:
    """Become `familiar ARGUMENTS`: signals and the terminal go straight to it."""
    python = python_of(venv)
    command = [python, "-P", "-m", "familiar_connect", *arguments]
    os.environ["FAMILIAR_COMMAND"] = typed_command(sys.orig_argv)  # so that advice names what the person types
    sys.stdout.flush()
    if os.name == "nt":
        return call(command)
    try:
        os.execv(python, command)
    except OSError as error:
        raise SetupProblem(f"{python} cannot be started ({error.strerror}): delete {venv} and run again.") from error


def typed_command(typed: Sequence[str]) -> str:
    """The interpreter and this launcher as the person named them, whatever stood behind."""
    import shlex

    ends = [place for place, word in enumerate(typed) if os.path.basename(word) == "run.py"]
    if not ends:
        return "python3 run.py"
    return shlex.join([bare_name(typed[0]), *typed[1 : ends[0] + 1]])


def bare_name(python: str) -> str:
    """*python* without its folder, where that is the one found by its name: pyenv and its like put the whole path."""
    import shutil  # only where somebody named it by its path

    name = os.path.basename(python)
    return name if name != python and shutil.which(name) == os.path.abspath(python) else python


def run_checks(venv: str, arguments: Sequence[str]) -> int:
    """Every check, each to its end, or with arguments pytest alone; 0 when all pass."""
    checks = [("tests", ("pytest", *arguments))] if arguments else list(CHECKS)
    if list(arguments) == ["--quick"]:
        checks = list(QUICK_CHECKS)
    else:
        from tools.browser import prepare_browser  # not on the path that hands the process over
        from tools.irc_server import prepare_irc_server

        prepare_browser()
        prepare_irc_server()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every process the tests start would compile the program anew
    if folder := memory_folder():
        os.environ["TMPDIR"] = folder
    failed = []
    begun = {name: begin([python_of(venv), "-m", *command], folder=ROOT) for name, command in checks if name in BESIDE}
    try:
        for name, command in checks:
            say(f"== {name}: {' '.join(command)}")
            code = finish(begun[name]) if name in begun else call([python_of(venv), "-m", *command], folder=ROOT)
            if code in (-2, 130):
                return 130
            if code:
                failed.append((name, code))
    finally:
        for process in begun.values():
            if process.poll() is None:
                process.kill()
                process.communicate()
    if not failed:
        say("== all passed: " + ", ".join(name for name, _ in checks))
        return 0
    say("== failed: " + ", ".join(name for name, _ in failed))
    return failed[-1][1] if 0 < failed[-1][1] < 128 else 1


def memory_folder(place: str = MEMORY) -> str | None:
    """A folder of ours in memory for what the tests write, who would wait for a disk thousands of times.

    None where somebody chose a folder, or *place* is missing, small, or runs no programs.
    """
    try:
        facts = os.statvfs(place)
        if "TMPDIR" in os.environ or facts.f_flag & os.ST_NOEXEC or facts.f_bavail * facts.f_frsize < MEMORY_BYTES:
            return None
        folder = os.path.join(place, f"familiar-tests-{os.getuid()}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder if os.lstat(folder).st_uid == os.getuid() and not os.path.islink(folder) else None
    except (AttributeError, OSError):  # no such calls on this system, or no such place
        return None


def begin(command: Sequence[str], folder: str) -> subprocess.Popen[bytes]:
    """Start it and keep what it says."""
    import subprocess

    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(process: subprocess.Popen[bytes]) -> int:
    """Wait for its end and print what it said; Ctrl-C is its own to answer."""
    while True:
        try:
            said, _ = process.communicate()
            break
        except KeyboardInterrupt:
            continue
    sys.stdout.write(said.decode(errors="replace"))
    sys.stdout.flush()
    return process.returncode


def call(command: Sequence[str], folder: str | None = None) -> int:
    """Run to the end on our terminal; Ctrl-C is the child's to answer."""
    import subprocess  # not on the path that hands the process over

    with subprocess.Popen(command, cwd=folder) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue
