"""The command as the person types it: every hint that is printed can be pasted and does what it says.

Sentences name the program `familiar`, the name it is installed under. Where they are shown, `with_command` puts in
its place how this run was started, with the options that stand before the verb.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from familiar_connect.config.built_in import read_built_in_verbs

COMMAND_VARIABLE = "FAMILIAR_COMMAND"
"""Set by the launcher, so that messages name the command the person typed."""
NAME = "familiar"
PACKAGE = "familiar-connect"
SCRIPTS = (NAME, PACKAGE)
LAUNCHER = "run.py"
OWN_SCRIPT = "-P"
"""The option of Python's by which the scripts that the set-up writes are known."""

VERBS = (
    *read_built_in_verbs(),
    *("adopt", "ask", "backup", "chat", "completion", "config", "connect", "doctor", "export"),
    *("extension", "ignore", "import", "init"),
    *("inspect", "keys", "list", "logs", "memory", "metrics", "model", "pack", "preset", "prompt", "regex", "rehearse"),
    *("replay", "restore", "run", "trust", "voice", "web", "why"),
)
VERBS_OF_A_FAMILIAR = frozenset(
    {
        *("ask", "chat", "config", "doctor", "export", "ignore", "import", "inspect", "logs", "memory", "metrics"),
        *("pack", "preset", "prompt", "regex", "replay", "run", "voice", "web", "why"),
    }
)
"""Those that take `--familiar`, with all that stands below them but ABOUT_ALL."""
ABOUT_ALL = ("sillytavern",)
"""Below them, what is about every familiar of the home."""
VERBS_OF_EXTRA = {"voice": ("voice", "run"), "web": ("web",)}
"""The verbs that use the packages of an extra, where not `run` alone; whoever typed another is told of the first."""
_VERB = rf"(?= (?:{'|'.join(VERBS)})\b)"
_IN_HINT = re.compile(rf"(?<=[`;:] ){NAME}{_VERB}|(?<=`){NAME}{_VERB}")
_WHOLE_HINT = re.compile(rf"`{NAME} (?P<verb>[a-z]+)\b(?P<words>[^`\n]*)`")
_IN_HELP = re.compile(rf"(?<![\w/\\-]){NAME}{_VERB}")
"""Not the end of a path: a usage line has the command already."""


class _Options:
    """What this run was told that holds for the next one too."""

    def __init__(self) -> None:
        self.home: str | None = None
        self.familiar_id: str | None = None

    def set_home(self, home: Path | None) -> None:
        self.home = None if home is None else str(home)

    def set_familiar(self, familiar_id: str | None) -> None:
        self.familiar_id = familiar_id


_options = _Options()


def set_home_option(home: Path | None) -> None:
    """Remember `--home` of this run, so that every hint carries it."""
    _options.set_home(home)


def set_familiar_option(familiar_id: str | None) -> None:
    """Remember `--familiar` of this run: another verb would look at the one talked with last."""
    _options.set_familiar(familiar_id)


def program_name() -> str:
    """What a person types to start this program, without options."""
    return os.environ.get(COMMAND_VARIABLE) or _started_as(sys.argv[0], sys.orig_argv)


def command_name() -> str:
    """What a person types before a verb: the program, and the options of this run that stand there."""
    home = _options.home
    return program_name() if home is None else f"{program_name()} --home {shlex.quote(home)}"


def with_command(text: str, familiar_id: str | None = None) -> str:
    """*text* with each hint in it, such as `familiar doctor`, as it is typed here: for *familiar_id*, or this run's."""
    if NAME not in text:
        return text
    chosen = familiar_id or _options.familiar_id
    named = text if chosen is None else _WHOLE_HINT.sub(lambda hint: _with_familiar(hint, chosen), text)
    return _IN_HINT.sub(lambda _: command_name(), named)


def _with_familiar(hint: re.Match[str], familiar_id: str) -> str:
    """The hint with a familiar, where its verb takes one and it names none."""
    is_named = any(option in hint["words"] for option in ("--familiar", "--with", *ABOUT_ALL))
    if is_named or hint["verb"] not in VERBS_OF_A_FAMILIAR:
        return hint[0]
    return f"{hint[0][:-1]} --familiar {shlex.quote(familiar_id)}`"


def with_command_in_help(text: str) -> str:
    """As `with_command`, for the program's own help, in which every `familiar VERB` is the command."""
    return _IN_HELP.sub(lambda _: program_name(), text)


def _launcher() -> Path:
    return Path(__file__).parents[3] / LAUNCHER


def has_launcher() -> bool:
    """Whether the program runs from its own folder, where `run.py` lies, and not as an installed package."""
    return os.environ.get(COMMAND_VARIABLE, "").endswith(LAUNCHER) or _launcher().is_file()


def command_with_extra(extra: str, words: list[str] | None = None) -> str | None:
    """How this run is started with the packages of *extra*: the same words, or its verb where the words use none.

    None where no launcher lies beside us.
    """
    words = sys.argv[1:] if words is None else words
    verbs = VERBS_OF_EXTRA.get(extra, ("run",))
    if not set(verbs) & set(words):
        words = [*(["--home", _options.home] if _options.home is not None else []), verbs[0]]
    if not has_launcher():
        return None
    typed = os.environ.get(COMMAND_VARIABLE, "")
    if not typed.endswith(LAUNCHER):
        typed = f"python3 {shlex.quote(str(_launcher()))}"
    return f"{typed} --with {extra} {shlex.join(words)}"


def command_to_install(extra: str) -> str:
    """What brings the packages of *extra* into the environment this program was installed in."""
    return command_to_add(_requirements_of(extra) or [f"{PACKAGE}[{extra}]"])


def command_to_add(packages: Sequence[str]) -> str:
    """What brings *packages* into the environment this program runs in."""
    from importlib.util import find_spec

    needs = shlex.join(packages)
    if "pipx" in Path(sys.prefix).parts:
        return f"pipx inject {PACKAGE} {needs}"
    python = _shortest(sys.executable)
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {needs}"
    return f"{python} -m pip install {needs}"


def packages_of(extra: str) -> list[str]:
    """The packages of *extra* by their names alone."""
    return [re.split(r"[^A-Za-z0-9._-]", row, maxsplit=1)[0] for row in _requirements_of(extra)]


def _requirements_of(extra: str) -> list[str]:
    """The packages of *extra*, as the installed program or its own folder names them: any index has those."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        rows = requires(PACKAGE) or []
    except PackageNotFoundError:
        return _declared_in_folder(extra)
    parts = (row.partition(";") for row in rows)
    return [name.strip() for name, _, marker in parts if f"extra == '{extra}'" in marker.replace('"', "'")]


def _declared_in_folder(extra: str) -> list[str]:
    import tomllib

    try:
        text = _launcher().with_name("pyproject.toml").read_text(encoding="utf-8")
        rows = tomllib.loads(text)["project"]["optional-dependencies"][extra]
        return [str(row).partition(";")[0].strip() for row in rows]
    except (OSError, ValueError, KeyError):
        return []


def _started_as(script: str, typed: list[str]) -> str:
    path = Path(script)
    if path.name == "__main__.py" and "-m" in typed:
        beside = Path(typed[0]).with_name(NAME)
        if OWN_SCRIPT in typed[: typed.index("-m")] and os.access(beside, os.X_OK):
            return _shortest(str(beside))
        python, *options = typed[: typed.index("-m") + 2]
        return f"{_shortest(python)} {shlex.join(options)}"
    return _shortest(script) if path.stem in SCRIPTS else NAME


def _shortest(program: str) -> str:
    """The shortest way to name *program* that works where the person is: its bare name, its path from here, its path.

    Links are not followed: the Python of an environment is a link to the system's, and not the same.
    """
    from shutil import which

    name = os.path.basename(program)
    found = which(name)
    if found is not None and os.path.abspath(found) == os.path.abspath(program):
        return shlex.quote(name)
    if not os.path.isabs(program):
        return shlex.quote(program)
    try:
        from_here = os.path.relpath(program)
    except (OSError, ValueError):  # no such folder any more, or another drive
        return shlex.quote(program)
    is_below = not from_here.startswith(os.pardir)
    return shlex.quote(from_here if is_below and os.sep in from_here else program)
